//! `receive`: the cost of receiving by receive path and buffer size.

use super::historical::{End, load_of};
use super::section::Section;
use crate::digits::{percent, ratio};
use crate::run::baseline::Baseline;
use crate::run::pivot::Pivot;
use crate::run::pivot_tables::table;
use zc_analysis::{Comparison, Estimates};
use zc_run::{Run, escape};

/// Andrew Morton, 27 January 2001: load of a dual 500 MHz Pentium II with a 3c905C that receives
/// 11.5 MB/s in reads of 16 KiB.
const HISTORICAL: &[(&str, f64)] = &[("2.4.1-pre10+zerocopy", 18.7), ("2.4.1-pre10-vanilla", 18.3)];

pub(super) fn section(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Section {
    let then: Vec<String> =
        HISTORICAL.iter().map(|(kernel, load)| format!("{load:.1} % ({kernel})")).collect();
    let caption = format!(
        "As in 2001 (Andrew Morton, 27 January: receiving 11.5 MB/s with read()s of 16k took a \
         dual Pentium II {}); now {}",
        then.join(" and "),
        load_of(run, estimates, End::Receiver)
    );
    let loads = table(run, pivot, caption, true, |placed| {
        End::Receiver.load(run, estimates, placed.figures)
    });
    // Receiver savings are a smaller share of the cost of both ends, and the sender's noise does
    // not affect them.
    let caption = format!(
        "Ratio of the receiver's cost alone to that of {}",
        Baseline::from_pivot(pivot).text()
    );
    let own = table(run, pivot, caption, false, |placed| match placed.figures.ratio.receiver {
        Some(own) => Some(ratio(own.value, own.half_width)),
        None => placed.figures.cost_ns_per_kib.receiver.map(|_| "1".to_owned()),
    });
    Section {
        parts: own.into_iter().chain(loads).collect(),
        conclusion: conclusion(estimates, pivot),
    }
}

/// The cheapest receive path that was shown to cost less and that reads its bytes.
fn conclusion(estimates: &Estimates, pivot: &Pivot) -> Option<String> {
    let mut compared = 0;
    let mut best: Option<(f64, &str)> = None;
    for placed in pivot.cells().filter(|placed| !placed.cell.transfer.receiver().drops_bytes()) {
        let label = placed.cell.label.as_str();
        let Some(verdict) = estimates.verdict.for_cell(label) else {
            continue;
        };
        compared += 1;
        match verdict.comparison {
            Comparison::Cheaper { by } if best.is_none_or(|(most, _)| by > most) => {
                best = Some((by, label))
            }
            _ => {}
        }
    }
    let against = Baseline::from_pivot(pivot).text();
    match best {
        _ if compared == 0 => None,
        Some((by, label)) => Some(format!(
            "The most that was shown to be saved is {} of the CPU of both ends with {against}, by \
             {}.",
            percent(by),
            escape(label, 80)
        )),
        None => Some(format!(
            "No receive path that reads its bytes was shown to save anything over {against}."
        )),
    }
}
