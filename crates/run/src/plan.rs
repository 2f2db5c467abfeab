//! Plan of a measurement: the cells, what is held fixed, and how long each part of a trial takes.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::factor::{UNSET, gso_max, layer};
use super::traffic::SavedTraffic;
use super::{
    Align, CopyPages, Factor, FactorLevels, HostState, LinkKind, OffloadSwitch, Placement, Push,
    RecvPath, SendPath, SoakerKind, Traffic, Transfer,
};

/// One combination of factor levels that is measured once in every block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Unique in the plan: the levels of the factors that have several, as `sendfile` or `sendfile
    /// 64k`; with ` (A/A)` appended for the A/A control.
    pub label: String,
    /// What is transferred, and by what.
    #[serde(flatten)]
    pub transfer: Transfer,
    /// True for the controls: copies of the reference under other names.
    pub control: bool,
    /// The cell's own levels, which replace what the plan holds fixed.
    #[serde(default, skip_serializing_if = "Levels::is_empty")]
    pub levels: Levels,
    /// The label of the cell that its ratio refers to; null is the plan's reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The label of the cell whose [`Paced`](crate::TrialKind::Paced) trials measure the harness of
    /// this one: it is paced in the same way. Null: the harness was not measured, and is in the
    /// cost (since format 3.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    /// Units of a soaker's work that the sender does in addition, per MB (10^6 bytes) that it
    /// sends: a known cost, which makes this copy of the reference the positive control (since
    /// format 3.1). Beside a server they are done evenly over time, for the bytes that are asked
    /// for, and counted in [`Reading::burned_units`](crate::Reading::burned_units) (since format 4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burn_units_per_mb: Option<f64>,
    /// CPU time in nanoseconds that a BPF program burns in softirq context on the sender's CPU, per
    /// MB that is acknowledged: a known cost, in the positive control or in a cell of `--burn`. The
    /// CPU time actually burned is in [`Reading::burned_ns`](crate::Reading::burned_ns) (since
    /// format 3.5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burn_softirq_ns_per_mb: Option<f64>,
}

impl Cell {
    /// A cell that differs from others only in its paths, with the send path's name. The receiver
    /// is one that reads what is sent, in place of `recv` if need be: see [`Transfer::paired`].
    pub fn of_paths(send: SendPath, recv: RecvPath) -> Self {
        Self::with_transfer(Transfer::Paths { send, recv }.paired())
    }

    /// A cell that differs from others only in what it transfers, with the name of what sends.
    pub fn with_transfer(transfer: Transfer) -> Self {
        Self {
            label: transfer.sender(),
            transfer,
            control: false,
            levels: Levels::default(),
            by: None,
            harness: None,
            burn_units_per_mb: None,
            burn_softirq_ns_per_mb: None,
        }
    }

    /// Whether this runs the same path as another cell, at the same levels, if in another state of
    /// the host: a control runs that of the reference.
    pub fn runs_the_path_of(&self, other: &Self) -> bool {
        let levels = Levels { state: other.levels.state.clone(), ..self.levels.clone() };
        self.transfer == other.transfer && levels == other.levels
    }

    /// Whether this is the A/A control: the reference once more, with nothing added.
    pub fn is_aa_control(&self) -> bool {
        self.control && !self.is_positive_control()
    }

    /// Whether this is the positive control: the reference once more, with a known cost.
    pub fn is_positive_control(&self) -> bool {
        self.control && self.burn_units_per_mb.is_some()
    }
}

/// The levels with which a cell replaces what the plan holds fixed; `None` keeps the plan's.
/// Factors that are older than `more` have a field each, with the name that old runs have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Levels {
    /// Bytes per call of the send path: the buffer of paths that have one, the part of a piece for
    /// the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_bytes: Option<usize>,
    /// Bytes per call of the receive path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recv_buffer_bytes: Option<usize>,
    /// SO_SNDBUF and SO_RCVBUF as requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sockbuf_bytes: Option<usize>,
    /// When TCP sends packets that are not full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push: Option<Push>,
    /// Offset on its page at which a message begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub align: Option<Align>,
    /// The pages of the resident copy, from which some paths send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<CopyPages>,
    /// MTU of the link's devices, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
    /// Offloads that are switched off on the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switched_off: Option<BTreeSet<OffloadSwitch>>,
    /// TCP congestion control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Connections at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<usize>,
    /// Which CPUs the two sides are pinned to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Payload bytes per second over all flows: a level of the plan, or chosen for the cells that
    /// are compared with one another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bytes_per_s: Option<f64>,
    /// The state that the host is put into before it is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<HostState>,
    /// Levels of all other factors.
    #[serde(skip_serializing_if = "FactorLevels::is_empty")]
    pub more: FactorLevels,
}

impl Levels {
    /// Whether the cell asks for a link of its own.
    pub(crate) fn has_own_link(&self) -> bool {
        self.mtu_bytes.is_some()
            || self.switched_off.is_some()
            || [gso_max::NAME, layer::NAME].iter().any(|name| self.more.get(name).is_some())
    }

