//! Accounts of the same windows by two tools: what `netperf -c -C` prints, and what time(1) prints
//! about the sending process.
//!
//! In 2006 one table contained both, and they disagreed: sendfile took 5.7 times less CPU by
//! time(1), 2.0 times less by netperf. Here netperf's columns come from the soakers, which miss
//! nothing, and those of time(1) from getrusage of the sender, which misses kernel work that is
//! charged to other tasks.
//!
//! netperf's units (src/netlib.c, calc_service_demand): utilisation in per cent of all CPUs,
//! service demand in microseconds per KB of 1024 bytes, throughput in 10^6 bits per second.

use std::collections::BTreeMap;

use crate::costs::{Side, TrialCost};
use crate::figures::{figure, per, ratio_figure, scaled};
use crate::kept::KeptBlocks;
use crate::machine::{Machine, is_emulated};
use crate::model::cell::CellEstimate;
use crate::model::figure::{Bounds, Figure, RatioFigure, Sides};
use crate::model::netperf::{AccountRatio, AccountRow, Accounts, RUN_S, TimeLine};
use crate::ratios::{Pair, pairs, ratio};
use crate::window::{bytes, elapsed_ns, throughput};
use zc_run::{Cell, Factor, Level, Trial, TrialKind};

pub(super) fn accounts(kept: &KeptBlocks, cells: &[CellEstimate]) -> Option<Accounts> {
    if !kept.header.plan.factors.contains(&Factor::Sockbuf) || is_emulated(kept.header) {
        return None;
    }
    let rows = cells.iter().enumerate().map(|(place, cell)| row(kept, place, cell)).collect();
    let ratios = stream_and_others(kept)
        .into_iter()
        .map(|(above, below)| account_ratio(kept, above, below))
        .collect();
    Some(Accounts { rows, ratios })
}

fn row(kept: &KeptBlocks, place: usize, cell: &CellEstimate) -> AccountRow {
    let target = kept.header.plan.target;
    let within = |figure: &Figure| per(figure.half_width?, figure.value).map(|half| half <= target);
    // A figure without an interval has not reached the target.
    let reached = |figure: Option<Figure>| figure.map(|figure| within(&figure).unwrap_or(false));
    // netperf includes everything that the process does.
    let cost = cell.gross_cost_ns_per_kib;
    let demand = |cost: Option<Figure>| cost.map(|cost| scaled(&cost, 1e-3));
    let speeds: Vec<f64> = kept
        .trials(&cell.label, TrialKind::Soaked)
        .filter_map(|(_, trial)| throughput(trial))
        .collect();
    let mbit = |speed: Figure| scaled(&speed, 8e-6);
    let throughput = figure(&speeds, kept.level).map(mbit);
    AccountRow {
        cell: cell.label.clone(),
        throughput_mbit_per_s: throughput,
        top_speed_mbit_per_s: cell.top_speed_bytes_per_s.map(mbit),
        utilisation_percent: Sides {
            sender: utilisation(kept, place, Side::Sender),
            receiver: utilisation(kept, place, Side::Receiver),
            both: utilisation(kept, place, Side::Both),
        },
        demand_us_per_kb: Sides {
            sender: demand(cost.sender),
            receiver: demand(cost.receiver),
            both: demand(cost.both),
        },
        demand_within_target: Sides {
            sender: reached(cost.sender),
            receiver: reached(cost.receiver),
            both: reached(cost.both),
        },
        throughput_within_target: reached(throughput),
        time: time_line(kept, &cell.label),
    }
}

/// Soaked CPU time divided by the CPU time of the window, in per cent.
fn utilisation(kept: &KeptBlocks, place: usize, side: Side) -> Option<Figure> {
    let header = kept.header;
    let (local, far) = (Machine::local(header), Machine::remote(header));
    let cpus = match (side, &far) {
        (Side::Both, Some(_)) => return None,
        (Side::Receiver, Some(far)) => far.cpus.len(),
        _ => local.cpus.len(),
    };
    let share = |cost: &TrialCost| {
        per(cost.gross.for_side(side)? * 100.0, cost.gross.window_ns * cpus as f64)
    };
    let shares: Vec<f64> =
        kept.costs.iter().filter_map(|block| share(block.get(place)?.as_ref()?)).collect();
    figure(&shares, kept.level)
}

