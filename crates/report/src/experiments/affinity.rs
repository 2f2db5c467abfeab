//! `affinity`: both ends on one machine, on separate CPUs, on the same CPU, or placed by the
//! scheduler.

use super::historical::{Quotient, find, quotient, times};
use super::section::Section;
use crate::run::pivot::Pivot;
use crate::run::pivot_tables::NONE;
use crate::run::speed::Unit;
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use zc_run::{Placement, Run, SendPath, escape};

/// The placement, its name in 2001, and the kernels' speeds with sendfile() and with send() of 8
/// KiB.
type Historical = (Placement, &'static str, [(&'static str, [u32; 2]); 2]);

/// Andrew Morton, 27 January 2001, "Local networking": kbytes/sec of zcs for files sent to
/// localhost, dual 500 MHz Pentium II.
const HISTORICAL: &[Historical] = &[
    (
        Placement::Free,
        "no explicit bonding",
        [("2.4.1", [66_600, 70_000]), ("2.4.1-zc", [208_000, 69_000])],
    ),
    (
        Placement::Separate,
        "separate CPUs",
        [("2.4.1", [66_700, 68_000]), ("2.4.1-zc", [213_047, 66_000])],
    ),
    (Placement::Same, "same CPU", [("2.4.1", [56_000, 57_000]), ("2.4.1-zc", [176_000, 55_000])]),
];

/// The paths with figures of 2001, in their order.
const PATHS: [(SendPath, &str); 2] =
    [(SendPath::Sendfile, "sendfile()"), (SendPath::ReadSend, "send(8k)")];

pub(super) fn section(run: &Run, pivot: &Pivot) -> Section {
    let header = &run.header;
    let speed = |placement: Placement, send: SendPath| {
        let cell = find(run, pivot, |cell, at| {
            at.placement == placement && cell.transfer.send_path() == Some(send)
        })?;
        cell.figures.top_speed_bytes_per_s
    };
    let mut columns = vec![Column::left("client and server", ""), Column::left("kernel", "")];
    columns.extend(PATHS.map(|(_, head)| Column::right(head, "")));
    let mut rows = Vec::new();
    for (placement, bonding, then) in HISTORICAL {
        for (kernel, speeds) in then {
            let speeds = speeds.map(|speed| speed.to_string());
            rows.push(
                [(*bonding).to_owned(), (*kernel).to_owned()].into_iter().chain(speeds).collect(),
            );
        }
        let speeds = PATHS.map(|(send, _)| {
            speed(*placement, send)
                .map_or_else(|| NONE.to_owned(), |speed| Unit::Kbytes.text(speed))
        });
        let kernel = escape(&header.host.kernel_release, 20);
        rows.push([(*bonding).to_owned(), kernel].into_iter().chain(speeds).collect());
    }
    let caption = format!(
        "Local networking, {}, as in 2001 (Andrew Morton, 27 January, dual Pentium II); now by \
         sendfile and read+send of {}",
        Unit::Kbytes.name(),
        zc_run::units::size_text(header.plan.fixed.buffer_bytes as u64),
    );
    let parts = vec![Part::Table { caption, keys: 2, grid: Grid::new(columns, rows) }];

    let same = PATHS.iter().enumerate().filter_map(|(place, (send, _))| {
        let (same, separate) = (speed(Placement::Same, *send), speed(Placement::Separate, *send));
        let then = share_then(place)
            .map_or_else(String::new, |share| format!(" (in 2001 {share:.2} times)"));
        match quotient(same, separate) {
            Quotient::Times(ratio) => Some(format!(
                "{send} reaches {} its top speed on separate ones{then}",
                times(ratio)
            )),
            Quotient::Indistinct => Some(format!(
                "{send} reaches its top speed on separate ones, within the intervals{then}"
            )),
            Quotient::Unknown => None,
        }
    });
    let same: Vec<String> = same.collect();
    let conclusion =
        (!same.is_empty()).then(|| format!("With both ends on one CPU {}.", same.join("; ")));
    Section { parts, conclusion }
}

/// Speed on one CPU divided by that on two with the patch of 2001, for the path at `place` in
/// [`PATHS`].
fn share_then(place: usize) -> Option<f64> {
    let speed_then = |placement| {
        let (_, _, kernels) = HISTORICAL.iter().find(|(wanted, _, _)| *wanted == placement)?;
        kernels.last()?.1.get(place).copied().map(f64::from)
    };
    Some(speed_then(Placement::Same)? / speed_then(Placement::Separate)?)
}
