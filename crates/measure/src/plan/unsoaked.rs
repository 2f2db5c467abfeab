//! The unsoaked trials of each block where cells take turns.

use zc_run::{Plan, TrialKind};

/// Of so many blocks one has the unsoaked control of a cell, the others the top speed of one.
const TURN: usize = 3;

/// The unsoaked trials of block `block`, as indices into the plan's cells. Controls have none.
///
/// Every third block has the unsoaked control of one cell, and beside it, in turn before and after it,
/// what the harness is without soakers: the difference is the cell's cost on an idle host. The others
/// have the top speed of one. More of them would cost the soaked trials a good part of the budget;
/// with fewer, a run of a minute gives a top speed no interval.
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
    let cell = measured[turn % measured.len()];
    let harness = plan.cells[cell].harness.as_ref();
    let paced = harness.and_then(|label| plan.cells.iter().position(|it| it.label == *label));
    let mut trials = vec![(cell, TrialKind::UnsoakedControl)];
    trials.extend(paced.map(|cell| (cell, TrialKind::UnsoakedPaced)));
    // Cells take turns too: the order has to change within one's own.
    if !(turn / measured.len() + turn % measured.len()).is_multiple_of(2) {
        trials.reverse();
    }
    trials
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

    #[test]
    fn cells_take_turns_and_a_cell_s_pair_changes_its_order_and_controls_have_none() {
        let plan = plan();
        let cells: Vec<usize> =
            (0..plan.cells.len()).filter(|cell| !plan.cells[*cell].control).collect();
        let n = cells.len();
        let trials: Vec<_> = (0..2 * 3 * n).map(|block| unsoaked_in_turn(&plan, block)).collect();
        let of = |cell: usize, kind| {
            let is_it = |trials: &&Vec<_>| trials.contains(&(cell, kind));
            trials.iter().filter(is_it).collect::<Vec<_>>()
        };
        for cell in 0..plan.cells.len() {
            let times = if cells.contains(&cell) { 2 } else { 0 };
            let pairs = of(cell, TrialKind::UnsoakedControl);
            assert_eq!(pairs.len(), times, "{cell}");
            assert_eq!(of(cell, TrialKind::TopSpeed).len(), 2 * times, "{cell}");
            if let [one, other] = pairs[..] {
                assert_ne!(one[0].1, other[0].1, "{cell}");
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
