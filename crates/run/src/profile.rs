//! Samples of the kernel's call stacks, counted by stack.
//!
//! A run that was sampled has [`Sampling`] in its header and [`BlockSamples`] in its blocks. Stacks
//! are a tree of frames, so that common parts are in the file once. A block has the symbols and
//! frames that are new in it, and numbering continues from block to block. [`Profile`] puts them
//! together for readers.
//!
//! The class of a stack and its context are not saved: `zc-analysis` determines them, so that old
//! samples can be read with a better table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Run;

/// Sampling of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sampling {
    /// The event that made the samples.
    pub event: SampledEvent,
    /// Why the event is not [`SampledEvent::Cycles`], if it is not: one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_cycles: Option<String>,
    /// Requested samples per second on each CPU. With cycles the kernel approximates it.
    pub frequency_hz: u64,
    /// The CPUs that were sampled.
    pub cpus: Vec<usize>,
    /// Number of functions that /proc/kallsyms named.
    pub kernel_functions: usize,
}

/// The event that makes samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SampledEvent {
    /// PERF_COUNT_HW_CPU_CYCLES: samples nearly all code, as only another such interrupt delays its
    /// interrupt.
    Cycles,
    /// PERF_COUNT_SW_CPU_CLOCK, a kernel timer: code that runs with interrupts off is attributed to
    /// where they are enabled again.
    CpuClock,
}

impl SampledEvent {
    /// Its name in perf(1).
    pub fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::CpuClock => "cpu-clock",
        }
    }
}

/// Samples in the soaked windows of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockSamples {
    /// Names of kernel functions that are new in this block, as in /proc/kallsyms.
    pub symbols: Vec<String>,
    /// Frames that are new in this block: the number of the calling frame, 0 for none, and the
    /// index of the function among all symbols so far. Frames count from 1 over the whole run; a
    /// frame's caller has a lower number.
    pub frames: Vec<(u32, u32)>,
    /// One for each soaked trial, and one for all idle windows together.
    pub windows: Vec<WindowSamples>,
}

/// Samples in a window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSamples {
    /// The cell's label; null for the idle windows of the block, all together.
    pub cell: Option<String>,
    /// Length of the window, or of all idle windows together.
    pub elapsed_ns: u64,
    /// Samples that the kernel reports as lost, and times that it stopped sampling because there
    /// were too many. They are not counted in the stacks.
    #[serde(default)]
    pub lost: u64,
    /// The samples by CPU and kind of task.
    pub tasks: Vec<TaskSamples>,
}

/// The samples of one CPU in tasks of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskSamples {
    /// The CPU's number.
    pub cpu: usize,
    /// The kind of the current task, for which the work was not necessarily done.
    pub task: SampledTask,
    /// The sampled frame, 0 for user mode, and the number of samples.
    pub counts: Vec<(u32, u32)>,
}

/// The kind of the task that was current at a sample.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SampledTask {
    /// A sender thread, or a worker of its io_uring.
    Sender,
    /// A receiver thread, or a worker of its io_uring.
    Receiver,
    /// A soaker; in user mode this is otherwise idle time.
    Soaker,
    /// Another thread of zc: the one that measures, the ACK generator.
    Instrument,
    /// The idle task.
    Idle,
    /// The kernel thread that runs deferred softirqs.
    Ksoftirqd,
    /// Another thread of the kernel.
    KernelThread,
    /// Another process.
    Other,
}

impl SampledTask {
    /// All kinds.
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

/// The most frames of a stack; the kernel's default is 127 (kernel.perf_event_max_stack).
const DEEPEST: u32 = 1024;

/// The most bytes of a stack's names together. Folded stacks repeat them for each stack, and 127
/// functions with names of 128 bytes are more than any kernel has.
const LONGEST_STACK_BYTES: usize = 16 << 10;

/// All samples of a run, with complete tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Sampling settings.
    pub sampling: Sampling,
    /// Names of kernel functions.
    pub symbols: Vec<String>,
    /// Frame number n at place n - 1: its caller's number, 0 for none, and the place of its
    /// function in `symbols`.
    pub frames: Vec<(u32, u32)>,
    /// Samples of each block, in the order of `Run::blocks`; empty for blocks that have no samples.
    pub blocks: Vec<Vec<WindowSamples>>,
}

impl Profile {
    /// The samples of a run; `None` if it was not sampled, or if its tables are inconsistent
    /// because the file was edited.
    pub fn from_run(run: &Run) -> Option<Self> {
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
        // How deep each frame is, and how many bytes the names of its stack have.
        let mut stacks: Vec<(u32, usize)> = Vec::with_capacity(self.frames.len());
        let frames = self.frames.iter().all(|&(caller, symbol)| {
            let above =
                if caller == 0 { Some((0, 0)) } else { stacks.get(caller as usize - 1).copied() };
            let name = self.symbols.get(symbol as usize);
            let (Some((depth, bytes)), Some(name)) = (above, name) else { return false };
            let stack = (depth + 1, bytes + name.len());
            stacks.push(stack);
            stack.0 <= DEEPEST && stack.1 <= LONGEST_STACK_BYTES
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

    /// The function of a frame; empty if there is no frame of this number.
    pub fn symbol(&self, frame: u32) -> &str {
        let place = (frame as usize).checked_sub(1).and_then(|place| self.frames.get(place));
        place.and_then(|&(_, symbol)| self.symbols.get(symbol as usize)).map_or("", String::as_str)
    }
}
