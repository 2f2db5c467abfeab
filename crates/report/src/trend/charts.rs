//! The section of a trend's page with all nights: a chart for each group and end, and below it the
//! figures of each night.

use jiff::civil::Date;

use super::words;
use crate::digits::signed_percent;
use crate::fleet::names::{Names, cell, end as end_name, end_with_article, lines, plus_minus};
use crate::fleet::parts::{figure, section};
use crate::fleet::tables::ENDS;
use crate::fleet::words::percent_of;
use crate::html::nights::{self, Change, Line, Nights, Noted, Point};
use crate::html::page::Page;
use crate::html::plot::Caption;
use crate::html::table::{CellValues, grouped_table};
use crate::terminal::table::{Column, Grid};
use zc_analysis::Figure;
use zc_analysis::fleet::{ChangePoint, End, Event, Trend, TrendLine};
use zc_run::escape;

/// The most charts, each of a group and an end.
const CHARTS: usize = 24;
/// About so many nights have marks in all charts together; lines and bands have all nights.
const MARKS: usize = 3000;
/// The most nights in a table of nights: the last ones.
const NIGHTS: usize = 60;
/// The most events in a chart: the last ones.
const NOTED: usize = 40;
/// The longest label at a line of a chart.
const LABEL: usize = 24;
/// The most characters of an event that is read out.
const LONG: usize = 200;

/// The lines of a group and an end.
struct Panel<'a> {
    group: usize,
    end: End,
    lines: Vec<&'a TrendLine>,
}

/// All panels, those with changes first.
fn panels(trend: &Trend) -> Vec<Panel<'_>> {
    let mut panels: Vec<Panel> = Vec::new();
    for changed in [true, false] {
        for group in 0..trend.groups.len() {
            for end in ENDS {
                let is_in_panel = |line: &&TrendLine| line.group == group && line.end == end;
                let lines: Vec<&TrendLine> = trend.lines.iter().filter(is_in_panel).collect();
                let has_changed = lines.iter().any(|line| !line.changes.is_empty());
                if has_changed == changed && !lines.is_empty() {
                    panels.push(Panel { group, end, lines });
                }
            }
        }
    }
    panels
}

/// Days since the first night; `None` where a night is not a day.
fn day(night: &str, first: Date) -> Option<f64> {
    let day: Date = night.parse().ok()?;
    Some(f64::from((day - first).get_days()))
}

/// Position of each night on the axis: by its day, or by its number where nights are not days.
fn along(trend: &Trend) -> (Nights, impl Fn(&str) -> Option<f64>) {
    let first: Option<Date> = trend.nights.first().and_then(|night| night.parse().ok());
    let days: Option<Vec<f64>> =
        first.and_then(|first| trend.nights.iter().map(|night| day(night, first)).collect());
    let dated = days.is_some();
    let days = days.unwrap_or_else(|| (0..trend.nights.len()).map(|at| at as f64).collect());
    let last = days.last().copied().unwrap_or(0.0);
    let share = move |day: f64| if last > 0.0 { day / last } else { 0.5 };
    let year = first.map(|first| first.year()).filter(|year| {
        dated
            && trend.nights.last().and_then(|last| last.parse().ok()).map(Date::year) == Some(*year)
    });
    let label = |night: &String| match year {
        Some(_) => night.get(5..).unwrap_or(night).to_owned(),
        None => escape(night, 12),
    };
    let title = year.map_or_else(|| "night".to_owned(), |year| format!("night of {year}"));
    let nights = days.iter().map(|day| share(*day)).zip(trend.nights.iter().map(label)).collect();
    let place = move |event: &str| {
        let place = share(day(event, first.filter(|_| dated)?)?);
        (0.0..=1.0).contains(&place).then_some(place)
    };
    (Nights { title, nights }, place)
}

/// Data shared by all charts of a page.
pub(super) struct Sheet {
    along: Nights,
    noted: Vec<Noted>,
}

impl Sheet {
    pub(super) fn new(trend: &Trend, events: &[Event]) -> Self {
        let (along, place) = along(trend);
        let last = &events[events.len().saturating_sub(NOTED)..];
        let noted = last.iter().filter_map(|event| {
            let what = escape(&event.what, LONG);
            Some(Noted {
                place: place(&event.day)?,
                name: format!("{}: {what}", event.day),
                text: short(&what),
            })
        });
        Self { noted: noted.collect(), along }
    }
}

/// The section with a chart for each group and end.
pub(super) fn charts(page: &mut Page, trend: &Trend, sheet: &Sheet) {
    section(page, "nights", "Costs of all nights");
    let panels = panels(trend);
    let shown = &panels[..panels.len().min(CHARTS)];
    if shown.is_empty() {
        page.out.raw("<p>No path has a cost.</p>\n");
    }
    let points = shown.iter().flat_map(|panel| &panel.lines).map(|line| line.points.len());
    let every = points.sum::<usize>().div_ceil(MARKS).max(1);
    for panel in shown {
        let group = Names::from_trend(trend).group(panel.group);
        let title = format!("{group}: what each path costs {}, us/MB", end_with_article(panel.end));
        chart(page, trend, sheet, title, &panel.lines, every);
        table(page, trend, panel, every == 1);
    }
    if panels.len() > shown.len() {
        let rest = format!(
            "{} of {} charts are shown, those with changes first; all figures are in the CSV.",
            shown.len(),
            panels.len()
        );
        page.out.element("p", &[], &rest).raw("\n");
    }
    page.out.raw("</section>\n");
}

