//! `affinity`: both ends on one machine, on CPUs of their own, on one, or wherever the scheduler puts them.

use super::historical::{By, by, find, times};
use super::section::Section;
use crate::block::Part;
use crate::grid::{Column, Grid};
use crate::grids::NONE;
use crate::pivot::Cross;
use crate::speed::Unit;
use zc_run::{Placement, Run, SendPath, escape};

/// Where both ends were, in the words of 2001, and the kernels' speeds with sendfile() and with send() of 8 KiB.
type Then = (Placement, &'static str, [(&'static str, [u32; 2]); 2]);

/// Andrew Morton, 27 January 2001, "Local networking": kbytes/sec of zcs for files sent to localhost, dual 500 MHz Pentium II.
const THEN: &[Then] = &[
    (Placement::Free, "no explicit bonding", [("2.4.1", [66_600, 70_000]), ("2.4.1-zc", [208_000, 69_000])]),
    (Placement::Separate, "separate CPUs", [("2.4.1", [66_700, 68_000]), ("2.4.1-zc", [213_047, 66_000])]),
    (Placement::Same, "same CPU", [("2.4.1", [56_000, 57_000]), ("2.4.1-zc", [176_000, 55_000])]),
];

/// The paths that 2001 has figures of, in the order of those.
const PATHS: [(SendPath, &str); 2] = [(SendPath::Sendfile, "sendfile()"), (SendPath::ReadSend, "send(8k)")];

pub(super) fn section(run: &Run, cross: &Cross) -> Section {
    let header = &run.header;
    let speed = |placement: Placement, send: SendPath| {
        let cell = find(run, cross, |cell, at| at.placement == placement && cell.send == send)?;
        cell.figures.top_speed_bytes_per_s
    };
    let mut columns = vec![Column::left("client and server", ""), Column::left("kernel", "")];
    columns.extend(PATHS.map(|(_, head)| Column::right(head, "")));
    let mut rows = Vec::new();
    for (placement, bonding, then) in THEN {
        for (kernel, speeds) in then {
            let speeds = speeds.map(|speed| speed.to_string());
            rows.push([(*bonding).to_owned(), (*kernel).to_owned()].into_iter().chain(speeds).collect());
        }
        let speeds = PATHS
            .map(|(send, _)| speed(*placement, send).map_or_else(|| NONE.to_owned(), |speed| Unit::Kbytes.text(speed)));
        let kernel = escape(&header.host.kernel_release, 20);
        rows.push([(*bonding).to_owned(), kernel].into_iter().chain(speeds).collect());
    }
    let caption = format!(
        "Local networking, {}, as in 2001 (Andrew Morton, 27 January, dual Pentium II); now by sendfile and read+send of {}",
        Unit::Kbytes.name(),
        zc_run::units::size_text(header.plan.fixed.buffer_bytes as u64),
    );
    let parts = vec![Part::Table { caption, keys: 2, grid: Grid::new(columns, rows) }];

    let same = PATHS.iter().enumerate().filter_map(|(place, (send, _))| {
        let (same, separate) = (speed(Placement::Same, *send), speed(Placement::Separate, *send));
        let then = share_then(place).map_or_else(String::new, |share| format!(" (in 2001 {share:.2} of it)"));
        match by(same, separate) {
            By::Times(ratio) => Some(format!("{send} reaches {} its top speed on separate ones{then}", times(ratio))),
            By::Alike => Some(format!("{send} reaches its top speed on separate ones, as far as could be told{then}")),
            By::Unknown => None,
        }
    });
    let same: Vec<String> = same.collect();
    let says = (!same.is_empty()).then(|| format!("With both ends on one CPU {}.", same.join("; ")));
    Section { parts, says }
}

/// Speed on one CPU by that on two with the patch of 2001, of the path at `place` in [`PATHS`].
fn share_then(place: usize) -> Option<f64> {
    let of = |placement| {
        let (_, _, kernels) = THEN.iter().find(|(wanted, _, _)| *wanted == placement)?;
        kernels.last()?.1.get(place).copied().map(f64::from)
    };
    Some(of(Placement::Same)? / of(Placement::Separate)?)
}
