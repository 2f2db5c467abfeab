//! `clients`: what a byte to one of many slow clients costs, how large the packets are, and at which
//! rate per client a path stops paying.
//!
//! That is said of both ends wherever both are measured. Over veth a packet's sender is let go of
//! where it is received (skb_orphan() in ip_rcv_core(), net/ipv4/ip_input.c), and what that lets go
//! out (TCP small queues) is sent and paced from there on. How many of the pacing timers are on the
//! receiver's CPU differs by path: of `sendfile` 220 of 356 for a MB, of `read+send` 16 of 336.

use super::historical::{Quotient, times};
use super::section::Section;
use super::threshold::{Step, Threshold, ascending, threshold};
use crate::digits::significant;
use crate::run::pivot::{Pivot, Placed};
use crate::run::pivot_tables::table;
use crate::run::rows::comparison;
use crate::terminal::part::Part;
use crate::text::list;
use zc_analysis::{Comparison, Estimates};
use zc_run::units::bit_rate_text;
use zc_run::{Clients, Run, SendPath};

pub(super) fn section(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Section {
    let parts = [packets(run, pivot), calls(run, pivot)];
    Section {
        parts: parts.into_iter().flatten().collect(),
        conclusion: conclusion(run, estimates, pivot),
    }
}

/// Packets are as large as a millisecond of the client's rate: that decides what is left to save.
fn packets(run: &Run, pivot: &Pivot) -> Option<Part> {
    let caption = "Bytes of a packet before it is cut into segments, with its headers".to_owned();
    table(run, pivot, caption, false, |placed| {
        placed.figures.traffic.packet_bytes.map(|bytes| format!("{bytes:.0}"))
    })
}

fn calls(run: &Run, pivot: &Pivot) -> Option<Part> {
    let caption = "Calls of the sender, per MB".to_owned();
    table(run, pivot, caption, false, |placed| {
        placed.figures.traffic.send_calls_per_mb.map(significant)
    })
}

/// At which rates per client each path pays, by the number of clients.
fn conclusion(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Option<String> {
    let clients = |placed: Placed<'_>| run.header.plan.fixed.at(&placed.cell.levels).clients();
    let mut numbers: Vec<usize> =
        pivot.cells().filter_map(|placed| Some(clients(placed)?.count)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let sentences: Vec<String> = numbers
        .into_iter()
        .filter_map(|number| {
            let paths = [SendPath::Sendfile, SendPath::MsgZerocopy];
            let said = paths.map(|path| said(path, &steps(run, estimates, pivot, number, path)));
            sentence(number, said)
        })
        .collect();
    let whose =
        if estimates.sender_alone { "For the sender alone" } else { "For both ends together" };
    let (first, others) = sentences.split_first()?;
    let others: String = others.iter().map(|other| format!(" With {other}.")).collect();
    Some(format!("{whose}, with {first}.{others}"))
}

/// The clauses about the paths, the first of which is the one that is asked about.
fn sentence(number: usize, [asked, other]: [Option<Said>; 2]) -> Option<String> {
    let clients = if number == 1 { "client" } else { "clients" };
    let clauses: Vec<String> = match (asked, other) {
        (Some(asked), other) => {
            [Some(asked.in_full), other.map(|other| other.in_short)].into_iter().flatten().collect()
        }
        (None, other) => other.into_iter().map(|other| other.in_full).collect(),
    };
    (!clauses.is_empty()).then(|| format!("{number} {clients} {}", clauses.join("; ")))
}

/// A path beside read and send, for so many clients, by their rate.
fn steps(
    run: &Run,
    estimates: &Estimates,
    pivot: &Pivot,
    number: usize,
    path: SendPath,
) -> Vec<Step> {
    let step = |placed: Placed<'_>| {
        let Clients { count, rate_bytes_per_s } =
            run.header.plan.fixed.at(&placed.cell.levels).clients()?;
        let is_wanted = count == number && placed.cell.transfer.send_path() == Some(path);
        (is_wanted && is_by_read_and_send(pivot, placed)).then(|| Step {
            amount: rate_bytes_per_s,
            text: bit_rate_text(rate_bytes_per_s),
            quotient: by_base(estimates, placed),
        })
    };
    ascending(pivot.cells().filter_map(step).collect())
}

/// Whether a cell is compared with reading and sending, and not with itself in another state.
fn is_by_read_and_send(pivot: &Pivot, placed: Placed<'_>) -> bool {
    let Some(by) = &placed.figures.by else { return false };
    let base = pivot.cells().find(|other| other.cell.label == *by);
    base.is_some_and(|base| base.cell.transfer.send_path() == Some(SendPath::ReadSend))
}

/// Cost of a cell by that of its baseline, as its verdict has it.
fn by_base(estimates: &Estimates, placed: Placed<'_>) -> Quotient {
    let cell = placed.figures;
    if cell.perturbation.saturated || cell.failed_zero_copy {
        return Quotient::Unknown;
    }
    match (cell.ratio.both, comparison(estimates, cell)) {
        (Some(ratio), Some(Comparison::Cheaper { .. } | Comparison::Dearer { .. })) => {
            Quotient::Times(ratio.value)
        }
        (Some(_), Some(Comparison::Same { .. } | Comparison::Undecided)) => Quotient::Indistinct,
        _ => Quotient::Unknown,
    }
}

/// What is said about a path, as the answer to the question and beside one.
#[derive(Debug, PartialEq)]
struct Said {
    in_full: String,
    in_short: String,
}

/// At which rates a path pays; `None` where it was compared at none.
fn said(path: SendPath, steps: &[Step]) -> Option<Said> {
    let texts = |wanted: fn(&Step) -> bool| -> Vec<String> {
        steps.iter().filter(|step| wanted(step)).map(|step| step.text.clone()).collect()
    };
    let at = |step: &Step| format!("at {} it {}", step.text, step.outcome());
    let is_known = |step: &Step| step.quotient != Quotient::Unknown;
    let (in_full, in_short) = match threshold(steps) {
        Threshold::Everywhere(only, other) if only.text == other.text => {
            let much = format!("pays at {}: it {} as read+send", only.text, only.outcome());
            (much, format!("pays at {}", only.text))
        }
        Threshold::Everywhere(least, greatest) => {
            let much = format!(
                "pays at each of these rates per client: {} as read+send, and {}",
                at(least),
                at(greatest)
            );
            (much, "pays at each".to_owned())
        }
        Threshold::From { before, first } => {
            let from = format!("pays from {} per client on", first.text);
            let much = format!(
                "{from}, where it {} as read+send, and stops paying below: {}",
                first.outcome(),
                at(before)
            );
            (much, format!("pays from {} on", first.text))
        }
        Threshold::Nowhere => {
            let dearer = |step: &Step| Some(format!("{} at {}", times(step.dearer()?), step.text));
            let each: Vec<String> = steps.iter().filter_map(dearer).collect();
            let (none, short) = match each.len() == steps.len() {
                true => ("pays at none of these rates per client", "pays at none"),
                false => (
                    "was not shown to pay at any of these rates per client",
                    "was not shown to pay at any",
                ),
            };
            let much = match each.as_slice() {
                [] => none.to_owned(),
                each => format!("{none}: it costs {} as much as read+send", list(each)),
            };
            (much, short.to_owned())
        }
        Threshold::Below => {
            let last = steps.last()?;
            let only = format!("pays at {}", list(&texts(Step::pays)));
            let much = format!("{only} per client, and {}: from no rate on", at(last));
            (much, format!("{only} alone"))
        }
        Threshold::Unknown if steps.iter().any(is_known) => {
            let without = list(&texts(|step| step.quotient == Quotient::Unknown));
            let much = format!("is not decided: there is nothing to compare at {without}");
            (much, "is not decided".to_owned())
        }
        Threshold::Unknown => return None,
    };
    let of_path = |predicate| format!("{path} {predicate}");
    Some(Said { in_full: of_path(in_full), in_short: of_path(in_short) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LESS: Quotient = Quotient::Times(0.5);
    const MORE: Quotient = Quotient::Times(1.5);

    fn said_of(quotients: &[Quotient]) -> Option<Said> {
        let levels = quotients.iter().zip([1e6, 5e6, 20e6]);
        let steps: Vec<Step> = levels
            .map(|(quotient, bits_per_s)| Step {
                amount: bits_per_s / 8.0,
                text: bit_rate_text(bits_per_s / 8.0),
                quotient: *quotient,
            })
            .collect();
        said(SendPath::Sendfile, &steps)
    }

    #[track_caller]
    fn is_said(quotients: &[Quotient], in_full: &str, in_short: &str) {
        let said = said_of(quotients).unwrap();
        assert_eq!(said.in_full, format!("sendfile {in_full}"));
        assert_eq!(said.in_short, format!("sendfile {in_short}"));
    }

    #[test]
    fn the_rate_at_which_a_path_stops_paying_is_said_with_what_it_costs_around_it() {
        is_said(
            &[MORE, LESS, LESS],
            "pays from 5Mbit/s per client on, where it costs 0.50 times as much as read+send, and \
             stops paying below: at 1Mbit/s it costs 1.50 times as much",
            "pays from 5Mbit/s on",
        );
        is_said(
            &[LESS, Quotient::Indistinct, LESS],
            "pays from 20Mbit/s per client on, where it costs 0.50 times as much as read+send, and \
             stops paying below: at 5Mbit/s it was not shown to cost less",
            "pays from 20Mbit/s on",
        );
    }

    #[test]
    fn a_path_pays_at_all_rates_or_at_one_or_at_none() {
        is_said(
            &[Quotient::Times(0.9), LESS, LESS],
            "pays at each of these rates per client: at 1Mbit/s it costs 0.90 times as much as \
             read+send, and at 20Mbit/s it costs 0.50 times as much",
            "pays at each",
        );
        is_said(
            &[LESS],
            "pays at 1Mbit/s: it costs 0.50 times as much as read+send",
            "pays at 1Mbit/s",
        );
        is_said(
            &[MORE, MORE],
            "pays at none of these rates per client: it costs 1.50 times at 1Mbit/s and 1.50 times \
             at 5Mbit/s as much as read+send",
            "pays at none",
        );
        is_said(
            &[MORE, Quotient::Indistinct],
            "was not shown to pay at any of these rates per client: it costs 1.50 times at 1Mbit/s \
             as much as read+send",
            "was not shown to pay at any",
        );
    }

    #[test]
    fn what_is_not_decided_is_said_so_and_what_was_not_compared_is_not_said() {
        is_said(
            &[LESS, LESS, Quotient::Indistinct],
            "pays at 1Mbit/s and 5Mbit/s per client, and at 20Mbit/s it was not shown to cost \
             less: from no rate on",
            "pays at 1Mbit/s and 5Mbit/s alone",
        );
        is_said(
            &[MORE, LESS, Quotient::Unknown],
            "is not decided: there is nothing to compare at 20Mbit/s",
            "is not decided",
        );
        assert_eq!(said_of(&[Quotient::Unknown, Quotient::Unknown]), None);
        assert_eq!(said_of(&[]), None);
    }

    #[test]
    fn the_path_that_is_asked_about_comes_first_and_the_other_is_a_clause() {
        let two = [said_of(&[MORE, LESS]), said_of(&[MORE, MORE])];
        let text = sentence(100, two).unwrap();
        assert!(text.starts_with("100 clients sendfile pays from 5Mbit/s"), "{text}");
        assert!(text.ends_with("; sendfile pays at none"), "{text}");
        let text = sentence(1, [None, said_of(&[MORE, MORE])]).unwrap();
        assert!(text.starts_with("1 client sendfile pays at none of these"), "{text}");
        assert_eq!(sentence(1, [None, None]), None);
    }
}
