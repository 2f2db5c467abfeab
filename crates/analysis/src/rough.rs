//! What can be said of the cells of a run that kept no block: figures that need no soakers, from the
//! blocks that were dropped.

use crate::cells;
use crate::kept::KeptBlocks;
use crate::model::estimates::Rough;
use crate::others;
use crate::traffic;
use zc_run::{Run, TrialKind};

/// Rough figures of the cells that have any, in the plan's order; none if a block was kept.
pub(super) fn rough(run: &Run) -> Vec<Rough> {
    if run.blocks.iter().any(|block| block.dropped.is_none()) {
        return Vec::new();
    }
    let dropped = KeptBlocks::dropped(run);
    let cells = run.header.plan.cells.iter().filter(|cell| !cell.control).map(|cell| {
        let traffic = traffic::traffic(&dropped, cell);
        Rough {
            label: cell.label.clone(),
            windows: dropped.trials(&cell.label, TrialKind::Soaked).count(),
            threads_ns_per_kib: others::thread_costs(&dropped, &cell.label, TrialKind::Soaked).both,
            reached: cells::perturbation(&dropped, cell).soaked_by_nominal,
            top_speed_bytes_per_s: cells::top_speed(&dropped, &cell.label)
                .map(|figure| figure.value),
            send_calls_per_mb: traffic.send_calls_per_mb,
            packet_bytes: traffic.packet_bytes,
            copied_share: cells::copied_share(&dropped, &cell.label),
        }
    });
    cells.filter(|rough| rough.windows > 0 || rough.top_speed_bytes_per_s.is_some()).collect()
}
