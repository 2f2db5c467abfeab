//! When a run may look at its intervals and stop, and what confidence they then need.
//!
//! Looks are planned before the run: when 1/4, 1/2 and 3/4 of the time budget are spent, and at its end. (By calendar, not by
//! information: how many blocks fit into the budget is known to nobody before, and does not depend on what they
//! show; Lan and DeMets, Biometrics 1989.) Each look spends its part of the error (`zc_stats::AlphaSpending`), so all
//! intervals together keep [`CONFIDENCE`] whenever the run stops. The k-th look that is really taken spends the k-th
//! part, even if it comes later than planned, so that a saved run needs to tell no more than how many there were.
//!
//! What this does not cover is a person who stops the run by Ctrl-C because the figures please.

use zc_stats::{AlphaSpending, wilcoxon_min_n};

use zc_run::{End, EndReason};

/// What the intervals of a run promise together.
pub const CONFIDENCE: f64 = 0.95;

/// Shares of the budget at which a run may look and stop. The end of the budget is not among them: there it must.
pub const PLANNED: [f64; 3] = [0.25, 0.5, 0.75];

/// The looks of a run that is under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InterimAnalyses {
    taken: usize,
}

impl InterimAnalyses {
    /// Whether the next look is due when this share (0 to 1) of the budget is spent and so many blocks are kept. A
    /// look that could not have an interval is not taken, and costs nothing.
    pub fn due(&self, spent_share: f64, blocks_kept: usize) -> bool {
        PLANNED.get(self.taken).is_some_and(|planned| spent_share >= *planned)
            && wilcoxon_min_n(self.level()).is_some_and(|least| blocks_kept >= least)
    }

    /// The confidence of the intervals at the next planned look, or at the end when all are taken.
    pub fn level(&self) -> f64 {
        analysis_level(self.taken)
    }

    /// The confidence of the intervals if the run ended now without another look: what a progress line should show.
    pub fn level_at_end(&self) -> f64 {
        end_level(self.taken)
    }

    /// Notes that the look was taken. The session puts the number of blocks into `End::interim_analyses_at_blocks`.
    pub fn take(&mut self) {
        self.taken += 1;
    }
}

/// The confidence at which the intervals of a saved run are to be computed.
///
/// `End::interim_analyses_at_blocks` holds the planned looks that were taken, the one that stopped the run included, the end of the
/// budget not. A run without an end was killed: all looks are taken to have happened, which errs to the safe side.
pub fn level_of(end: Option<&End>) -> f64 {
    match end {
        Some(End { reason: EndReason::TargetReached, interim_analyses_at_blocks, .. })
            if !interim_analyses_at_blocks.is_empty() =>
        {
            analysis_level(interim_analyses_at_blocks.len() - 1)
        }
        Some(end) => end_level(end.interim_analyses_at_blocks.len()),
        None => end_level(PLANNED.len()),
    }
}

/// The level of planned look number `taken` (from 0).
fn analysis_level(taken: usize) -> f64 {
    match PLANNED.get(taken) {
        Some(now) => level(before(taken), *now),
        None => end_level(taken),
    }
}

/// The level at the end, after so many looks that did not stop the run.
fn end_level(taken: usize) -> f64 {
    level(before(taken), 1.0)
}

/// The share of the look before number `taken`.
fn before(taken: usize) -> f64 {
    taken.min(PLANNED.len()).checked_sub(1).map_or(0.0, |last| PLANNED[last])
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
        }
    }

    #[test]
    fn whatever_path_a_run_takes_its_looks_spend_five_per_cent_at_most() {
        for stopped_after in 0..=PLANNED.len() {
            let mut interim = InterimAnalyses::default();
            let mut spent = 0.0;
            for _ in 0..stopped_after {
                spent += 1.0 - interim.level();
                interim.take();
            }
            spent += 1.0 - interim.level_at_end();
            assert!((spent - 0.05).abs() < 1e-9, "{stopped_after}: {spent}");
        }
    }

    #[test]
    fn a_saved_run_is_read_at_the_level_it_was_stopped_at() {
        let mut interim = InterimAnalyses::default();
        assert_eq!(level_of(Some(&end(EndReason::BudgetSpent, 0))), interim.level_at_end());
        for taken in 1..=PLANNED.len() {
            let level = interim.level();
            interim.take();
            assert_eq!(level_of(Some(&end(EndReason::TargetReached, taken))), level);
            assert_eq!(level_of(Some(&end(EndReason::BudgetSpent, taken))), interim.level_at_end());
            assert_eq!(level_of(Some(&end(EndReason::Interrupted, taken))), interim.level_at_end());
        }
        assert_eq!(level_of(None), interim.level_at_end());
        // Nonsense of a file edited by hand.
        assert_eq!(level_of(Some(&end(EndReason::TargetReached, 0))), 0.95);
        assert!(level_of(Some(&end(EndReason::TargetReached, 99))) > 0.95);
        assert!(level_of(Some(&end(EndReason::BudgetSpent, 99))) > 0.95);
    }

    #[test]
    fn a_look_waits_for_its_time_and_for_enough_blocks() {
        let mut interim = InterimAnalyses::default();
        assert!(!interim.due(0.24, 1000));
        assert!(!interim.due(0.25, 10)); // 99.99 % needs 15
        assert!(interim.due(0.25, 15));
        interim.take();
        assert!(!interim.due(0.3, 1000));
        assert!(interim.due(0.9, 9));
        interim.take();
        interim.take();
        assert!(!interim.due(2.0, 1000));
    }
}
