//! What a load consists of.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::origin::Origin;

/// What becomes of a connection after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// It serves the next request.
    KeepAlive,
    /// It is closed (`Connection: close`), and each request has a connection of its own.
    Close,
}

/// When requests are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// So many per second at constant spacing, whether or not responses arrive.
    At {
        /// Requests per second.
        per_s: f64,
    },
    /// As soon as a connection is free.
    Unpaced,
}

/// Whose certificates an HTTPS server may have.
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
    /// What is asked for; [`Load::go`](super::Load::go) says which.
    pub origins: Vec<Origin>,
    /// Connections for each origin. With [`Reuse::KeepAlive`] all are opened at the start.
    pub connections: usize,
    /// What becomes of a connection after a response.
    pub reuse: Reuse,
    /// The address from which connections are made, whatever its port; `None`: the kernel's choice.
    pub source: Option<SocketAddr>,
    /// Headers of every request, beside `Host`, `User-Agent` and `Accept`. One of those names
    /// replaces it.
    pub headers: Vec<(String, String)>,
    /// Whose certificates are accepted.
    pub trust: Trust,
    /// How long a connection may take to be established, and a response to be complete.
    pub timeout: Duration,
}
