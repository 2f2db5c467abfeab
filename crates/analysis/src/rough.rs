//! Rough figures of the cells of a run that kept no block, or in which no cell has a cost as
//! soakers hardly ran: figures that need no soakers, from the blocks that were measured whole.

use crate::cells;
use crate::kept::KeptBlocks;
use crate::model::estimates::Rough;
use crate::others;
use crate::starved::starved_cpus;
use crate::traffic;
use zc_run::{Run, TrialKind};

/// Rough figures of the cells that have any, in the plan's order; none if a kept block has costs.
pub(super) fn rough(run: &Run, kept: &KeptBlocks) -> Vec<Rough> {
    if kept.blocks.is_empty() {
        from_blocks(run, &KeptBlocks::dropped(run))
    } else if starved_cpus(run).is_empty() {
        Vec::new()
    } else {
        from_blocks(run, kept)
    }
}

fn from_blocks(run: &Run, blocks: &KeptBlocks) -> Vec<Rough> {
    let cells = run.header.plan.cells.iter().filter(|cell| !cell.control).map(|cell| {
        let traffic = traffic::traffic(blocks, cell);
        Rough {
            label: cell.label.clone(),
            windows: blocks.trials(&cell.label, TrialKind::Soaked).count(),
            threads_ns_per_kib: others::thread_costs(blocks, &cell.label, TrialKind::Soaked).both,
            reached: cells::perturbation(blocks, cell).soaked_by_nominal,
            top_speed_bytes_per_s: cells::top_speed(blocks, cell).map(|figure| figure.value),
            send_calls_per_mb: traffic.send_calls_per_mb,
            packet_bytes: traffic.packet_bytes,
            copied_share: cells::copied_share(blocks, &cell.label),
        }
    });
    cells.filter(|rough| rough.windows > 0 || rough.top_speed_bytes_per_s.is_some()).collect()
}
