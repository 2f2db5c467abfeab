//! The runs of a tuning, and the cells of a line in them.

use super::model::{Errors, Latency, PhaseAccount, PhaseName};
use super::states::candidate_of_state;
use crate::model::cell::CellEstimate;
use crate::model::estimates::Estimates;
use crate::model::requests::RequestCost;
use crate::model::verdict::Comparison;
use zc_run::{Cell, Run, Slot, Support};

/// More than this share of a state's trials failed: what remains of it is no measurement.
const MOST_FAILED: f64 = 0.5;

/// So many trials failed one after the other, and none came after them: the server has ended.
const ENDED: usize = 2;

/// A run of a server whose states are lines, with its estimates.
#[derive(Debug, Clone, Copy)]
pub struct Phase<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its estimates.
    pub estimates: &'a Estimates,
}

/// The runs of a tuning, as far as they were made.
#[derive(Debug, Clone, Copy)]
pub struct Phases<'a> {
    /// All lines.
    pub screening: Phase<'a>,
    /// Those that looked promising.
    pub confirming: Option<Phase<'a>>,
    /// Those that are to be changed, in one state.
    pub together: Option<Phase<'a>>,
}

/// A state of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct State<'a> {
    pub(super) cell: &'a CellEstimate,
    pub(super) cost: Option<&'a RequestCost>,
}

impl<'a> Phase<'a> {
    /// The state of a label.
    pub(super) fn state(self, label: &str) -> Option<State<'a>> {
        let cell = self.estimates.cells.iter().find(|cell| cell.label == label)?;
        let cost = self.estimates.requests.iter().find(|cost| cost.label == label);
        Some(State { cell, cost })
    }

    /// The states of lines, each with its line's index.
    pub(super) fn lines(self) -> impl Iterator<Item = (usize, State<'a>)> {
        self.compared().filter_map(|state| Some((candidate_of_state(&state.cell.label)?, state)))
    }

    /// The state of a line.
    pub(super) fn line(self, index: usize) -> Option<State<'a>> {
        self.lines().find(|(line, _)| *line == index).map(|(_, state)| state)
    }

    /// The states that are compared with the present one.
    pub(super) fn compared(self) -> impl Iterator<Item = State<'a>> {
        let cells = self.estimates.cells.iter().filter(|cell| !cell.control && !cell.reference);
        cells.filter_map(move |cell| self.state(&cell.label))
    }

    /// The present state.
    pub(super) fn present(self) -> Option<State<'a>> {
        self.state(&self.estimates.reference)
    }

    /// Its latency, with that of its other name.
    pub(super) fn present_latency(self) -> Option<Latency> {
        let again = self.run.header.plan.cells.iter().find(|cell| Cell::is_aa_control(cell));
        let again = again.and_then(|cell| self.state(&cell.label)?.cost?.latency);
        Some(Latency { again_p99_ns: again.map(|it| it.p99_ns), ..self.present()?.latency()? })
    }

    /// p99 of all states that differ in nothing, or by a line: all but the positive control.
    pub(super) fn p99_ns(self) -> impl Iterator<Item = u64> {
        let cells = self.estimates.cells.iter().filter(|cell| !cell.positive_control);
        cells.filter_map(move |cell| Some(self.state(&cell.label)?.latency()?.p99_ns))
    }

    /// The latency of a state, and that of the present one.
    pub(super) fn latencies(self, state: &State<'_>) -> Option<(Latency, Latency)> {
        Some((state.latency()?, self.present_latency()?))
    }

    /// What was found out about a state, corrected for the number of states.
    pub(super) fn comparison(self, state: &State<'_>) -> Option<Comparison> {
        self.estimates.verdict.of_state(state.cell)
    }

    /// Trials of a state that failed.
    pub(super) fn errors(self, label: &str) -> Option<Errors> {
        let failed = self.run.blocks.iter().flat_map(|block| &block.failed);
        let mut failed = failed.filter(|trial| trial.cell == label);
        let first = failed.next()?.reason.clone();
        Some(Errors { trials: 1 + failed.count(), first })
    }

    /// How a state broke: it did not answer as it should when the run began, most of its trials
    /// failed, or all of the last ones; `None`: it did not.
    pub(super) fn broke(self, label: &str) -> Option<String> {
        let mut rows = self.run.header.unavailable.iter();
        let unavailable = rows.find_map(|row| match &row.support {
            Support::No(why) if row.name == label => Some(why.reason.clone()),
            _ => None,
        });
        if unavailable.is_some() {
            return unavailable;
        }
        let Errors { trials, first } = self.errors(label)?;
        let all = trials + self.state(label).map_or(0, |state| state.cell.blocks);
        if trials as f64 > MOST_FAILED * all as f64 {
            return Some(format!("{trials} of {all} trials failed: {first}"));
        }
        let (last, why) = self.failed_last(label)?;
        (last >= ENDED).then(|| format!("the last {last} of {all} trials failed: {why}"))
    }

    /// How the state of a line broke.
    pub(super) fn line_broke(self, index: usize) -> Option<String> {
        let cells = self.run.header.plan.cells.iter().map(|cell| &cell.label);
        let rows = self.run.header.unavailable.iter().map(|row| &row.name);
        let label = cells.chain(rows).find(|label| candidate_of_state(label) == Some(index))?;
        self.broke(label)
    }

    /// Trials of a state that failed after the last one that did not, and why the first of them
    /// did.
    fn failed_last(self, label: &str) -> Option<(usize, &'a str)> {
        let is_whole = |slot: &Slot| matches!(slot, Slot::Trial(trial) if trial.cell == label);
        let blocks = self.run.blocks.iter().rev();
        let last = blocks.take_while(|block| !block.slots.iter().any(is_whole));
        let failed = last.flat_map(|block| block.failed.iter().rev());
        let failed: Vec<_> = failed.filter(|trial| trial.cell == label).collect();
        Some((failed.len(), &failed.last()?.reason))
    }

    pub(super) fn account(self, phase: PhaseName) -> PhaseAccount {
        let Self { run, estimates } = self;
        PhaseAccount {
            phase,
            lines: self.lines().count(),
            blocks: estimates.blocks.kept,
            requests_per_s: run.header.plan.traffic.server().map(|server| server.requests_per_s),
            withheld: estimates.verdict.withheld.clone(),
            control: estimates.control.clone(),
            positive_control: estimates.positive_control.clone(),
        }
    }
}

