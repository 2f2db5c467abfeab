//! The replay of a log: cells that send its responses, in its order, beside those of one length, and the
//! lengths that these need to have.

use std::collections::BTreeMap;

use super::super::options::LogToReplay;
use super::rate;
use crate::trial::{Replayed, Whole};
use zc_run::{Cell, Error, Levels, ReplayPlan, Result};

/// What cells that replay a log have before the path in their labels.
const PREFIX: &str = "log ";

/// The most requests of a speedup may be this share of the slowest path's top speed.
const MOST_SHARE: f64 = 0.85;

/// Whether a cell replays a log.
pub(super) fn is_one(cell: &Cell) -> bool {
    cell.label.starts_with(PREFIX)
}

/// The longest body.
pub(super) fn longest(log: &LogToReplay) -> usize {
    log.body_bytes.iter().copied().max().unwrap_or_default() as usize
}

/// Adds a cell that replays the log for each path of the reference's length, the first of which the others
/// are compared with. Leaves out lengths that are longer than what the log has, but for one.
///
/// # Errors
/// No response of the log has a body.
pub(super) fn add_cells(log: &LogToReplay, cells: &mut Vec<Cell>, reference: &str) -> Result<()> {
    let total = log.body_bytes.iter().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    if total == 0 {
        return Err(Error::input(format!("no response of the log \"{}\" has a body", log.log)));
    }
    let of_length = |cell: &Cell| cell.levels.message_bytes.unwrap_or_default();
    let covers = cells.iter().map(of_length).filter(|bytes| *bytes >= longest(log)).min();
    let is_reference = |cell: &Cell| cell.control || cell.label == reference;
    let first = cells.iter().find(|cell| cell.label == reference).cloned();
    let Some(first) = first else { return Ok(()) };
    cells.retain(|cell| {
        covers.is_none_or(|covers| of_length(cell) <= covers.max(of_length(&first)))
            || is_reference(cell)
    });
    let mean_bytes = (total / log.body_bytes.len() as u64).max(1) as usize;
    let base = format!("{PREFIX}{}", first.send);
    let of_path = |cell: &Cell| Cell {
        label: format!("{PREFIX}{}", cell.send),
        control: false,
        by: Some(base.clone()),
        levels: Levels { message_bytes: Some(mean_bytes), ..first.levels.clone() },
        ..cell.clone()
    };
    let paths = cells.iter().filter(|cell| !cell.control && of_length(cell) == of_length(&first));
    let replaying: Vec<Cell> = paths.map(of_path).collect();
    let controls = cells.iter().position(|cell| cell.control).unwrap_or(cells.len());
    cells.splice(controls..controls, replaying);
    Ok(())
}

/// What the rig is to know.
pub(super) fn replayed(log: &LogToReplay, cells: &[Cell]) -> Replayed {
    Replayed {
        cells: labels(cells).collect(),
        whole: Whole {
            responses: log.body_bytes.len() as u64,
            body_bytes: log.body_bytes.iter().sum(),
        },
        requests_per_s: None,
    }
}

/// What is replayed, at which rate, by top speeds of the cells that do.
///
/// # Errors
/// At the speed that was asked for requests would come faster than the slowest path can answer.
pub(super) fn plan(
    log: &LogToReplay,
    cells: &[Cell],
    top_speeds: &BTreeMap<String, f64>,
) -> Result<ReplayPlan> {
    let slowest = rate::slowest(top_speeds)?;
    let requests_per_s = match log.speedup {
        None => rate::choose(top_speeds)?,
        Some(times) => log.requests_per_s * times,
    };
    if requests_per_s > slowest * MOST_SHARE {
        return Err(Error::usage(format!(
            "--speedup: {requests_per_s:.0} requests per second are too near to the {slowest:.0} that the \
             slowest path can answer, or beyond"
        ))
        .help(format!("--speedup {:.0} is half of that", slowest / 2.0 / log.requests_per_s)));
    }
    Ok(ReplayPlan {
        log: log.log.clone(),
        log_requests: log.requests,
        log_bytes: log.bytes,
        log_requests_per_s: log.requests_per_s,
        too_long: log.too_long,
        requests_per_s,
        body_bytes: log.body_bytes.clone(),
        cells: labels(cells).collect(),
    })
}

fn labels(cells: &[Cell]) -> impl Iterator<Item = String> {
    cells.iter().filter(|cell| is_one(cell)).map(|cell| cell.label.clone())
}
