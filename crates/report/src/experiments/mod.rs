//! Additions of built-in experiments to their grids: the table of 2001 or 2006 that they repeat,
//! with today's figures, and a conclusion. One file per experiment. A user's own plan has only its
//! grids.
//!
//! The figures of 2001 are those of Andrew Morton's ZC, 27 January 2001 (manual of the tool, with
//! its results); those of 2006 are Andre Oppermann's, "Much improved sendfile(2) kernel
//! implementation", freebsd-current, 20 September 2006.

mod affinity;
mod components;
mod cork;
mod historical;
mod mtu;
mod nfs;
mod offloads;
mod one_factor;
mod paths;
mod receive;
mod replay;
mod requests;
mod section;
pub(super) mod server;
mod sizes;
mod sockbuf;

pub(super) use nfs::{about as about_nfs, table as nfs_table};
pub(super) use replay::{about as about_replay, table as replay_table};
pub(super) use requests::table as responses_table;
pub(super) use server::{about as about_server, several_lengths, table as server_table};
pub(super) use sizes::about;

use super::block::Part;
use super::pivot::Pivot;
use section::Section;
use zc_analysis::Estimates;
use zc_run::{Factor, Run};

/// The parts of a section: those in place of the table of cells, and those that follow it. The
/// tables of servers are per request, where that of the cells is per byte.
pub(super) fn placed(run: &Run, parts: Vec<Part>) -> (Vec<Part>, Vec<Part>) {
    let plan = &run.header.plan;
    match plan.server.is_some() || plan.responses.is_some() {
        true => (parts, Vec::new()),
        false => (Vec::new(), parts),
    }
}

/// The section of a run's experiment.
pub(super) fn section(run: &Run, estimates: &Estimates) -> Section {
    let name = run.header.plan.experiment.as_str();
    if let Some(server) = &run.header.plan.server {
        return withheld(server::section(estimates, server), estimates);
    }
    let Some(pivot) = Pivot::of(run, estimates) else {
        let parts = if name == "paths" { paths::parts(run, estimates) } else { Vec::new() };
        return Section { parts, conclusion: None };
    };
    if let Some(responses) = &run.header.plan.responses {
        return withheld(requests::section(run, estimates, responses, &pivot), estimates);
    }
    if let Some(nfs) = &run.header.plan.nfs {
        return withheld(nfs::section(run, estimates, nfs, &pivot), estimates);
    }
    let section = match name {
        "affinity" => affinity::section(run, &pivot),
        "components" => Section {
            parts: components::parts(estimates),
            conclusion: components::conclusion(estimates),
        },
        "congestion" => one_factor::section(
            estimates,
            &pivot,
            Factor::Congestion,
            "Of congestion controls, per byte",
        ),
        "cork" => cork::section(run, estimates, &pivot),
        "flows" => one_factor::section(
            estimates,
            &pivot,
            Factor::Flows,
            "Of so many connections, per byte",
        ),
        "mtu" => mtu::section(estimates, &pivot),
        "offloads" => offloads::section(run, estimates, &pivot),
        // In 2001 the link was always saturated, at 11.5 MB/s.
        "pacing" => Section {
            parts: components::parts(estimates),
            ..one_factor::section(estimates, &pivot, Factor::Rate, "Of rates, per byte")
        },
        "receive" => receive::section(run, estimates, &pivot),
        "sizes" => sizes::section(run, estimates, &pivot),
        "sockbuf" => sockbuf::section(run, estimates, &pivot),
        _ => Section::default(),
    };
    withheld(section, estimates)
}

/// The section without its conclusion, where verdicts are withheld.
fn withheld(section: Section, estimates: &Estimates) -> Section {
    let conclusion = section.conclusion.filter(|_| estimates.verdict.stands());
    Section { conclusion, ..section }
}