/// A chart for each of some lines, on an axis of its own.
pub(super) fn each(page: &mut Page, trend: &Trend, sheet: &Sheet, lines: &[&TrendLine]) {
    let all = "The largest of these changes, each line on an axis of its own:";
    page.out.element("p", &[], all).raw("\n<div class=\"panels\">\n");
    for line in lines {
        let title = format!("{}, us/MB", words::line(trend, line));
        let every = line.points.len().div_ceil(NIGHTS).max(1);
        chart(page, trend, sheet, title, &[line], every);
    }
    page.out.raw("</div>\n");
}

fn short(text: &str) -> String {
    if text.chars().count() <= LABEL {
        text.to_owned()
    } else {
        text.chars().take(LABEL - 1).chain(['…']).collect()
    }
}

pub(super) fn cost(trend: &Trend, point: &zc_analysis::fleet::Point) -> Figure {
    figure(point.us_per_mb, point.low, point.high, trend.confidence)
}

fn chart(
    page: &mut Page,
    trend: &Trend,
    sheet: &Sheet,
    title: String,
    of: &[&TrendLine],
    every: usize,
) {
    let line = |line: &&TrendLine| Line {
        name: cell(&line.label),
        points: line
            .points
            .iter()
            .map(|point| Point {
                night: point.night,
                cost: cost(trend, point),
                name: format!("{}, {}", cell(&line.label), words::night(trend, point.night)),
            })
            .collect(),
    };
    let change = |series: usize, line: &TrendLine, change: &ChangePoint| {
        let by = signed_percent(change.by - 1.0);
        let label = cell(&line.label);
        Change {
            series,
            night: change.night,
            earliest: change.earliest,
            latest: change.latest,
            text: format!("{} {by}", short(&label)),
            name: format!(
                "{label} {by} from {} on ({}: {})",
                words::night(trend, change.night),
                percent_of(trend.confidence),
                words::interval(trend, change)
            ),
        }
    };
    let lines: Vec<Line> = of.iter().map(line).collect();
    let changes: Vec<Change> = of
        .iter()
        .enumerate()
        .flat_map(|(series, line)| line.changes.iter().map(move |of| change(series, line, of)))
        .collect();
    let mut note =
        format!("Bands are {} intervals; logarithmic axis.", percent_of(trend.confidence));
    if !changes.is_empty() && of.len() > 1 {
        note.push_str(" A vertical line is the first night of a new level, with its interval.");
    }
    if !sheet.noted.is_empty() && of.len() > 1 {
        note.push_str(" Broken lines are noted events.");
    }
    if every > 1 {
        note.push_str(&format!(" One night in {every} has a mark."));
    }
    let caption = Caption { title, note, description: String::new() };
    let shown = (lines.as_slice(), changes.as_slice(), sheet.noted.as_slice());
    nights::nights(page, caption, &sheet.along, shown, every);
}

/// The figures of a chart: a row for each night, a column for each path.
fn table(page: &mut Page, trend: &Trend, panel: &Panel, with_units: bool) {
    let first = trend.nights.len().saturating_sub(NIGHTS);
    let mut columns = vec![Column::left("night", "")];
    columns.extend(panel.lines.iter().map(|line| Column::right(cell(&line.label), "us/MB")));
    let nights: Vec<usize> = (first..trend.nights.len()).collect();
    let point = |line: &TrendLine, night: usize| {
        line.points.iter().find(|point| point.night == night).cloned()
    };
    let row = |night: &usize| {
        let mut row = vec![words::night(trend, *night)];
        row.extend(panel.lines.iter().map(|line| {
            point(line, *night).map_or_else(String::new, |point| {
                plus_minus(point.us_per_mb, point.low, point.high)
            })
        }));
        row
    };
    let grid = Grid::new(columns, lines(&mut nights.iter().map(row)));
    let group = Names::from_trend(trend).group(panel.group);
    let summary = format!("{group}, {}: figures of each night", end_name(panel.end));
    let caption = if first > 0 {
        format!("The last {NIGHTS} of {} nights; all are in the CSV", trend.nights.len())
    } else {
        "Costs in us/MB, each with the half-width of its interval".to_owned()
    };
    page.out.raw("<details>").element("summary", &[], &summary).raw("\n");
    let cell_values = |row: usize, column: usize| {
        let line = column.checked_sub(1).and_then(|at| panel.lines.get(at));
        let found = line.zip(nights.get(row)).and_then(|(line, night)| point(line, *night));
        let cost = found.filter(|_| with_units).map(|point| cost(trend, &point));
        CellValues { cost, ..CellValues::default() }
    };
    grouped_table(page, &caption, 1, &grid, &cell_values, &|_| None);
    page.out.raw("</details>\n");
}
