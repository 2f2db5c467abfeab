//! Interim analyses: when a run may compute its intervals and stop, and the confidence level that
//! they then need.
//!
//! Analyses are planned before the run: when 1/4, 1/2 and 3/4 of the time budget are spent, and at
//! its end. The information fraction is calendar time, because the number of blocks that fit into
//! the budget is not known beforehand and does not depend on their results (Lan and DeMets,
//! Biometrics 1989). Each analysis before the end spends a part of the error
//! (`zc_stats::AlphaSpending`), the k-th that takes place the k-th part, even if it is later than
//! planned, so a saved run only needs their number.
//!
//! The end has the whole of it, [`CONFIDENCE`]: a run stops because its intervals are narrow, never
//! because of where they lie, and an interval that was not narrow before is not wrong more often
//! for that. So simulated runs keep the confidence whatever the width at which they stop
//! (`crates/stats/tests/coverage.rs`); with the whole error at every analysis they would not.
//!
//! A run of `--quick` stops because of where its intervals lie: once every comparison is decided.
//! Alpha spending bounds what that gains by chance: each analysis has no more than its own part of
//! the error, the end too, and the parts add up to the whole. So whichever analysis such a run
//! stops at, and for whatever reason, a true verdict of no difference is refused, or an interval
//! wrong, in no more than 1 - [`CONFIDENCE`] of all runs. Its analyses lie closer together, as its
//! blocks are few at first.
//!
//! This does not cover a person who stops the run by Ctrl-C because the figures please.

use zc_stats::{AlphaSpending, wilcoxon_min_n};

use zc_run::{End, EndReason, Plan};

/// Simultaneous confidence level of all intervals of a run.
pub const CONFIDENCE: f64 = 0.95;

/// Shares of the time budget at which a run may stop early. At the end of the budget it stops in
/// any case, so the end is not listed.
pub const PLANNED: [f64; 3] = [0.25, 0.5, 0.75];

/// The same of a run of `--quick`. The first third of its budget goes into preparing.
pub const PLANNED_QUICK: [f64; 4] = [0.4, 0.55, 0.7, 0.85];

fn planned(plan: &Plan) -> &'static [f64] {
    if plan.quick { &PLANNED_QUICK } else { &PLANNED }
}

/// The interim analyses of a run in progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InterimAnalyses {
    taken: usize,
}

impl InterimAnalyses {
    /// Whether the next analysis of a plan is due when this share (0 to 1) of the budget is spent
    /// and this many blocks are kept. An analysis with too few blocks for an interval does not take
    /// place and spends no error.
    pub fn due(&self, plan: &Plan, spent_share: f64, blocks_kept: usize) -> bool {
        planned(plan).get(self.taken).is_some_and(|planned| spent_share >= *planned)
            && wilcoxon_min_n(self.level(plan)).is_some_and(|least| blocks_kept >= least)
    }

    /// Confidence level of the intervals at the next planned analysis, or at the end when all have
    /// taken place.
    pub fn level(&self, plan: &Plan) -> f64 {
        analysis_level(plan, self.taken)
    }

    /// Records that the analysis took place. The session puts the number of blocks into
    /// `End::interim_analyses_at_blocks`.
    pub fn take(&mut self) {
        self.taken += 1;
    }
}

/// Confidence level at which the intervals of a saved run are computed.
///
/// `End::interim_analyses_at_blocks` holds the planned analyses that took place, including the one
/// that stopped the run, without the one at the end of the budget.
pub fn level_of(plan: &Plan, end: Option<&End>) -> f64 {
    match end {
        Some(End {
            reason: EndReason::TargetReached | EndReason::Decided,
            interim_analyses_at_blocks,
            ..
        }) if !interim_analyses_at_blocks.is_empty() => {
            analysis_level(plan, interim_analyses_at_blocks.len() - 1)
        }
        _ => end_level(plan),
    }
}

