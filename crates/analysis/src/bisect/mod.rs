//! Bisection: whether a commit is good or bad, by measurements that go on until it can be told.
//!
//! **The hypotheses.** A commit is *good* if its cost is at most the reference's, and *bad* if it
//! is above it by the asked share or more (Wald, "Sequential Tests of Statistical Hypotheses",
//! Annals of Mathematical Statistics 16, 1945). In between lies a zone of indifference, in which
//! either answer may come: a change by half of what is asked is called bad about as often as good.
//!
//! **Log ratios** of a commit and its reference that were measured side by side, in the same blocks
//! or otherwise in pairs, are tested after each one ([`zc_stats::Sequential`]).
//!
//! **A saved run** is one draw of what runs of one state differ by, and so is each of those that
//! are compared with it. Their difference is tested as `zc compare` does, at four looks planned
//! before, each with its part of the error ([`zc_stats::AlphaSpending`]).

mod entry;
mod looks;
mod shares;

pub use entry::{Against, Entry, Told, error_spent};
pub use looks::Looks;
pub use shares::{error_share, steps_left};

use crate::compare::{Compared, OneSided, Selection, one_cell};
use crate::costs::{Side, trial_costs};
use crate::harness;
use crate::plan_index::PlanIndex;
use crate::ratios::{Pair, pairs};
use crate::unattributed;
use zc_run::{Block, Run};
use zc_stats::Sequential;

/// What is asked about a commit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// It is bad if its cost is above the reference's by this share or more.
    pub worse: f64,
    /// Probability of a wrong answer: that a good commit is called bad, and that a bad one is
    /// called good. At most one of the two can happen.
    pub error: f64,
}

/// Which side of the change a commit is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Its cost is not above the reference's by the asked share.
    Good,
    /// Its cost is above the reference's.
    Bad,
}

/// What was seen of a commit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judged {
    /// `None`: it cannot be told yet.
    pub answer: Option<Answer>,
    /// Its cost divided by the reference's.
    pub ratio: Option<f64>,
    /// Lower end of the interval of this ratio; `None` while it is unbounded. By log ratios it
    /// holds whenever one looks.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Confidence of the interval.
    pub confidence: f64,
    /// Number of log ratios; of a saved run, of blocks of the new one.
    pub values: usize,
}

impl Question {
    /// The answer by log ratios, in the order in which they were measured; `None` as long as it
    /// cannot be told. It may be asked after each of them.
    pub fn answer(&self, log_ratios: &[f64]) -> Option<Answer> {
        let mut values = Sequential::default();
        values.extend(log_ratios.iter().copied());
        self.answer_by(&values)
    }

    fn answer_by(&self, values: &Sequential) -> Option<Answer> {
        let bad = values.evidence_above(0.0);
        let good = values.evidence_below(self.worse.ln_1p());
        // Both are refuted where it lies in between: it is nearer to what is refuted less.
        match bad.max(good) < 1.0 / self.error {
            true => None,
            false if bad >= good => Some(Answer::Bad),
            false => Some(Answer::Good),
        }
    }

    /// Confidence of the interval of a ratio by log ratios. Each end may be wrong as often as an
    /// answer, so the interval of a bad commit lies above 1.
    fn confidence(&self) -> f64 {
        1.0 - 2.0 * self.error
    }

    /// The answer by log ratios, with what they say of the ratio.
    pub fn judge(&self, log_ratios: &[f64]) -> Judged {
        let mut values = Sequential::default();
        values.extend(log_ratios.iter().copied());
        let interval = values.interval(self.confidence());
        let finite = |log: f64| Some(log.exp()).filter(|ratio| ratio.is_finite());
        Judged {
            answer: self.answer_by(&values),
            ratio: zc_stats::hodges_lehmann(log_ratios).and_then(finite),
            low: interval.filter(|it| it.low.is_finite()).and_then(|it| finite(it.low)),
            high: interval.and_then(|it| finite(it.high)),
            confidence: self.confidence(),
            values: values.len(),
        }
    }

    /// The answer about a cell by its ratios to its baseline in the blocks of a run. There is none
    /// where the controls of the run withhold its verdicts; the comparison says why.
    pub fn within_run(&self, run: &Run, cell: &str) -> (Judged, Compared) {
        let index = PlanIndex::new(&run.header.plan);
        let base = index.place(cell).and_then(|place| index.baseline(place));
        let base = base.map_or(cell, |place| run.header.plan.cells[place].label.as_str());
        let (compared, _) = one_cell(&select(run, base), &select(run, cell), self.worse);
        (self.judge(&log_ratios(run, cell)).unless_withheld(&compared), compared)
    }

    /// The answer about a cell by two runs, at a look that has `error` of the question's.
    pub fn between_runs(
        &self,
        good: &Run,
        new: &Run,
        cell: &str,
        error: f64,
    ) -> (Judged, Compared) {
        let (compared, tests) = one_cell(&select(good, cell), &select(new, cell), self.worse);
        let change = compared.cells.first().and_then(|cell| cell.judged());
        let answer = tests.and_then(|OneSided { not_above, above_by_margin }| {
            match not_above.min(above_by_margin) <= error {
                false => None,
                true if not_above <= above_by_margin => Some(Answer::Bad),
                true => Some(Answer::Good),
            }
        });
        let judged = Judged {
            answer,
            ratio: change.map(|change| change.ratio),
            low: change.and_then(|change| change.low),
            high: change.and_then(|change| change.high),
            confidence: compared.confidence,
            values: compared.new.blocks_kept,
        };
        (judged.unless_withheld(&compared), compared)
    }
}

impl Judged {
    fn unless_withheld(mut self, compared: &Compared) -> Self {
        if !compared.withheld.is_empty() || !compared.impossible.is_empty() {
            self.answer = None;
        }
        self
    }
}

fn select<'r>(run: &'r Run, cell: &str) -> Selection<'r> {
    Selection { name: "this run".to_owned(), run, cell: Some(cell.to_owned()), state: None }
}

/// The log ratios of a cell to its baseline in the kept blocks, in their order. Other blocks of the
/// run have a part in each: the harness and interrupts on others' time are taken from up to seven
/// blocks before and after.
pub fn log_ratios(run: &Run, cell: &str) -> Vec<f64> {
    let (plan, index) = (&run.header.plan, PlanIndex::new(&run.header.plan));
    let Some(place) = index.place(cell) else { return Vec::new() };
    let kept: Vec<&Block> = run.blocks.iter().filter(|block| block.dropped.is_none()).collect();
    let mut costs = trial_costs(&kept, &run.header, &index);
    unattributed::add_significant(&mut costs, plan, crate::interim::CONFIDENCE);
    harness::smooth(&mut costs);
    pairs(&costs, place, &index.divisors(place), Side::Both).iter().filter_map(Pair::log).collect()
}

#[cfg(test)]
mod tests;
