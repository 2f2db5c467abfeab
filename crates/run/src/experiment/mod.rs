//! Experiments of `zc run`, one per file.
//!
//! An experiment's file is a [`Definition`]: its name, its question, its plan, and what its report
//! says. Everything that lists experiments iterates over [`Experiment::ALL`]: the command line,
//! `zc plan`, help, completions, reports, and the table in docs/plans.md.
//!
//! To add an experiment, write its file, declare it here (`mod NAME;`), and give it a line in
//! `experiments!`.

mod affinity;
mod clients;
mod components;
mod congestion;
mod cork;
mod definition;
mod flows;
mod links;
mod memory;
mod mtu;
mod nfs;
mod offloads;
mod pacing;
mod pages;
mod paths;
mod proxy;
mod receive;
mod replay;
mod requests;
mod server;
mod sizes;
mod sockbuf;
mod tls;
mod udp;
mod udp_receive;
mod uring;
mod uring_receive;

pub use definition::{Clause, Definition, NoPlan, Tables};

use std::fmt;
use std::str::FromStr;

use crate::UnknownName;

macro_rules! experiments {
    ($($experiment:ident = $file:ident,)+) => {
        /// An experiment of `zc run`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Experiment {
            $(#[doc = concat!("See `", stringify!($file), "`.")] $experiment,)+
        }

        impl Experiment {
            /// All experiments, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$experiment,)+];

            /// Their names, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($file::DEFINITION.name,)+];

            /// Its definition, from its file.
            pub fn definition(self) -> &'static Definition {
                match self { $(Self::$experiment => &$file::DEFINITION,)+ }
            }
        }
    };
}

experiments! {
    Paths = paths,
    Receive = receive,
    Uring = uring,
    UringReceive = uring_receive,
    Tls = tls,
    Udp = udp,
    UdpReceive = udp_receive,
    Proxy = proxy,
    Clients = clients,
    Sizes = sizes,
    Offloads = offloads,
    Cork = cork,
    Affinity = affinity,
    Pages = pages,
    Sockbuf = sockbuf,
    Mtu = mtu,
    Links = links,
    Flows = flows,
    Congestion = congestion,
    Pacing = pacing,
    Components = components,
    Memory = memory,
    Requests = requests,
    Replay = replay,
    Server = server,
    Nfs = nfs,
}

impl Experiment {
    /// The one of `zc run` without a name, which comes first on pages.
    pub const DEFAULT: Self = Self::Paths;

    /// Its name, as typed and saved.
    pub fn name(self) -> &'static str {
        self.definition().name
    }
}

impl fmt::Display for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Experiment {
    type Err = UnknownName;

    fn from_str(given: &str) -> Result<Self, UnknownName> {
        Self::ALL.iter().copied().find(|each| each.name() == given).ok_or_else(|| UnknownName {
            what: "experiment",
            given: given.to_owned(),
            known: Self::NAMES.to_vec(),
        })
    }
}

/// The table of experiments in docs/plans.md.
pub fn table() -> String {
    let row = |experiment: &Experiment| {
        let definition = experiment.definition();
        let Definition { title, plan, .. } = definition;
        let no_plan = plan.err().map(|NoPlan { why, .. }| format!("; it {why}, and has no plan"));
        let link = format!("[{experiment}]({})", definition.document());
        format!("| `{experiment}` | {title}{} | {link} |\n", no_plan.unwrap_or_default())
    };
    let rows = Experiment::ALL.iter().map(row);
    format!("| plan | question | results |\n|---|---|---|\n{}", rows.collect::<String>())
}