/// The level of planned analysis number `taken` (from 0); that of the end after the last.
fn analysis_level(plan: &Plan, taken: usize) -> f64 {
    let planned = planned(plan);
    let before = taken.checked_sub(1).and_then(|last| planned.get(last)).copied().unwrap_or(0.0);
    planned.get(taken).map_or_else(|| end_level(plan), |now| level(before, *now))
}

/// The level at the end of the budget.
fn end_level(plan: &Plan) -> f64 {
    match planned(plan).last() {
        Some(last) if plan.quick => level(*last, 1.0),
        _ => CONFIDENCE,
    }
}

fn level(previous: f64, now: f64) -> f64 {
    AlphaSpending::new(CONFIDENCE).map_or(CONFIDENCE, |spending| spending.confidence(previous, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(reason: EndReason, interim: usize) -> End {
        End {
            ended_at: String::new(),
            elapsed_ns: 0,
            reason,
            interim_analyses_at_blocks: (1..=interim).collect(),
            warnings: Vec::new(),
            latencies: Vec::new(),
            other_programs: Vec::new(),
        }
    }

    fn plan(quick: bool) -> Plan {
        Plan { quick, ..zc_testkit::synthetic::Synthetic::default().header().plan }
    }

    #[test]
    fn analyses_before_the_end_spend_less_than_half_of_the_error() {
        let (mut interim, plan) = (InterimAnalyses::default(), plan(false));
        let mut spent = 0.0;
        for _ in PLANNED {
            spent += 1.0 - interim.level(&plan);
            interim.take();
        }
        assert!((spent - 0.0236).abs() < 1e-4, "{spent}");
        assert_eq!(interim.level(&plan), CONFIDENCE);
    }

    #[test]
    fn the_analyses_of_a_quick_run_spend_the_error_once() {
        let (mut interim, plan) = (InterimAnalyses::default(), plan(true));
        let mut spent = 0.0;
        for _ in 0..=PLANNED_QUICK.len() {
            spent += 1.0 - interim.level(&plan);
            interim.take();
        }
        assert!((spent - (1.0 - CONFIDENCE)).abs() < 1e-9, "{spent}");
    }

    #[test]
    fn a_saved_run_has_the_level_of_the_analysis_that_stopped_it() {
        for (quick, reason) in [(false, EndReason::TargetReached), (true, EndReason::Decided)] {
            let (mut interim, plan) = (InterimAnalyses::default(), plan(quick));
            let last = end_level(&plan);
            let level_at_end =
                |reason: &EndReason, taken| level_of(&plan, Some(&end(reason.clone(), taken)));
            assert_eq!(level_at_end(&EndReason::BudgetSpent, 0), last);
            for taken in 1..=planned(&plan).len() {
                let level = interim.level(&plan);
                interim.take();
                assert_eq!(level_at_end(&reason, taken), level);
                assert_eq!(level_at_end(&EndReason::BudgetSpent, taken), last);
                assert_eq!(level_at_end(&EndReason::Interrupted, taken), last);
            }
            assert_eq!(level_of(&plan, None), last);
            // Impossible values, as in a file that was edited by hand.
            assert_eq!(level_at_end(&reason, 0), last);
            assert_eq!(level_at_end(&reason, 99), last);
        }
        assert_eq!(end_level(&plan(false)), CONFIDENCE);
    }

    #[test]
    fn an_interim_analysis_waits_for_its_time_and_for_enough_blocks() {
        let (mut interim, plan) = (InterimAnalyses::default(), plan(false));
        assert!(!interim.due(&plan, 0.24, 1000));
        assert!(!interim.due(&plan, 0.25, 10)); // 99.99 % needs 15
        assert!(interim.due(&plan, 0.25, 15));
        interim.take();
        assert!(!interim.due(&plan, 0.3, 1000));
        assert!(interim.due(&plan, 0.9, 9));
        interim.take();
        interim.take();
        assert!(!interim.due(&plan, 2.0, 1000));
    }
}
