//! `cork`: small writes with and without TCP_CORK, MSG_MORE and TCP_NODELAY.

use super::historical::{End, Quotient, find, load_of, quotient, times};
use super::section::Section;
use crate::run::pivot::Pivot;
use crate::run::rows::comparison;
use crate::run::speed::Unit;
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use crate::text::list;
use zc_analysis::{CellEstimate, Comparison, Estimates};
use zc_run::units::size_text;
use zc_run::{Push, Run};

/// Andrew Morton, 27 January 2001.
const HISTORICAL: &str = "In 2001 (Andrew Morton, 27 January): \"TCP_CORK makes no difference. The \
                    files being sent are much larger \
                    than a single frame. If you force small writes with `zcc -S -b 64' then \
                    TCP_CORK saves some CPU at the \
                    receiver, but total throughput falls a little. More work needed here.\"";

pub(super) fn section(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Section {
    let mut columns: Vec<Column> = pivot
        .keys
        .iter()
        .chain([&pivot.across])
        .map(|factor| Column::left(factor.to_string(), ""))
        .collect();
    let keys = columns.len();
    columns.push(Column::right("packets", "/s"));
    columns.push(Column::right("packet", "bytes"));
    let ends: &[End] =
        if estimates.sides_apart { &[End::Sender, End::Receiver] } else { &[End::Sender] };
    columns.extend(
        ends.iter()
            .map(|end| Column::right("CPU,", end.name(estimates).trim_start_matches("the "))),
    );
    columns.push(Column::right("top", Unit::Gbit.name()));
    let integer =
        |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.0}"));
    let mut rows = Vec::new();
    for row in &pivot.rows {
        for (level, placed) in pivot.columns.iter().zip(&row.cells) {
            let Some(placed) = placed else { continue };
            let cell = placed.figures;
            let mut texts: Vec<String> = row.levels.iter().chain([level]).cloned().collect();
            texts.push(integer(cell.traffic.packets_per_s));
            texts.push(integer(cell.traffic.packet_bytes));
            texts.extend(ends.iter().map(|end| end.load(run, estimates, cell).unwrap_or_default()));
            texts.push(
                cell.top_speed_bytes_per_s.map_or_else(String::new, |speed| Unit::Gbit.text(speed)),
            );
            rows.push(texts);
        }
    }
    let mut parts = vec![Part::Text(vec![HISTORICAL.to_owned()])];
    if pivot.cells().any(|placed| placed.figures.blocks > 0) {
        let caption = format!("Packets, {}, and top speed", load_of(run, estimates, End::Sender));
        parts.push(Part::Table { caption, keys, grid: Grid::new(columns, rows) });
    }
    Section { parts, conclusion: conclusion(run, estimates, pivot) }
}

/// TCP_CORK compared with plain writes at the smallest and the largest message.
fn conclusion(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Option<String> {
    let fixed = &run.header.plan.fixed;
    let sizes = || pivot.cells().map(|placed| fixed.at(&placed.cell.levels).buffer_bytes);
    let mut wanted = vec![sizes().min()?, sizes().max()?];
    wanted.dedup();
    let each: Vec<String> = wanted
        .into_iter()
        .filter_map(|size| {
            let cell = |push| find(run, pivot, |_, at| at.buffer_bytes == size && at.push == push);
            let (cork, plain) = (cell(Push::Cork)?.figures, cell(Push::Plain)?.figures);
            let speed = quotient(cork.top_speed_bytes_per_s, plain.top_speed_bytes_per_s);
            let figures = [("CPU", cost(estimates, cork)), ("top speed", speed)];
            Some(format!("with messages of {}: {}", size_text(size as u64), differences(&figures)?))
        })
        .collect();
    (!each.is_empty()).then(|| format!("TCP_CORK compared with plain writes, {}.", each.join("; ")))
}

/// The verdict on a cell's cost.
fn cost(estimates: &Estimates, cell: &CellEstimate) -> Quotient {
    let ratio = cell.ratio.both.filter(|_| !cell.perturbation.saturated);
    match (ratio, comparison(estimates, cell)) {
        (Some(ratio), Some(Comparison::Cheaper { .. } | Comparison::Dearer { .. })) => {
            Quotient::Times(ratio.value)
        }
        (Some(_), Some(Comparison::Same { .. } | Comparison::Undecided)) => Quotient::Indistinct,
        _ => Quotient::Unknown,
    }
}

/// `CPU 0.71 times that without and no difference shown in top speed`.
fn differences(figures: &[(&str, Quotient)]) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut alike: Vec<String> = Vec::new();
    for (what, by) in figures {
        match by {
            Quotient::Times(ratio) => parts.push(format!("{what} {} that without", times(*ratio))),
            Quotient::Indistinct => alike.push((*what).to_owned()),
            Quotient::Unknown => {}
        }
    }
    if !alike.is_empty() {
        parts.push(format!("no difference shown in {}", list(&alike)));
    }
    (!parts.is_empty()).then(|| list(&parts))
}
