//! The document itself: a header, blocks of observations, and an end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::slot_line::SlotLine;
use super::{
    BlockSamples, FormatVersion, Host, Latencies, Levels, LinkFacts, Plan, Reading, RemoteFacts,
    RemoteReport, RemoteWindow, Sampling, StateReading, SupportRow, Usage, Warning,
};

/// A saved run. A file contains it as JSON Lines, one for each block: see the module `file` and
/// docs/format.md.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Facts known before the first block.
    pub header: Header,
    /// The blocks, in the order in which they were measured.
    pub blocks: Vec<Block>,
    /// End of the run; null if it was killed.
    pub end: Option<End>,
}

/// Facts known before the first block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// The version of the format. A run of an older major version is converted when it is read, and
    /// is of the current version from then on.
    #[serde(flatten)]
    pub format: FormatVersion,
    /// The version of zc that measured.
    pub zc_version: String,
    /// When it started, RFC 3339.
    pub started_at: String,
    /// The command line.
    pub command: Vec<String>,
    /// The plan.
    pub plan: Plan,
    /// The machine.
    pub host: Host,
    /// The link.
    pub link: LinkFacts,
    /// The links of the cells that ask for another MTU or other offloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_links: Vec<LinkFacts>,
    /// The other machine, over the link `remote`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteFacts>,
    /// Paths and settings that were requested and are not available here; each is a row of the
    /// table with its reason.
    pub unavailable: Vec<SupportRow>,
    /// Warnings from before the first block.
    pub warnings: Vec<Warning>,
    /// Unsoaked top speeds and proofs that were measured before the first block.
    pub probes: Vec<Probe>,
    /// Sampling, in runs of `zc profile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// Values read back in the states of the host, where there are any (since format 3.6).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state_readings: Vec<StateReading>,
}

impl Header {
    /// Header of a run by this version of zc, before anything is known but what it measures, and
    /// where.
    pub fn new(
        started_at: String,
        command: Vec<String>,
        plan: Plan,
        host: Host,
        link: LinkFacts,
    ) -> Self {
        Self {
            format: FormatVersion::current(),
            zc_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at,
            command,
            plan,
            host,
            link,
            other_links: Vec::new(),
            remote: None,
            unavailable: Vec::new(),
            warnings: Vec::new(),
            probes: Vec::new(),
            sampling: None,
            state_readings: Vec::new(),
        }
    }

    /// Every link of the run, first that of the cells that do not ask for one.
    pub fn links(&self) -> impl Iterator<Item = &LinkFacts> {
        [&self.link].into_iter().chain(&self.other_links)
    }

    /// The link of a cell with these levels; `None` if there was none.
    pub fn link_of(&self, levels: &Levels) -> Option<&LinkFacts> {
        let wanted = self.link.wanted(levels);
        self.links().find(|link| link.own_settings() == wanted)
    }
}

/// A measurement or a check that is made once, before the first block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "probe")]
pub enum Probe {
    /// The cell sent the file set, and the receiver's checksum was that of the files.
    Proof {
        /// The cell's label.
        cell: String,
        /// Bytes compared.
        bytes: u64,
        /// CRC-32 of the bytes, as sent and as received.
        crc32: u32,
    },
    /// The cell's unsoaked top speed in one short window, from which the rate is chosen.
    TopSpeed {
        /// The cell's label.
        cell: String,
        /// Payload bytes per second.
        bytes_per_s: f64,
    },
    /// Wake-up latency of a sleeping thread on a CPU, without soakers and with them.
    WakeLatency {
        /// The CPU's number.
        cpu: usize,
        /// 99th percentile without soakers.
        unsoaked_p99_ns: u64,
        /// 99th percentile with soakers.
        soaked_p99_ns: u64,
    },
}

/// Every cell of the plan once, in random order, with its idle windows. One line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// Counts from 0.
    pub index: usize,
    /// The session that it belongs to, which counts from 0: between two of them is drawn anew what
    /// else stays for a whole run. 0 in files before 3.2.
    #[serde(default)]
    pub session: usize,
    /// When it began: CLOCK_MONOTONIC.
    pub began_ns: u64,
    /// The speed of a short memcpy of memory that is not in the cache, in bytes per second: the
    /// current cost of copying.
    pub memcpy_bytes_per_s: Option<f64>,
    /// Idle windows and trials in the order of time. Idle windows are before the first and after
    /// the last of the soaked trials, and between some of them (before format 3.5 between any two).
    pub slots: Vec<Slot>,
    /// Trials that failed. The rest of the block counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedTrial>,
    /// The samples of a run that is sampled: see [`Profile`](super::Profile).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<BlockSamples>,
    /// Null if the block counts; otherwise why it does not.
    pub dropped: Option<Dropped>,
}

