//! A replayed log: the measured cost of its responses, and the cost predicted from their lengths,
//! in the same blocks of the same run.
//!
//! It checks two assumptions of [`advise`](crate::advise::advise): that a response costs as much as
//! one of its length does when it is alone in its cell, and that a curve between lengths predicts
//! the others. Whatever slows a whole block is in both, and cancels in their ratio.

use std::collections::BTreeMap;

use crate::cost_curve::CostCurve;
use crate::costs::Side;
use crate::figures::{cost_figure, ratio_figure};
use crate::kept::KeptBlocks;
use crate::model::figure::RatioFigure;
use crate::model::replay::{Replay, ReplayedPath};
use crate::ratios::{Pair, ratio};
use crate::sizes::series::{SeriesCells, series};
use zc_run::ReplayPlan;

/// Bins of lengths in an octave. Within one a straight line is exact to a thousandth.
const BINS_IN_OCTAVE: f64 = 8.0;

/// Cost of a log's replay, and the cost predicted from its lengths; `None` in a run without a
/// replay.
pub(super) fn replay(kept: &KeptBlocks) -> Option<Replay> {
    let plan = &kept.header.plan;
    let replay = plan.replay()?;
    let bins = Bins::from_replay(replay);
    let groups = series(kept.header);
    let of_cell = |label: &String| {
        let cell = kept.index.place(label)?;
        let path = plan.cells[cell].transfer.send_path();
        let is_of_path = |group: &&SeriesCells| {
            group
                .cells
                .first()
                .is_some_and(|(_, first)| plan.cells[*first].transfer.send_path() == path)
        };
        let group = groups.iter().find(is_of_path)?;
        Some((cell, Costs::in_blocks(kept, cell, group, &bins)))
    };
    let all: BTreeMap<usize, Costs> = replay.cells.iter().filter_map(of_cell).collect();
    let compared = |pairs: Vec<Pair>| -> Option<RatioFigure> {
        let found = ratio(&pairs, kept.level, kept.wanders.ratios(Side::Both))?;
        Some(ratio_figure(&found, plan.target))
    };
    let wander = kept.wanders.costs(Side::Both);
    let cost = |ns: &[Option<f64>]| {
        let us: Vec<f64> = ns.iter().flatten().map(|ns| ns / 1e3).collect();
        cost_figure(&us, wander, kept.level)
    };
    let paths = all.iter().map(|(cell, costs)| {
        let base = kept.index.baseline(*cell).and_then(|base| all.get(&base));
        let replayed_by_predicted = compared(pairs(&costs.replayed, &costs.predicted));
        let agrees = |ratio: &RatioFigure| Some(ratio.interval?.contains(1.0));
        ReplayedPath {
            path: plan.cells[*cell].transfer.sender(),
            cell: plan.cells[*cell].label.clone(),
            replayed_us: cost(&costs.replayed),
            predicted_us: cost(&costs.predicted),
            agrees: replayed_by_predicted.as_ref().and_then(agrees),
            replayed_by_predicted,
            replayed_ratio: base.and_then(|base| compared(pairs(&costs.replayed, &base.replayed))),
            predicted_ratio: base
                .and_then(|base| compared(pairs(&costs.predicted, &base.predicted))),
        }
    });
    let longest = groups.iter().flat_map(|group| group.cells.last()).map(|(bytes, _)| *bytes).max();
    let beyond = |longest: usize| {
        let beyond = replay.body_bytes.iter().filter(|bytes| **bytes > longest as u64);
        beyond.fold(0.0, |sum, bytes| sum + *bytes as f64) / (replay.total_bytes() as f64).max(1.0)
    };
    Some(Replay {
        responses: replay.body_bytes.len(),
        mean_bytes: replay.mean_bytes(),
        beyond_bytes_share: longest.map_or(1.0, beyond),
        paths: paths.collect(),
    })
}

/// Mean cost of a response, in ns, by kept block.
struct Costs {
    replayed: Vec<Option<f64>>,
    predicted: Vec<Option<f64>>,
}

impl Costs {
    fn in_blocks(kept: &KeptBlocks, cell: usize, group: &SeriesCells, bins: &Bins) -> Self {
        let cost = |block: usize, cell: usize| {
            kept.costs[block].get(cell)?.as_ref()?.ns_per_kib(Side::Both)
        };
        let predicted = |block: usize| {
            let point = |(bytes, cell): &(usize, usize)| {
                Some((*bytes as f64, cost(block, *cell)? * *bytes as f64 / 1024.0))
            };
            let points = group.cells.iter().map(point).collect::<Option<Vec<_>>>()?;
            Some(bins.mean_ns(&CostCurve::new(&points)?))
        };
        let blocks = 0..kept.costs.len();
        let per_response = bins.mean_bytes / 1024.0;
        Self {
            replayed: blocks.clone().map(|block| Some(cost(block, cell)? * per_response)).collect(),
            predicted: blocks.map(predicted).collect(),
        }
    }
}

fn pairs(costs: &[Option<f64>], bases: &[Option<f64>]) -> Vec<Pair> {
    std::iter::zip(costs, bases)
        .filter_map(|(cost, base)| Some(((*cost)?, (*base)?).into()))
        .collect()
}

/// The lengths of a log's responses, those that are nearly equal together: the mean of each bin,
/// and how many are in it.
struct Bins {
    each: Vec<(f64, f64)>,
    responses: f64,
    mean_bytes: f64,
}

