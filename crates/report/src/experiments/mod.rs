//! What a built-in experiment adds to its grids: the table of 2001 or 2006 that it redoes, in its own shape and beside today's
//! figures, and a sentence for whoever has to decide. A file to an experiment. A plan of the user's own has its grids alone.
//!
//! The figures of 2001 are those of Andrew Morton's ZC, 27 January 2001 (manual of the tool, with its results); those of 2006
//! are Andre Oppermann's, "Much improved sendfile(2) kernel implementation", freebsd-current, 20 September 2006.

mod affinity;
mod cork;
mod historical;
mod mtu;
mod offloads;
mod one_factor;
mod paths;
mod receive;
mod section;
mod sizes;
mod sockbuf;

pub(super) use sizes::about;

use super::pivot::Cross;
use section::Section;
use zc_analysis::Estimates;
use zc_run::{Factor, Run};

/// That of this run.
pub(super) fn section(run: &Run, estimates: &Estimates) -> Section {
    let name = run.header.plan.experiment.as_str();
    let Some(cross) = Cross::of(run, estimates) else {
        let parts = if name == "paths" { paths::parts(run, estimates) } else { Vec::new() };
        return Section { parts, says: None };
    };
    let mut section = match name {
        "affinity" => affinity::section(run, &cross),
        "congestion" => one_factor::section(estimates, &cross, Factor::Congestion, "Of congestion controls, per byte"),
        "cork" => cork::section(run, estimates, &cross),
        "flows" => one_factor::section(estimates, &cross, Factor::Flows, "Of so many connections, per byte"),
        "mtu" => mtu::section(estimates, &cross),
        "offloads" => offloads::section(run, estimates, &cross),
        // In 2001 the link was always saturated, at 11.5 MB/s.
        "pacing" => one_factor::section(estimates, &cross, Factor::Rate, "Of rates, per byte"),
        "receive" => receive::section(run, estimates, &cross),
        "sizes" => sizes::section(run, estimates, &cross),
        "sockbuf" => sockbuf::section(run, estimates, &cross),
        _ => Section::default(),
    };
    if !estimates.verdict.stands() {
        section.says = None;
    }
    section
}
