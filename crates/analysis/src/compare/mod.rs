//! Two runs side by side, or two cells of one: what each cell costs now by what it cost then, and what may be said of it.
//!
//! **In one session** both cells were measured in the same blocks, so the ratio is taken within blocks. **Of two sessions** there are two
//! ratios, and they answer for different things. The *cost* ratio is new by old as measured; whatever the machine did in
//! between (neighbours at the memory, another clock, another placement of pages) is in it, and no interval of a single session knows
//! how much that is. The *relative* ratio first divides every cost by others of the same block, where most of
//! that cancels: it is known several times better, and knows nothing of what moves all paths alike. So the reference is judged by its cost, the
//! other cells by their relative ratio. Unless the reference itself has moved: what is relative to it then says nothing of
//! a cell, and all are judged by their costs.
//!
//! What a cost is divided by is the geometric mean of all other cells that both sessions have, which has less noise than the reference alone
//! and does not hang on it. But if the reference has moved against the others, it may be they that moved, most of them: then
//! everything is relative to the reference, as in a session's own table.

mod config_diff;
mod effect;
mod model;
mod normalization;
mod words;

pub use model::{
    Aspect, Basis, CellChange, Change, Compared, Difference, Impossible, Incomparable, JudgedBy, Judgement, Method,
    Outcome, PartFacts, Reason, RelativeTo, Weight, WelchFigure, Word,
};

use effect::{CONFIDENCE, Effect};
use words::{ALPHA, Held};

use super::figures::figure;
use super::model::{Sides, Withheld};
use super::{Kept, account, cells, verdict};
use crate::costs::{Side, sides_apart};
use crate::ratios::{base, divisors, pairs};
use normalization::Bases;
use zc_run::{Cell, HostState, Levels, Run};

/// Standard deviation of the logarithm of a cost from one session to the next of one machine in one state, over what blocks within a
/// session show. In a virtual machine, of three times 21 runs in a row 0.11, 0.07 and 0.03: its neighbours come and go in minutes (docs/method.md, "Two runs").
const COST_BETWEEN_SESSIONS_OF_GUESTS: f64 = 0.11;

/// The same where nobody else is on the machine: assumed.
const COST_BETWEEN_SESSIONS: f64 = 0.04;

/// What a path has of its own in a session, all that moves the whole machine aside: of a cost relative to eleven others, in pairs of runs 2 to 14 minutes apart, 0.007
/// in one round of 21 runs and 0.013 in another; less of neighbours (docs/method.md, "Two runs").
const PATH_BETWEEN_SESSIONS: f64 = 0.010;

/// A run, or one cell of it, by the name that the user gave it.
#[derive(Debug, Clone)]
pub struct Part<'a> {
    /// As it is to be called in what is said of it.
    pub name: String,
    /// The run.
    pub run: &'a Run,
    /// One cell alone.
    pub cell: Option<String>,
    /// Those that were measured in one state of the host, of a run that interleaved two.
    pub state: Option<HostState>,
}

/// Each of `new` held against `old`; the words take all cells of all of them into account. With `margin`, also whether any
/// cell is dearer by more than that share.
pub fn compare(old: &Part<'_>, new: &[Part<'_>], margin: Option<f64>) -> (Vec<Compared>, Option<Judgement>) {
    let before = Kept::of(old.run);
    let pairs: Vec<Pair> = new
        .iter()
        .map(|new| Pair::of(old, &before, new, if same_run(old, new) { None } else { Some(Kept::of(new.run)) }))
        .collect();
    let mut compared: Vec<Compared> = pairs.iter().map(|pair| pair.compared.clone()).collect();
    // Every row of every comparison, and where it stands.
    let rows: Vec<(usize, usize)> =
        pairs.iter().enumerate().flat_map(|(at, pair)| (0..pair.rows.len()).map(move |row| (at, row))).collect();
    let moved_at = ALPHA / rows.len().max(1) as f64;
    for (pair, compared) in pairs.iter().zip(&mut compared) {
        compared.reference_moved = pair.reference_moved(moved_at);
        for (row, change) in pair.rows.iter().zip(&mut compared.cells) {
            change.judged_by = row.judged_by(compared.reference_moved);
        }
    }
    let effect: Vec<Option<&Effect>> =
        rows.iter().map(|(at, row)| pairs[*at].rows[*row].effect(compared[*at].reference_moved)).collect();
    for ((at, row), word) in rows.iter().zip(words::words(&effect)) {
        let stands = compared[*at].withheld.is_empty();
        compared[*at].cells[*row].word = if stands { word } else { Word::Withheld };
    }
    for (at, compared) in compared.iter_mut().enumerate() {
        let own: Vec<Option<&Effect>> =
            rows.iter().zip(&effect).filter(|((of, _), _)| *of == at).map(|(_, effect)| *effect).collect();
        compared.none_worse_by = words::none_worse_by(&own).filter(|_| compared.withheld.is_empty());
    }
    let judgement = margin.map(|margin| judge(&compared, &rows, &effect, margin));
    (compared, judgement)
}

