//! The sentences of a trend's report.

use crate::digits::{percent, signed_percent};
use crate::fleet::names::{MOST, Names, abbreviated_list, cell, count, end, strings};
use crate::fleet::words::{self, percent_of};
use crate::terminal::note::{Note, note};
use crate::text::ordered;
use zc_analysis::fleet::{ChangePoint, Event, Trend, TrendLine};
use zc_run::escape;

/// At most this many lines are named in a sentence.
const NAMED: usize = 6;
/// Number of lines named if there are more than that.
const FEW: usize = 3;
/// At most this many facts that changed, or events, are listed.
const LISTED: usize = 20;
/// The longest text of a fact or an event.
const LONG: usize = 200;

/// Changes that may be one: the intervals of their nights have a night in common.
pub(crate) struct Occasion<'a> {
    /// The lines, in the order of the document.
    pub(crate) lines: Vec<(&'a TrendLine, &'a ChangePoint)>,
    /// The nights that all intervals have in common.
    common: (usize, usize),
}

/// Notes on what was measured.
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
            words::measured(&[&trend.experiment, &trend.link], trend.runs, trend.hosts)
                + &Names::from_trend(trend).grouping(),
        ),
        note("nights", nights),
    ]
}

/// `sendfile as sender in gen1`.
pub(crate) fn line(trend: &Trend, line: &TrendLine) -> String {
    let group = if trend.by.is_empty() {
        String::new()
    } else {
        format!(" in {}", Names::from_trend(trend).group(line.group))
    };
    format!("{} ({}){group}", cell(&line.label), end(line.end))
}

/// Changes, and the answer to `--fail-if-worse`.
pub(crate) fn answer(trend: &Trend) -> Vec<String> {
    let changed: Vec<&TrendLine> =
        trend.lines.iter().filter(|line| !line.changes.is_empty()).collect();
    // The largest change first.
    let by = |line: &TrendLine| line.last_by_before.map_or(0.0, |by| by.ln().abs());
    let changed = ordered(&changed, &|a, b| by(b).total_cmp(&by(a)));
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
            let signed = |by: f64| signed_percent(by - 1.0);
            let mut each = changed.iter().map(|changed| {
                let by = changed.last_by_before.map_or_else(String::new, signed);
                format!("{} {by}", line(trend, changed)).trim_end().to_owned()
            });
            // Of many the range, and the largest.
            let (most, range) =
                if several > NAMED { (FEW, range(&changed)) } else { (NAMED, None) };
            let range = range.map_or_else(String::new, |(low, high)| {
                format!(" by {} to {}", signed(low), signed(high))
            });
            let each = abbreviated_list(&mut each, several, most);
            let all = count(all, "line");
            sentences.push(format!("{several} of {all} changed{range}: {each}."));
        }
    }
    sentences.extend(judgement(trend));
    sentences.extend(words::shared(trend.shared_runs, trend.runs));
    sentences
}

/// The smallest and the largest of the last changes.
fn range(changed: &[&TrendLine]) -> Option<(f64, f64)> {
    let all = || changed.iter().filter_map(|line| line.last_by_before);
    Some((all().min_by(f64::total_cmp)?, all().max_by(f64::total_cmp)?))
}

/// The answer to `--fail-if-worse`, where it was asked.
pub(crate) fn judgement(trend: &Trend) -> Vec<String> {
    let Some(judged) = &trend.judgement else { return Vec::new() };
    let margin = percent(judged.margin);
    let names =
        |names: &[String]| texts(&mut names.iter().map(|name| escape(name, LONG)), names.len());
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

/// Changes by night, the first one first.
pub(crate) fn occasions(trend: &Trend) -> Vec<Occasion<'_>> {
    let mut all: Vec<(usize, &TrendLine, &ChangePoint)> = Vec::new();
    for (place, line) in trend.lines.iter().enumerate() {
        all.extend(line.changes.iter().map(|change| (place, line, change)));
    }
    let key = |change: &ChangePoint| (change.night, change.earliest, change.latest);
    let all = ordered(&all, &|(.., a), (.., b)| key(a).cmp(&key(b)));
    let mut occasions: Vec<(Occasion, Vec<usize>)> = Vec::new();
    for (place, line, change) in all {
        let joined = |(occasion, places): &(Occasion, Vec<usize>)| {
            let (from, to) = occasion.common;
            change.earliest.max(from) <= change.latest.min(to) && !places.contains(&place)
        };
        match occasions.iter_mut().rev().find(|each| joined(each)) {
            Some((occasion, places)) => {
                let (from, to) = occasion.common;
                occasion.common = (change.earliest.max(from), change.latest.min(to));
                let at = places.partition_point(|other| *other < place);
                occasion.lines.insert(at, (line, change));
                places.insert(at, place);
            }
            None => {
                let common = (change.earliest, change.latest);
                occasions.push((Occasion { lines: vec![(line, change)], common }, vec![place]));
            }
        }
    }
    occasions.into_iter().map(|(occasion, _)| occasion).collect()
}

