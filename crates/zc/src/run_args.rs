//! The arguments of `zc run`, which `zc profile` fills in too.
//!
//! Values are text here: `resolve` parses them, so that all invalid values are reported alike, by a
//! sentence and a hint.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::factor_args::FactorArgs;
use super::format::FormatArgs;
use super::known::known;
use super::nfs_args::NfsArgs;
use super::quiet::QuietArgs;
use super::remote::RemoteArgs;
use super::replay_args::ReplayArgs;
use super::server_args::ServerArgs;
use zc_run::{Experiment, IpVersion, LinkKind, SoakerKind};

/// Values of `--responses`.
pub(super) const REUSES: [&str; 2] = ["keep-alive", "close"];

/// Arguments of `zc run`.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct RunArgs {
    /// The experiments to run, one after the other: `zc plan` lists the names, `zc run NAME --help`
    /// the options of one [default: paths]
    #[arg(value_name = "NAME", value_parser = known(Experiment::NAMES.iter().copied()),
          hide_possible_values = true)]
    pub(super) names: Vec<String>,
    /// A plan of your own, in the form that `zc plan NAME` prints
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "names",
          help_heading = "What is sent")]
    pub(super) plan: Option<PathBuf>,
    /// A saved run whose plan, options and rate are used again, except for --ab, --via and --remote
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath,
          conflicts_with_all = ["names", "plan"], help_heading = "What is sent")]
    pub(super) like: Option<PathBuf>,
    /// Files whose bytes are sent [default: 63 generated files of 350 kB on average]
    #[arg(
        long,
        value_name = "PATH",
        num_args = 1..,
        value_hint = ValueHint::FilePath,
        help_heading = "What is sent",
    )]
    pub(super) files: Vec<PathBuf>,

    /// Where the bytes travel; auto chooses null if this user may use it, else veth, else
    /// loopback [default: auto]
    #[arg(long, value_name = "LINK", allow_hyphen_values = true,
          value_parser = known(std::iter::once("auto").chain(LinkKind::NAMES.iter().copied())),
          hide_possible_values = true, help_heading = "Where it is sent")]
    pub(super) link: Option<String>,
    /// Version of the Internet Protocol: 4 or 6 [default: 4]
    #[arg(long, value_name = "VERSION", allow_hyphen_values = true,
          value_parser = known(IpVersion::NAMES.iter().copied()), hide_possible_values = true,
          help_heading = "Where it is sent")]
    pub(super) ip: Option<String>,
    /// Bytes after which the far end of the null link acknowledges [default: 64k]
    #[arg(
        long,
        value_name = "SIZE",
        allow_hyphen_values = true,
        help_heading = "Where it is sent"
    )]
    pub(super) ack_every: Option<String>,
    /// Least time between two acknowledgements of the null link's far end [default: 50us; 0s with
    /// --ack-every]
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        help_heading = "Where it is sent"
    )]
    pub(super) ack_interval: Option<String>,
    /// Send each message as the response to a request of HTTP, over connections that are kept or
    /// closed: keep-alive, close [default: messages are a stream]
    #[arg(
        long,
        value_name = "REUSE",
        allow_hyphen_values = true,
        value_parser = known(REUSES.into_iter()),
        hide_possible_values = true,
        help_heading = "What is sent"
    )]
    pub(super) responses: Option<String>,
    /// Round-trip time that the far end of the null link simulates [default: 0s]
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        help_heading = "Where it is sent"
    )]
    pub(super) rtt: Option<String>,
    /// Receive buffer of the sockets (SO_RCVBUF) [default: as the kernel tunes it]
    #[arg(
        long,
        value_name = "SIZE",
        allow_hyphen_values = true,
        help_heading = "Where it is sent"
    )]
    pub(super) rcvbuf: Option<String>,
    /// The CPUs of sender and receiver, as in 0,1 [default: chosen]
    #[arg(long, value_name = "S,R", allow_hyphen_values = true, help_heading = "Where it is sent")]
    pub(super) cpus: Option<String>,
    /// Give the threads of flows the policy SCHED_RR, so that they keep their rate beside other
    /// programs (root, or a limit of real-time priorities)
    #[arg(long, help_heading = "Where it is sent")]
    pub(super) realtime: bool,
    /// The measured part of each trial
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        hide_short_help = true,
        help_heading = "Expert"
    )]
    pub(super) window: Option<String>,
    /// The idle window between trials
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        hide_short_help = true,
        help_heading = "Expert"
    )]
    pub(super) idle: Option<String>,
    /// The time before each window that does not count
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        hide_short_help = true,
        help_heading = "Expert"
    )]
    pub(super) warmup: Option<String>,

    /// A command (sh -c) that puts the host into a state; given twice, every cell is measured in
    /// both states in turn, and compared
    #[arg(
        long,
        value_name = "COMMAND",
        allow_hyphen_values = true,
        help_heading = "Two states of the host"
    )]
    pub(super) ab: Vec<String>,
    /// A command that puts the host back as it was, however the run ends
    #[arg(
        long,
        value_name = "COMMAND",
        allow_hyphen_values = true,
        help_heading = "Two states of the host"
    )]
    pub(super) ab_restore: Option<String>,
    /// Wait after each of these commands before measuring [default: 100ms]
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        help_heading = "Two states of the host"
    )]
    pub(super) ab_settle: Option<String>,
    /// How long each of these commands may take [default: 30s]
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        help_heading = "Two states of the host"
    )]
    pub(super) ab_limit: Option<String>,
    /// A command that has to print something else in each state, and the same whenever a state is
    /// entered again: a check that the commands do what they are to do
    #[arg(
        long,
        value_name = "COMMAND",
        allow_hyphen_values = true,
        help_heading = "Two states of the host"
    )]
    pub(super) verify_state: Option<String>,

    /// CPU time per MB to burn in softirq context in a cell, as in sendfile=4us: a known cost, to
    /// see whether zc finds it (root)
    #[arg(
        long,
        value_name = "CELL=TIME",
        allow_hyphen_values = true,
        hide_short_help = true,
        help_heading = "Expert"
    )]
    pub(super) burn: Vec<String>,

    /// Rates by cell, in bytes per second, in place of those that zc chooses; `--like` sets them
    #[arg(skip)]
    pub(super) rates: BTreeMap<String, f64>,
    /// Whether windows are sampled; `zc profile` sets it
    #[arg(skip)]
    pub(super) sample: bool,

    #[command(flatten)]
    pub(super) remote: RemoteArgs,

    #[command(flatten)]
    pub(super) server: ServerArgs,

    #[command(flatten)]
    pub(super) nfs: NfsArgs,

    #[command(flatten)]
    pub(super) replay: ReplayArgs,

    /// Time for the whole run, everything included [default: the plan's]
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        help_heading = "How long, how well"
    )]
    pub(super) budget: Option<String>,
    /// End once every comparison is decided, after 15s at the latest: which path needs less, not by
    /// how much
    #[arg(long, help_heading = "How long, how well")]
    pub(super) quick: bool,
    #[command(flatten)]
    pub(super) quiet: QuietArgs,
    /// Count only what was measured while the machine was quiet: drop blocks beside other programs,
    /// which costs leave out anyway
    #[arg(long, help_heading = "How long, how well")]
    pub(super) strict: bool,
    /// Half-width of the intervals at which the run may end early [default: 2.5%]
    #[arg(
        long,
        value_name = "PERCENT",
        allow_hyphen_values = true,
        help_heading = "How long, how well"
    )]
    pub(super) target: Option<String>,
    /// Sessions; between two of them files and soakers are placed anew in memory [default: one
    /// every second]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "How long, how well")]
    pub(super) sessions: Option<String>,
    /// Seed of the random order [default: a fresh one, saved in the run]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "How long, how well")]
    pub(super) seed: Option<String>,
    /// What the soakers use: alu measures CPU time, cache also memory bandwidth [default: alu]
    #[arg(long, value_name = "KIND", allow_hyphen_values = true,
          value_parser = known(SoakerKind::NAMES.iter().copied()), hide_possible_values = true,
          help_heading = "How long, how well")]
    pub(super) soaker: Option<String>,

    /// A saved run whose top speeds are compared with memcpy (only for the experiment memory)
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        help_heading = "What is sent",
    )]
    pub(super) with: Option<PathBuf>,
    /// Where the run is saved; the file must not exist; - is stdout, and no table is printed then
    /// [default: zc-DATE.jsonl.gz in this folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(super) out: Option<PathBuf>,
    /// Leave names and addresses of hosts, kernel command lines, commands and paths out of the
    /// saved run
    #[arg(long, help_heading = "Output")]
    pub(super) anonymise: bool,
    #[command(flatten)]
    pub(super) format: FormatArgs,
    /// Last, as it inserts its options among the others.
    #[command(flatten)]
    pub(super) factors: FactorArgs,
}

impl RunArgs {
    /// Whether commands of the user are started.
    pub(super) fn starts_commands(&self) -> bool {
        !self.ab.is_empty() || self.remote.is_by_command() || self.server.is_given()
    }
}