fn judge(compared: &[Compared], rows: &[(usize, usize)], effect: &[Option<&Effect>], margin: f64) -> Judgement {
    let label = |(at, row): &(usize, usize)| {
        let (compared, cell) = (&compared[*at], &compared[*at].cells[*row]);
        format!("{}: {}", compared.new.name, cell.new_label.as_ref().unwrap_or(&cell.label))
    };
    let (mut worse, mut undecided, mut open) = (Vec::new(), Vec::new(), false);
    for (place, held) in rows.iter().zip(words::held_against(effect, margin)) {
        match held {
            _ if !compared[place.0].withheld.is_empty() => undecided.push(label(place)),
            Held::Above => worse.push(label(place)),
            Held::Open => {
                open = true;
                undecided.push(label(place));
            }
            Held::NotAbove => {}
        }
    }
    let impossible = || compared.iter().flat_map(|compared| &compared.impossible);
    let outcome = match () {
        () if !worse.is_empty() => Outcome::Worse,
        () if impossible().any(|why| !matches!(why, Impossible::NoKeptBlocks { .. })) => Outcome::Incomparable,
        () if impossible().next().is_some() => Outcome::NothingKept,
        () if open => Outcome::Undecided,
        () if !undecided.is_empty() => Outcome::Withheld,
        () => Outcome::NoneWorse,
    };
    Judgement { margin, outcome, worse, undecided }
}

/// Whether two parts are of one session. The header's time, seed and machine are what a session has of its own.
fn same_run(old: &Part<'_>, new: &Part<'_>) -> bool {
    let key = |run: &Run| {
        let header = &run.header;
        (header.started_at.clone(), header.plan.seed, header.host.hostname.clone(), run.blocks.len())
    };
    std::ptr::eq(old.run, new.run) || key(old.run) == key(new.run)
}

/// Two parts, and what is known of each cell that both have.
struct Pair {
    compared: Compared,
    rows: Vec<Row>,
    /// The row of the reference.
    reference: Option<usize>,
}

/// What is known of one cell, of both sides together.
struct Row {
    cost: Option<Effect>,
    relative: Option<Effect>,
}

impl Row {
    fn judged_by(&self, reference_moved: bool) -> Option<JudgedBy> {
        match self {
            Self { relative: Some(_), .. } if !reference_moved => Some(JudgedBy::Relative),
            Self { cost: Some(_), .. } => Some(JudgedBy::Cost),
            _ => None,
        }
    }

    fn effect(&self, reference_moved: bool) -> Option<&Effect> {
        match self.judged_by(reference_moved)? {
            JudgedBy::Relative => self.relative.as_ref(),
            JudgedBy::Cost => self.cost.as_ref(),
        }
    }
}

impl Pair {
    /// `after` is `None` where the new part is of the old one's session.
    fn of(old: &Part<'_>, before: &Kept<'_>, new: &Part<'_>, after: Option<Kept<'_>>) -> Self {
        let one_session = after.is_none();
        let after = after.as_ref().unwrap_or(before);
        let mut pair = Self {
            compared: Compared {
                old: facts(old, before),
                new: facts(new, after),
                basis: if one_session { Basis::OneSession } else { Basis::TwoSessions },
                confidence: CONFIDENCE,
                reference: None,
                relative_to: None,
                differences: config_diff::between_runs(&old.run.header, &new.run.header),
                impossible: Vec::new(),
                withheld: Vec::new(),
                doubts: Vec::new(),
                cells: Vec::new(),
                incomparable: Vec::new(),
                only_old: Vec::new(),
                only_new: Vec::new(),
                reference_moved: false,
                none_worse_by: None,
            },
            rows: Vec::new(),
            reference: None,
        };
        pair.look(old, before, new, after, one_session);
        pair
    }

