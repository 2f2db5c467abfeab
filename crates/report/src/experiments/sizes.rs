//! `sizes`: the cost of a call and of a byte, crossovers between paths, and the table of send()
//! against transfer buffer size of 27 January 2001.

use super::historical::{End, find, load_of};
use super::section::Section;
use crate::digits::{percent, rate, signed_percent, with_half_width};
use crate::run::baseline::Baseline;
use crate::run::pivot::{Pivot, level};
use crate::run::pivot_tables::NONE;
use crate::run::rates::several_rates;
use crate::run::rows::cost;
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use crate::text::list;
use zc_analysis::{Crossover, Estimates, Outcome, Sizes, Undecided};
use zc_run::units::size_text;
use zc_run::{Factor, Run, escape};

/// Andrew Morton, 27 January 2001, 2.4.1-pre10+zc, dual 500 MHz Pentium II with a 3c905C: load of
/// sending 11.5 MB/s by send(), by size of the transfer buffer.
const HISTORICAL: &[(usize, [f64; 3])] = &[
    (256, [34.9, 35.3, 32.3]),
    (512, [28.7, 29.0, 26.6]),
    (1024, [25.5, 25.8, 24.1]),
    (2048, [21.3, 21.6, 20.2]),
    (4096, [20.0, 20.2, 19.0]),
    (8192, [19.1, 19.4, 18.0]),
    (16_384, [19.7, 20.0, 18.7]),
    (32_768, [21.0, 21.6, 20.0]),
    (65_536, [24.3, 24.8, 22.2]),
];

/// The headings of its columns.
const HISTORICAL_HEADS: [(&str, &str); 3] =
    [("2001, SG,", "MAXPGS=8"), ("2001, SG,", "MAXPGS=1"), ("2001,", "no SG")];

