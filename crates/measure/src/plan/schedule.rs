//! The trials of each block, in their order: a function of the plan, so that a saved seed repeats
//! them.

use super::order::grouped;
use super::unsoaked::unsoaked_in_turn;
use zc_run::{HostState, Plan, TrialKind, Unsoaked};

/// A trial of a block's schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Index of its cell in the plan.
    pub cell: usize,
    /// Kind of the trial.
    pub kind: TrialKind,
    /// Whether it is recorded. Otherwise it is run for those around it: see [`schedule`].
    pub kept: bool,
}

/// The trials of block `block`: the soaked ones in random order, among them those of the harness,
/// then the unsoaked ones of the plan. Those of one state of the host stay together.
///
/// Each state has as many trials of a path as the other. The reference's state has its controls,
/// and the other one trials of the same path in their place, which are not recorded. A trial is
/// cheaper after one of the same path than after another: without them, a state that differed in
/// nothing was 1.3 % dearer (docs/performance.md, "Two states").
pub fn schedule(plan: &Plan, block: usize) -> Vec<Turn> {
    let state = |turn: &Turn| state_of(plan, turn.cell);
    let soaked = soaked(plan);
    let states: Vec<_> = soaked.iter().map(state).collect();
    let soaked = grouped(plan.seed, block, &states).into_iter().map(|turn| soaked[turn]);
    let mut turns: Vec<Turn> = soaked.collect();
    let in_order: Vec<_> = turns.iter().map(state).collect();
    let unsoaked: Vec<(usize, TrialKind)> = match plan.unsoaked {
        Unsoaked::InTurn => unsoaked_in_turn(plan, block),
        Unsoaked::None => Vec::new(),
        Unsoaked::TopSpeed => turns
            .iter()
            .filter(|turn| turn.kind == TrialKind::Soaked && turn.kept)
            .map(|turn| (turn.cell, TrialKind::TopSpeed))
            .collect(),
    };
    turns.extend(unsoaked.into_iter().map(|(cell, kind)| Turn { cell, kind, kept: true }));
    // A switch takes longer than they do.
    turns.sort_by_key(|turn| in_order.iter().position(|it| *it == state(turn)));
    turns
}

/// The trial whose traffic is sent before the trials `ahead`, while the host settles in their
/// state: the last of them that sends anything. So the first, like any other, follows another trial
/// of the state. `None` without states.
pub fn lead_in<'t>(plan: &Plan, ahead: &'t [Turn]) -> Option<&'t Turn> {
    let state = state_of(plan, ahead.first()?.cell)?;
    let of_state = ahead.iter().take_while(|turn| state_of(plan, turn.cell) == Some(state));
    of_state.filter(|turn| turn.kind == TrialKind::Soaked).last()
}

/// The state that commands put the host into for a cell. The states of a server that are there at
/// the same time, each under a URL of its own, take no command.
fn state_of(plan: &Plan, cell: usize) -> Option<&HostState> {
    plan.states.as_ref()?.command(plan.cells[cell].levels.state.as_ref()?)?;
    plan.cells[cell].levels.state.as_ref()
}

/// The soaked trials of a block, in the plan's order.
fn soaked(plan: &Plan) -> Vec<Turn> {
    let cells = &plan.cells;
    let is_harness = |label: &String| cells.iter().any(|cell| cell.harness.as_ref() == Some(label));
    let all = 0..cells.len();
    let paced = all.clone().filter(|cell| is_harness(&cells[*cell].label));
    let turn = |kind, kept| move |cell| Turn { cell, kind, kept };
    all.clone()
        .map(turn(TrialKind::Soaked, true))
        .chain(paced.map(turn(TrialKind::Paced, true)))
        .chain(all.flat_map(|cell| in_place_of(plan, cell)).map(turn(TrialKind::Soaked, false)))
        .collect()
}

/// The cells that run in the other states in place of `cell`, a control.
fn in_place_of(plan: &Plan, cell: usize) -> impl Iterator<Item = usize> {
    let control = plan.cells[cell].control && !has_many_states(plan);
    let is_it = move |other: &usize| {
        let (cell_of, other_of) = (&plan.cells[cell], &plan.cells[*other]);
        control
            && !other_of.control
            && other_of.levels.state != cell_of.levels.state
            && other_of.runs_the_path_of(cell_of)
    };
    (0..plan.cells.len()).filter(is_it)
}

/// Whether a mix of requests is asked for in so many states that a trial rarely follows one of the
/// same state: there, trials that are not recorded would be most of a block.
fn has_many_states(plan: &Plan) -> bool {
    let server = plan.traffic.server();
    server.is_some_and(|server| server.mix.is_some() && server.states.len() > FEW_STATES)
}