    fn look(&mut self, old: &Part<'_>, before: &Kept<'_>, new: &Part<'_>, after: &Kept<'_>, one_session: bool) {
        let compared = &mut self.compared;
        if one_session && (&old.cell, old.state) == (&new.cell, new.state) {
            compared.impossible.push(Impossible::SameRun);
            return;
        }
        let mut none_kept: Vec<&Part<'_>> = [(old, before), (new, after)]
            .iter()
            .filter(|(_, kept)| kept.blocks.is_empty())
            .map(|(part, _)| *part)
            .collect();
        none_kept.dedup_by_key(|part| part.name.clone());
        compared.impossible.extend(none_kept.iter().map(|part| Impossible::NoKeptBlocks { name: part.name.clone() }));
        let common = common(compared, old, before, new, after, one_session);
        if compared.impossible.is_empty() && common.is_empty() {
            let disqualified = !compared.incomparable.is_empty();
            compared.impossible.push(if disqualified { Impossible::Disqualified } else { Impossible::NoCommonCell });
        }
        if !one_session && compared.differences.iter().any(|each| each.weight == Weight::Disqualifies) {
            compared.impossible.push(Impossible::Disqualified);
            compared.impossible.dedup();
        }
        if !compared.impossible.is_empty() {
            return;
        }
        trust(compared, old, before, new, after, one_session);
        let reference = (!one_session).then(|| shared_reference(before, after)).flatten();
        compared.reference = reference.map(|(place, _)| before.header.plan.cells[place].label.clone());
        let (of_old, of_new) = (&before.header.plan.cells, &after.header.plan.cells);
        let each_with_itself = common.iter().all(|(cell, other)| of_old[*cell].label == of_new[*other].label);
        let base = reference.map(|reference| Bases::of(before, after, reference, each_with_itself));
        compared.relative_to = base.as_ref().map(|base| base.relative_to);
        for &(of_old, of_new) in &common {
            let is_reference = reference == Some((of_old, of_new));
            let change = |side| -> (Option<Effect>, Option<Effect>) {
                if one_session {
                    (within_session(before, of_old, of_new, side), None)
                } else {
                    let relative = base.as_ref().filter(|_| !is_reference).and_then(|base| {
                        let (old, new) = (base.old.logs(before, of_old, side), base.new.logs(after, of_new, side));
                        Effect::independent(&old, &new, base.between_sessions())
                    });
                    let (old, new) = (cost_logs(before, of_old, side), cost_logs(after, of_new, side));
                    (Effect::independent(&old, &new, cost_between_sessions(before, after)), relative)
                }
            };
            let (sender, receiver, both) = (change(Side::Sender), change(Side::Receiver), change(Side::Both));
            let figure_of = |each: &Option<Effect>| each.as_ref().and_then(Effect::change);
            let (label, new_label) = (&before.header.plan.cells[of_old].label, &after.header.plan.cells[of_new].label);
            compared.cells.push(CellChange {
                label: label.clone(),
                new_label: (new_label != label).then(|| new_label.clone()),
                reference: is_reference,
                old_cost_ns_per_kib: costs(before, of_old),
                new_cost_ns_per_kib: costs(after, of_new),
                cost: Sides {
                    sender: figure_of(&sender.0),
                    receiver: figure_of(&receiver.0),
                    both: figure_of(&both.0),
                },
                relative: Sides {
                    sender: figure_of(&sender.1),
                    receiver: figure_of(&receiver.1),
                    both: figure_of(&both.1),
                },
                judged_by: None,
                word: Word::Undecided,
            });
            if is_reference {
                self.reference = Some(self.rows.len());
            }
            self.rows.push(Row { cost: both.0, relative: both.1 });
        }
        if compared.cells.iter().all(|cell| cell.cost.both.is_none()) {
            compared.impossible.push(Impossible::NoCosts);
        }
    }

