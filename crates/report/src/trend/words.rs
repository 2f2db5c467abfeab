//! The sentences of a trend's report.

use crate::digits::{percent, signed_percent};
use crate::fleet::names::{MOST, Names, cell, count, end, some};
use crate::fleet::words::{self, percent_of};
use crate::note::{Note, note};
use zc_analysis::fleet::{ChangePoint, Event, Trend, TrendLine};
use zc_run::escape;

/// At most this many lines are named in a sentence.
const NAMED: usize = 8;
/// At most this many facts that changed, or events, are listed.
const LISTED: usize = 20;
/// The longest text of a fact or an event.
const LONG: usize = 200;

/// Lines that changed within the same nights, and what changed with them.
pub(crate) struct Occasion<'a> {
    pub(crate) lines: Vec<(&'a TrendLine, &'a ChangePoint)>,
}

impl<'a> Occasion<'a> {
    fn change(&self) -> Option<&'a ChangePoint> {
        self.lines.first().map(|(_, change)| *change)
    }
}

/// What was measured.
pub(crate) fn heading(trend: &Trend) -> Vec<Note> {
    let nights = match (trend.nights.first(), trend.nights.last()) {
        (Some(first), Some(last)) if first != last => format!(
            "{} from {} to {}",
            count(trend.nights.len(), "night"),
            escape(first, MOST),
            escape(last, MOST)
        ),
        (Some(only), _) => format!("1 night, {}", escape(only, MOST)),
        (None, _) => "none".to_owned(),
    };
    vec![
        note(
            "trend",
            format!(
                "{} over {}: {} of {}{}",
                escape(&trend.experiment, MOST),
                escape(&trend.link, MOST),
                count(trend.runs, "run"),
                count(trend.hosts, "host"),
                Names::of_trend(trend).grouping()
            ),
        ),
        note("nights", nights),
    ]
}

/// `sendfile as sender in gen1`.
pub(crate) fn line(trend: &Trend, line: &TrendLine) -> String {
    let group = if trend.by.is_empty() {
        String::new()
    } else {
        format!(" in {}", Names::of_trend(trend).group(line.group))
    };
    format!("{} ({}){group}", cell(&line.label), end(line.end))
}

/// What changed, and the answer to `--fail-if-worse`.
pub(crate) fn answer(trend: &Trend) -> Vec<String> {
    let changed: Vec<&TrendLine> =
        trend.lines.iter().filter(|line| !line.changes.is_empty()).collect();
    let all = trend.lines.len();
    let mut sentences = Vec::new();
    match changed.len() {
        _ if all == 0 => sentences.push("No path has a cost.".to_owned()),
        0 => sentences.push(format!(
            "No change was found in {} over {}.",
            count(all, "line"),
            count(trend.nights.len(), "night")
        )),
        several => {
            let each = changed.iter().map(|changed| {
                let by = changed
                    .last_by_before
                    .map_or_else(String::new, |by| format!(" {}", signed_percent(by - 1.0)));
                format!("{}{by}", line(trend, changed))
            });
            sentences.push(format!(
                "{several} of {} changed: {}.",
                count(all, "line"),
                some(each, several, NAMED)
            ));
        }
    }
    sentences.extend(judgement(trend));
    sentences
}

/// The answer to `--fail-if-worse`, where it was asked.
pub(crate) fn judgement(trend: &Trend) -> Vec<String> {
    let Some(judged) = &trend.judgement else { return Vec::new() };
    let margin = percent(judged.margin);
    let names =
        |names: &[String]| some(names.iter().map(|name| escape(name, LONG)), names.len(), LISTED);
    let mut sentences = Vec::new();
    if !judged.worse.is_empty() {
        sentences.push(format!("Worse by more than {margin}: {}.", names(&judged.worse)));
    }
    if !judged.undecided.is_empty() {
        sentences.push(format!(
            "Undecided whether worse by more than {margin}: {}.",
            names(&judged.undecided)
        ));
    }
    if sentences.is_empty() {
        sentences.push(format!("No line is worse by more than {margin}."));
    } else {
        let others = if judged.not_worse == 1 { "line is" } else { "lines are" };
        sentences.push(format!("{} {others} not worse by more than {margin}.", judged.not_worse));
    }
    sentences
}

