//! The options of a run, resolved: names are known, sizes are bytes, durations are nanoseconds, and
//! defaults that do not depend on the machine are filled in. `zc` makes them from arguments. `None`
//! leaves the choice to the session, which knows the machine.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::earlier::EarlierRates;
use super::remote_end::RemoteEnd;
use crate::plan::Spec;
use zc_load::Reuse;
use zc_run::{HostStates, Levels, LinkKind, LinkOptions, RecvPath, SendPath, SoakerKind};

/// The half-width of every ratio's interval at which a run may stop early, unless another is asked
/// for.
pub const TARGET: f64 = 0.025;

/// The work that soakers do, unless another is asked for.
pub const SOAKER: SoakerKind = SoakerKind::Alu;

/// All options of `zc run`.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// How its blocks are measured, and where they are saved.
    pub blocks: BlockOptions,
    /// Files whose bytes are sent; empty for the generated set.
    pub files: Vec<PathBuf>,
    /// The plan: what is compared with what.
    pub plan: Spec,
    /// The send path of cells whose plan does not say.
    pub send: SendPath,
    /// The receive path of cells whose plan does not say.
    pub recv: RecvPath,
    /// Levels of other factors for the whole run; a factor without one has its default. `sockbuf`
    /// is SO_SNDBUF alone here.
    pub held: Levels,
    /// Whether messages are responses to requests of HTTP, and what becomes of a connection then.
    pub responses: Option<Reuse>,
    /// The log whose responses are sent once more beside those of the plan's lengths.
    pub replay: Option<LogToReplay>,
    /// SO_RCVBUF in bytes; `None` leaves the kernel's autotuning on.
    pub rcvbuf_bytes: Option<usize>,
    /// Whether the run ends once every comparison is decided.
    pub quick: bool,
    /// Number of sessions that the run is divided into; `None` makes one every second.
    pub sessions: Option<NonZeroUsize>,
    /// Kind of link; `None` takes the best that is available to this user.
    pub link: Option<LinkKind>,
    /// MTU, offloads and other properties of the link.
    pub link_options: LinkOptions,
    /// The machine that receives the bytes; the link is then `remote`.
    pub remote: Option<RemoteEnd>,
    /// The commands that put the host into its two states, where the plan's cells differ in it.
    pub states: Option<HostStates>,
    /// Rates by label of the cell, in bytes per second, in place of those that the session chooses.
    pub rates: BTreeMap<String, f64>,
    /// CPU time to burn in softirq context, by label of the cell, in nanoseconds per MB.
    pub burns: BTreeMap<String, u64>,
    /// Whether the threads of flows get the policy SCHED_RR.
    pub realtime: bool,
    /// Whether the soaked windows are sampled: `zc profile`.
    pub sample: bool,
    /// Whether hardware events are counted on the CPUs of the flows.
    pub counters: bool,
    /// Whether names of hosts and what else identifies them are left out of the run. `command` is
    /// saved as it is.
    pub anonymise: bool,
}

/// How blocks are measured, on which CPUs, and where they are saved: the same for all traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockOptions {
    /// The command line as it is saved in the run.
    pub command: Vec<String>,
    /// Time for the whole run, everything included.
    pub budget_ns: u64,
    /// Half-width of every ratio's interval at which the run may stop early: 0.025 is +-2.5 %.
    pub target: f64,
    /// Whether blocks are dropped beside other programs although costs leave these out.
    pub strict: bool,
    /// Seed of the random order; `None` draws one.
    pub seed: Option<u64>,
    /// The CPUs of sender (or server) and receiver (or load), which differ on one machine; `None`
    /// leaves the choice to the session. With a server that is already there, the first is that of
    /// the positive control.
    pub cpus: Option<CpuPair>,
    /// Kind of work that the soakers do.
    pub soaker: SoakerKind,
    /// Length of the measured part of a trial; `None` for the default.
    pub window_ns: Option<u64>,
    /// Length of an idle window between trials; `None` for the default.
    pub idle_ns: Option<u64>,
    /// Length of the warm-up before each window; `None` for the default.
    pub warmup_ns: Option<u64>,
    /// Rates of earlier runs of the same plan, the newest first: the rate is kept where that is
    /// possible.
    pub earlier: Vec<EarlierRates>,
    /// File that the run is saved in. The session creates it with O_EXCL before it measures
    /// anything.
    pub out: PathBuf,
}

impl BlockOptions {
    /// The defaults of `zc run`, saved in `out`.
    pub fn plain(out: PathBuf) -> Self {
        Self {
            command: Vec::new(),
            budget_ns: 60_000_000_000,
            target: TARGET,
            strict: false,
            seed: None,
            cpus: None,
            soaker: SOAKER,
            window_ns: None,
            idle_ns: None,
            warmup_ns: None,
            earlier: Vec::new(),
            out,
        }
    }
}

/// The longest body of a replayed response. Files as long as the longest are made.
pub const LONGEST_REPLAYED: u64 = 64 << 20;

/// A log to replay.
#[derive(Debug, Clone, PartialEq)]
pub struct LogToReplay {
    /// The log, as it was named.
    pub log: String,
    /// Requests in it.
    pub requests: u64,
    /// Bytes of its responses.
    pub bytes: u64,
    /// Its requests per second.
    pub requests_per_s: f64,
    /// Responses that are longer than [`LONGEST_REPLAYED`], none of which is drawn.
    pub too_long: u64,
    /// Lengths of the bodies to send, drawn from it, in its order.
    pub body_bytes: Vec<u64>,
    /// Speed of the replay as a multiple of the log's; `None` leaves the choice to the session.
    pub speedup: Option<f64>,
}

/// One CPU for each side. The session checks that they exist and may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuPair {
    /// Number of the sender's CPU.
    pub sender: usize,
    /// Number of the receiver's CPU.
    pub receiver: usize,
}

impl RunOptions {
    /// The defaults of `zc run` for a plan.
    pub fn plain(plan: Spec, blocks: BlockOptions) -> Self {
        Self {
            blocks,
            files: Vec::new(),
            plan,
            send: SendPath::ReadSend,
            recv: RecvPath::Recv,
            held: Levels::default(),
            responses: None,
            replay: None,
            rcvbuf_bytes: None,
            quick: false,
            sessions: None,
            link: None,
            link_options: LinkOptions::default(),
            remote: None,
            states: None,
            rates: BTreeMap::new(),
            burns: BTreeMap::new(),
            realtime: false,
            sample: false,
            counters: false,
            anonymise: false,
        }
    }
}
