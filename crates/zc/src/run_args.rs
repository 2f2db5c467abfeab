//! The arguments of `zc run`: experiments, and the options of those that send by a plan.
//!
//! Options that several experiments take are in groups (`option_groups`, `remote`, `factor_args`).
//! A command line has one experiment here: `run_line` divides one that names several.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args, Subcommand, ValueHint};

use super::factor_args::FactorArgs;
use super::kernel_args::KernelArgs;
use super::known::{duration, named, one_of, size, typed};
use super::memory::MemoryArgs;
use super::nfs_args::{self, NfsArgs};
use super::option_groups::{BlockArgs, FilesArgs, MeasuringArgs, S, StateCommandArgs, in_front};
use super::remote::{RemoteArgs, address};
use super::replay_args::{self, ReplayArgs};
use super::server_args::ServerArgs;
use zc_load::Reuse;
use zc_run::factor::SOCKET_BUFFER_BYTES;
use zc_run::nearest::unknown_among;
use zc_run::{Error, Experiment, IpVersion, LinkKind, Result, units};

/// The bounds of `--ack-every`. Above a few megabytes the send buffer is full before anything is
/// acknowledged, and the sender waits for the far end's timeout.
const ACK_EVERY: std::ops::RangeInclusive<u64> = 1..=1 << 20;
/// More sessions than blocks that any budget holds.
const MOST_SESSIONS: u64 = 1_000_000;
/// The bound of `--burn`, per MB: no path costs more.
const MOST_BURNED_NS: u64 = 10_000_000;
/// Values of `--responses`.
const REUSES: [&str; 2] = ["keep-alive", "close"];

/// Arguments of `zc run`.
#[derive(Debug, Clone, Default, Args)]
#[command(
    disable_help_subcommand = true,
    subcommand_help_heading = "Experiments with options of their own",
    override_usage = "zc run [NAME]... [OPTIONS]"
)]
pub(super) struct RunArgs {
    #[command(subcommand)]
    pub(super) own: Option<OwnArgs>,
    /// The experiments to run, one after the other: `zc plan` lists the names, `zc run NAME --help`
    /// the options of one [default: paths]
    #[arg(value_name = "NAME", value_parser = named::<Experiment>(Experiment::NAMES),
          hide_possible_values = true)]
    pub(super) names: Vec<Experiment>,
    /// A plan of your own, in the form that `zc plan NAME` prints
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "names",
          help_heading = "What is sent")]
    pub(super) plan: Option<PathBuf>,
    /// A saved run whose plan, options and rate are used again, except for --ab, --via and --remote
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath,
          conflicts_with_all = ["names", "plan"], help_heading = "What is sent")]
    pub(super) like: Option<PathBuf>,
    #[command(flatten)]
    pub(super) stream: StreamArgs,
}

/// The experiments with options of their own.
#[derive(Debug, Clone, Subcommand)]
#[allow(clippy::large_enum_variant)] // there are few
pub(super) enum OwnArgs {
    #[command(about = question(Experiment::Server))]
    Server(ServerArgs),
    #[command(about = question(Experiment::Nfs), long_about = nfs_args::about())]
    Nfs(NfsArgs),
    #[command(about = question(Experiment::Memory))]
    Memory(MemoryArgs),
    #[command(about = question(Experiment::Requests))]
    #[command(mut_args(in_front(&["responses"])), mut_args(in_front(&replay_args::IDS)))]
    Requests(StreamArgs),
    #[command(about = question(Experiment::Replay))]
    #[command(mut_args(in_front(&replay_args::IDS)))]
    Replay(StreamArgs),
}

/// The question of an experiment, which its help begins with.
pub(super) fn question(experiment: Experiment) -> &'static str {
    experiment.definition().question
}

/// The options of experiments that send by a plan.
#[derive(Debug, Clone, Default, Args)]
#[command(mut_args(not_with_a_link))]
pub(super) struct StreamArgs {
    #[command(flatten)]
    pub(super) files: FilesArgs,
    #[command(flatten)]
    pub(super) transfer: TransferArgs,
    /// Give the threads of flows the policy SCHED_RR, so that they keep their rate beside other
    /// programs (root, or a limit of real-time priorities)
    #[arg(long, help_heading = "Where it is sent")]
    pub(super) realtime: bool,

