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

use crate::run::pivot::Pivot;
use crate::terminal::part::Part;
use section::Section;
use zc_analysis::Estimates;
use zc_run::{Experiment, Factor, Run, Traffic};

/// The parts of a section: those in place of the table of cells, and those that follow it. The
/// tables of servers are per request, where that of the cells is per byte.
pub(super) fn placed(run: &Run, parts: Vec<Part>) -> (Vec<Part>, Vec<Part>) {
    match run.header.plan.traffic {
        Traffic::Server(_) | Traffic::Responses(_) => (parts, Vec::new()),
        Traffic::Stream | Traffic::Nfs(_) => (Vec::new(), parts),
    }
}

/// The question that an experiment answers, as its page is headed.
pub(super) fn title(experiment: Experiment) -> &'static str {
    match experiment {
        Experiment::Paths => "what each way of sending costs",
        Experiment::Receive => "what each way of receiving costs, and with which buffer",
        Experiment::Sizes => "from which size on each path pays",
        Experiment::Offloads => "what each offload of the network card saves",
        Experiment::Cork => "what TCP_CORK, MSG_MORE and TCP_NODELAY do to small writes",
        Experiment::Affinity => "both ends on one machine, and on which CPUs",
        Experiment::Pages => "what huge pages save a program that sends from its own memory",
        Experiment::Sockbuf => "socket buffers, message sizes and TSO, by two accounts",
        Experiment::Mtu => "what a larger MTU saves",
        Experiment::Flows => "what many connections cost",
        Experiment::Congestion => "what the congestion control costs",
        Experiment::Pacing => "how the cost depends on the rate",
        Experiment::Components => "what a wake-up, a call and a byte cost",
        Experiment::Memory => "how fast this machine's memory is",
        Experiment::Requests => "what a response costs a server, by its length and the send path",
        Experiment::Replay => "what the responses of an access log cost a server",
        Experiment::Server => "what a request costs in each state of the server",
        Experiment::Nfs => "what a call of NFS costs server and client, by its size",
    }
}

/// The section of a run's experiment.
pub(super) fn section(run: &Run, estimates: &Estimates) -> Section {
    let plan = &run.header.plan;
    let experiment = plan.experiment.parse::<Experiment>().ok();
    if let Traffic::Server(server) = &plan.traffic {
        return withheld(server::section(estimates, server), estimates);
    }
    let Some(pivot) = Pivot::of(run, estimates) else {
        let parts = match experiment {
            Some(Experiment::Paths) => paths::parts(run, estimates),
            _ => Vec::new(),
        };
        return Section { parts, conclusion: None };
    };
    let section = match &plan.traffic {
        Traffic::Responses(responses) => requests::section(run, estimates, responses, &pivot),
        Traffic::Nfs(nfs) => nfs::section(run, estimates, nfs, &pivot),
        Traffic::Stream | Traffic::Server(_) => match experiment {
            Some(experiment) => of_streams(experiment, run, estimates, &pivot),
            None => Section::default(),
        },
    };
    withheld(section, estimates)
}

fn of_streams(experiment: Experiment, run: &Run, estimates: &Estimates, pivot: &Pivot) -> Section {
    let by = |factor, what| one_factor::section(estimates, pivot, factor, what);
    match experiment {
        Experiment::Affinity => affinity::section(run, pivot),
        Experiment::Components => Section {
            parts: components::parts(estimates),
            conclusion: components::conclusion(estimates),
        },
        Experiment::Congestion => by(Factor::Congestion, "Of congestion controls, per byte"),
        Experiment::Cork => cork::section(run, estimates, pivot),
        Experiment::Flows => by(Factor::Flows, "Of so many connections, per byte"),
        Experiment::Mtu => mtu::section(estimates, pivot),
        Experiment::Offloads => offloads::section(run, estimates, pivot),
        // In 2001 the link was always saturated, at 11.5 MB/s.
        Experiment::Pacing => Section {
            parts: components::parts(estimates),
            ..by(Factor::Rate, "Of rates, per byte")
        },
        Experiment::Receive => receive::section(run, estimates, pivot),
        Experiment::Sizes => sizes::section(run, estimates, pivot),
        Experiment::Sockbuf => sockbuf::section(run, estimates, pivot),
        Experiment::Paths
        | Experiment::Pages
        | Experiment::Memory
        | Experiment::Requests
        | Experiment::Replay
        | Experiment::Server
        | Experiment::Nfs => Section::default(),
    }
}

/// The section without its conclusion, where verdicts are withheld.
fn withheld(section: Section, estimates: &Estimates) -> Section {
    let conclusion = section.conclusion.filter(|_| estimates.verdict.stands());
    Section { conclusion, ..section }
}