/// Changes by night, the first one first. Lines with the same night, interval and facts are
/// together.
pub(crate) fn occasions(trend: &Trend) -> Vec<Occasion<'_>> {
    let mut occasions: Vec<Occasion> = Vec::new();
    for line in &trend.lines {
        for change in &line.changes {
            let same = |other: &&mut Occasion| {
                other.change().is_some_and(|other| {
                    (other.night, other.earliest, other.latest)
                        == (change.night, change.earliest, change.latest)
                        && other.with == change.with
                        && other.events == change.events
                })
            };
            match occasions.iter_mut().find(same) {
                Some(occasion) => occasion.lines.push((line, change)),
                None => occasions.push(Occasion { lines: vec![(line, change)] }),
            }
        }
    }
    occasions.sort_by_key(|occasion| {
        occasion.change().map(|change| (change.night, change.earliest, change.latest))
    });
    occasions
}

/// The night by its index.
pub(crate) fn night(trend: &Trend, at: usize) -> String {
    trend.nights.get(at).map_or_else(|| "-".to_owned(), |night| escape(night, MOST))
}

/// From which night on, and what changed with it.
pub(crate) fn occasion(trend: &Trend, occasion: &Occasion) -> Vec<String> {
    let Some(change) = occasion.change() else { return Vec::new() };
    let mut sentences =
        vec![format!("From {} on{}.", night(trend, change.night), interval(trend, change))];
    if !change.events.is_empty() {
        sentences.push(format!("Noted: {}.", facts(&change.events)));
    }
    sentences.push(match change.with.len() {
        0 => "No fact of the hosts changed within these nights.".to_owned(),
        _ => format!("Changed with it: {}.", facts(&change.with)),
    });
    sentences
}

/// ` (95 %: 2026-11-11 to 2026-11-13)`; empty where only one night is possible.
pub(crate) fn interval(trend: &Trend, change: &ChangePoint) -> String {
    if change.earliest == change.latest {
        return String::new();
    }
    format!(
        " ({}: {} to {})",
        percent_of(trend.confidence),
        night(trend, change.earliest),
        night(trend, change.latest)
    )
}

pub(crate) fn facts(facts: &[String]) -> String {
    let all = facts.len();
    let mut texts: Vec<String> = facts.iter().take(LISTED).map(|fact| escape(fact, LONG)).collect();
    if all > texts.len() {
        texts.push(format!("{} more", all - LISTED));
    }
    texts.join("; ")
}

/// The user's notes.
pub(crate) fn events(events: &[Event]) -> Vec<Note> {
    let each = events.iter().take(LISTED).map(|event| {
        note("events", format!("{} {}", escape(&event.day, MOST), escape(&event.what, LONG)))
    });
    let mut notes: Vec<Note> = each.collect();
    if events.len() > notes.len() {
        notes.push(note("events", format!("and {} more", events.len() - LISTED)));
    }
    notes
}

/// Runs that are not in the figures.
pub(crate) fn left_out(trend: &Trend) -> Vec<Note> {
    words::left_out(&trend.left_out).into_iter().map(|text| note("left out", text)).collect()
}

/// How the figures came about.
pub(crate) fn method(trend: &Trend) -> Vec<Note> {
    vec![
        note(
            "changes",
            format!(
                "where no line changed, the probability that any change is found is {}",
                percent_of(trend.false_alarm)
            ),
        ),
        note(
            "costs",
            format!(
                "net of which hosts were measured in a night; intervals have a confidence of {}",
                percent_of(trend.confidence)
            ),
        ),
    ]
}