/// The night by its index.
pub(crate) fn night(trend: &Trend, at: usize) -> String {
    trend.nights.get(at).map_or_else(|| "-".to_owned(), |night| escape(night, MOST))
}

/// `Changed on 2026-11-13`, `Changed between 2026-11-12 and 2026-11-14`.
pub(crate) fn when(trend: &Trend, occasion: &Occasion) -> String {
    let nights = || occasion.lines.iter().map(|(_, change)| change.night);
    match (nights().min(), nights().max()) {
        (Some(first), Some(last)) if first != last => {
            format!("Changed between {} and {}", night(trend, first), night(trend, last))
        }
        (Some(only), _) => format!("Changed on {}", night(trend, only)),
        (None, _) => String::new(),
    }
}

/// Events noted, and facts that changed with them.
pub(crate) fn why(occasion: &Occasion) -> Vec<String> {
    let mut sentences = Vec::new();
    let noted = counted(occasion, |change| &change.events);
    if !noted.is_empty() {
        sentences.push(format!("Noted: {noted}."));
    }
    let facts = counted(occasion, |change| &change.with);
    sentences.push(if facts.is_empty() {
        "No fact of the hosts changed within the intervals of these nights.".to_owned()
    } else {
        format!("Changed with it: {facts}.")
    });
    sentences
}

/// The texts of all changes of an occasion, each once, with how many lines have it.
fn counted(occasion: &Occasion, of: fn(&ChangePoint) -> &Vec<String>) -> String {
    let mut found: Vec<(&str, usize)> = Vec::new();
    for text in occasion.lines.iter().flat_map(|(_, change)| of(change)) {
        match found.iter_mut().find(|(known, _)| known == text) {
            Some((_, lines)) => *lines += 1,
            None => found.push((text, 1)),
        }
    }
    let found = ordered(&found, &|(_, a), (_, b)| b.cmp(&a));
    let all = occasion.lines.len();
    let mut each = found.iter().map(|(text, lines)| match *lines {
        lines if lines == all => escape(text, LONG),
        lines => format!("{} ({lines} of {all} lines)", escape(text, LONG)),
    });
    texts(&mut each, found.len())
}

/// Texts that may contain commas, and the number of further ones of `all`.
fn texts(each: &mut dyn Iterator<Item = String>, all: usize) -> String {
    let mut texts = strings(&mut each.take(LISTED));
    if all > texts.len() {
        texts.push(format!("{} more", all - texts.len()));
    }
    texts.join("; ")
}

/// `2026-11-11 to 2026-11-13`: the interval of the night.
pub(crate) fn interval(trend: &Trend, change: &ChangePoint) -> String {
    if change.earliest == change.latest {
        return night(trend, change.earliest);
    }
    format!("{} to {}", night(trend, change.earliest), night(trend, change.latest))
}

/// The user's notes, of many the last ones.
pub(crate) fn events(events: &[Event]) -> Vec<Note> {
    let earlier = events.len().saturating_sub(LISTED);
    let mut notes: Vec<Note> = Vec::new();
    if earlier > 0 {
        notes.push(note("events", format!("{earlier} earlier ones, and")));
    }
    for event in &events[earlier..] {
        let (day, what) = (escape(&event.day, MOST), escape(&event.what, LONG));
        notes.push(note("events", format!("{day} {what}")));
    }
    notes
}

/// Runs that are not in the figures.
pub(crate) fn left_out(trend: &Trend) -> Vec<Note> {
    words::left_out(&trend.left_out).into_iter().map(|text| note("left out", text)).collect()
}

/// Notes on the method.
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
