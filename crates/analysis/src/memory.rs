//! Speeds of memory loops, their ratios to memcpy, and the top speeds of send paths divided by the
//! speed of memcpy.
//!
//! A speed is bytes divided by the CPU time of the thread, so that preemption is not charged to
//! memory. Ratios are taken within blocks, where the two walks are milliseconds apart, and then
//! combined: what slows a whole block cancels.

use serde::Serialize;
use zc_stats::{Interval, hodges_lehmann, wilcoxon_interval};

use crate::figures::{bounds, figure, finite, per, with_interval};
use crate::interim::CONFIDENCE;
use crate::model::estimates::Estimates;
use crate::model::figure::{Bounds, Figure};
use zc_run::{MemoryLoop, MemoryRun, MemoryVisit};

/// The folded loop passes if it is at most this share slower than memcpy.
pub const TARGET: f64 = 0.05;

/// The estimates of `zc run memory`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryEstimates {
    /// Confidence level of each single interval: 0.95.
    pub confidence: f64,
    /// One row per loop, in the order of [`MemoryLoop::ALL`].
    pub rows: Vec<MemoryRow>,
    /// The folded loop that zc uses compared with memcpy, one element per set; `None` where a ratio
    /// is missing.
    pub folded: Vec<Option<FoldedRatio>>,
    /// Share of the time during which the thread was not on its CPU.
    pub off_cpu: f64,
    /// Number of blocks; the last one may be incomplete.
    pub blocks: usize,
}

/// Speeds of one loop in all sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryRow {
    /// The loop that walked over memory.
    pub name: MemoryLoop,
    /// Bytes per second in each set: the median over blocks and its exact interval. `None` where it
    /// was not measured.
    pub bytes_per_s: Vec<Option<Figure>>,
    /// Speed divided by that of memcpy in the same blocks: Hodges-Lehmann estimate of the log
    /// ratios, Wilcoxon signed-rank interval.
    pub by_memcpy: Vec<Option<Figure>>,
}

/// Speed of the folded loop compared with memcpy, in one set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FoldedRatio {
    /// The folded loop that zc uses for this set.
    pub name: MemoryLoop,
    /// Its speed divided by that of memcpy.
    pub ratio: Figure,
    /// Whether it is at most 5 % ([`TARGET`]) slower than memcpy.
    pub within: Within,
}

/// Position of an interval relative to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Within {
    /// The whole interval is within the bound.
    Yes,
    /// The whole interval is beyond the bound.
    No,
    /// The interval contains the bound.
    Undecided,
    /// Too few blocks for an interval.
    TooFewBlocks,
}

/// Top speed of a send path compared with memcpy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RooflineRow {
    /// The path's label in the run.
    pub label: String,
    /// Its top speed in that run.
    pub top_bytes_per_s: Figure,
    /// Its top speed divided by the speed of memcpy. The interval divides opposite ends of both
    /// intervals, so its confidence is at least the sum of theirs minus 1.
    pub by_memcpy: Figure,
}

/// The top speeds of a run as shares of memcpy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Roofline {
    /// Size of the set that memcpy's speed is taken from: the largest.
    pub set_bytes: u64,
    /// The fastest path first.
    pub rows: Vec<RooflineRow>,
}

/// Computes the estimates of `zc run memory`, whatever part of it was measured.
pub fn memory(seen: &MemoryRun) -> MemoryEstimates {
    let names = MemoryLoop::ALL.iter().copied();
    let rows: Vec<MemoryRow> = names
        .map(|name| {
            let each = |of: fn(&MemoryRun, MemoryLoop, usize) -> Option<Figure>| {
                (0..seen.sets.len()).map(|set| of(seen, name, set)).collect::<Vec<_>>()
            };
            MemoryRow { name, bytes_per_s: each(speed), by_memcpy: each(ratio) }
        })
        .filter(|row| row.bytes_per_s.iter().any(Option::is_some))
        .collect();
    let folded = seen.sets.iter().enumerate().map(|(place, set)| {
        let ratio = ratio(seen, set.folded, place)?;
        let within = match ratio.interval {
            None => Within::TooFewBlocks,
            Some(interval) if interval.low >= 1.0 - TARGET => Within::Yes,
            Some(interval) if interval.high.is_some_and(|high| high < 1.0 - TARGET) => Within::No,
            Some(_) => Within::Undecided,
        };
        Some(FoldedRatio { name: set.folded, ratio, within })
    });
    let visits = || seen.blocks.iter().flat_map(|block| &block.visits);
    let elapsed: f64 = visits().map(|visit| visit.elapsed_ns as f64).sum();
    let off: f64 = visits().map(|visit| visit.elapsed_ns.saturating_sub(visit.cpu_ns) as f64).sum();
    MemoryEstimates {
        confidence: CONFIDENCE,
        folded: folded.collect(),
        rows,
        off_cpu: if elapsed > 0.0 { off / elapsed } else { 0.0 },
        blocks: seen.blocks.len(),
    }
}