pub(super) fn section(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Section {
    let mut parts = Vec::new();
    let sizes = estimates.sizes.both.as_ref();
    parts.extend(sizes.and_then(lines));
    if estimates.verdict.stands() {
        let sentences = sizes
            .into_iter()
            .flat_map(|sizes| against_reference(sizes).filter_map(|found| sentence(sizes, found)));
        let sentences: Vec<String> = sentences.collect();
        parts.extend((!sentences.is_empty()).then_some(Part::Text(sentences)));
    }
    parts.push(historical_table(run, estimates, pivot));
    Section { parts, conclusion: sizes.and_then(|sizes| conclusion(estimates, pivot, sizes)) }
}

/// The fitted straight lines.
fn lines(sizes: &Sizes) -> Option<Part> {
    let columns = vec![
        Column::left("", ""),
        Column::right("a call", "ns"),
        Column::right("a byte", "us/MB"),
        Column::right("farthest", "off"),
        Column::right("at", ""),
    ];
    let rows: Vec<Vec<String>> = sizes
        .series
        .iter()
        .filter_map(|series| {
            let line = series.line?;
            Some(vec![
                escape(&series.name, 60),
                with_half_width(line.call_ns.value, line.call_ns.half_width),
                cost(Some(line.ns_per_kib)),
                signed_percent(line.largest_residual.share),
                size_text(line.largest_residual.size_bytes as u64),
            ])
        })
        .collect();
    let caption = "Cost of a message as a + b x size: a call, and each byte; and the message \
        farthest off that line";
    (!rows.is_empty()).then(|| Part::Table {
        caption: caption.to_owned(),
        keys: 1,
        grid: Grid::new(columns, rows),
    })
}

/// The crossovers with the reference's series. All pairs are in the JSON.
fn against_reference(sizes: &Sizes) -> impl Iterator<Item = &Crossover> {
    let reference = |place: usize| sizes.series.get(place).is_some_and(|series| series.reference);
    sizes.crossovers.iter().filter(move |found| reference(found.against))
}

/// `From 9.1k [8.2k, 10.4k] on msg-zerocopy costs less than read+send.`
fn sentence(sizes: &Sizes, found: &Crossover) -> Option<String> {
    let name = |place: usize| sizes.series.get(place).map(|series| escape(&series.name, 60));
    let (of, against) = (name(found.of)?, name(found.against)?);
    let within = |low: Option<f64>, high: Option<f64>| {
        let end = |end: Option<f64>| end.map_or_else(|| "?".to_owned(), about);
        format!("[{}, {}]", end(low), end(high))
    };
    Some(match found.outcome {
        Outcome::From { size, low, high } => {
            format!(
                "From {} {} on {of} costs less than {against}.",
                about(size),
                within(low, Some(high))
            )
        }
        Outcome::UpTo { size, low, high } => {
            format!(
                "Up to {} {} {of} costs less than {against}, and not beyond.",
                about(size),
                within(Some(low), high)
            )
        }
        Outcome::Always => {
            format!("Always, at every size of the plan, {of} costs less than {against}.")
        }
        Outcome::Never => {
            format!("Never, at no size of the plan, {of} costs less than {against}: it costs more.")
        }
        Outcome::Undecided { why } => {
            let why = match why {
                Undecided::TooFewSizes => "fewer than two sizes have a cost of both".to_owned(),
                Undecided::TooFewBlocks => "too few blocks for an interval".to_owned(),
                Undecided::Same { within } => {
                    format!("they cost the same at every size, within {}", percent(within))
                }
                Undecided::Noise => "no difference was shown at any size".to_owned(),
                Undecided::NowhereCheaper => {
                    "it costs more at some sizes, and no difference was shown at the others"
                        .to_owned()
                }
                Undecided::OpenEnds => {
                    "it costs less at some sizes, and no difference was shown at either end"
                        .to_owned()
                }
                Undecided::SeveralCrossings => "there is more than one crossover".to_owned(),
                Undecided::InBetween => {
                    "it was shown at some sizes, and not at every one between or beyond them"
                        .to_owned()
                }
            };
            format!("Undecided from which size on {of} costs less than {against}: {why}.")
        }
    })
}

/// A size that was computed: `9.1k`, `130k`, `1.2m`; below 1k in bytes.
pub(crate) fn about(bytes: f64) -> String {
    let mut value = bytes;
    let mut unit = "";
    for next in ["k", "m", "g"] {
        if value < 1023.5 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit.is_empty() || value >= 9.95 {
        format!("{value:.0}{unit}")
    } else {
        format!("{value:.1}{unit}")
    }
}

/// The table of 2001, with today's load at each size.
fn historical_table(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Part {
    let header = &run.header;
    let fixed = &header.plan.fixed;
    let mut bytes: Vec<usize> =
        pivot.cells().map(|placed| fixed.at(&placed.cell.levels).buffer_bytes).collect();
    bytes.extend(HISTORICAL.iter().map(|(size, _)| *size));
    bytes.sort_unstable();
    bytes.dedup();
    // One column per level; a single one where messages are the columns.
    let names: &[String] = if pivot.across == Factor::Message { &[] } else { &pivot.columns };
    let several = several_rates(run);
    let mut columns = vec![Column::left("message", "")];
    columns.extend(HISTORICAL_HEADS.map(|(first, second)| Column::right(first, second)));
    columns.extend(several.then(|| Column::left("now at", "")));
    columns.extend(names.iter().map(|name| Column::named(name)));
    let none = || NONE.to_owned();
    let rows = bytes.into_iter().map(|size| {
        let mut row = vec![size_text(size as u64)];
        let then = HISTORICAL.iter().find(|(old, _)| *old == size);
        row.extend(then.map_or_else(
            || [none(), none(), none()],
            |(_, loads)| loads.map(|load| format!("{load:.1} %")),
        ));
        row.extend(several.then(|| {
            let first = find(run, pivot, |_, at| at.buffer_bytes == size);
            first.map_or_else(none, |placed| rate(fixed.at(&placed.cell.levels).rate_bytes_per_s))
        }));
        row.extend(names.iter().map(|name| {
            let cell = find(run, pivot, |cell, at| {
                at.buffer_bytes == size && level(header, cell, pivot.across).to_string() == *name
            });
            cell.and_then(|placed| End::Sender.load(run, estimates, placed.figures))
                .unwrap_or_else(none)
        }));
        row
    });
    let grid = Grid::new(columns, rows.collect());
    let caption = format!(
        "send() against transfer buffer size, as in 2001 (Andrew Morton, 27 January, \
         2.4.1-pre10+zc: load of a dual Pentium II with a \
         3c905C at 11.5 MB/s); now {}",
        load_of(run, estimates, End::Sender)
    );
    Part::Table { caption, keys: 1, grid }
}

/// The sizes from which on each path costs less than the baseline.
fn conclusion(estimates: &Estimates, pivot: &Pivot, sizes: &Sizes) -> Option<String> {
    let mut from: Vec<(f64, String)> = Vec::new();
    let mut never = 0;
    for found in against_reference(sizes) {
        let Some(series) = sizes.series.get(found.of) else { continue };
        // A copied zero-copy send is excluded.
        let copied = |label: &str| {
            estimates.cells.iter().any(|cell| cell.label == label && cell.failed_zero_copy)
        };
        if series.points.iter().any(|point| copied(&point.cell)) {
            continue;
        }
        match found.outcome {
            Outcome::From { size, .. } => from.push((size, escape(&series.name, 60))),
            Outcome::Always => from.push((0.0, escape(&series.name, 60))),
            Outcome::Never => never += 1,
            Outcome::UpTo { .. } | Outcome::Undecided { .. } => {}
        }
    }
    from.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let against = Baseline::from_pivot(pivot).text();
    match from.first() {
        Some((least, _)) => {
            let where_ = if *least > 0.0 {
                format!("messages below {}", about(*least))
            } else {
                String::new()
            };
            let each: Vec<String> = from
                .iter()
                .map(|(size, name)| {
                    if *size > 0.0 {
                        format!("{name} from {} on", about(*size))
                    } else {
                        format!("{name} at any size")
                    }
                })
                .collect();
            let stay = if where_.is_empty() {
                String::new()
            } else {
                format!("; for {where_} none was shown to")
            };
            Some(format!("Compared with {against}, these cost less: {}{stay}.", list(&each)))
        }
        None if never > 0 => {
            Some(format!("No size was found from which on a path costs less than {against}."))
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_computed_size_has_two_digits_or_none_behind_the_point() {
        assert_eq!(about(300.4), "300");
        assert_eq!(about(9318.0), "9.1k");
        assert_eq!(about(133_120.0), "130k");
        assert_eq!(about(1_048_400.0), "1.0m");
        assert_eq!(about(0.0), "0");
    }
}