impl Bins {
    fn from_replay(replay: &ReplayPlan) -> Self {
        let mut bins: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        for bytes in &replay.body_bytes {
            let bytes = *bytes as f64;
            let bin = ((bytes + 1.0).log2() * BINS_IN_OCTAVE) as u64;
            let (sum, count) = bins.entry(bin).or_default();
            *sum += bytes;
            *count += 1.0;
        }
        Self {
            each: bins.into_values().map(|(sum, count)| (sum / count, count)).collect(),
            responses: replay.body_bytes.len().max(1) as f64,
            mean_bytes: replay.mean_bytes(),
        }
    }

    fn mean_ns(&self, curve: &CostCurve) -> f64 {
        self.each.iter().map(|(bytes, count)| count * curve.at(*bytes)).sum::<f64>()
            / self.responses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{Factor, ResponsesPlan, Run, SendPath, Traffic};
    use zc_testkit::synthetic::{Synthetic, TrueCell, size_sweep};

    const LENGTHS: [usize; 7] = [64, 1024, 4096, 16_384, 65_536, 262_144, 1 << 20];

    /// Lengths of a log's bodies, some without bytes and one beyond the lengths of the plan.
    const LOG: [u64; 8] = [0, 0, 200, 5_000, 9_000, 70_000, 400_000, 2_000_000];

    /// Costs of a request in ns, and of a KiB.
    const PATHS: [(SendPath, f64, f64); 2] =
        [(SendPath::ReadSend, 20_000.0, 300.0), (SendPath::Sendfile, 20_000.0, 120.0)];

    /// A run whose replay costs `times` what the lengths tell.
    fn run(times: f64, seed: u64) -> Run {
        let mut cells = size_sweep(&PATHS, &LENGTHS);
        let mean_bytes = LOG.iter().sum::<u64>() as f64 / LOG.len() as f64;
        let labels = PATHS.map(|(path, ..)| format!("log {path}"));
        for ((path, request_ns, ns_per_kib), label) in PATHS.iter().zip(&labels) {
            let ns_per_kib = times * (request_ns * 1024.0 / mean_bytes + ns_per_kib);
            let mut cell = TrueCell::with_size(*path, mean_bytes as usize, 0.0, ns_per_kib);
            cell.cell.label.clone_from(label);
            cell.cell.by = Some(labels[0].clone());
            cells.push(cell);
        }
        let factors = vec![Factor::Message, Factor::Send];
        let world = Synthetic {
            seed,
            noise: 0.02,
            block_drift: 0.0,
            unsoaked: false,
            ..Synthetic::default()
        };
        let mut run = Synthetic { cells, factors, ..world }.run();
        let replay = ReplayPlan {
            log: "access.log".to_owned(),
            log_requests: 8,
            log_bytes: LOG.iter().sum(),
            log_requests_per_s: 0.5,
            too_long: 0,
            requests_per_s: 100.0,
            body_bytes: LOG.to_vec(),
            cells: labels.to_vec(),
        };
        run.header.plan.traffic = Traffic::Responses(ResponsesPlan {
            connections: 4,
            keepalive: true,
            head_bytes: 100,
            replay: Some(replay),
        });
        run
    }

    fn found(run: &Run) -> Replay {
        replay(&KeptBlocks::from_run(run)).unwrap()
    }

    #[test]
    fn a_log_that_costs_what_its_lengths_tell_agrees() {
        let found = found(&run(1.0, 1));
        assert_eq!((found.responses, found.paths.len()), (8, 2));
        assert!((found.beyond_bytes_share - 2_000_000.0 / 2_484_200.0).abs() < 1e-9);
        let mean_bytes = 2_484_200.0 / 8.0;
        for (path, (send, request_ns, ns_per_kib)) in found.paths.iter().zip(PATHS) {
            assert_eq!(path.path, send.to_string());
            let truth_us = (request_ns + ns_per_kib * mean_bytes / 1024.0) / 1e3;
            for figure in [path.replayed_us.unwrap(), path.predicted_us.unwrap()] {
                assert!(
                    (figure.value / truth_us - 1.0).abs() < 0.05,
                    "{send}: {truth_us} {path:?}"
                );
            }
            assert_eq!(path.agrees, Some(true), "{path:?}");
        }
        let sendfile = &found.paths[1];
        let ratio = sendfile.replayed_ratio.unwrap();
        assert!(
            (ratio.value - sendfile.predicted_ratio.unwrap().value).abs() < 0.03,
            "{sendfile:?}"
        );
        assert_eq!(found.paths[0].replayed_ratio, None, "it is what others are compared with");
    }

    #[test]
    fn a_log_that_costs_more_than_its_lengths_tell_differs() {
        let found = found(&run(1.2, 1));
        for path in &found.paths {
            assert_eq!(path.agrees, Some(false), "{path:?}");
            assert!((path.replayed_by_predicted.unwrap().value - 1.2).abs() < 0.06, "{path:?}");
        }
    }

    #[test]
    fn in_a_run_without_a_replay_and_without_blocks_nothing_is_found() {
        let mut plain = run(1.0, 1);
        plain.header.plan.traffic.responses_mut().unwrap().replay = None;
        assert_eq!(replay(&KeptBlocks::from_run(&plain)), None);
        let mut none = run(1.0, 1);
        none.blocks.clear();
        let none = found(&none);
        assert!(none.paths.iter().all(|path| path.replayed_us.is_none() && path.agrees.is_none()));
    }

    #[test]
    fn cells_that_replay_a_log_are_in_no_series_of_lengths() {
        let run = run(1.0, 1);
        let lengths: Vec<usize> =
            series(&run.header).iter().map(|group| group.cells.len()).collect();
        assert_eq!(lengths, [7, 7]);
    }
}
