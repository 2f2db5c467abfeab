//! The options of `zc run server`, resolved.

use std::path::PathBuf;
use std::time::Duration;

use super::super::earlier::EarlierRates;
use super::super::options::CpuPair;
use super::super::remote_end::RemoteEnd;
use zc_load::{Reuse, Trust};
use zc_run::{HostState, HostStates, SoakerKind};

/// All options of `zc run server`.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The command line as it is saved in the run.
    pub command: Vec<String>,
    /// The states, two or more; the first is the one that the others are compared with.
    pub states: Vec<StateOption>,
    /// The commands of states that have one.
    pub commands: Option<HostStates>,
    /// The command that starts the server, in the foreground; `None` if the server is there.
    pub serve: Option<String>,
    /// The other machine from which the load comes; `None`: this one.
    pub remote: Option<RemoteEnd>,
    /// The load generator that asks in place of zc's own load, and its arguments, with
    /// [`URL`](zc_servers::GENERATOR_URL) where a state's URL goes; empty: none. It sets the
    /// rate.
    pub generator: Vec<String>,
    /// Requests per second; `None` chooses a rate that the slowest state can well sustain.
    pub requests_per_s: Option<f64>,
    /// Rates of earlier runs of a server, the newest first: the rate is kept where that is
    /// possible.
    pub earlier: Vec<EarlierRates>,
    /// Connections to each URL.
    pub connections: usize,
    /// Whether connections are used again after a response.
    pub reuse: Reuse,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// Certificates accepted from an HTTPS server.
    pub trust: Trust,
    /// Time allowed for a response.
    pub timeout: Duration,
    /// Time allowed to the server until it answers the first request, once zc has started it or has
    /// run the command of a state.
    pub start_limit: Duration,
    /// The server's CPU (as sender) and that of the load (as receiver). With a server that is
    /// already there: the CPU of the positive control, and that of the load.
    pub cpus: Option<CpuPair>,
    /// Kind of work that the soakers do.
    pub soaker: SoakerKind,
    /// Time for the whole run, everything included.
    pub budget_ns: u64,
    /// Half-width of every ratio's interval at which the run may stop early: 0.025 is +-2.5 %.
    pub target: f64,
    /// Whether blocks are dropped beside other programs although costs leave these out.
    pub strict: bool,
    /// Seed of the random order; `None` draws one.
    pub seed: Option<u64>,
    /// Length of the measured part of a trial; `None` for the default.
    pub window_ns: Option<u64>,
    /// Length of an idle window between trials; `None` for the default.
    pub idle_ns: Option<u64>,
    /// Length of the warm-up before each window; `None` for the default.
    pub warmup_ns: Option<u64>,
    /// File that the run is saved in.
    pub out: PathBuf,
}

/// A state and where requests go in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateOption {
    /// Its name.
    pub state: HostState,
    /// The URL. Its host is what the server is told. To a server that zc starts, the connection
    /// goes to the server's side of the link, to the URL's port.
    pub url: String,
}
