//! Additions of built-in experiments to their grids: the table of 2001 or 2006 that they repeat,
//! with today's figures, and a conclusion. The experiment's definition
//! (crates/run/src/experiment/) chooses them; a file here is what one kind of table takes in code.
//! A user's own plan has only its grids.
//!
//! The figures of 2001 are those of Andrew Morton's ZC, 27 January 2001 (manual of the tool, with
//! its results); those of 2006 are Andre Oppermann's, "Much improved sendfile(2) kernel
//! implementation", freebsd-current, 20 September 2006.

mod affinity;
mod clients;
mod components;
mod cork;
mod historical;
mod layers;
mod nfs;
mod offloads;
mod one_factor;
mod paths;
mod proxy;
mod receive;
mod replay;
mod requests;
mod section;
pub(super) mod server;
mod sizes;
mod sockbuf;
mod threshold;
mod tls;
mod udp;

pub(super) use nfs::{about as about_nfs, table as nfs_table};
pub(super) use replay::{about as about_replay, table as replay_table};
pub(super) use requests::table as responses_table;
pub(super) use server::{about as about_server, several_lengths, table as server_table};
pub(super) use sizes::about;

use crate::run::pivot::Pivot;
use crate::terminal::part::Part;
use section::Section;
use zc_analysis::Estimates;
use zc_run::experiment::{Definition, Tables};
use zc_run::{Experiment, Run, Traffic};

/// The parts of a section: those in place of the table of cells, and those that follow it. The
/// tables of servers are per request, where that of the cells is per byte.
pub(super) fn placed(run: &Run, parts: Vec<Part>) -> (Vec<Part>, Vec<Part>) {
    match run.header.plan.traffic {
        Traffic::Server(_) | Traffic::Responses(_) => (parts, Vec::new()),
        Traffic::Stream | Traffic::Nfs(_) => (Vec::new(), parts),
    }
}

/// The section of a run's experiment.
pub(super) fn section(run: &Run, estimates: &Estimates) -> Section {
    let plan = &run.header.plan;
    let definition = plan.experiment.parse::<Experiment>().ok().map(Experiment::definition);
    if let Traffic::Server(server) = &plan.traffic {
        return withheld(server::section(estimates, server), estimates);
    }
    let Some(pivot) = Pivot::build(run, estimates) else {
        let parts = match definition.and_then(|definition| definition.tables) {
            Some(Tables::PathsOf2001) => paths::parts(run, estimates),
            _ => Vec::new(),
        };
        return Section { parts, conclusion: None };
    };
    let section = match &plan.traffic {
        Traffic::Responses(responses) => requests::section(run, estimates, responses, &pivot),
        Traffic::Nfs(nfs) => nfs::section(run, estimates, nfs, &pivot),
        Traffic::Stream | Traffic::Server(_) => {
            let section = definition.map(|of| stream_section(of, run, estimates, &pivot));
            section.unwrap_or_default()
        }
    };
    withheld(section, estimates)
}

fn stream_section(of: &Definition, run: &Run, estimates: &Estimates, pivot: &Pivot) -> Section {
    let section = match of.tables {
        None | Some(Tables::PathsOf2001) => Section::default(),
        Some(Tables::Accounts) => sockbuf::section(run, estimates, pivot),
        Some(Tables::Components) => components::section(estimates),
        Some(Tables::Crossovers) => sizes::section(run, estimates, pivot),
        Some(Tables::Offloads) => offloads::section(run, estimates, pivot),
        Some(Tables::Placements) => affinity::section(run, pivot),
        Some(Tables::Receivers) => receive::section(run, estimates, pivot),
        Some(Tables::SmallWrites) => cork::section(run, estimates, pivot),
        Some(Tables::Encryption) => tls::section(estimates, pivot),
        Some(Tables::Layers) => layers::section(run, estimates, pivot),
        Some(Tables::Datagrams) => udp::section(run, estimates, pivot),
        Some(Tables::Proxies) => proxy::section(run, estimates, pivot),
        Some(Tables::Clients) => clients::section(run, estimates, pivot),
    };
    match of.conclusion {
        [] => section,
        clauses => {
            Section { conclusion: one_factor::sentence(estimates, pivot, clauses), ..section }
        }
    }
}

/// The section without its conclusion, where verdicts are withheld.
fn withheld(section: Section, estimates: &Estimates) -> Section {
    let conclusion = section.conclusion.filter(|_| estimates.verdict.stands());
    Section { conclusion, ..section }
}