    /// Whether the reference's own cost has changed, at this level.
    fn reference_moved(&self, alpha: f64) -> bool {
        let cost = self.reference.and_then(|row| self.rows[row].cost.as_ref());
        cost.and_then(Effect::change).and_then(|change| change.p_value).is_some_and(|p| p <= alpha)
    }
}

fn cost_between_sessions(before: &Kept<'_>, after: &Kept<'_>) -> f64 {
    let guest = [before, after].iter().any(|kept| kept.header.host.hypervisor.is_some());
    if guest { COST_BETWEEN_SESSIONS_OF_GUESTS } else { COST_BETWEEN_SESSIONS }
}

fn facts(part: &Part<'_>, kept: &Kept<'_>) -> PartFacts {
    PartFacts {
        name: part.name.clone(),
        started_at: part.run.header.started_at.clone(),
        experiment: part.run.header.plan.experiment.clone(),
        blocks_kept: kept.blocks.len(),
        blocks: part.run.blocks.len(),
        memcpy_bytes_per_s: account::conditions(part.run).memcpy_bytes_per_s,
    }
}

/// The places of the cells that are compared, in the two plans.
fn common(
    compared: &mut Compared,
    old: &Part<'_>,
    before: &Kept<'_>,
    new: &Part<'_>,
    after: &Kept<'_>,
    one_session: bool,
) -> Vec<(usize, usize)> {
    let (of_old, of_new) = (&before.header.plan.cells, &after.header.plan.cells);
    let place = |cells: &[Cell], label: &str| cells.iter().position(|cell| cell.label == label);
    let of_state = |cells: &[Cell], cell: usize, state: HostState| {
        let partner = |other: &Cell| Levels { state: Some(state), ..cells[cell].levels.clone() } == other.levels;
        let same = |other: &Cell| (other.send, other.recv) == (cells[cell].send, cells[cell].recv);
        cells.iter().position(|other| !other.control && same(other) && partner(other))
    };
    let wanted: Vec<(usize, usize)> = match (&old.cell, &new.cell) {
        (None, None) if old.state.is_some() || new.state.is_some() => {
            // One of the two may be a run that knows of no states.
            let state = |part: &Part<'_>, cell: &Cell| cell.levels.state == part.state && !cell.control;
            let own = of_old.iter().enumerate().filter(|(_, cell)| state(old, cell));
            let matching = |cell: usize| match (one_session, new.state) {
                (true, Some(state)) => of_state(of_old, cell, state),
                _ => place(of_new, &of_old[cell].label),
            };
            own.filter_map(|(at, _)| Some((at, matching(at)?))).collect()
        }
        (None, None) => {
            let measured = |cells: &[Cell], other: &[Cell]| -> Vec<String> {
                let alone = cells.iter().filter(|cell| !cell.control && place(other, &cell.label).is_none());
                alone.map(|cell| cell.label.clone()).collect()
            };
            compared.only_old = measured(of_old, of_new);
            compared.only_new = measured(of_new, of_old);
            let both = of_old.iter().enumerate().filter(|(_, cell)| !cell.control);
            both.filter_map(|(at, cell)| Some((at, place(of_new, &cell.label)?))).collect()
        }
        (of, other) => {
            let labels = (of.as_ref().or(other.as_ref()), other.as_ref().or(of.as_ref()));
            let places =
                labels.0.and_then(|label| place(of_old, label)).zip(labels.1.and_then(|label| place(of_new, label)));
            places.into_iter().collect()
        }
    };
    let named = old.cell.is_some() || new.cell.is_some();
    wanted
        .into_iter()
        .filter(|&(at, other)| {
            let (cell, new_cell) = (&of_old[at], &of_new[other]);
            let differences = config_diff::between_cells((before.header, cell), (after.header, new_cell));
            let disqualified = !one_session && differences.iter().any(|each| each.weight == Weight::Disqualifies);
            if disqualified {
                compared.incomparable.push(Incomparable { label: cell.label.clone(), differences });
            } else if named {
                compared.differences.extend(differences);
            } else {
                // What all cells share is said once.
                for each in differences {
                    if !compared.differences.contains(&each) {
                        compared.differences.push(each);
                    }
                }
            }
            !disqualified
        })
        .collect()
}