/// A window of a block. In the file it is a trial if it has a `cell`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, try_from = "SlotLine<Reading>")]
#[allow(clippy::large_enum_variant)] // half of a run is trials
pub enum Slot {
    /// A window in which only the soakers run.
    Idle(IdleWindow),
    /// A trial of a cell.
    Trial(Trial),
}

/// A failed trial of a cell that could run before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedTrial {
    /// The cell's label.
    pub cell: String,
    /// The reason, as one sentence.
    pub reason: String,
}

/// A window in which nothing was sent.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct IdleWindow {
    /// Soakers, CPU time and /proc/stat as it opened.
    pub opened: Reading,
    /// And as it closed.
    pub closed: Reading,
    /// The same on the other machine, if a zc measures there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<Box<RemoteWindow>>,
}

/// Whether and how fast a trial was driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrialKind {
    /// Soakers running, sender paced: costs come from these.
    Soaked,
    /// Soakers stopped, sender paced: the unsoaked control, for perturbation.
    #[serde(alias = "twin")] // in format 2
    UnsoakedControl,
    /// Soakers stopped, sender unpaced: top speed.
    TopSpeed,
    /// Soakers running, sender paced, and nothing is sent: what the harness itself costs, its
    /// wake-ups and the reading of its meters (since format 3.1).
    Paced,
    /// Soakers stopped, sender paced, and nothing is sent: the harness on a host that is idle
    /// otherwise (since format 3.3).
    UnsoakedPaced,
}

impl TrialKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 5] =
        [Self::Soaked, Self::UnsoakedControl, Self::TopSpeed, Self::Paced, Self::UnsoakedPaced];

    /// Whether the sender is woken for each burst and sends nothing.
    pub fn sends_nothing(self) -> bool {
        matches!(self, Self::Paced | Self::UnsoakedPaced)
    }

    /// Whether soakers run.
    pub fn is_soaked(self) -> bool {
        matches!(self, Self::Soaked | Self::Paced)
    }
}

/// One measurement of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Trial {
    /// The cell's label.
    pub cell: String,
    /// Kind of the trial.
    pub kind: TrialKind,
    /// All meters as the window opened.
    pub opened: Reading,
    /// All meters as the window closed.
    pub closed: Reading,
    /// Bytes sent over the whole trial, warm-up and drain included. Of a stream as many were
    /// received, or the trial failed.
    pub whole_bytes: u64,
    /// Of them, bytes in datagrams that did not arrive; `None`: a stream (since format 4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole_lost_bytes: Option<u64>,
    /// Completions over the whole trial (zero-copy paths): sends completed and those flagged as
    /// copied.
    pub whole_completions: u64,
    /// See `whole_completions`.
    pub whole_copied: u64,
    /// Packets of the trial, and their fragments; `None` where they were not counted: they are on
    /// the link `null`, in trials without soakers (since format 3.4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragments: Option<FragmentCounts>,
    /// CPU time of the sender threads over the whole trial, from the first byte to the end of the
    /// drain: what time(1) would show for a program that did only this. io_uring's workers are
    /// other threads and are not included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole_sender_usage: Option<Usage>,
    /// State of the sockets of the flows as the window closed; `None` where zc has none of them:
    /// they are a server's (since format 3.6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sockets: Option<SocketFacts>,
    /// All meters of the other machine, if a zc measures there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<Box<RemoteWindow>>,
    /// The far end's report about the trial, if it is not a zc and makes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_report: Option<RemoteReport>,
}

/// Properties of the sockets of a trial's flows according to the kernel, whatever was requested.
/// Numbers are those of the first flow. The congestion window is in
/// [`TcpReading`](super::TcpReading); the size of GSO packets follows from the counters of the
/// link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SocketFacts {
    /// TCP_CONGESTION of the senders. If it differs between flows, each name once, with `, `
    /// between.
    pub congestion: String,
    /// tcpi_pacing_rate of the sender: a limit where something paces (bbr, fq), and otherwise what
    /// the sizes of GSO packets are computed from. Null: no limit.
    pub pacing_bytes_per_s: Option<u64>,
    /// tcpi_snd_ssthresh of the sender, in packets: where slow start ends; null before the first
    /// loss (since format 4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snd_ssthresh_packets: Option<u32>,
    /// SO_SNDBUF of the sender: twice what was asked for, or as the kernel has tuned it.
    pub sndbuf_bytes: usize,
    /// SO_RCVBUF of the receiver, likewise; null where no zc receives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rcvbuf_bytes: Option<usize>,
    /// tcpi_rcv_ssthresh of the receiver; null where no zc receives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rcv_ssthresh_bytes: Option<u32>,
}