    /// Whether the cell has no levels of its own.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The lengths of the parts of a trial and of its idle window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// Length of the warm-up before each window, which is not counted: a path's first milliseconds
    /// are not its steady state. Up to a burst's period is added, and with many flows the time in
    /// which their threads' meters are read.
    pub warmup_ns: u64,
    /// The measured part.
    pub window_ns: u64,
    /// An idle window between trials.
    pub idle_ns: u64,
    /// The window of an unsoaked trial (top speed and unsoaked control).
    pub unsoaked_ns: u64,
}

/// Parameters that all cells of the plan have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FixedParams {
    /// The link's kind.
    pub link: LinkKind,
    /// The rate at which cost is measured, in payload bytes per second, over all flows.
    pub rate_bytes_per_s: f64,
    /// True when zc chose the rate from the measured top speeds, false when the user gave it.
    pub rate_chosen: bool,
    /// The period of the pacer, which sends one burst in each and then sleeps until the next is
    /// due.
    pub burst_ns: u64,
    /// Bytes per call for paths with a user-space buffer.
    pub buffer_bytes: usize,
    /// Bytes per call on the receiving side.
    pub recv_buffer_bytes: usize,
    /// The largest piece of a file that is handed to a path at once; at a rate, no larger than a
    /// burst's bytes rounded up to a power of two.
    pub piece_bytes: usize,
    /// Connections at a time, each with its own sender and receiver thread.
    pub flows: usize,
    /// TCP congestion control of the sender; `unset`: net.ipv4.tcp_congestion_control applied
    /// (since format 3.6).
    pub congestion: String,
    /// SO_SNDBUF as requested; null leaves the kernel's autotuning on.
    pub sndbuf_bytes: Option<usize>,
    /// SO_RCVBUF as requested; null leaves the kernel's autotuning on.
    pub rcvbuf_bytes: Option<usize>,
    /// The CPU that sender threads are pinned to.
    pub sender_cpu: usize,
    /// The CPU that receiver threads are pinned to.
    pub receiver_cpu: usize,
    /// Every CPU that carries a soaker, in the order of all per-CPU vectors of the run.
    pub soaked_cpus: Vec<usize>,
    /// Kind of the soakers.
    pub soaker: SoakerKind,
    /// When TCP sends packets that are not full.
    #[serde(default = "plain")]
    pub push: Push,
    /// Offset on its page at which a message begins.
    #[serde(default = "at_page")]
    pub align: Align,
    /// The pages of the resident copy, from which some paths send.
    #[serde(default = "scattered")]
    pub pages: CopyPages,
    /// Which CPUs the two sides are pinned to.
    #[serde(default = "separate")]
    pub placement: Placement,
    /// Whether the threads of flows have the policy SCHED_RR where they send at a rate:
    /// `--realtime` (since format 3.7).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub realtime: bool,
    /// Levels of all other factors.
    #[serde(default, skip_serializing_if = "FactorLevels::is_empty")]
    pub more: FactorLevels,
}

fn plain() -> Push {
    Push::Plain
}

fn at_page() -> Align {
    Align::Page
}

fn scattered() -> CopyPages {
    CopyPages::Scattered
}

fn separate() -> Placement {
    Placement::Separate
}

impl FixedParams {
    /// The congestion control that the sender's sockets are given; `None`: they have that of their
    /// network namespace.
    pub fn set_congestion(&self) -> Option<&str> {
        Some(self.congestion.as_str()).filter(|name| *name != UNSET)
    }

    /// Leaves the congestion control to the sender's network namespace.
    pub fn unset_congestion(&mut self) {
        UNSET.clone_into(&mut self.congestion);
    }

    /// The configuration of a cell: its own levels, otherwise the plan's. MTU and offloads belong
    /// to the link and are not part of it. Paced clients have the rate that is theirs together.
    #[must_use]
    pub fn at(&self, levels: &Levels) -> Self {
        let mut at = self.clone();
        for factor in Factor::ALL {
            factor.definition().apply(levels, &mut at);
        }
        if let Some(clients) = at.clients() {
            at.rate_bytes_per_s = clients.total_bytes_per_s();
        }
        at
    }
}

/// Which bytes are sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSetFacts {
    /// `generated` or `given`.
    pub origin: String,
    /// Number of files.
    pub files: usize,
    /// Their total length.
    pub total_bytes: u64,
    /// The shortest file.
    pub min_bytes: u64,
    /// The longest file.
    pub max_bytes: u64,
    /// The file system of the first file, by statfs(2): `ext4`, `tmpfs`, `0x...`.
    pub filesystem: String,
    /// Given paths that were left out, and why (one sentence each).
    pub skipped: Vec<String>,
}

