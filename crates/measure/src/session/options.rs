//! What a run is asked for, resolved: names are known, sizes are bytes, durations are nanoseconds, defaults that do
//! not depend on the machine are filled in. `cli` makes it out of arguments; `None` leaves the choice to the session,
//! which knows the machine.

use std::path::PathBuf;

use super::RemoteEnd;
use crate::plan::Spec;
use zc_run::{Align, CopyPages, HostStates, LinkKind, LinkOptions, Placement, Push, RecvPath, SendPath, SoakerKind};

/// Everything that `zc run` can be told.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The command line as it is saved in the run.
    pub command: Vec<String>,
    /// Files whose bytes are sent; empty for the generated set.
    pub files: Vec<PathBuf>,
    /// What is compared with what.
    pub plan: Spec,
    /// The send path of cells whose plan does not say.
    pub send: SendPath,
    /// The receive path of cells whose plan does not say.
    pub recv: RecvPath,
    /// Bytes per call on the receiving side.
    pub recv_buffer_bytes: usize,
    /// Bytes per call for send paths with a user-space buffer.
    pub buffer_bytes: usize,
    /// Payload bytes per second over all flows at which cost is measured; `None`: one that every path can hold.
    pub rate_bytes_per_s: Option<f64>,
    /// The whole run, everything included.
    pub budget_ns: u64,
    /// Half-width of every ratio's interval at which the run may stop early: 0.025 is +-2.5 %.
    pub target: f64,
    /// The seed of the order; `None` for a fresh one.
    pub seed: Option<u64>,
    /// The link; `None` for the best that this user can have.
    pub link: Option<LinkKind>,
    /// What the link is asked to be.
    pub link_options: LinkOptions,
    /// Another machine that takes the bytes; the link is then `remote`.
    pub remote: Option<RemoteEnd>,
    /// Connections at a time, at least 1.
    pub flows: usize,
    /// TCP congestion control; `None`: cubic where there is one.
    pub congestion: Option<String>,
    /// SO_SNDBUF in bytes; `None` leaves the kernel's autotuning on.
    pub sndbuf_bytes: Option<usize>,
    /// SO_RCVBUF in bytes; `None` leaves the kernel's autotuning on.
    pub rcvbuf_bytes: Option<usize>,
    /// What is asked of TCP about packets that are not full.
    pub push: Push,
    /// Where on its page a message begins.
    pub align: Align,
    /// The pages that paths send from whose bytes are in memory already.
    pub pages: CopyPages,
    /// Which CPUs the two sides are pinned to.
    pub placement: Placement,
    /// The CPUs of the two sides, which differ; `None` to choose.
    pub cpus: Option<CpuPair>,
    /// The commands that put the host into its two states, where the plan's cells differ in it.
    pub states: Option<HostStates>,
    /// What the soakers do.
    pub soaker: SoakerKind,
    /// Where the run is saved. The session creates it with O_EXCL before it measures anything.
    pub out: PathBuf,
    /// The measured part of a trial; `None` for the default.
    pub window_ns: Option<u64>,
    /// The idle window beside each trial; `None` for the default.
    pub idle_ns: Option<u64>,
    /// What is thrown away before each window; `None` for the default.
    pub warmup_ns: Option<u64>,
    /// Whether the soaked windows are sampled: `zc profile`.
    pub sample: bool,
}

/// One CPU for each side. Whether they exist and may be used is for the session to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuPair {
    /// The sender's CPU.
    pub sender: usize,
    /// The receiver's CPU.
    pub receiver: usize,
}

impl RunOptions {
    /// What `zc run` does with a plan and without any option, saved in `out`.
    pub fn plain(plan: Spec, out: PathBuf) -> Self {
        Self {
            command: Vec::new(),
            files: Vec::new(),
            plan,
            send: SendPath::ReadSend,
            recv: RecvPath::Recv,
            recv_buffer_bytes: 64 << 10,
            buffer_bytes: 64 << 10,
            rate_bytes_per_s: None,
            budget_ns: 60_000_000_000,
            target: 0.025,
            seed: None,
            link: None,
            link_options: LinkOptions::default(),
            remote: None,
            flows: 1,
            congestion: None,
            sndbuf_bytes: None,
            rcvbuf_bytes: None,
            push: Push::Plain,
            align: Align::Page,
            pages: CopyPages::Scattered,
            placement: Placement::Separate,
            cpus: None,
            states: None,
            soaker: SoakerKind::Alu,
            out,
            window_ns: None,
            idle_ns: None,
            warmup_ns: None,
            sample: false,
        }
    }
}