    /// A command (sh -c) that puts the host into a state; given twice, every cell is measured in
    /// both states in turn, and compared
    #[arg(
        long,
        value_name = "COMMAND",
        allow_hyphen_values = true,
        help_heading = "Two states of the host"
    )]
    pub(super) ab: Vec<String>,
    #[command(flatten)]
    pub(super) state_commands: StateCommandArgs,

    #[command(flatten)]
    pub(super) remote: RemoteArgs,
    /// The address for data to the machine that --via leads to [default: the first that works]
    #[arg(long, value_name = "ADDRESS", requires = "via", help_heading = "Another machine",
          value_parser = typed(address))]
    pub(super) far_address: Option<SocketAddr>,

    #[command(flatten)]
    pub(super) replay: ReplayArgs,

    #[command(flatten)]
    pub(super) measuring: MeasuringArgs,
    /// End once every comparison is decided, after 15s at the latest: which path needs less, not by
    /// how much
    #[arg(long, help_heading = "How long, how well")]
    pub(super) quick: bool,
    #[command(flatten)]
    pub(super) order: SessionArgs,
    /// CPU time per MB to burn in softirq context in a cell, as in sendfile=4us: a known cost, to
    /// see whether zc finds it (root)
    #[arg(
        long,
        value_name = "CELL=TIME",
        allow_hyphen_values = true,
        hide_short_help = true,
        help_heading = "Expert",
        value_parser = typed(burn),
    )]
    pub(super) burn: Vec<(String, u64)>,
    /// Count cycles, instructions and LLC misses on the CPUs of the flows, over loopback, veth and
    /// null: zc show -v has them by byte (a CPU whose counters this user may read)
    #[arg(
        long,
        hide_short_help = true,
        help_heading = "Expert",
        conflicts_with_all = ["remote", "via"],
    )]
    pub(super) counters: bool,

    #[command(flatten)]
    pub(super) kernels: KernelArgs,

    /// Leave names and addresses of hosts, kernel command lines, commands and paths out of the
    /// saved run
    #[arg(long, help_heading = "Output")]
    pub(super) anonymise: bool,
    /// Last, as it inserts its options among the others.
    #[command(flatten)]
    pub(super) factors: FactorArgs,

    /// Rates by cell, in bytes per second, in place of those that zc chooses; `--like` sets them
    #[arg(skip)]
    pub(super) rates: BTreeMap<String, f64>,
    /// Whether windows are sampled; `zc profile` sets it
    #[arg(skip)]
    pub(super) sample: bool,
}

/// Sessions of blocks.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct SessionArgs {
    #[command(flatten)]
    pub(super) block: BlockArgs,
    /// Sessions; between two of them files and soakers are placed anew in memory [default: one
    /// every second]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "How long, how well",
          value_parser = typed(sessions))]
    pub(super) sessions: Option<NonZeroUsize>,
}

/// How bytes are carried.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Where it is sent")]
pub(super) struct TransferArgs {
    /// Where the bytes travel; auto chooses null if this user may use it, else veth, else loopback;
    /// wire is between two guests of --kernel [default: auto]
    #[arg(long, value_name = "LINK", allow_hyphen_values = true,
          value_parser = one_of(LinkChoice::names(), LinkChoice::parse),
          hide_possible_values = true)]
    pub(super) link: Option<LinkChoice>,
    /// Version of the Internet Protocol: 4 or 6 [default: 4]
    #[arg(long, value_name = "VERSION", allow_hyphen_values = true,
          value_parser = named::<IpVersion>(IpVersion::NAMES), hide_possible_values = true)]
    pub(super) ip: Option<IpVersion>,
    /// Bytes after which the far end of the null link acknowledges [default: 64k]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = size(ACK_EVERY))]
    pub(super) ack_every: Option<u64>,
    /// Least time between two acknowledgements of the null link's far end [default: 50us; 0s with
    /// --ack-every]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true,
          value_parser = duration(0..=S))]
    pub(super) ack_interval: Option<u64>,
    /// Round-trip time that the far end of the null link simulates [default: 0s]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true,
          value_parser = duration(0..=S))]
    pub(super) rtt: Option<u64>,
    /// Receive buffer of the sockets (SO_RCVBUF) [default: as the kernel tunes it]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true,
          value_parser = size(SOCKET_BUFFER_BYTES))]
    pub(super) rcvbuf: Option<u64>,
    /// Send each message as the response to a request of HTTP, over connections that are kept or
    /// closed: keep-alive, close [default: messages are a stream]
    #[arg(
        long,
        value_name = "REUSE",
        allow_hyphen_values = true,
        value_parser = one_of(REUSES.into_iter(), reuse),
        hide_possible_values = true,
        help_heading = "What is sent"
    )]
    pub(super) responses: Option<Reuse>,
}

