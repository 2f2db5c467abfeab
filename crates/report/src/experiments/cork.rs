//! `cork`: small writes, and what is asked of TCP about packets that are not full.

use super::historical::{By, End, by, find, load_of, times};
use super::section::Section;
use crate::block::Part;
use crate::grid::{Column, Grid};
use crate::pivot::Cross;
use crate::speed::Unit;
use crate::text::list;
use zc_analysis::{CellEstimate, Estimates};
use zc_run::units::size_text;
use zc_run::{Push, Run};

/// Andrew Morton, 27 January 2001.
const THEN: &str = "In 2001 (Andrew Morton, 27 January): \"TCP_CORK makes no difference. The files being sent are much larger \
                    than a single frame. If you force small writes with `zcc -S -b 64' then TCP_CORK saves some CPU at the \
                    receiver, but total throughput falls a little. More work needed here.\"";

pub(super) fn section(run: &Run, estimates: &Estimates, cross: &Cross) -> Section {
    let mut columns: Vec<Column> =
        cross.keys.iter().chain([&cross.across]).map(|factor| Column::left(factor.to_string(), "")).collect();
    let keys = columns.len();
    columns.push(Column::right("packets", "/s"));
    columns.push(Column::right("packet", "bytes"));
    let ends: &[End] = if estimates.sides_apart { &[End::Sender, End::Receiver] } else { &[End::Sender] };
    columns.extend(ends.iter().map(|end| Column::right("CPU,", end.whose(estimates).trim_start_matches("the "))));
    columns.push(Column::right("top", Unit::Gbit.name()));
    let whole = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.0}"));
    let mut rows = Vec::new();
    for row in &cross.rows {
        for (level, placed) in cross.columns.iter().zip(&row.cells) {
            let Some(placed) = placed else { continue };
            let cell = placed.figures;
            let mut texts: Vec<String> = row.levels.iter().chain([level]).cloned().collect();
            texts.push(whole(cell.traffic.packets_per_s));
            texts.push(whole(cell.traffic.packet_bytes));
            texts.extend(ends.iter().map(|end| end.load(run, estimates, cell).unwrap_or_default()));
            texts.push(cell.top_speed_bytes_per_s.map_or_else(String::new, |speed| Unit::Gbit.text(speed)));
            rows.push(texts);
        }
    }
    let mut parts = vec![Part::Text(vec![THEN.to_owned()])];
    if cross.cells().any(|placed| placed.figures.blocks > 0) {
        let caption = format!("Packets, {}, and top speed", load_of(run, estimates, End::Sender));
        parts.push(Part::Table { caption, keys, grid: Grid::new(columns, rows) });
    }
    Section { parts, says: says(run, estimates, cross) }
}

/// TCP_CORK beside nothing at the smallest and at the largest message.
fn says(run: &Run, estimates: &Estimates, cross: &Cross) -> Option<String> {
    let fixed = &run.header.plan.fixed;
    let sizes = || cross.cells().map(|placed| fixed.at(&placed.cell.levels).buffer_bytes);
    let mut wanted = vec![sizes().min()?, sizes().max()?];
    wanted.dedup();
    let each: Vec<String> = wanted
        .into_iter()
        .filter_map(|size| {
            let cell = |push| find(run, cross, |_, at| at.buffer_bytes == size && at.push == push);
            let (cork, plain) = (cell(Push::Cork)?.figures, cell(Push::Plain)?.figures);
            let ends: &[End] = if estimates.sides_apart { &[End::Receiver, End::Sender] } else { &[End::Sender] };
            let mut figures: Vec<(String, By)> = ends
                .iter()
                .map(|end| {
                    let cost = |cell: &CellEstimate| end.comparable(estimates, cell);
                    (format!("CPU of {}", end.whose(estimates)), by(cost(cork), cost(plain)))
                })
                .collect();
            figures.push(("top speed".to_owned(), by(cork.top_speed_bytes_per_s, plain.top_speed_bytes_per_s)));
            Some(format!("with messages of {}: {}", size_text(size as u64), differences(&figures)?))
        })
        .collect();
    (!each.is_empty()).then(|| format!("TCP_CORK beside plain writes: {}.", each.join("; ")))
}

/// `CPU of the receiver 0.71 of what it is without, and no difference in top speed that could be told`.
fn differences(figures: &[(String, By)]) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut alike: Vec<String> = Vec::new();
    for (what, by) in figures {
        match by {
            By::Times(ratio) => parts.push(format!("{what} {} what it is without", times(*ratio))),
            By::Alike => alike.push(what.clone()),
            By::Unknown => {}
        }
    }
    if !alike.is_empty() {
        let in_what = if parts.is_empty() { String::new() } else { format!(" in {}", list(&alike)) };
        parts.push(format!("no difference{in_what} that could be told"));
    }
    (!parts.is_empty()).then(|| list(&parts))
}
