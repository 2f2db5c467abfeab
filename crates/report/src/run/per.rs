//! Costs by what was counted: for a packet, a system call, an acknowledgement.

use crate::figures::entry::Per;
use crate::figures::table::{counted, grid};
use crate::terminal::layout::Layout;
use crate::terminal::part::Part;
use zc_analysis::Estimates;
use zc_run::Run;

/// A table for each of these, of all cells with their costs by it. `None` where none were counted.
pub fn per(run: &Run, estimates: &Estimates, by: &[Per], layout: Layout) -> Option<String> {
    let tables: Vec<Option<Part>> = by.iter().map(|per| table(run, estimates, *per)).collect();
    tables.iter().find(|table| table.is_some())?;
    let each = tables.into_iter().zip(by).map(|(table, per)| {
        let without = || Part::Text(vec![format!("No {} was counted in this run.", name(*per))]);
        table.unwrap_or_else(without).terminal(layout)
    });
    Some(each.collect::<Vec<_>>().join("\n"))
}

fn table(run: &Run, estimates: &Estimates, per: Per) -> Option<Part> {
    let grid = grid(run, estimates, &counted(per));
    let is_known = |row: &Vec<String>| row.iter().skip(1).any(|text| !text.is_empty());
    let caption = format!("CPU time by {}, ± half of the interval", name(per));
    grid.rows.iter().any(is_known).then_some(Part::Table { caption, keys: 1, grid })
}

fn name(per: Per) -> &'static str {
    match per {
        Per::Packet => "packet",
        Per::Call => "system call",
        Per::Ack => "acknowledgement",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::{figure, null, veth};
    use zc_analysis::Sides;

    /// Estimates with counts.
    fn counted((run, mut estimates): (Run, Estimates)) -> (Run, Estimates) {
        for cell in &mut estimates.cells {
            let us_per_mb = |cost: Option<zc_analysis::Figure>| cost.map(|it| it.value / 1.024);
            let by = |per_mb: f64| {
                let figure = |cost| us_per_mb(cost).map(|us| figure(us / per_mb, 0.02));
                let cost = cell.cost_ns_per_kib;
                Sides {
                    sender: figure(cost.sender),
                    receiver: figure(cost.receiver),
                    both: figure(cost.both),
                }
            };
            cell.cost_per.us_per_packet = Sides { receiver: by(20.2).receiver, ..by(24.3) };
            cell.cost_per.us_per_call = by(15.3);
            cell.cost_per.us_per_ack = by(12.1);
            cell.traffic.packets_per_mb = Some(24.3);
            cell.traffic.received_packets_per_mb = Some(20.2);
            cell.traffic.acks_per_mb = Some(12.1);
        }
        (run, estimates)
    }

    #[test]
    fn each_count_has_a_table_in_the_order_in_which_they_were_asked_for() {
        let (run, mut estimates) = counted(veth());
        let text = per(&run, &estimates, &[Per::Packet, Per::Call], Layout::plain(72)).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 72), "{text}");
        insta::assert_snapshot!("per", text);
        for cell in &mut estimates.cells {
            cell.cost_per.us_per_packet = Sides::default();
            (cell.traffic.packets_per_mb, cell.traffic.received_packets_per_mb) = (None, None);
        }
        let text = per(&run, &estimates, &[Per::Ack, Per::Packet], Layout::plain(72)).unwrap();
        let (before, after) = text.split_once("No packet was counted in this run.\n").unwrap();
        assert!(before.contains("us/ack") && after.is_empty(), "{text}");
    }

    #[test]
    fn packets_that_the_receiver_did_not_count_have_no_cost_of_its() {
        let (run, mut estimates) = counted(veth());
        for cell in &mut estimates.cells {
            cell.cost_per.us_per_packet.receiver = None;
            cell.traffic.received_packets_per_mb = None;
        }
        let text = per(&run, &estimates, &[Per::Packet], Layout::plain(120)).unwrap();
        assert!(text.contains("sender") && text.contains("both"), "{text}");
        assert!(!text.contains("receive"), "{text}");
    }

    #[test]
    fn the_sender_alone_has_one_cost_and_what_was_not_counted_is_no_table() {
        let (run, estimates) = counted(null());
        let text = per(&run, &estimates, &[Per::Call], Layout::plain(120)).unwrap();
        assert!(text.contains("us/send") && !text.contains("both"), "{text}");
        let (run, estimates) = veth();
        assert_eq!(per(&run, &estimates, &[Per::Ack], Layout::plain(120)), None);
    }
}
