//! The lines that were compared as a table, and the others with their reasons.

use super::lines::{ms, name, ratio_text, short_name};
use super::sentences::present_latency;
use crate::digits::with_half_width;
use crate::terminal::layout::Tone;
use crate::terminal::note::{Note, note};
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use crate::text::ordered;
use zc_analysis::tune::{Answer, Latency, LineAnswer, LineVerdict, PhaseName, Step, Together};
use zc_analysis::{Figure, RatioFigure};
use zc_run::escape;

/// The place of the verdict among the columns.
const VERDICT: usize = 1;

/// The lines that were compared, those to change first; `None` where none was. `in_full` adds what
/// is in effect now.
pub(super) fn compared(answer: &Answer, in_full: bool) -> Option<Part> {
    let lines = order(answer);
    if lines.is_empty() {
        return None;
    }
    let has_errors = lines.iter().any(|line| line.errors.is_some());
    let mut columns = vec![
        Column::left("line", ""),
        Column::left("verdict", ""),
        Column::right("CPU by the", "present"),
        Column::right("saves, us", "per request"),
        Column::right("p50", "ms"),
        Column::right("p99", "ms"),
        Column::left("seen", ""),
    ];
    if has_errors {
        columns.push(Column::right("trials", "failed"));
    }
    if in_full {
        columns.push(Column::left("now", ""));
    }
    let width = columns.len();
    let mut rows = vec![present(answer, width)];
    rows.extend(lines.iter().map(|line| row(line, has_errors, in_full)));
    let mut grid = Grid::new(columns, rows);
    for (place, line) in lines.iter().enumerate() {
        if let Some(tone) = tone(&line.verdict) {
            grid.tones.insert((place + 1, VERDICT), tone);
        }
    }
    let latency = present_latency(answer).map_or_else(String::new, |text| format!("; {text}"));
    let cost = answer.present_us_per_request.map_or_else(String::new, |figure| {
        format!(", which costs {} us per request", with_half_width(figure.value, figure.half_width))
    });
    let once = lines.iter().any(|line| line.phase == Some(PhaseName::Screening));
    let once = if once { " (seen once: in the screening alone)" } else { "" };
    let caption = format!("Each line against the present state{cost}{latency}{once}:");
    Some(Part::Table { caption, keys: 1, grid })
}

/// The lines that help by themselves, added one after the other; `None` where they were not.
pub(super) fn steps(answer: &Answer) -> Option<Part> {
    let Together { lines, enough, steps, .. } = answer.together.as_ref()?;
    let (_, fewer) = steps.split_last()?;
    if fewer.iter().all(|step| step.ratio.is_none()) {
        return None;
    }
    let columns = vec![
        Column::left("lines", ""),
        Column::right("CPU by the", "present"),
        Column::right("CPU by", "all"),
        Column::right("p99", "ms"),
        Column::left("", ""),
    ];
    let ratio = |figure: &Option<RatioFigure>| figure.as_ref().map_or_else(String::new, ratio_text);
    let row = |(at, step): (&usize, &Step)| {
        let line = answer.lines.get(*at).map_or_else(String::new, short_name);
        let remark = match step {
            Step { broke: Some(_), .. } => "broke",
            Step { lines, .. } if lines == enough && *enough < steps.len() => "enough",
            _ => "",
        };
        vec![
            if step.lines == 1 { line } else { format!("and {line}") },
            ratio(&step.ratio),
            ratio(&step.by_all),
            step.latency.map_or_else(String::new, |latency| ms(latency.p99_ns)),
            remark.to_owned(),
        ]
    };
    let rows = std::iter::zip(lines, steps).map(row).collect();
    let caption = "Lines in one state, one more in each row:".to_owned();
    Some(Part::Table { caption, keys: 1, grid: Grid::new(columns, rows) })
}

fn present(answer: &Answer, width: usize) -> Vec<String> {
    let latency = answer.present_latency.as_ref();
    let mut row = vec![
        "as it is".to_owned(),
        String::new(),
        String::new(),
        String::new(),
        latency.map_or_else(String::new, |it| ms(it.p50_ns)),
        latency.map_or_else(String::new, |it| ms(it.p99_ns)),
    ];
    row.resize(width, String::new());
    row
}

