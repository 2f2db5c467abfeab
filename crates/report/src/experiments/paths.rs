//! `paths`: CPU, interrupts and packets, as in the first table of 27 January 2001, and top speeds
//! relative to memcpy.

use super::historical::{End, load_of};
use crate::digits::{rate, with_half_width};
use crate::run::rows::sorted;
use crate::run::speed::Unit;
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use zc_analysis::{CellEstimate, Estimates, Figure};
use zc_run::{Run, escape};

/// Andrew Morton, 27 January 2001: load of a dual 500 MHz Pentium II with a 3c905C that sends 11.5
/// MB/s; per second interrupts, packets received and packets sent.
const HISTORICAL: &[(&str, f64, [u32; 3])] = &[
    ("2.4.1-pre10+zerocopy, sendfile()", 9.6, [4395, 4106, 8146]),
    ("2.4.1-pre10+zerocopy, send()", 24.1, [4449, 4163, 8196]),
    ("2.4.1-pre10-vanilla, sendfile()", 17.1, [5729, 5296, 8214]),
    ("2.4.1-pre10-vanilla, send()", 21.1, [4629, 4152, 8191]),
];

pub(super) fn parts(run: &Run, estimates: &Estimates) -> Vec<Part> {
    if estimates.blocks.kept == 0 {
        return Vec::new();
    }
    let mut columns = vec![Column::left("", "")];
    columns.extend(["CPU", "ints", "rx pps", "tx pps"].map(|head| Column::right(head, "")));
    let then = HISTORICAL.iter().map(|(what, load, counts)| {
        let counts = counts.iter().map(ToString::to_string);
        [(*what).to_owned(), format!("{load:.1} %")].into_iter().chain(counts).collect()
    });
    let integer =
        |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.0}"));
    let now = sorted(estimates).into_iter().map(|cell| {
        let traffic = &cell.traffic;
        vec![
            escape(&cell.label, 40),
            End::Sender.load(run, estimates, cell).unwrap_or_default(),
            integer(traffic.interrupts_per_s),
            integer(traffic.rx_packets_per_s),
            integer(traffic.packets_per_s),
        ]
    });
    let grid = Grid::new(columns, then.chain(now).collect());
    let caption = format!(
        "As in 2001 (Andrew Morton, 27 January: load of a dual Pentium II that sent 11.5 MB/s); \
         now {}",
        load_of(run, estimates, End::Sender)
    );
    [Part::Table { caption, keys: 1, grid }].into_iter().chain(roofline(estimates)).collect()
}

/// The top speed of each path as a share of memcpy's, the fastest first; `None` where no block has
/// both.
fn roofline(estimates: &Estimates) -> Option<Part> {
    let memcpy = estimates.conditions.memcpy_bytes_per_s?;
    let mut cells: Vec<(&CellEstimate, Figure, Figure)> = sorted(estimates)
        .into_iter()
        .filter_map(|cell| Some((cell, cell.top_speed_bytes_per_s?, cell.top_speed_by_memcpy?)))
        .collect();
    if cells.is_empty() {
        return None;
    }
    cells.sort_by(|(_, _, a), (_, _, b)| b.value.total_cmp(&a.value));
    let columns = vec![
        Column::left("", ""),
        Column::right("top", "Gbit/s"),
        Column::right("share of", "memcpy"),
    ];
    let rows = cells.into_iter().map(|(cell, top, share)| {
        let share = with_half_width(share.value, share.half_width);
        vec![escape(&cell.label, 40), Unit::Gbit.text(top), share]
    });
    let caption = format!(
        "How far from the limit: top speed as a share of what memcpy moved in the same blocks, \
         from and to memory that is in no \
         cache ({} at the median)",
        rate(memcpy)
    );
    Some(Part::Table { caption, keys: 1, grid: Grid::new(columns, rows.collect()) })
}