/// CPU time of the sender in one trial by getrusage.
struct Process {
    /// User and system time, if the run has both.
    split_ns: Option<(f64, f64)>,
    cpu_ns: f64,
    elapsed_ns: f64,
    bytes: f64,
}

impl Process {
    fn from_trial(trial: &Trial) -> Option<Self> {
        let process = match trial.whole_sender_usage {
            Some(usage) => {
                let (user, system) = (usage.user_ns as f64, usage.system_ns as f64);
                Self {
                    split_ns: Some((user, system)),
                    cpu_ns: user + system,
                    elapsed_ns: usage.elapsed_ns as f64,
                    bytes: trial.whole_bytes as f64,
                }
            }
            None => Self {
                split_ns: None,
                cpu_ns: trial.closed.sender.cpu_ns.checked_sub(trial.opened.sender.cpu_ns)? as f64,
                elapsed_ns: elapsed_ns(trial)? as f64,
                bytes: bytes(trial) as f64,
            },
        };
        (process.elapsed_ns > 0.0 && process.bytes > 0.0).then_some(process)
    }
}

fn time_line(kept: &KeptBlocks, label: &str) -> Option<TimeLine> {
    let trials: Vec<Process> = kept
        .trials(label, TrialKind::Soaked)
        .filter_map(|(_, trial)| Process::from_trial(trial))
        .collect();
    let shares: Vec<f64> = trials.iter().map(|trial| trial.cpu_ns / trial.elapsed_ns).collect();
    let cpu = figure(&shares, kept.level)?;
    let cpu_s = scaled(&cpu, RUN_S);
    // User and system time come from ticks, so the split is that of all trials together, as in one
    // long run.
    let split = trials
        .iter()
        .filter_map(|trial| trial.split_ns)
        .reduce(|sum, each| (sum.0 + each.0, sum.1 + each.1));
    let user_share = split.and_then(|(user, system)| per(user, user + system));
    Some(TimeLine {
        user_s: user_share.map(|share| cpu_s.value * share),
        system_s: user_share.map(|share| cpu_s.value * (1.0 - share)),
        elapsed_s: RUN_S,
        cpu_s,
        cpu_percent: scaled(&cpu, 100.0),
    })
}

/// Pairs of cells that differ only in their send path: one with the path of the reference, and
/// another one.
fn stream_and_others(kept: &KeptBlocks) -> Vec<(usize, usize)> {
    let (header, plan) = (kept.header, &kept.header.plan);
    let Some(stream) = kept.reference.map(|reference| plan.cells[reference].transfer.sender())
    else {
        return Vec::new();
    };
    let levels = |cell: &Cell| -> Vec<Level> {
        let others = plan.factors.iter().filter(|factor| **factor != Factor::Send);
        others.map(|factor| Level::for_cell(*factor, cell, &plan.fixed, &header.link)).collect()
    };
    let cells: Vec<(usize, &Cell, Vec<Level>)> = plan
        .cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| !cell.control)
        .map(|(place, cell)| (place, cell, levels(cell)))
        .collect();
    let others = cells.iter().filter(|(_, cell, _)| cell.transfer.sender() != stream);
    others
        .filter_map(|(below, _, levels)| {
            let (above, ..) = cells
                .iter()
                .find(|(_, cell, own)| cell.transfer.sender() == stream && own == levels)?;
            Some((*above, *below))
        })
        .collect()
}

fn account_ratio(kept: &KeptBlocks, above: usize, below: usize) -> AccountRatio {
    let plan = &kept.header.plan;
    let by_pairs = |pairs: &[Pair], wander| {
        ratio(pairs, kept.level, wander).map(|ratio| ratio_figure(&ratio, plan.target))
    };
    let by_soakers =
        |side| by_pairs(&pairs(&kept.costs, above, &[below], side), kept.wanders.ratios(side));
    let demand = Sides {
        sender: by_soakers(Side::Sender),
        receiver: by_soakers(Side::Receiver),
        both: by_soakers(Side::Both),
    };
    let per_byte = |cell: usize| -> BTreeMap<usize, f64> {
        let trials = kept.trials(&plan.cells[cell].label, TrialKind::Soaked);
        let in_block = |(block, trial)| {
            Process::from_trial(trial).map(|process| (block, process.cpu_ns / process.bytes))
        };
        trials.filter_map(in_block).collect()
    };
    let (of_above, of_below) = (per_byte(above), per_byte(below));
    let in_both =
        |(block, cost): (&usize, &f64)| Some(Pair { cost: *cost, base: *of_below.get(block)? });
    let time: Vec<Pair> = of_above.iter().filter_map(in_both).collect();
    let time = by_pairs(&time, kept.wanders.ratios(Side::Both));
    AccountRatio {
        above: plan.cells[above].label.clone(),
        below: plan.cells[below].label.clone(),
        demand,
        time,
        disagree: disjoint(demand.sender.or(demand.both), time),
    }
}

