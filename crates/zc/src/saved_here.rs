//! The newest saved run of this folder that may be taken without being named. Anyone may have written
//! it, so it is read without rights, and what comes back is its place in the list.

use std::path::PathBuf;

use super::apart::{self, Document};
use super::archive;
use super::read::Saved;
use zc_report::advise::machine_differences;
use zc_rig::meter::host;
use zc_run::{Result, Run};

/// The most saved runs of a folder that are looked into, the newest first.
const MOST_LOOKED_INTO: usize = 32;

/// Kept blocks that a run must have to be taken without being named: with fewer there is no
/// interval.
const LEAST_BLOCKS: usize = 6;

/// The newest saved run in this folder that fits, has enough blocks, and is of this machine and
/// kernel.
pub(super) fn newest(fits: impl Fn(&Run) -> bool) -> Result<Option<PathBuf>> {
    let mut found: Vec<(std::time::SystemTime, PathBuf)> = std::fs::read_dir(".")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with("zc-") && archive::stem(&name) != name
        })
        .filter_map(|entry| {
            Some((entry.metadata().ok()?.modified().ok()?, PathBuf::from(entry.file_name())))
        })
        .collect();
    found.sort_unstable_by(|one, other| other.cmp(one));
    found.truncate(MOST_LOOKED_INTO);
    let opened: Vec<Option<Saved>> = found.iter().map(|(_, path)| Saved::open(path).ok()).collect();
    if opened.iter().all(Option::is_none) {
        return Ok(None);
    }
    let here = host();
    let may_be_taken = |run: &Run| {
        fits(run)
            && run.blocks.iter().filter(|block| block.dropped.is_none()).count() >= LEAST_BLOCKS
            && machine_differences(&run.header.host, &here).is_empty()
    };
    // Anyone may have written them: they are read without rights, and the answer is a number.
    let chosen = apart::document(|| {
        let mut runs = opened.into_iter().enumerate();
        let chosen = runs.find_map(|(place, saved)| {
            saved?.read_silently().ok().filter(&may_be_taken).map(|_| place)
        });
        Ok(Document::from(chosen.map_or_else(String::new, |place| place.to_string())))
    })?;
    let place: Option<usize> = serde_json::from_slice(&chosen.bytes).ok();
    Ok(place.and_then(|place| found.into_iter().nth(place)).map(|(_, path)| path))
}