/// Of the trials of more states than this, at most every third follows one of the same.
const FEW_STATES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{HostStates, StateCommand};
    use zc_testkit::synthetic::Synthetic;

    fn plan() -> Plan {
        let mut plan = Synthetic::default().run().header.plan;
        let reference = plan.reference.clone();
        plan.cells.push(zc_run::Cell {
            label: "+burn".to_owned(),
            burn_units_per_mb: Some(1.0),
            ..plan.cells.iter().find(|cell| cell.control).unwrap().clone()
        });
        plan.cells.iter_mut().for_each(|cell| cell.harness = Some(reference.clone()));
        plan
    }

    /// The same plan in two states, as `--ab` makes it: the controls are those of the first.
    fn plan_in_two_states() -> Plan {
        let mut plan = plan();
        let mut in_b: Vec<_> = plan.cells.iter().filter(|cell| !cell.control).cloned().collect();
        let of = |state| StateCommand { state, command: "true".to_owned() };
        plan.states = Some(HostStates {
            commands: vec![of(HostState::a()), of(HostState::b())],
            restore: None,
            settle_ns: 0,
            limit_ns: 1,
            verify: None,
        });
        plan.cells.iter_mut().for_each(|cell| cell.levels.state = Some(HostState::a()));
        for cell in &mut in_b {
            cell.levels.state = Some(HostState::b());
            cell.label.push_str(" B");
            cell.harness = Some(format!("{} B", plan.reference));
        }
        plan.cells.extend(in_b);
        plan
    }

    #[test]
    fn every_cell_is_soaked_once_in_every_block_and_what_is_paced_beside_it() {
        let plan = plan();
        for block in 0..20 {
            let turns = schedule(&plan, block);
            assert!(turns.iter().all(|turn| turn.kept));
            let cells = |kind| {
                let of_kind = turns.iter().filter(|turn| turn.kind == kind);
                let mut cells: Vec<usize> = of_kind.map(|turn| turn.cell).collect();
                cells.sort_unstable();
                cells
            };
            assert_eq!(cells(TrialKind::Soaked), (0..plan.cells.len()).collect::<Vec<_>>());
            assert_eq!(cells(TrialKind::Paced), [0]);
            let unsoaked: Vec<_> = turns
                .iter()
                .filter(|turn| !turn.kind.is_soaked())
                .map(|turn| (turn.cell, turn.kind))
                .collect();
            assert_eq!(unsoaked, unsoaked_in_turn(&plan, block));
        }
    }

    #[test]
    fn both_states_have_the_same_trials_and_only_one_records_those_of_the_controls() {
        let plan = plan_in_two_states();
        for block in 0..20 {
            let turns = schedule(&plan, block);
            let paths = |state| {
                let of_state = turns.iter().filter(|turn| {
                    turn.kind.is_soaked() && state_of(&plan, turn.cell) == Some(state)
                });
                let mut paths: Vec<_> = of_state
                    .map(|turn| {
                        (plan.cells[turn.cell].transfer.sender(), turn.kind == TrialKind::Paced)
                    })
                    .collect();
                paths.sort_unstable();
                paths
            };
            assert_eq!(paths(&HostState::a()), paths(&HostState::b()));
            let unkept: Vec<&str> = turns
                .iter()
                .filter(|turn| !turn.kept)
                .map(|turn| plan.cells[turn.cell].label.as_str())
                .collect();
            let in_b = format!("{} B", plan.reference);
            assert_eq!(unkept, [&in_b, &in_b], "for the A/A control and the positive one");
        }
    }

    #[test]
    fn the_trials_of_a_state_stay_together_unsoaked_ones_last() {
        let plan = plan_in_two_states();
        for block in 0..20 {
            let turns = schedule(&plan, block);
            let states: Vec<_> = turns.iter().map(|turn| state_of(&plan, turn.cell)).collect();
            let changes = states.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert_eq!(changes, 1);
            for pair in turns.windows(2) {
                let same = state_of(&plan, pair[0].cell) == state_of(&plan, pair[1].cell);
                assert!(!same || pair[0].kind.is_soaked() || !pair[1].kind.is_soaked());
            }
        }
    }

    #[test]
    fn what_leads_in_is_soaked_traffic_of_the_same_state_and_there_is_none_without_states() {
        let plan = plan_in_two_states();
        for block in 0..20 {
            let turns = schedule(&plan, block);
            let state = |turn: &Turn| state_of(&plan, turn.cell);
            for ahead in [0, turns.iter().position(|it| state(it) != state(&turns[0])).unwrap()] {
                let lead = lead_in(&plan, &turns[ahead..]).unwrap();
                assert_eq!((state(lead), lead.kind), (state(&turns[ahead]), TrialKind::Soaked));
                let later = &turns[ahead..];
                let place = later.iter().position(|turn| std::ptr::eq(turn, lead)).unwrap();
                let sends = |it: &&Turn| it.kind == TrialKind::Soaked && state(it) == state(lead);
                assert_eq!(later[place + 1..].iter().filter(sends).count(), 0, "it is the last");
            }
        }
        assert_eq!(lead_in(&plan, &[]), None);
        let stateless = self::plan();
        assert_eq!(lead_in(&stateless, &schedule(&stateless, 0)), None);
    }

    #[test]
    fn where_top_speeds_are_what_is_asked_for_every_cell_has_one() {
        let mut plan = plan_in_two_states();
        plan.unsoaked = Unsoaked::TopSpeed;
        let turns = schedule(&plan, 3);
        let top = turns.iter().filter(|turn| turn.kind == TrialKind::TopSpeed).count();
        assert_eq!(top, plan.cells.len());
    }
}