fn disjoint(one: Option<RatioFigure>, other: Option<RatioFigure>) -> Option<bool> {
    let (one, other) = (one?.interval?, other?.interval?);
    let below = |low: &Bounds, high: &Bounds| low.high.is_some_and(|end| end < high.low);
    Some(below(&one, &other) || below(&other, &one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate;
    use zc_run::{Run, SendPath};
    use zc_testkit::synthetic::{Synthetic, TrueCell, two_machines};

    /// STREAM and SENDFILE with two socket buffers each. getrusage misses more of sendfile than of
    /// read+send.
    fn world() -> Synthetic {
        let cell = |send: SendPath, sockbuf: usize, ns, share| {
            let mut cell = TrueCell { rusage_share: share, ..TrueCell::new(send, ns, 300.0) };
            cell.cell.label = format!("{sockbuf} {send}");
            cell.cell.levels.sockbuf_bytes = Some(sockbuf);
            cell.cell.by = Some(format!("{sockbuf} read+send"));
            cell
        };
        let both = |sockbuf| {
            [
                cell(SendPath::ReadSend, sockbuf, 400.0, 0.8),
                cell(SendPath::Sendfile, sockbuf, 200.0, 0.4),
            ]
        };
        let mut cells: Vec<TrueCell> = [both(32_768), both(65_536)].concat();
        cells[0].cell.by = None;
        cells.push(cells[0].control());
        let factors = vec![Factor::Sockbuf, Factor::Send];
        Synthetic {
            cells,
            factors,
            blocks: 40,
            block_drift: 0.0,
            user_share: Some(0.1),
            ..Synthetic::default()
        }
    }

    fn accounts(run: &Run) -> Accounts {
        estimate(run).accounts.unwrap()
    }

    fn near(value: f64, expected: f64, share: f64) -> bool {
        (value / expected - 1.0).abs() < share
    }

    #[test]
    fn the_columns_are_those_of_netperf() {
        let accounts = accounts(&world().run());
        let row = &accounts.rows[0];
        assert_eq!((row.cell.as_str(), accounts.rows.len()), ("32768 read+send", 5));
        assert!(near(row.throughput_mbit_per_s.unwrap().value, 6400.0, 1e-6));
        assert_eq!(row.throughput_within_target, Some(true));
        let sides = |sides: Sides<Figure>| {
            [sides.sender, sides.receiver, sides.both]
                .map(|figure| figure.map_or(f64::NAN, |figure| figure.value))
        };
        let [sender, receiver, both] = sides(row.demand_us_per_kb);
        assert!(
            near(sender, 0.4, 0.05) && near(receiver, 0.3, 0.05) && near(both, 0.7, 0.05),
            "{sender} {receiver}"
        );
        // 781,250 KiB/s x 0.4 us/KiB = 0.3125 CPUs of two.
        let [sender, receiver, both] = sides(row.utilisation_percent);
        assert!(
            near(sender, 15.6, 0.05) && near(receiver, 11.7, 0.05) && near(both, 27.3, 0.05),
            "{sender}"
        );
        assert!(row.utilisation_percent.sender.unwrap().interval.is_some());
        assert!(row.demand_within_target.both.is_some());
    }

    #[test]
    fn demand_utilisation_and_throughput_are_related_as_in_netperf() {
        let demand = |mbit_per_s: f64, percent: f64, cpus: f64| {
            percent / 100.0 * cpus * 1e6 / (mbit_per_s * 1e6 / 8.0 / 1024.0)
        };
        // netperf's line of 2006, on a machine with one CPU; a KB is 1024 bytes: "921.16
        // 10^6bits/s, 28.27 %, 2.514 us/KB".
        assert!(near(demand(921.16, 28.27, 1.0), 2.514, 1e-3));
        for row in accounts(&world().run()).rows {
            let value = |figure: Option<Figure>| figure.unwrap().value;
            let mbit_per_s = value(row.throughput_mbit_per_s);
            for (percent, us_per_kb) in [
                (row.utilisation_percent.sender, row.demand_us_per_kb.sender),
                (row.utilisation_percent.receiver, row.demand_us_per_kb.receiver),
                (row.utilisation_percent.both, row.demand_us_per_kb.both),
            ] {
                let expected = demand(mbit_per_s, value(percent), 2.0);
                assert!(near(value(us_per_kb), expected, 1e-3), "{}: {expected}", row.cell);
            }
        }
    }

    #[test]
    fn the_line_of_time_is_for_a_run_of_ten_seconds() {
        let accounts = accounts(&world().run());
        // 781,250 KiB/s x 0.2 us/KiB x 0.4: 6.25 %.
        let line = accounts.rows[1].time.unwrap();
        assert!(near(line.cpu_percent.value, 6.25, 0.05), "{line:?}");
        assert!(near(line.cpu_s.value, 0.625, 0.05) && line.elapsed_s == 10.0);
        assert!(near(line.user_s.unwrap(), line.cpu_s.value * 0.1, 1e-3));
        assert!(near(line.user_s.unwrap() + line.system_s.unwrap(), line.cpu_s.value, 1e-9));
        assert!(line.cpu_s.interval.is_some());

        let accounts = self::accounts(&Synthetic { user_share: None, ..world() }.run());
        let line = accounts.rows[1].time.unwrap();
        assert_eq!((line.user_s, line.system_s), (None, None));
        assert!(near(line.cpu_percent.value, 6.25, 0.05), "{line:?}");
    }

    #[test]
    fn the_two_accounts_disagree_as_in_2006() {
        let accounts = accounts(&world().run());
        let labels: Vec<_> =
            accounts.ratios.iter().map(|ratio| (&ratio.above[..], &ratio.below[..])).collect();
        assert_eq!(
            labels,
            [("32768 read+send", "32768 sendfile"), ("65536 read+send", "65536 sendfile")]
        );
        for ratio in &accounts.ratios {
            assert!(near(ratio.demand.sender.unwrap().value, 2.0, 0.05), "{ratio:?}");
            assert!(near(ratio.demand.both.unwrap().value, 1.4, 0.05), "{ratio:?}");
            assert!(near(ratio.time.unwrap().value, 4.0, 0.05), "{ratio:?}");
            assert_eq!(ratio.disagree, Some(true));
        }
        let mut complete = world();
        complete.cells.iter_mut().for_each(|cell| cell.rusage_share = 1.0);
        let ratios = self::accounts(&complete.run()).ratios;
        assert_eq!(ratios.iter().map(|ratio| ratio.disagree).collect::<Vec<_>>(), [Some(false); 2]);
    }

    #[test]
    fn each_of_two_machines_has_its_own_cpus() {
        let accounts = accounts(&two_machines(world().run()));
        let utilisation = accounts.rows[0].utilisation_percent;
        assert!(near(utilisation.sender.unwrap().value, 31.25, 0.05), "{utilisation:?}");
        assert!(near(utilisation.receiver.unwrap().value, 23.4, 0.05), "{utilisation:?}");
        assert_eq!(utilisation.both, None);
    }

    #[test]
    fn runs_of_other_plans_and_empty_runs_have_no_accounts() {
        assert_eq!(estimate(&Synthetic::default().run()).accounts, None);
        let empty = accounts(&Synthetic { blocks: 0, ..world() }.run());
        assert_eq!((empty.rows.len(), empty.ratios.len()), (5, 2));
        assert!(
            empty.rows.iter().all(|row| row.time.is_none() && row.throughput_mbit_per_s.is_none())
        );
        assert!(empty.ratios.iter().all(|ratio| ratio.time.is_none() && ratio.disagree.is_none()));
        let few = accounts(&Synthetic { blocks: 3, ..world() }.run());
        assert_eq!(few.rows.len(), 5);
        assert!(
            few.rows.iter().all(|row| row.demand_within_target.sender == Some(false)),
            "no interval, no confidence"
        );
    }
}