/// Top speeds of the paths of a saved run, divided by the speed of memcpy in this one. `None` when
/// either is missing.
pub fn roofline(
    seen: &MemoryRun,
    estimates: &MemoryEstimates,
    run: &Estimates,
) -> Option<Roofline> {
    let largest = (0..seen.sets.len()).max_by_key(|place| seen.sets[*place].bytes)?;
    let memcpy = estimates.figure(MemoryLoop::Memcpy, largest)?;
    let mut rows: Vec<RooflineRow> = run
        .cells
        .iter()
        .filter(|cell| !cell.control)
        .filter_map(|cell| {
            let top = cell.top_speed_bytes_per_s.filter(|top| top.value > 0.0)?;
            let interval = top.interval.zip(memcpy.interval).and_then(|(top, memcpy)| {
                let high = top.high.map(|high| high / memcpy.low);
                let confidence = (top.confidence + memcpy.confidence - 1.0).max(0.0);
                Some(Bounds { low: top.low / memcpy.high?, high, confidence })
            });
            let share = with_interval(
                per(top.value, memcpy.value)?,
                interval,
                top.blocks.min(memcpy.blocks),
            );
            Some(RooflineRow { label: cell.label.clone(), top_bytes_per_s: top, by_memcpy: share })
        })
        .collect();
    rows.sort_by(|a, b| b.by_memcpy.value.total_cmp(&a.by_memcpy.value));
    (!rows.is_empty()).then_some(Roofline { set_bytes: seen.sets[largest].bytes, rows })
}

impl MemoryEstimates {
    /// Speed of a loop in a set, bytes per second.
    pub fn figure(&self, name: MemoryLoop, set: usize) -> Option<Figure> {
        self.rows.iter().find(|row| row.name == name)?.bytes_per_s.get(set).copied().flatten()
    }

    /// Speed of a loop in a set divided by that of memcpy.
    pub fn ratio(&self, name: MemoryLoop, set: usize) -> Option<Figure> {
        self.rows.iter().find(|row| row.name == name)?.by_memcpy.get(set).copied().flatten()
    }
}

fn speed(seen: &MemoryRun, name: MemoryLoop, set: usize) -> Option<Figure> {
    let speeds: Vec<f64> =
        seen.blocks.iter().filter_map(|block| in_block(&block.visits, name, set)).collect();
    figure(&speeds, CONFIDENCE)
}

fn ratio(seen: &MemoryRun, name: MemoryLoop, set: usize) -> Option<Figure> {
    let logs: Vec<f64> = seen
        .blocks
        .iter()
        .filter_map(|block| {
            let visit_speed = |name| in_block(&block.visits, name, set);
            Some((visit_speed(name)? / visit_speed(MemoryLoop::Memcpy)?).ln())
        })
        .collect();
    let interval = wilcoxon_interval(&logs, CONFIDENCE)
        .and_then(|logs| bounds(Interval { low: logs.low.exp(), high: logs.high.exp(), ..logs }));
    Some(with_interval(finite(hodges_lehmann(&logs)?.exp())?, interval, logs.len()))
}