/// What forbids words, and what makes them doubtful. That the A/A control of a run differs from itself happens in one run of twenty by
/// chance; where that run's own ratios are what is compared, it forbids words as in the run's own report; of two sessions it is a doubt.
fn trust(
    compared: &mut Compared,
    old: &Part<'_>,
    before: &Kept<'_>,
    new: &Part<'_>,
    after: &Kept<'_>,
    one_session: bool,
) {
    let parts = [(old, before), (new, after)];
    for (part, kept) in parts.iter().take(if one_session { 1 } else { 2 }) {
        for why in withheld(part.run, kept) {
            let doubt = match why {
                Withheld::ControlDiffers { .. } | Withheld::NoControl | Withheld::ReferenceSaturated { .. } => {
                    !one_session
                }
                Withheld::NoReference => part.cell.is_some(),
                Withheld::TooFewBlocks { .. } => true, // there is no interval then, and so no word
                Withheld::BusyMachine { .. } | Withheld::Warning { .. } => false,
            };
            let reason = Reason { name: part.name.clone(), why };
            if doubt { compared.doubts.push(reason) } else { compared.withheld.push(reason) }
        }
    }
}

/// What forbids a run's own verdict.
fn withheld(run: &Run, kept: &Kept<'_>) -> Vec<Withheld> {
    let plan = &kept.header.plan;
    let judged = plan.cells.iter().enumerate().filter(|(place, cell)| cell.control || kept.reference == Some(*place));
    let cells: Vec<_> = judged.map(|(place, _)| cells::cell(kept, place)).collect();
    verdict::withheld(run, kept, &cells, super::control(&cells).as_ref(), &account::blocks(run))
}

/// The place, in either plan, of the cell that both take for their reference, or one of them does and the other has.
fn shared_reference(before: &Kept<'_>, after: &Kept<'_>) -> Option<(usize, usize)> {
    let find = |kept: &Kept<'_>, label: &str| kept.header.plan.cells.iter().position(|cell| cell.label == label);
    let own = before.reference.and_then(|place| Some((place, find(after, &before.header.plan.cells[place].label)?)));
    let other =
        || after.reference.and_then(|place| Some((find(before, &after.header.plan.cells[place].label)?, place)));
    let comparable = |(place, new_place): &(usize, usize)| {
        let cells = (&before.header.plan.cells[*place], &after.header.plan.cells[*new_place]);
        let differences = config_diff::between_cells((before.header, cells.0), (after.header, cells.1));
        differences.iter().all(|each| each.weight != Weight::Disqualifies)
    };
    own.or_else(other).filter(comparable)
}

/// A cell and another one of the same session, as `zc show` compares them: where the old one is what the new one refers to, with the
/// control's help.
fn within_session(kept: &Kept<'_>, old: usize, new: usize, side: Side) -> Option<Effect> {
    let plan = &kept.header.plan;
    let by = if base(plan, new) == Some(old) { divisors(plan, new) } else { vec![old] };
    Effect::paired(pairs(&kept.costs, new, &by, side), kept.level)
}

/// Logarithms of a cell's costs, by block.
fn cost_logs(kept: &Kept<'_>, cell: usize, side: Side) -> Vec<f64> {
    let costs = kept.costs.iter().filter_map(|block| block.get(cell)?.as_ref()?.ns_per_kib(side));
    costs.filter(|cost| !cost.is_nan()).map(|cost| cost.max(0.0).ln()).collect()
}

fn costs(kept: &Kept<'_>, cell: usize) -> Sides<super::model::Figure> {
    let of = |side| {
        let costs = kept.costs.iter().filter_map(|block| block.get(cell)?.as_ref()?.ns_per_kib(side));
        figure(&costs.collect::<Vec<_>>(), kept.level)
    };
    Sides { sender: of(Side::Sender), receiver: of(Side::Receiver), both: of(Side::Both) }
}

#[cfg(test)]
mod tests;
