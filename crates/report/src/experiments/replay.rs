//! A log that was replayed: the costs of its responses, compared with the prediction by their
//! lengths.

use crate::digits::{percent, ratio, significant, with_half_width};
use crate::terminal::note::{Note, note};
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use crate::text::{list, shown};
use zc_analysis::{Estimates, Figure, RatioFigure, Replay, ReplayedPath};
use zc_run::{ReplayPlan, Run, escape};

/// Shares of bytes beyond the lengths of the plan that are worth a word.
const WORTH_A_WORD: f64 = 0.01;

/// Note on the log replayed, and its speed.
pub(crate) fn about(run: &Run) -> Option<Note> {
    let replay = run.header.plan.replay()?;
    let ReplayPlan { log, log_requests, body_bytes, requests_per_s, too_long, .. } = replay;
    let drawn = match body_bytes.len() as u64 {
        all if all == *log_requests => format!("all its {all} responses"),
        some => format!("{some} of its {log_requests} responses, drawn"),
    };
    let left_out = match too_long {
        0 => String::new(),
        some => format!(" ({some} too long)"),
    };
    let times = replay.times_the_log().map_or_else(String::new, |times| {
        format!(", {} times as fast as they came", significant(times))
    });
    let text = format!(
        "{}: {drawn}{left_out}, of {} bytes on average, in their order at {}/s{times}",
        escape(log, 80),
        significant(replay.mean_bytes()),
        significant(*requests_per_s)
    );
    Some(note("log", text))
}

/// The table of costs by path; `None` where no response of the log has a cost.
pub(crate) fn table(estimates: &Estimates) -> Option<Part> {
    let replay = estimates.replay.as_ref()?;
    if replay.paths.iter().all(|path| path.replayed_us.is_none()) {
        return None;
    }
    let reference = reference(replay);
    let columns = vec![
        Column::left("path", ""),
        Column::right("replayed", "us"),
        Column::right("predicted", "us"),
        Column::right("replayed by", "predicted"),
        Column::left("", ""),
        Column::right("replayed by", &reference),
        Column::right("predicted by", &reference),
    ];
    let row = |path: &ReplayedPath| {
        vec![
            shown(&path.path),
            cost(path.replayed_us),
            cost(path.predicted_us),
            by(path.replayed_by_predicted),
            agreement(path).to_owned(),
            by(path.replayed_ratio),
            by(path.predicted_ratio),
        ]
    };
    let caption = format!(
        "A response of the log as it was replayed, and by the costs of single lengths{}",
        beyond(replay)
    );
    let grid = Grid::new(columns, replay.paths.iter().map(row).collect());
    Some(Part::Table { caption, keys: 1, grid })
}

/// Comparison of the replay with the prediction.
pub(super) fn conclusion(estimates: &Estimates) -> Option<String> {
    let replay = estimates.replay.as_ref()?;
    let paths = |agrees: bool| replay.paths.iter().filter(move |path| path.agrees == Some(agrees));
    let right: Vec<String> = paths(true).map(|path| shown(&path.path)).collect();
    let off = paths(false).filter_map(|path| {
        let ratio = path.replayed_by_predicted?.value;
        let (by, how) = if ratio > 1.0 { (ratio - 1.0, "more") } else { (1.0 - ratio, "less") };
        Some(format!("{} {how} by {}", percent(by), shown(&path.path)))
    });
    let off: Vec<String> = off.collect();
    let (right, is_off) = (list(&right), !off.is_empty());
    match (right.as_str(), is_off) {
        ("", false) => None,
        ("", true) => {
            Some(format!("The responses of the log cost {} than their lengths tell.", list(&off)))
        }
        (right, _) => {
            let off = if is_off { format!("; they cost {}", list(&off)) } else { String::new() };
            Some(format!(
                "What the responses of the log cost by {right} is what their lengths tell, within \
                 the intervals{off}."
            ))
        }
    }
}

fn reference(replay: &Replay) -> String {
    let first = replay.paths.iter().find(|path| path.replayed_ratio.is_none());
    first.map_or_else(String::new, |path| shown(&path.path))
}

fn beyond(replay: &Replay) -> String {
    match replay.beyond_bytes_share {
        share if share >= WORTH_A_WORD => {
            format!("; {} of its bytes are beyond these, and extrapolated", percent(share))
        }
        _ => String::new(),
    }
}

fn cost(figure: Option<Figure>) -> String {
    figure.map_or_else(String::new, |figure| with_half_width(figure.value, figure.half_width))
}

fn by(figure: Option<RatioFigure>) -> String {
    figure.map_or_else(String::new, |figure| ratio(figure.value, figure.half_width))
}

fn agreement(path: &ReplayedPath) -> &'static str {
    match path.agrees {
        Some(true) => "agrees",
        Some(false) => "differs",
        None => "",
    }
}
