//! The replay of a log: cells that send its responses, in its order, beside those of one length,
//! and the lengths that these need to have.

use std::collections::BTreeMap;

use super::super::options::LogToReplay;
use super::rate;
use zc_run::{Cell, Error, Levels, ReplayPlan, Result};
use zc_servers::{Replayed, Whole};

/// Prefix of the path in labels of cells that replay a log.
const PREFIX: &str = "log ";

/// A rate that is chosen is at most this share of the slowest path's top speed. A request that
/// finds the server at work wakes nobody, and of those that queue behind a long response several
/// are answered in one go: at half of the top speed a response of a log cost a tenth less than
/// alone (docs/experiments/replay.md).
const SHARE: f64 = 0.125;

/// Whether a cell replays a log.
pub(super) fn is_one(cell: &Cell) -> bool {
    cell.label.starts_with(PREFIX)
}

/// The longest body.
pub(super) fn longest(log: &LogToReplay) -> usize {
    log.body_bytes.iter().copied().max().unwrap_or_default() as usize
}

/// Adds a cell that replays the log for each path of the reference's length, the first of which the
/// others are compared with. Leaves out lengths that are longer than what the log has, but for one.
///
/// # Errors
/// No response of the log has a body.
pub(super) fn add_cells(log: &LogToReplay, cells: &mut Vec<Cell>, reference: &str) -> Result<()> {
    let total = log.body_bytes.iter().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    if total == 0 {
        return Err(Error::input(
            "empty-log",
            format!("no response of the log \"{}\" has a body", log.log),
        ));
    }
    let of_length = |cell: &Cell| cell.levels.message_bytes.unwrap_or_default();
    let longest = longest(log);
    let covers = cells.iter().map(of_length).filter(|bytes| *bytes >= longest).min();
    let is_reference = |cell: &Cell| cell.control || cell.label == reference;
    let first = cells.iter().find(|cell| cell.label == reference).cloned();
    let Some(first) = first else { return Ok(()) };
    cells.retain(|cell| {
        covers.is_none_or(|covers| of_length(cell) <= covers.max(of_length(&first)))
            || is_reference(cell)
    });
    let mean_bytes = (total / log.body_bytes.len() as u64).max(1) as usize;
    let base = format!("{PREFIX}{}", first.transfer);
    let of_path = |cell: &Cell| Cell {
        label: format!("{PREFIX}{}", cell.transfer),
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

/// The replay as the rig needs it.
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

/// Plan of the replay. Its rate follows from top speeds of the replaying cells, or is the one
/// `known` of them, in bytes per second.
///
/// # Errors
/// At the speed that was asked for requests would come faster than the slowest path can answer.
pub(super) fn plan(
    log: &LogToReplay,
    cells: &[Cell],
    top_speeds: &BTreeMap<String, f64>,
    known: &BTreeMap<String, f64>,
) -> Result<ReplayPlan> {
    let slowest = rate::slowest(top_speeds)?;
    let mut plan = ReplayPlan {
        log: log.log.clone(),
        log_requests: log.requests,
        log_bytes: log.bytes,
        log_requests_per_s: log.requests_per_s,
        too_long: log.too_long,
        requests_per_s: 0.0,
        body_bytes: log.body_bytes.clone(),
        cells: labels(cells).collect(),
    };
    let known = plan.cells.first().and_then(|label| known.get(label));
    let requests_per_s = match (log.speedup, known) {
        (Some(times), _) => log.requests_per_s * times,
        (None, Some(bytes_per_s)) => bytes_per_s / plan.mean_bytes(),
        (None, None) => rate::round_below(slowest * SHARE),
    };
    if log.speedup.is_some() && requests_per_s > slowest * rate::MOST_SHARE {
        return Err(Error::usage("rate-too-high", format!(
            "--speedup: {requests_per_s:.0} requests per second are too near to the {slowest:.0} \
             that the slowest path can answer, or beyond"
        ))
        .help(format!("--speedup {:.0} is half of that", slowest / 2.0 / log.requests_per_s)));
    }
    plan.requests_per_s = requests_per_s;
    Ok(plan)
}

fn labels(cells: &[Cell]) -> impl Iterator<Item = String> {
    cells.iter().filter(|cell| is_one(cell)).map(|cell| cell.label.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::parse;
    use crate::plan::spec::Cells;
    use zc_run::{RecvPath, SendPath};

    fn log(body_bytes: &[u64]) -> LogToReplay {
        LogToReplay {
            log: "access.log".to_owned(),
            requests: 100,
            bytes: 1_000,
            requests_per_s: 2.0,
            too_long: 0,
            body_bytes: body_bytes.to_vec(),
            speedup: None,
        }
    }

    /// Labels of the cells with what each is compared with.
    fn cells(levels: &str, log: &LogToReplay) -> Result<Vec<(String, Option<String>)>> {
        let text = format!(
            "name = \"p\"\ncompare = [\"send\"]\n[reference]\nmessage = \"4k\"\n[[factor]]\nname = \
             \"message\"\nlevels = {levels}\n[[factor]]\nname = \"send\"\nlevels = [\"read+send\", \
             \"sendfile\"]\n"
        );
        let spec = parse(&text, "p").unwrap();
        let Cells { mut cells, reference } =
            spec.cells(SendPath::ReadSend, RecvPath::RecvTrunc).unwrap();
        add_cells(log, &mut cells, &reference)?;
        Ok(cells.into_iter().map(|cell| (cell.label, cell.by)).collect())
    }

    #[test]
    fn each_path_has_a_cell_that_replays_and_lengths_cover_the_log() {
        let of = |levels: &str, bytes: &[u64]| -> Vec<String> {
            cells(levels, &log(bytes)).unwrap().into_iter().map(|(label, _)| label).collect()
        };
        let replaying = ["log read+send", "log sendfile", "4k read+send (A/A)"];
        let lengths = |lengths: &[&str]| -> Vec<String> {
            let each = lengths
                .iter()
                .flat_map(|of| ["read+send", "sendfile"].map(|it| format!("{of} {it}")));
            each.chain(replaying.map(str::to_owned)).collect()
        };
        let levels = r#"[64, "4k", "64k", "1m"]"#;
        assert_eq!(of(levels, &[0, 5_000]), lengths(&["64", "4k", "64k"]));
        assert_eq!(of(levels, &[100]), lengths(&["64", "4k"]));
        assert_eq!(of(levels, &[9_000_000]), lengths(&["64", "4k", "64k", "1m"]));
    }

    #[test]
    fn cells_that_replay_are_compared_with_that_of_the_reference_s_path() {
        let cells = cells(r#"[64, "4k"]"#, &log(&[100])).unwrap();
        let by = |label: &str| cells.iter().find(|(known, _)| known == label).unwrap().1.clone();
        assert_eq!(by("log sendfile").as_deref(), Some("log read+send"));
    }

    #[test]
    fn a_speed_beyond_the_slowest_path_is_refused() {
        let speeds = BTreeMap::from([("log read+send".to_owned(), 5_000.0)]);
        let planned =
            |speedup| plan(&LogToReplay { speedup, ..log(&[100]) }, &[], &speeds, &BTreeMap::new());
        assert!((planned(None).unwrap().requests_per_s - 500.0).abs() < 1e-9, "an eighth, rounded");
        assert!((planned(Some(1_000.0)).unwrap().requests_per_s - 2_000.0).abs() < 1e-9);
        let error = planned(Some(2_200.0)).unwrap_err();
        assert!(error.id == "rate-too-high" && error.message.contains("4400"), "{error:?}");
        assert_eq!(error.help.unwrap(), "--speedup 1250 is half of that");
        // A run that is repeated has its rate again.
        let replaying = Cell {
            label: "log read+send".to_owned(),
            ..Cell::of_paths(SendPath::ReadSend, RecvPath::RecvTrunc)
        };
        let known = BTreeMap::from([(replaying.label.clone(), 150_000.0)]);
        let again = plan(&log(&[100]), &[replaying], &speeds, &known).unwrap();
        assert!((again.requests_per_s - 1_500.0).abs() < 1e-9, "{}", again.requests_per_s);
    }
}
