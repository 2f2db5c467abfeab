//! The arguments of `zc run server`.

use clap::Args;

use super::kernel_args::KernelArgs;
use super::known::{count, typed};
use super::option_groups::{BlockArgs, MeasuringArgs, StateCommandArgs, budget_of};
use super::remote::RemoteArgs;
use super::request_args::RequestArgs;
use zc_run::{Error, Experiment, HostState, Result, units};

/// More than any server's workers hold.
const MOST_CONNECTIONS: u64 = 10_000;

/// The options of `zc run server`.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("budget", budget_of(Experiment::Server.definition().budget)))]
pub(super) struct ServerArgs {
    /// A state of the server, by its name: a URL that is asked in it, or a command (sh -c) that
    /// puts the server into it; give two or more, the first is what the others are compared with
    #[arg(long, value_name = "NAME=URL|COMMAND", allow_hyphen_values = true,
          value_parser = typed(StateArg::parse))]
    pub(super) state: Vec<StateArg>,
    /// The URL that is asked in states that are commands
    #[arg(long, value_name = "URL")]
    pub(super) url: Option<String>,
    /// The command (sh -c) that starts the server, in the foreground, on a CPU of its own [default:
    /// a server that runs already, on this machine]
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub(super) serve: Option<String>,
    /// Requests per second, as in 2000/s [default: chosen, half of what the slowest state can]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true,
          value_parser = typed(units::per_second))]
    pub(super) requests: Option<f64>,
    /// Connections to each URL
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value = "8",
          value_parser = count("number", 1..=MOST_CONNECTIONS))]
    pub(super) connections: u64,
    /// Make a connection for each request
    #[arg(long)]
    pub(super) close: bool,
    #[command(flatten)]
    pub(super) request: RequestArgs,
    /// A load generator that asks in place of zc's own load, at a rate that it keeps, with {url}
    /// where the state's URL goes: -- oha -z 1h -q 2000 {url}
    #[arg(last = true, value_name = "LOADGEN")]
    pub(super) loadgen: Vec<String>,
    #[command(flatten)]
    pub(super) state_commands: StateCommandArgs,
    #[command(flatten)]
    pub(super) remote: RemoteArgs,
    #[command(flatten)]
    pub(super) measuring: MeasuringArgs,
    #[command(flatten)]
    pub(super) block: BlockArgs,
    #[command(flatten)]
    pub(super) kernels: KernelArgs,
}

/// A state as it is typed: its name, and a URL or a command.
#[derive(Debug, Clone)]
pub(super) struct StateArg {
    pub(super) state: HostState,
    pub(super) what: String,
}

impl StateArg {
    fn parse(text: &str) -> Result<Self> {
        let wrong = |what: &str| {
            let shown = zc_run::escape(text, 60);
            Error::usage("invalid-state", format!("\"{shown}\" {what}"))
                .help("a name, \"=\", and a URL or a command: on=http://localhost:8002/file")
        };
        let (name, what) = text.split_once('=').ok_or_else(|| wrong("has no \"=\""))?;
        if what.trim().is_empty() {
            return Err(wrong("names nothing"));
        }
        Ok(Self { state: name.trim().parse()?, what: what.to_owned() })
    }

    /// Whether it is a URL.
    pub(super) fn is_url(&self) -> bool {
        ["http://", "https://"].iter().any(|scheme| self.what.starts_with(scheme))
    }
}
