//! Paced trials that a run needs: one for each way in which its cells are paced.
//!
//! zc wakes its sender for each burst and reads its meters at the edges of a window. That costs CPU
//! time in every path alike, 20 to 45 us per burst here, which is not the path's. A paced trial
//! does the same and sends nothing. Cells of paced clients have none: a server of such clients is
//! woken as zc is, so that is part of what they cost.

use crate::plan::spec::Cells;
use zc_rig::trial::{Pacing, Rig};
use zc_run::Cell;

/// Gives each cell the first cell that is paced as it is. The reference comes first: a run does not
/// go on without it.
pub(super) fn assign(rig: &Rig, Cells { cells, reference }: &mut Cells) {
    let has_flows = |cell: &Cell| rig.fixed().at(&cell.levels).clients().is_none();
    let first = cells.iter().find(|cell| cell.label == *reference).filter(|it| has_flows(it));
    let mut known: Vec<(Pacing, String)> =
        first.map(|cell| (rig.pacing(cell), cell.label.clone())).into_iter().collect();
    for cell in cells.iter_mut().filter(|cell| has_flows(cell)) {
        let pacing = rig.pacing(cell);
        let place = known.iter().position(|(other, _)| *other == pacing).unwrap_or_else(|| {
            known.push((pacing, cell.label.clone()));
            known.len() - 1
        });
        cell.harness = Some(known[place].1.clone());
    }
}
