//! Options of a load.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use super::origin::Origin;

/// Whether a connection is used again after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// It serves the next request.
    KeepAlive,
    /// It serves so many requests, the last of them with `Connection: close`. The first connections
    /// serve fewer, each another number, so that they do not end together.
    Requests(NonZeroU64),
    /// It is closed (`Connection: close`), and each request has a connection of its own.
    Close,
}

impl Reuse {
    /// Whether a connection may serve more than one request.
    pub fn keeps(self) -> bool {
        self != Self::Close
    }
}

/// When requests are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// So many per second at constant spacing, whether or not responses arrive.
    At {
        /// Requests per second.
        per_s: f64,
    },
    /// Whenever a connection is free.
    Unpaced,
}

/// Certificates accepted from an HTTPS server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those signed by an authority that this system trusts.
    #[default]
    System,
    /// Those signed by, or contained in, a file of certificates (PEM).
    File(PathBuf),
    /// Anybody's.
    Anybody,
}

/// A load: where its requests may go, and how.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Origins to send requests to; [`Load::go`](super::Load::go) says which.
    pub origins: Vec<Origin>,
    /// Connections for each origin. Unless each request has its own, all are opened at the start.
    pub connections: usize,
    /// Whether connections are used again after a response.
    pub reuse: Reuse,
    /// The address from which connections are made, whatever its port; `None`: the kernel's choice.
    pub source: Option<SocketAddr>,
    /// Headers of every request, beside `Host`, `User-Agent` and `Accept`. One of those names
    /// replaces it.
    pub headers: Vec<(String, String)>,
    /// Certificates accepted from HTTPS servers.
    pub trust: Trust,
    /// Time allowed for establishing a connection, and for a response to be complete.
    pub timeout: Duration,
}
