//! `receive`: what receiving costs, by receive path and size of its buffer.

use super::historical::{End, load_of};
use super::section::Section;
use crate::baseline::Against;
use crate::digits::{percent, ratio};
use crate::grids::table;
use crate::pivot::Cross;
use zc_analysis::{Comparison, Estimates};
use zc_run::{RecvPath, Run, escape};

/// Andrew Morton, 27 January 2001: load of a dual 500 MHz Pentium II with a 3c905C that receives 11.5 MB/s in reads of 16 KiB.
const THEN: &[(&str, f64)] = &[("2.4.1-pre10+zerocopy", 18.7), ("2.4.1-pre10-vanilla", 18.3)];

pub(super) fn section(run: &Run, estimates: &Estimates, cross: &Cross) -> Section {
    let then: Vec<String> = THEN.iter().map(|(kernel, load)| format!("{load:.1} % ({kernel})")).collect();
    let caption = format!(
        "As in 2001 (Andrew Morton, 27 January: receiving 11.5 MB/s with read()s of 16k took a dual Pentium II {}); now {}",
        then.join(" and "),
        load_of(run, estimates, End::Receiver)
    );
    let loads = table(run, cross, caption, true, |placed| End::Receiver.load(run, estimates, placed.figures));
    // What a receiver saves is a smaller part of what both ends take, and the sender's noise is not its.
    let caption = format!("Ratio of the receiver's cost alone to that of {}", Against::of(cross).text());
    let own = table(run, cross, caption, false, |placed| match placed.figures.ratio.receiver {
        Some(own) => Some(ratio(own.value, own.half_width)),
        None => placed.figures.cost_ns_per_kib.receiver.map(|_| "1".to_owned()),
    });
    Section { parts: own.into_iter().chain(loads).collect(), says: says(estimates, cross) }
}

/// The least of those that were shown to cost less, of receivers that look at what they get.
fn says(estimates: &Estimates, cross: &Cross) -> Option<String> {
    let mut compared = 0;
    let mut best: Option<(f64, &str)> = None;
    for placed in cross.cells().filter(|placed| placed.cell.recv != RecvPath::RecvTrunc) {
        let label = placed.cell.label.as_str();
        let Some(verdict) = estimates.verdict.cells.iter().find(|verdict| verdict.label == label) else { continue };
        compared += 1;
        match verdict.comparison {
            Comparison::Cheaper { by } if best.is_none_or(|(most, _)| by > most) => best = Some((by, label)),
            _ => {}
        }
    }
    let against = Against::of(cross).text();
    match best {
        _ if compared == 0 => None,
        Some((by, label)) => Some(format!(
            "A receiver saves most with {}: {} of what both ends take with {against}.",
            escape(label, 80),
            percent(by)
        )),
        None => Some(format!("No receiver that looks at its bytes could be shown to save anything over {against}.")),
    }
}
