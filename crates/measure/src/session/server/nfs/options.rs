//! The options of `zc run nfs`, resolved.

use std::path::PathBuf;

use crate::session::options::BlockOptions;
use crate::session::remote_end::RemoteEnd;
use zc_run::{NfsClient, NfsOperation, NfsServer, NfsTransport, NfsVersion};

/// All options of `zc run nfs`.
#[derive(Debug, Clone)]
pub struct NfsOptions {
    /// How its blocks are measured, and where they are saved.
    pub blocks: BlockOptions,
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
    /// Files whose bytes are served as one file; empty: generated ones.
    pub files: Vec<PathBuf>,
    /// The client's program; `None`: it is compiled.
    pub reader: Option<PathBuf>,
}
