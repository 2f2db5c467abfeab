//! `offloads`: the savings of checksum, scatter-gather and segmentation offloads, per path.

use std::collections::BTreeSet;

use super::historical::{End, find, load_of};
use super::section::Section;
use crate::run::pivot::Pivot;
use crate::run::pivot_tables::NONE;
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use zc_analysis::Estimates;
use zc_run::factor::offloads_text;
use zc_run::{Cell, OffloadSwitch, Run, SendPath};

/// Loads of old senders: Andrew Morton, 27 January 2001, 2.4.1-pre10+zerocopy, dual 500 MHz Pentium
/// II with a 3c905C at 11.5 MB/s; Andre Oppermann, 20 September 2006, Opteron 852 with em(4) at 1
/// Gbit/s, netperf with socket buffers and messages of 64 KiB (TCP_STREAM, and TCP_SENDFILE with
/// the new sendfile).
struct Historical {
    /// The most similar levels of today, the most similar first.
    without: &'static [&'static [OffloadSwitch]],
    /// 2001: sendfile(), send(); per cent.
    of_2001: Option<[f64; 2]>,
    /// 2006: TCP_SENDFILE, TCP_STREAM; the sender's utilisation, per cent.
    of_2006: Option<[f64; 2]>,
}

const HISTORICAL: &[Historical] = &[
    Historical { without: &[&[]], of_2001: Some([9.6, 24.1]), of_2006: Some([12.11, 26.47]) },
    Historical {
        without: &[
            &[OffloadSwitch::NoSg, OffloadSwitch::NoChecksum],
            &[OffloadSwitch::NoSg],
            &[OffloadSwitch::NoChecksum],
        ],
        of_2001: Some([16.2, 21.5]),
        of_2006: None,
    },
    // FreeBSD had no software segmentation then.
    Historical {
        without: &[&[OffloadSwitch::NoTso, OffloadSwitch::NoGso], &[OffloadSwitch::NoTso]],
        of_2001: None,
        of_2006: Some([23.68, 29.17]),
    },
];

pub(super) fn section(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Section {
    let switched = |cell: &Cell| run.header.link.wanted(&cell.levels).switched_off;
    let mut levels: Vec<BTreeSet<OffloadSwitch>> = Vec::new();
    for placed in pivot.cells() {
        let own = switched(placed.cell);
        if !levels.contains(&own) {
            levels.push(own);
        }
    }
    let sends: Vec<SendPath> = SendPath::ALL
        .iter()
        .copied()
        .filter(|send| pivot.cells().any(|placed| placed.cell.transfer.send_path() == Some(*send)))
        .collect();
    // Each old row goes with the most similar level, or into a row of its own.
    let mut then: Vec<Option<&Historical>> = vec![None; levels.len()];
    for old in HISTORICAL {
        let sets =
            || old.without.iter().map(|without| without.iter().copied().collect::<BTreeSet<_>>());
        let place = sets().find_map(|set| levels.iter().position(|level| *level == set));
        match place {
            Some(place) => then[place] = Some(old),
            None => {
                levels.extend(sets().next());
                then.push(Some(old));
            }
        }
    }
    let mut columns = vec![Column::left("offloads", "")];
    columns.extend(["sendfile()", "send()"].map(|path| Column::right("2001,", path)));
    columns.extend(["SENDFILE", "STREAM"].map(|test| Column::right("2006,", test)));
    columns.extend(sends.iter().map(|send| Column::right("now,", send.name())));
    let none = || NONE.to_owned();
    let rows = levels.iter().zip(then).map(|(without, then)| {
        let mut row = vec![offloads_text(without)];
        let (of_2001, of_2006) = then.map_or((None, None), |then| (then.of_2001, then.of_2006));
        for (old, places) in [(of_2001, 1), (of_2006, 2)] {
            row.extend(old.map_or_else(
                || [none(), none()],
                |loads: [f64; 2]| loads.map(|load| format!("{load:.places$} %")),
            ));
        }
        row.extend(sends.iter().map(|send| {
            let cell = find(run, pivot, |cell, _| {
                cell.transfer.send_path() == Some(*send) && switched(cell) == *without
            });
            cell.and_then(|placed| End::Sender.load(run, estimates, placed.figures))
                .unwrap_or_else(none)
        }));
        row
    });
    let grid = Grid::new(columns, rows.collect());
    let caption = format!(
        "As in 2001 (Andrew Morton, 27 January: load of a dual Pentium II with a 3c905C at 11.5 \
         MB/s) and 2006 (Andre Oppermann, 20 \
         September: the sender's utilisation by netperf, em(4) at 1 Gbit/s, new sendfile); now {}",
        load_of(run, estimates, End::Sender)
    );
    Section { parts: vec![Part::Table { caption, keys: 1, grid }], conclusion: None }
}