/// The options that a plan may hold fixed.
#[derive(Debug, Args)]
pub(super) struct HeldArgs {
    #[command(flatten)]
    pub(super) transfer: TransferArgs,
    #[command(flatten)]
    pub(super) order: SessionArgs,
    #[command(flatten)]
    pub(super) factors: FactorArgs,
}

/// The link that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkChoice {
    /// Whichever this user may use.
    Auto,
    Kind(LinkKind),
    /// That between two guests of `--kernel`.
    Wire,
}

impl LinkChoice {
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        let kinds = LinkKind::NAMES.iter().copied();
        std::iter::once("auto").chain(kinds).chain(std::iter::once("wire"))
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        match text {
            "auto" => return Ok(Self::Auto),
            "wire" => return Ok(Self::Wire),
            _ => {}
        }
        match text.parse() {
            Ok(LinkKind::Remote) => Err(Error::usage(
                "remote-missing",
                "--link: \"remote\" leads to another machine, which has to be named",
            )
            .help("--remote HOST, or --via 'ssh HOST'")),
            Ok(link) => Ok(Self::Kind(link)),
            Err(error) => {
                Err(unknown_among(error.what, &error.given, &Self::names().collect::<Vec<_>>()))
            }
        }
    }
}

impl RunArgs {
    /// The experiment: the one that is named, or `paths`.
    pub(super) fn experiment(&self) -> Experiment {
        match &self.own {
            None => self.names.first().copied().unwrap_or(Experiment::DEFAULT),
            Some(OwnArgs::Server(_)) => Experiment::Server,
            Some(OwnArgs::Nfs(_)) => Experiment::Nfs,
            Some(OwnArgs::Memory(_)) => Experiment::Memory,
            Some(OwnArgs::Requests(_)) => Experiment::Requests,
            Some(OwnArgs::Replay(_)) => Experiment::Replay,
        }
    }

    /// The kernels that are to be compared, if any are.
    pub(super) fn kernels(&self) -> Option<&KernelArgs> {
        let kernels = match &self.own {
            None => &self.stream.kernels,
            Some(OwnArgs::Requests(args) | OwnArgs::Replay(args)) => &args.kernels,
            Some(OwnArgs::Server(args)) => &args.kernels,
            Some(OwnArgs::Nfs(args)) => &args.kernels,
            Some(OwnArgs::Memory(_)) => return None,
        };
        Some(kernels).filter(|kernels| kernels.is_given())
    }

    /// Takes out the other machine of an experiment that makes its run on it.
    pub(super) fn take_machine(&mut self) -> RemoteArgs {
        match &mut self.own {
            None => std::mem::take(&mut self.stream.remote),
            Some(OwnArgs::Requests(args)) => std::mem::take(&mut args.remote),
            Some(_) => RemoteArgs::default(),
        }
    }

    /// The options that runs which are saved have.
    pub(super) fn measuring(&self) -> Option<&MeasuringArgs> {
        match &self.own {
            None => Some(&self.stream.measuring),
            Some(OwnArgs::Requests(args) | OwnArgs::Replay(args)) => Some(&args.measuring),
            Some(OwnArgs::Server(args)) => Some(&args.measuring),
            Some(OwnArgs::Nfs(args)) => Some(&args.measuring),
            Some(OwnArgs::Memory(_)) => None,
        }
    }