impl<'a> Phases<'a> {
    /// The run whose verdicts count.
    pub fn deciding(self) -> Phase<'a> {
        self.confirming.unwrap_or(self.screening)
    }

    /// The runs that were made, in their order.
    pub fn made(self) -> impl Iterator<Item = (PhaseName, Phase<'a>)> {
        let screening = (PhaseName::Screening, self.screening);
        let confirming = self.confirming.map(|phase| (PhaseName::Confirming, phase));
        let together = self.together.map(|phase| (PhaseName::Together, phase));
        [Some(screening), confirming, together].into_iter().flatten()
    }

    /// The runs that have a line by itself, each with the state.
    pub(super) fn with_line(self, index: usize) -> impl Iterator<Item = (Phase<'a>, State<'a>)> {
        self.made().filter_map(move |(_, phase)| Some((phase, phase.line(index)?)))
    }

    /// The best run that has a line.
    pub(super) fn best(self, index: usize) -> Option<(PhaseName, Phase<'a>, State<'a>)> {
        let confirmed = self
            .confirming
            .and_then(|phase| Some((PhaseName::Confirming, phase, phase.line(index)?)));
        let screened = || Some((PhaseName::Screening, self.screening, self.screening.line(index)?));
        confirmed.or_else(screened)
    }
}

impl State<'_> {
    /// Its p50 and p99.
    pub(super) fn latency(&self) -> Option<Latency> {
        let latency = self.cost?.latency?;
        Some(Latency {
            p50_ns: latency.p50_ns,
            p99_ns: latency.p99_ns,
            again_p99_ns: None,
            requests: latency.requests,
        })
    }
}
