//! The options of `zc run server`, resolved.

use std::time::Duration;

use super::super::options::BlockOptions;
use super::super::remote_end::RemoteEnd;
use zc_load::{Reuse, Targets, Trust};
use zc_run::{HostState, HostStates};
use zc_servers::{Http2, OriginFiles};

/// All options of `zc run server`.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// How its blocks are measured, and where they are saved.
    pub blocks: BlockOptions,
    /// The states, two or more; the first is the one that the others are compared with.
    pub states: Vec<StateOption>,
    /// The commands of states that have one.
    pub commands: Option<HostStates>,
    /// The requests that every state is asked for in turn, whatever the path of its URL, each of
    /// which says what is expected; whole cycles of them in each window. A state that answers
    /// otherwise is left out and reported. `None`: a state is asked for its URL.
    pub mix: Option<Targets>,
    /// The command that starts the server, in the foreground; `None` if the server is there.
    pub serve: Option<String>,
    /// The files of the mix, which zc answers with on the load's side where the server is a proxy,
    /// and the port at which it reaches them; `None`: the server needs no other.
    pub origin: Option<OriginFiles>,
    /// The other machine from which the load comes; `None`: this one.
    pub remote: Option<RemoteEnd>,
    /// The load generator that asks in place of zc's own load, and its arguments, with
    /// [`URL`](zc_servers::GENERATOR_URL) where a state's URL goes; empty: none. It sets the
    /// rate.
    pub generator: Vec<String>,
    /// Asks for the mix by HTTP/2, from a link of zc's own; `None`: by HTTP/1.1.
    pub http2: Option<Http2>,
    /// Requests per second; `None` chooses a rate that the slowest state can well sustain.
    pub requests_per_s: Option<f64>,
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
