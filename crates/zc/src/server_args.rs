//! The arguments of `zc run server`.

use clap::Args;

use super::request_args::RequestArgs;

/// What `zc run server` takes beside the options of every run.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "A server (zc run server)")]
pub(super) struct ServerArgs {
    /// A state of the server, by its name: a URL that is asked in it, or a command (sh -c) that
    /// puts the server into it; give two or more, the first is what the others are compared with
    #[arg(long, value_name = "NAME=URL|COMMAND", allow_hyphen_values = true)]
    pub(super) state: Vec<String>,
    /// The URL that is asked in states that are commands
    #[arg(long, value_name = "URL")]
    pub(super) url: Option<String>,
    /// The command (sh -c) that starts the server, in the foreground, on a CPU of its own [default:
    /// a server that runs already, on this machine]
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub(super) serve: Option<String>,
    /// Requests per second, as in 2000/s [default: chosen, half of what the slowest state can]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub(super) requests: Option<String>,
    /// Connections to each URL [default: 8]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) connections: Option<String>,
    /// Make a connection for each request
    #[arg(long)]
    pub(super) close: bool,
    #[command(flatten)]
    pub(super) request: RequestArgs,
    /// A load generator that asks in place of zc's own load, at a rate that it keeps, with {url}
    /// where the state's URL goes: -- oha -z 1h -q 2000 {url}
    #[arg(last = true, value_name = "LOADGEN")]
    pub(super) loadgen: Vec<String>,
}

impl ServerArgs {
    /// Whether any of them was typed.
    pub(super) fn is_given(&self) -> bool {
        let Self { state, url, serve, requests, connections, close, request, loadgen } = self;
        !state.is_empty()
            || !loadgen.is_empty()
            || [url, serve, requests, connections].into_iter().any(Option::is_some)
            || *close
            || request.is_given()
    }
}