    /// How blocks are measured, of experiments that have blocks.
    pub(super) fn block(&self) -> Option<&BlockArgs> {
        match &self.own {
            None => Some(&self.stream.order.block),
            Some(OwnArgs::Requests(args) | OwnArgs::Replay(args)) => Some(&args.order.block),
            Some(OwnArgs::Server(args)) => Some(&args.block),
            Some(OwnArgs::Nfs(args)) => Some(&args.block),
            Some(OwnArgs::Memory(_)) => None,
        }
    }

    /// Whether commands of the user are started.
    pub(super) fn starts_commands(&self) -> bool {
        if self.kernels().is_some() {
            return true;
        }
        match &self.own {
            None => self.stream.starts_commands(),
            Some(OwnArgs::Requests(args) | OwnArgs::Replay(args)) => args.starts_commands(),
            Some(OwnArgs::Server(_)) => true,
            Some(OwnArgs::Nfs(args)) => args.via.is_given(),
            Some(OwnArgs::Memory(_)) => false,
        }
    }
}

impl StreamArgs {
    /// Whether commands of the user are started.
    pub(super) fn starts_commands(&self) -> bool {
        !self.ab.is_empty() || self.remote.is_by_command()
    }

    /// Takes values that a plan holds fixed, or those of an earlier run, where none was typed.
    pub(super) fn fill(&mut self, from: HeldArgs) {
        let HeldArgs { transfer, order, factors } = from;
        let link = &mut self.transfer;
        link.link = link.link.or(transfer.link);
        link.ip = link.ip.or(transfer.ip);
        link.ack_every = link.ack_every.or(transfer.ack_every);
        link.ack_interval = link.ack_interval.or(transfer.ack_interval);
        link.rtt = link.rtt.or(transfer.rtt);
        link.rcvbuf = link.rcvbuf.or(transfer.rcvbuf);
        link.responses = link.responses.or(transfer.responses);
        let (block, other) = (&mut self.order.block, order.block);
        block.cpus = block.cpus.or(other.cpus);
        block.target = block.target.or(other.target);
        block.seed.number = block.seed.number.or(other.seed.number);
        block.soaker = block.soaker.or(other.soaker);
        block.window = block.window.or(other.window);
        block.idle = block.idle.or(other.idle);
        block.warmup = block.warmup.or(other.warmup);
        self.order.sessions = self.order.sessions.or(order.sessions);
        self.factors.fill(factors);
    }
}

/// Another machine is reached by its own link.
fn not_with_a_link(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "remote" | "via" => arg.conflicts_with_all([
            "link",
            "ip",
            "mtu",
            "offloads",
            "layer",
            "ack_every",
            "ack_interval",
            "rtt",
        ]),
        _ => arg,
    }
}

fn reuse(text: &str) -> Result<Reuse> {
    match text {
        "keep-alive" => Ok(Reuse::KeepAlive),
        "close" => Ok(Reuse::Close),
        other => {
            Err(unknown_among("use of a connection", other, &REUSES).prefixed("--responses: "))
        }
    }
}

fn sessions(text: &str) -> Result<NonZeroUsize> {
    let sessions = units::count("number of sessions", text, 1..=MOST_SESSIONS)?;
    Ok(NonZeroUsize::new(sessions as usize).unwrap_or(NonZeroUsize::MIN))
}

/// Parses `CELL=TIME`: a cell's label, and nanoseconds per MB.
fn burn(text: &str) -> Result<(String, u64)> {
    let Some((cell, time)) = text.rsplit_once('=') else {
        let shown = zc_run::escape(text, 60);
        return Err(Error::usage("invalid-name-pattern", format!("\"{shown}\" names no time"))
            .help("a cell's name, \"=\", and CPU time per MB, as in sendfile=4us"));
    };
    Ok((cell.trim().to_owned(), units::duration(time, 1..=MOST_BURNED_NS)?))
}