fn row(line: &LineAnswer, has_errors: bool, in_full: bool) -> Vec<String> {
    let latency = |of: fn(&Latency) -> u64| {
        line.latency.as_ref().map_or_else(String::new, |latency| ms(of(latency)))
    };
    let name = if in_full { name(line) } else { short_name(line) };
    let mut row = vec![
        name,
        word(&line.verdict).to_owned(),
        line.ratio.as_ref().map_or_else(String::new, ratio_text),
        figure(line.saved_us_per_request),
        latency(|latency| latency.p50_ns),
        latency(|latency| latency.p99_ns),
        line.phase.map_or_else(String::new, |phase| seen(phase).to_owned()),
    ];
    if has_errors {
        row.push(line.errors.as_ref().map_or_else(|| "0".to_owned(), |it| it.trials.to_string()));
    }
    if in_full {
        row.push(escape(&line.present, 120));
    }
    row
}

/// How often a line was measured by itself, by the run that its figures are from.
fn seen(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::Screening => "once",
        PhaseName::Confirming | PhaseName::Together => "twice",
    }
}

fn figure(figure: Option<Figure>) -> String {
    figure.map_or_else(String::new, |it| with_half_width(it.value, it.half_width))
}

/// The lines that have figures: those to change in the order of the answer, then by verdict and
/// ratio.
pub(super) fn order(answer: &Answer) -> Vec<&LineAnswer> {
    let has_figures = |line: &&LineAnswer| line.phase.is_some() && reason(&line.verdict).is_none();
    let lines: Vec<&LineAnswer> = answer.lines.iter().filter(has_figures).collect();
    let key = |line: &LineAnswer| {
        let place = answer.change.iter().position(|at| *at == line.index);
        let ratio = line.ratio.map_or(f64::INFINITY, |ratio| ratio.value);
        let confirmed = line.phase == Some(PhaseName::Confirming);
        (place.unwrap_or(usize::MAX), rank(&line.verdict), !confirmed, ratio)
    };
    ordered(&lines, &|one, other| {
        let ((place, rank, late, ratio), other) = (key(one), key(other));
        (place, rank, late).cmp(&(other.0, other.1, other.2)).then(ratio.total_cmp(&other.3))
    })
}

fn rank(verdict: &LineVerdict) -> u8 {
    match verdict {
        LineVerdict::Change { .. } => 0,
        LineVerdict::NotNeeded { .. } => 1,
        LineVerdict::CostsLatency { .. } => 2,
        LineVerdict::NotShown { .. } => 3,
        LineVerdict::Leave { .. } => 4,
        LineVerdict::Worse { .. } => 5,
        LineVerdict::NotTried { .. } | LineVerdict::Refused { .. } | LineVerdict::Broke { .. } => 6,
    }
}

/// The verdict in a word or two.
pub(super) fn word(verdict: &LineVerdict) -> &'static str {
    match verdict {
        LineVerdict::Change { .. } => "change",
        LineVerdict::NotNeeded { .. } => "not needed",
        LineVerdict::CostsLatency { .. } => "costs latency",
        LineVerdict::Leave { .. } => "does nothing",
        LineVerdict::Worse { .. } => "worse",
        LineVerdict::NotShown { .. } => "not shown",
        LineVerdict::NotTried { .. } => "not tried",
        LineVerdict::Refused { .. } => "refused",
        LineVerdict::Broke { .. } => "broke",
    }
}

fn tone(verdict: &LineVerdict) -> Option<Tone> {
    match verdict {
        LineVerdict::Change { .. } => Some(Tone::Less),
        LineVerdict::Worse { .. } => Some(Tone::More),
        LineVerdict::NotNeeded { .. }
        | LineVerdict::CostsLatency { .. }
        | LineVerdict::NotShown { .. } => Some(Tone::Unclear),
        _ => None,
    }
}

/// Why a line is no row of the table, after the label of its kind.
fn reason(verdict: &LineVerdict) -> Option<(&'static str, &str)> {
    match verdict {
        LineVerdict::NotTried { why } => Some(("not tried", why)),
        LineVerdict::Refused { words } => Some(("refused", words)),
        LineVerdict::Broke { how } => Some(("broke", how)),
        _ => None,
    }
}

/// The lines that were not compared, by kind, each with the reason.
pub(super) fn not_compared(answer: &Answer) -> Vec<Note> {
    let of = |wanted: &'static str| {
        answer.lines.iter().filter_map(move |line| {
            let (label, why) = reason(&line.verdict)?;
            (label == wanted).then(|| note(label, format!("{}: {}", name(line), escape(why, 400))))
        })
    };
    ["broke", "refused", "not tried"].into_iter().flat_map(of).collect()
}
