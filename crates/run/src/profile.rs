//! Where the CPU time was seen to go: samples of the kernel's call stacks, counted and not kept one by one.
//!
//! A run that was sampled has [`Sampling`] in its header and [`BlockSamples`] in its blocks. Stacks are a tree of frames, so that what
//! stacks have in common stands in the file once; a block brings the symbols and frames that no block before it had, and numbers go on from
//! block to block. [`Profile`] puts them together again, and is what is to be read.
//!
//! Which class a stack belongs to, and in whose context it ran, is not in here: that is `estimate::profile`'s, so that old samples
//! can be read with a better table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Run;

/// How a run was sampled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sampling {
    /// What made the samples.
    pub event: SampledEvent,
    /// Why not [`SampledEvent::Cycles`], where it is not: one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_cycles: Option<String>,
    /// Samples per second that were asked for on each CPU. With cycles the kernel steers towards it.
    pub frequency_hz: u64,
    /// The CPUs that were sampled.
    pub cpus: Vec<usize>,
    /// The functions that /proc/kallsyms named.
    pub kernel_functions: usize,
}

/// What makes a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SampledEvent {
    /// PERF_COUNT_HW_CPU_CYCLES: sees nearly everything, with an interrupt that nothing but another of its kind holds off.
    Cycles,
    /// PERF_COUNT_SW_CPU_CLOCK, a timer of the kernel's: what runs with interrupts off is seen where they are enabled again.
    CpuClock,
}

impl SampledEvent {
    /// As perf(1) calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::CpuClock => "cpu-clock",
        }
    }
}

/// What was sampled in the soaked windows of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockSamples {
    /// Names of kernel functions that no block before this one had, as /proc/kallsyms has them.
    pub symbols: Vec<String>,
    /// Frames that no block before this one had: the number of the frame that called it, 0 for none, and the place of its
    /// function among all symbols so far. Frames count from 1 over the whole run; a frame's caller has a lower number.
    pub frames: Vec<(u32, u32)>,
    /// One for each soaked trial, and one for all idle windows together.
    pub windows: Vec<WindowSamples>,
}

/// What was sampled in a window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSamples {
    /// The cell's label; null for the idle windows of the block, all together.
    pub cell: Option<String>,
    /// Its length; of several, their sum.
    pub elapsed_ns: u64,
    /// Samples that the kernel says were lost, and times that it stopped sampling because there were too many. They are not
    /// among those that are counted.
    #[serde(default)]
    pub lost: u64,
    /// What is counted.
    pub tasks: Vec<TaskSamples>,
}

/// The samples of one CPU that found tasks of one kind at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskSamples {
    /// Which CPU.
    pub cpu: usize,
    /// Whose time it was: who was current, which says nothing of for whom the work was done.
    pub task: SampledTask,
    /// The frame that was running, 0 for user mode, and how often it was found.
    pub counts: Vec<(u32, u32)>,
}

/// Whose time a sample fell into.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SampledTask {
    /// A thread that sends, a worker of its io_uring included.
    Sender,
    /// A thread that receives, a worker of its io_uring included.
    Receiver,
    /// A soaker: in user mode, time that nobody wanted.
    Soaker,
    /// Another thread of zc: the one that measures, the far end of the null link.
    Instrument,
    /// The idle task.
    Idle,
    /// The kernel thread that runs softirqs that were put off.
    Ksoftirqd,
    /// Another thread of the kernel.
    KernelThread,
    /// Another process.
    Other,
}

impl SampledTask {
    /// Every one.
    pub const ALL: [Self; 8] = [
        Self::Sender,
        Self::Receiver,
        Self::Soaker,
        Self::Instrument,
        Self::Idle,
        Self::Ksoftirqd,
        Self::KernelThread,
        Self::Other,
    ];
}

/// Frames of the deepest stack that is taken for one: the kernel takes 127 unless told otherwise (kernel.perf_event_max_stack).
const DEEPEST: u32 = 1024;

/// All samples of a run, with its tables whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// How it was sampled.
    pub sampling: Sampling,
    /// Names of kernel functions.
    pub symbols: Vec<String>,
    /// Frame number n at place n - 1: its caller's number, 0 for none, and the place of its function in `symbols`.
    pub frames: Vec<(u32, u32)>,
    /// By block, in the order of `Run::blocks`; empty for blocks that have no samples.
    pub blocks: Vec<Vec<WindowSamples>>,
}

impl Profile {
    /// The samples of a run; `None` for one that was not sampled, and for one whose tables do not fit together (a file that somebody edited).
    pub fn of(run: &Run) -> Option<Self> {
        let sampling = run.header.sampling.clone()?;
        let mut profile =
            Self { sampling, symbols: Vec::new(), frames: Vec::new(), blocks: Vec::new() };
        for block in &run.blocks {
            let samples = block.samples.clone().unwrap_or_default();
            profile.symbols.extend(samples.symbols);
            profile.frames.extend(samples.frames);
            profile.blocks.push(samples.windows);
        }
        profile.fits().then_some(profile)
    }

    fn fits(&self) -> bool {
        let mut depths: Vec<u32> = Vec::with_capacity(self.frames.len());
        let frames = self.frames.iter().all(|&(caller, symbol)| {
            let above =
                if caller == 0 { Some(0) } else { depths.get(caller as usize - 1).copied() };
            let depth = above.map(|depth| depth + 1).filter(|depth| *depth <= DEEPEST);
            depths.extend(depth);
            depth.is_some() && (symbol as usize) < self.symbols.len()
        });
        let mut tasks = self.blocks.iter().flatten().flat_map(|window| &window.tasks);
        frames
            && tasks.all(|task| {
                task.counts.iter().all(|&(frame, _)| frame as usize <= self.frames.len())
            })
    }

    /// The numbers of a frame and its callers, the frame first; empty for 0, which is user mode.
    pub fn callers(&self, frame: u32) -> impl Iterator<Item = u32> {
        let above = |frame: u32| (frame > 0).then_some(frame);
        std::iter::successors(above(frame), move |&frame| {
            above(self.frames.get(frame as usize - 1)?.0)
        })
    }

    /// The function of a frame; empty for a number that is no frame's.
    pub fn symbol(&self, frame: u32) -> &str {
        let place = (frame as usize).checked_sub(1).and_then(|place| self.frames.get(place));
        place.and_then(|&(_, symbol)| self.symbols.get(symbol as usize)).map_or("", String::as_str)
    }
}
