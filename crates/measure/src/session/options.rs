//! What a run is asked for, resolved: names are known, sizes are bytes, durations are nanoseconds, defaults that do
//! not depend on the machine are filled in. `cli` makes it out of arguments; `None` leaves the choice to the session,
//! which knows the machine.

use std::path::PathBuf;

use super::RemoteEnd;
use crate::plan::Spec;
use zc_run::{HostStates, Levels, LinkKind, LinkOptions, RecvPath, SendPath, SoakerKind};

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
    /// The levels of other factors that are held fixed; without one, the factor's default holds. `sockbuf` is SO_SNDBUF alone here.
    pub held: Levels,
    /// SO_RCVBUF in bytes; `None` leaves the kernel's autotuning on.
    pub rcvbuf_bytes: Option<usize>,
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
            held: Levels::default(),
            rcvbuf_bytes: None,
            budget_ns: 60_000_000_000,
            target: 0.025,
            seed: None,
            link: None,
            link_options: LinkOptions::default(),
            remote: None,
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
