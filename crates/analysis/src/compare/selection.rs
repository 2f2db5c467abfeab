//! What is compared: a run, one cell of it, or the cells of one state of the host.

use super::model::SelectionFacts;
use crate::account;
use crate::kept::KeptBlocks;
use zc_run::{HostState, Run};

/// A run, or one cell of it, by the name that the user gave it.
#[derive(Debug, Clone)]
pub struct Selection<'a> {
    /// As it is to be called in what is said of it.
    pub name: String,
    /// The run.
    pub run: &'a Run,
    /// One cell alone.
    pub cell: Option<String>,
    /// Those that were measured in one state of the host, of a run that interleaved two.
    pub state: Option<HostState>,
}

/// Whether two parts are of one session. The header's time, seed and machine are what a session has of its own.
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