/// The speed of a loop in one set and block, above 0.
fn in_block(visits: &[MemoryVisit], name: MemoryLoop, set: usize) -> Option<f64> {
    let visit = visits.iter().find(|visit| visit.name == name && visit.set == set)?;
    // A CPU clock too coarse for the walk shows 0. Then the elapsed time is used, not an infinite
    // speed.
    let ns = if visit.cpu_ns == 0 { visit.elapsed_ns } else { visit.cpu_ns.min(visit.elapsed_ns) };
    per(visit.bytes as f64, ns as f64 / 1e9).filter(|speed| *speed > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_testkit::synthetic::memory_run;

    const SPEEDS: [(MemoryLoop, [f64; 2]); 3] = [
        (MemoryLoop::Memcpy, [140e9, 20e9]),
        (MemoryLoop::FoldedAvx2, [105e9, 19e9]),
        (MemoryLoop::FoldedStreaming, [60e9, 24e9]),
    ];

    #[test]
    fn speeds_are_bytes_per_cpu_time_and_ratios_cancel_what_a_block_shares() {
        let estimates = memory(&memory_run(12, &SPEEDS));
        let speed = estimates.figure(MemoryLoop::Memcpy, 0).unwrap();
        assert!((speed.value / 140e9 - 1.0).abs() < 0.12, "{speed:?}");
        let ratio = estimates.ratio(MemoryLoop::FoldedAvx2, 0).unwrap();
        assert!((ratio.value / 0.75 - 1.0).abs() < 0.01, "{ratio:?}");
        assert!(ratio.half_width.unwrap() < 0.01, "{ratio:?}");
        assert!((estimates.off_cpu - 0.2).abs() < 1e-3);
        assert_eq!(estimates.rows.len(), 3);
    }

    #[test]
    fn the_folded_loop_is_judged_by_its_interval() {
        let within = |estimates: &MemoryEstimates| {
            estimates
                .folded
                .iter()
                .map(|folded| folded.map(|folded| folded.within))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            within(&memory(&memory_run(12, &SPEEDS))),
            [Some(Within::No), Some(Within::Yes)]
        );
        assert_eq!(within(&memory(&memory_run(3, &SPEEDS))), [Some(Within::TooFewBlocks); 2]);
        let near = [(MemoryLoop::Memcpy, [100e9, 20e9]), (MemoryLoop::FoldedAvx2, [95e9, 1.0])];
        assert_eq!(within(&memory(&memory_run(12, &near))), [Some(Within::Undecided), None]);
    }

    #[test]
    fn nothing_measured_is_nothing_estimated() {
        let mut seen = memory_run(1, &[]);
        seen.blocks.clear();
        let estimates = memory(&seen);
        assert!(estimates.rows.is_empty() && estimates.folded.iter().all(Option::is_none));
        assert_eq!(estimates.off_cpu, 0.0);
        assert_eq!(roofline(&seen, &estimates, &Estimates::default()), None);
    }

    #[test]
    fn walks_of_zero_duration_have_no_speed() {
        let mut seen = memory_run(8, &SPEEDS);
        for visit in seen.blocks.iter_mut().flat_map(|block| &mut block.visits) {
            (visit.elapsed_ns, visit.cpu_ns) = (0, 0);
        }
        assert!(memory(&seen).rows.is_empty());
    }

    #[test]
    fn the_paths_of_a_run_are_shares_of_memcpy_in_the_largest_set() {
        let seen = memory_run(12, &SPEEDS);
        let estimates = memory(&seen);
        let run = crate::estimate(&zc_testkit::synthetic::Synthetic::default().run());
        let roofline = roofline(&seen, &estimates, &run).unwrap();
        assert_eq!(roofline.set_bytes, 128 << 20);
        assert_eq!(roofline.rows.len(), run.cells.iter().filter(|cell| !cell.control).count());
        let speeds: Vec<f64> = roofline.rows.iter().map(|row| row.top_bytes_per_s.value).collect();
        assert!(speeds.is_sorted_by(|one, next| one >= next), "{speeds:?}");
        for row in &roofline.rows {
            // All paths send 2e9 bytes/s, and memcpy copies 20e9 in the largest set.
            assert!((row.by_memcpy.value / 0.1 - 1.0).abs() < 0.25, "{row:?}");
            assert!(row.by_memcpy.interval.unwrap().contains(row.by_memcpy.value));
        }
    }
}
