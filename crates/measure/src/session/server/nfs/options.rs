//! The options of `zc run nfs`, resolved.

use std::path::PathBuf;

use crate::session::earlier::EarlierRates;
use crate::session::options::CpuPair;
use crate::session::remote_end::RemoteEnd;
use zc_run::{NfsClient, NfsOperation, NfsServer, NfsTransport, NfsVersion, SoakerKind};

/// All options of `zc run nfs`.
#[derive(Debug, Clone)]
pub struct NfsOptions {
    /// The command line as it is saved in the run.
    pub command: Vec<String>,
    /// The server.
    pub server: NfsServer,
    /// Threads of the kernel's server.
    pub threads: usize,
    /// The file of a server that is there: `HOST:/PATH`, or one in a mount of this machine.
    pub file: Option<String>,
    /// The client.
    pub client: NfsClient,
    /// The other machine on which it does; `None`: this one.
    pub remote: Option<RemoteEnd>,
    /// Versions of NFS, the first of which is the one that others are compared with; empty: what
    /// the client usually speaks, or the version of a mount that is there.
    pub versions: Vec<NfsVersion>,
    /// Transports of NFS; empty: TCP.
    pub transports: Vec<NfsTransport>,
    /// Operations to measure, at least one.
    pub operations: Vec<NfsOperation>,
    /// Bytes of a READ or WRITE, ascending, at least one.
    pub sizes: Vec<usize>,
    /// READs or WRITEs at a time, at most.
    pub depth: usize,
    /// Connections of a mount of the kernel's client, of which the first number is the one that
    /// others are compared with; empty: one, or those of a mount that is there.
    pub connections: Vec<usize>,
    /// Bytes per second of each cell; `None` chooses a rate that the slowest can well sustain.
    pub rate_bytes_per_s: Option<f64>,
    /// Rates of earlier runs of NFS, the newest first: the rate is kept where that is possible.
    pub earlier: Vec<EarlierRates>,
    /// Files whose bytes are served as one file; empty: generated ones.
    pub files: Vec<PathBuf>,
    /// The client's program; `None`: it is compiled.
    pub reader: Option<PathBuf>,
    /// The server's CPU (as sender) and that of the client (as receiver).
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
    /// Lengths of warm-up, window and idle window; `None` for the usual ones.
    pub timing: [Option<u64>; 3],
    /// File that the run is saved in.
    pub out: PathBuf,
}