/// Packets with payload as TCP hands them to the network card, and the fragments of memory that
/// their payload lies in: a card maps each for DMA.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FragmentCounts {
    /// Packets; a GSO packet is one.
    pub packets: u64,
    /// Their fragments behind the header.
    pub fragments: u64,
}

impl FragmentCounts {
    /// Adds the counts of another flow.
    pub fn add(&mut self, other: &Self) {
        let Self { packets, fragments } = other;
        self.packets += packets;
        self.fragments += fragments;
    }
}

/// Why a block does not count. The rules are fixed in advance: docs/method.md.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "rule")]
pub enum Dropped {
    /// The hypervisor took more than 1 % of the CPUs.
    Steal {
        /// The share taken, 0 to 1.
        share: f64,
    },
    /// Neighbouring idle windows differed by more than 10 % (before format 3.2: 2 %).
    IdleDrift {
        /// The median relative difference over the block's neighbouring pairs.
        share: f64,
    },
    /// Something else used more than 2 % of the CPUs.
    Foreign {
        /// The share used, 0 to 1.
        share: f64,
    },
    /// Something other than a cell's trial failed, such as an idle window.
    TrialFailed {
        /// The cell's label.
        cell: String,
        /// The reason, as one sentence.
        reason: String,
    },
    /// It was cut short by Ctrl-C or by the end of the budget.
    Unfinished,
}

impl Dropped {
    /// The disturbance, on a machine with so many soaked CPUs: `other programs use 97 % of 2 CPUs`.
    /// `None` if it was not the machine.
    pub fn disturbance(&self, cpus: usize) -> Option<String> {
        let percent = |share: &f64| format!("{:.0} %", share * 100.0);
        match self {
            Self::Foreign { share } => {
                Some(format!("other programs use {} of {cpus} CPUs", percent(share)))
            }
            Self::Steal { share } => {
                Some(format!("the hypervisor takes {} of {cpus} CPUs", percent(share)))
            }
            Self::IdleDrift { share } => {
                Some(format!("the speed of idle CPUs changes by {}", percent(share)))
            }
            Self::TrialFailed { .. } | Self::Unfinished => None,
        }
    }
}

/// End of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct End {
    /// When, RFC 3339.
    pub ended_at: String,
    /// Duration of the run, everything included.
    pub elapsed_ns: u64,
    /// Why it ended.
    pub reason: EndReason,
    /// The numbers of blocks after which an interim analysis was made: the planned ones that the
    /// run reached, including one that stopped it, without the analysis at the end of the budget.
    #[serde(alias = "looks_at_blocks")] // in format 2
    pub interim_analyses_at_blocks: Vec<usize>,
    /// Warnings from during the run.
    pub warnings: Vec<Warning>,
    /// Latencies of requests, in a run of a server (since format 3.6).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<Latencies>,
    /// The other programs that used most of the CPUs while blocks were measured, the largest first
    /// (since format 3.7). Neither zc's own processes nor a server that it measures are among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_programs: Vec<OtherProgram>,
}

/// A program that ran beside a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherProgram {
    /// The name of its processes, as in /proc/PID/comm.
    pub name: String,
    /// CPUs that all of its processes used together, on average over the run.
    pub cpus: f64,
}

impl OtherProgram {
    /// `iperf3 0.45, python3 0.12 CPUs`; empty without a program.
    pub fn in_words(programs: &[Self]) -> String {
        let each = programs
            .iter()
            .map(|program| format!("{} {:.2}", super::escape(&program.name, 40), program.cpus));
        let each = each.collect::<Vec<_>>().join(", ");
        if each.is_empty() { each } else { format!("{each} CPUs") }
    }
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum EndReason {
    /// Every interval was within the target at a planned look.
    TargetReached,
    /// Every comparison was decided at a planned look of `--quick` (since format 3.7).
    Decided,
    /// The budget was spent.
    BudgetSpent,
    /// Ctrl-C or SIGTERM.
    Interrupted,
    /// It could not continue.
    Failed {
        /// The reason, as one sentence.
        reason: String,
    },
}