/// The whole plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Its name: `paths`, or that of a plan of the user's own.
    pub experiment: String,
    /// The label of the cell that ratios refer to.
    pub reference: String,
    /// The cells, in the order of the plan.
    pub cells: Vec<Cell>,
    /// Parameters that all cells share.
    pub fixed: FixedParams,
    /// Lengths of the parts of a trial.
    pub timing: Timing,
    /// The file set.
    pub files: FileSetFacts,
    /// The seed of the order.
    pub seed: u64,
    /// The time budget, everything included.
    pub budget_ns: u64,
    /// Half-width of every ratio's interval at which the run may stop early: 0.025 is +-2.5 %.
    pub target: f64,
    /// Whether blocks in which other programs or the hypervisor worked do not count, although their
    /// costs are by own clocks: `--strict` (since format 3.7).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Whether the run ends once every comparison is decided: `--quick` (since format 3.7).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
    /// The factors in which cells differ; the first one is that of the table's rows.
    #[serde(default = "send_alone")]
    pub factors: Vec<Factor>,
    /// Which unsoaked trials a block ends with.
    #[serde(default)]
    pub unsoaked: Unsoaked,
    /// The commands that put the host into its two states, if cells differ in the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<HostStates>,
    /// Kind of traffic; saved as one field for each kind but streams.
    #[serde(flatten, with = "SavedTraffic")]
    #[schemars(with = "SavedTraffic")]
    pub traffic: Traffic,
}

impl Plan {
    /// Messages per second of a cell whose messages have one length: responses, READs.
    pub fn messages_per_s(&self, cell: &Cell) -> Option<f64> {
        let bytes = cell.levels.message_bytes.filter(|bytes| *bytes > 0)?;
        Some(self.fixed.at(&cell.levels).rate_bytes_per_s / bytes as f64)
    }
}

/// States of the host, two or more. A command (`sh -c`) puts the host into each before the windows
/// that are measured in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostStates {
    /// The commands of the states, in the order in which they were typed.
    #[serde(flatten, with = "SavedCommands")]
    #[schemars(with = "SavedCommands")]
    pub commands: Vec<StateCommand>,
    /// The command that restores the host, however the run ends; null if there is none.
    pub restore: Option<String>,
    /// The wait after a command before measuring.
    pub settle_ns: u64,
    /// The time limit of a command.
    pub limit_ns: u64,
    /// The command of `--verify-state`, which answers differently in each state; null if there is
    /// none (since format 3.6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
}

/// A state of the host, and the command that puts the host into it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateCommand {
    /// The state.
    pub state: HostState,
    /// Its command.
    pub command: String,
}

/// Saved form of the commands: those of `--ab` in a field each.
#[derive(Serialize, Deserialize, JsonSchema)]
struct SavedCommands {
    /// The command of state A of `--ab`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    a: Option<String>,
    /// The command of state B of `--ab`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    b: Option<String>,
    /// The commands of states with other names (since format 3.6).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    named: Vec<StateCommand>,
}

impl SavedCommands {
    fn serialize<S: Serializer>(commands: &[StateCommand], out: S) -> Result<S::Ok, S::Error> {
        let of = |state: HostState| {
            let own = commands.iter().find(|each| each.state == state);
            own.map(|each| each.command.clone())
        };
        let (a, b) = (of(HostState::a()), of(HostState::b()));
        let is_named = |each: &&StateCommand| !matches!(each.state.name(), "A" | "B");
        let named = commands.iter().filter(is_named).cloned().collect();
        Serialize::serialize(&Self { a, b, named }, out)
    }

    fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<StateCommand>, D::Error> {
        let Self { a, b, named } = Deserialize::deserialize(from)?;
        let of = |(state, command): (HostState, Option<String>)| {
            command.map(|command| StateCommand { state, command })
        };
        let ab = [(HostState::a(), a), (HostState::b(), b)];
        Ok(ab.into_iter().filter_map(of).chain(named).collect())
    }
}

impl HostStates {
    /// The command of a state, if it has one.
    pub fn command(&self, state: &HostState) -> Option<&str> {
        let own = self.commands.iter().find(|each| each.state == *state);
        own.map(|each| each.command.as_str())
    }
}

fn send_alone() -> Vec<Factor> {
    vec![Factor::Send]
}

/// Which unsoaked trials a block ends with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unsoaked {
    /// One cell at top speed, and in every third block one as unsoaked control instead; cells take
    /// turns, controls have none.
    #[default]
    InTurn,
    /// Every cell at top speed, for plans that ask for throughput.
    TopSpeed,
    /// None (since format 3.6).
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_runs_the_path_of_its_control_and_of_itself_in_another_state_and_of_no_other() {
        let cell = Cell::of_paths(SendPath::Sendfile, RecvPath::Recv);
        let with = |levels: Levels| Cell { levels, ..cell.clone() };
        let control = Cell { control: true, label: "again".to_owned(), ..cell.clone() };
        let in_b = with(Levels { state: Some(HostState::b()), ..Levels::default() });
        assert!(control.runs_the_path_of(&cell));
        assert!(in_b.runs_the_path_of(&cell) && cell.runs_the_path_of(&in_b));
        for other in [
            Cell::of_paths(SendPath::Splice, RecvPath::Recv),
            Cell::of_paths(SendPath::Sendfile, RecvPath::RecvTrunc),
            with(Levels { message_bytes: Some(4096), ..Levels::default() }),
        ] {
            assert!(!other.runs_the_path_of(&cell), "{other:?}");
        }
    }
}
