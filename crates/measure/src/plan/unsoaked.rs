//! The unsoaked trials of each block where cells take turns.

use zc_run::{Plan, TrialKind};

/// One block in so many has the unsoaked control of a cell, the others the top speed of one.
const TURN: usize = 3;

/// With so many cells and more, the reference has two turns with its pair for each of the others'.
const MANY: usize = 4;

/// The unsoaked trials of block `block`, as indices into the plan's cells. Controls have none.
///
/// Every third block has the unsoaked control of one cell, and beside it, in turn before and after
/// it, the harness without soakers: the difference is the cell's cost on an idle host. The others
/// have the top speed of one cell. More controls would cost the soaked trials a good part of the
/// budget; with fewer, a run of a minute gives a top speed no interval. The difference between the
/// two hosts is reported for the reference, whose cost three pairs in a minute often leave without
/// an interval above 0.
pub(super) fn unsoaked_in_turn(plan: &Plan, block: usize) -> Vec<(usize, TrialKind)> {
    let measured: Vec<usize> =
        (0..plan.cells.len()).filter(|cell| !plan.cells[*cell].control).collect();
    if measured.is_empty() {
        return Vec::new();
    }
    let turn = block / TURN;
    if !block.is_multiple_of(TURN) {
        let cell = measured[(block - turn - 1) % measured.len()];
        return vec![(cell, TrialKind::TopSpeed)];
    }
    let pairs = with_reference_twice(plan, measured);
    let cell = pairs[turn % pairs.len()];
    let harness = plan.cells[cell].harness.as_ref();
    let paced = harness.and_then(|label| plan.cells.iter().position(|it| it.label == *label));
    let mut trials = vec![(cell, TrialKind::UnsoakedControl)];
    trials.extend(paced.map(|cell| (cell, TrialKind::UnsoakedPaced)));
    // Cells take turns too: the order has to change within one's own.
    if !(turn / pairs.len() + turn % pairs.len()).is_multiple_of(2) {
        trials.reverse();
    }
    trials
}

/// These cells with the reference once more, about half a cycle after its own turn. The distance is
/// odd, so that its two pairs of a cycle differ in their order.
fn with_reference_twice(plan: &Plan, mut cells: Vec<usize>) -> Vec<usize> {
    let reference = cells.iter().position(|cell| plan.cells[*cell].label == plan.reference);
    if let Some(place) = reference.filter(|_| cells.len() >= MANY) {
        cells.rotate_left(place);
        cells.insert((cells.len() / 2) | 1, cells[0]);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_testkit::synthetic::Synthetic;

    /// A plan with a control, all of whose cells have a harness.
    fn plan() -> Plan {
        let mut plan = Synthetic::default().run().header.plan;
        let reference = plan.reference.clone();
        plan.cells.iter_mut().for_each(|cell| cell.harness = Some(reference.clone()));
        assert!(plan.cells.iter().any(|cell| cell.control));
        plan
    }

    #[test]
    fn of_three_blocks_one_has_a_pair_and_two_have_a_top_speed() {
        let plan = plan();
        for block in 0..60 {
            let kinds: Vec<TrialKind> =
                unsoaked_in_turn(&plan, block).into_iter().map(|(_, kind)| kind).collect();
            match block % 3 {
                0 => {
                    assert_eq!(kinds.len(), 2);
                    assert!(kinds.contains(&TrialKind::UnsoakedControl));
                    assert!(kinds.contains(&TrialKind::UnsoakedPaced));
                }
                _ => assert_eq!(kinds, [TrialKind::TopSpeed]),
            }
        }
    }

    /// The trials of a kind that a cell has in so many blocks.
    fn trials_of_kind(
        plan: &Plan,
        blocks: usize,
        cell: usize,
        kind: TrialKind,
    ) -> Vec<Vec<(usize, TrialKind)>> {
        let trials = (0..blocks).map(|block| unsoaked_in_turn(plan, block));
        trials.filter(|trials| trials.contains(&(cell, kind))).collect()
    }

    fn measured(plan: &Plan) -> Vec<usize> {
        (0..plan.cells.len()).filter(|cell| !plan.cells[*cell].control).collect()
    }

    #[test]
    fn top_speeds_take_turns_and_controls_have_none() {
        let plan = plan();
        let cells = measured(&plan);
        for cell in 0..plan.cells.len() {
            let times = if cells.contains(&cell) { 4 } else { 0 };
            let found = trials_of_kind(&plan, 2 * TURN * cells.len(), cell, TrialKind::TopSpeed);
            assert_eq!(found.len(), times, "{cell}");
        }
    }

    #[test]
    fn pairs_take_turns_the_reference_twice_and_each_changes_its_order() {
        for (many, of_reference) in [(MANY, 4), (MANY + 1, 4), (MANY - 1, 2), (1, 2)] {
            let mut plan = plan();
            let kept: Vec<_> = measured(&plan).into_iter().rev().take(many).collect();
            plan.reference = plan.cells[kept[many / 2]].label.clone();
            for cell in (0..plan.cells.len()).filter(|cell| !kept.contains(cell)) {
                plan.cells[cell].control = true;
            }
            let turns = many + usize::from(many >= MANY);
            for cell in 0..plan.cells.len() {
                let times = match plan.cells[cell].label == plan.reference {
                    true => of_reference,
                    false if kept.contains(&cell) => 2,
                    false => 0,
                };
                let pairs =
                    trials_of_kind(&plan, 2 * TURN * turns, cell, TrialKind::UnsoakedControl);
                assert_eq!(pairs.len(), times, "{cell} of {many}");
                let first = pairs.iter().filter(|pair| pair[0].1 == TrialKind::UnsoakedControl);
                assert_eq!(first.count(), times / 2, "{cell} of {many}");
                // Also within a cycle of the reference, which has two pairs in each.
                assert!(pairs.chunks(2).all(|two| two[0][0].1 != two[1][0].1), "{cell} of {many}");
            }
        }
    }

    #[test]
    fn a_plan_of_controls_alone_has_none() {
        let mut plan = plan();
        plan.cells.iter_mut().for_each(|cell| cell.control = true);
        assert!((0..6).all(|block| unsoaked_in_turn(&plan, block).is_empty()));
    }
}
