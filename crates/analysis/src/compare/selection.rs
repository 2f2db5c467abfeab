//! Selections: a run, one cell of it, or the cells of one host state.

use super::model::SelectionFacts;
use crate::account;
use crate::kept::KeptBlocks;
use jiff::Timestamp;
use zc_run::{Block, HostState, Run};

/// A run or a part of it, with the name that the user gave it.
#[derive(Debug, Clone)]
pub struct Selection<'a> {
    /// Name in the results.
    pub name: String,
    /// Run that it selects from.
    pub run: &'a Run,
    /// Label of the only cell.
    pub cell: Option<String>,
    /// Only the cells measured in one host state, of a run that alternated between two.
    pub state: Option<HostState>,
}

/// Whether two selections are of one run: start time, seed and machine in the header identify
/// it.
pub(super) fn same_run(old: &Selection<'_>, new: &Selection<'_>) -> bool {
    let key = |run: &Run| {
        let header = &run.header;
        (
            header.started_at.clone(),
            header.plan.seed,
            header.host.hostname.clone(),
            run.blocks.len(),
        )
    };
    std::ptr::eq(old.run, new.run) || key(old.run) == key(new.run)
}

pub(super) fn facts(part: &Selection<'_>, kept: &KeptBlocks<'_>) -> SelectionFacts {
    SelectionFacts {
        name: part.name.clone(),
        started_at: part.run.header.started_at.clone(),
        experiment: part.run.header.plan.experiment.clone(),
        blocks_kept: kept.blocks.len(),
        blocks: part.run.blocks.len(),
        memcpy_bytes_per_s: account::conditions(part.run).memcpy_bytes_per_s,
    }
}

/// Time between the starts of two runs, in lengths of the longer one. 1, as if one had followed the
/// other, where a file does not tell.
pub(super) fn lengths_apart(old: &Run, new: &Run) -> f64 {
    let began = |run: &Run| run.header.started_at.parse::<Timestamp>().ok();
    let length = |run: &Run| {
        let began_ns = |block: Option<&Block>| block.map_or(0, |block| block.began_ns);
        began_ns(run.blocks.last()).saturating_sub(began_ns(run.blocks.first())) as f64 / 1e9
    };
    let apart =
        began(old).zip(began(new)).map(|(old, new)| new.duration_since(old).as_secs_f64().abs());
    let length = length(old).max(length(new));
    apart.map(|apart| apart / length).filter(|lengths| lengths.is_finite()).unwrap_or(1.0)
}
