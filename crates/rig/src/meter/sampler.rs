//! The sampler: counts of kernel call stacks on all CPUs, sampled some thousand times a second.
//!
//! One event for each CPU (perf_event_open(2)): cycles if the CPU counts them, otherwise the
//! kernel's cpu-clock. After each window the samples are taken out of the rings; those with a time
//! stamp within the window are counted by CPU, by task and by stack.

use std::collections::HashMap;
use std::io;

use super::functions::Functions;
use zc_kernel::perf::{Event, Record, Sample, Sampler as CpuSampler};
use zc_kernel::sched;
use zc_run::{
    BlockSamples, Error, Result, SampledEvent, SampledTask, Sampling, TaskSamples, WindowSamples,
    in_words,
};

/// Samples per second on each CPU. The ratio to the pacer, which sends once in a millisecond, and
/// to ticks of 1, 4 and 10 ms follows the golden ratio (1000 x 1.618^2). So samples are spread
/// evenly over a period; 1999 would hit the same two moments of it all through a window. What
/// sampling costs: docs/profile.md.
const FREQUENCY_HZ: u64 = 2618;

/// The highest frequency that the kernel accepts.
const MAX_SAMPLE_RATE: &str = "/proc/sys/kernel/perf_event_max_sample_rate";

/// PF_KTHREAD of include/linux/sched.h, in the ninth field of proc_pid_stat(5).
const PF_KTHREAD: u64 = 0x0020_0000;

/// Name for addresses that are in no function.
const NOWHERE: &str = "[unknown]";

/// The threads by which the samples of a window are classified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SampledThreads {
    /// Thread ids of senders (gettid(2)).
    pub senders: Vec<i32>,
    /// Thread ids of receivers.
    pub receivers: Vec<i32>,
    /// Thread ids of soakers.
    pub soakers: Vec<i32>,
}

/// Samplers on a set of CPUs.
#[derive(Debug)]
pub struct Sampler {
    cpus: Vec<(usize, CpuSampler)>,
    sampling: Sampling,
    functions: Functions,
    tables: Tables,
    /// Windows of the current block.
    windows: Vec<WindowSamples>,
}

/// Symbols and frames by number, and those that are new since the last block.
#[derive(Debug, Default)]
struct Tables {
    symbols: HashMap<String, u32>,
    frames: HashMap<(u32, u32), u32>,
    new_symbols: Vec<String>,
    new_frames: Vec<(u32, u32)>,
    /// The symbol of every address seen so far.
    by_address: HashMap<u64, u32>,
}

impl Sampler {
    /// Opens the events of `cpus`, disabled. Call it before a user namespace is entered: the kernel
    /// checks the rights in the initial one.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](zc_run::ErrorKind): this user may not, or the kernel cannot.
    pub fn open(cpus: &[usize]) -> Result<Self> {
        let highest =
            std::fs::read_to_string(MAX_SAMPLE_RATE).ok().and_then(|text| text.trim().parse().ok());
        let frequency_hz =
            highest.map_or(FREQUENCY_HZ, |highest: u64| FREQUENCY_HZ.min(highest).max(1));
        let first = cpus.first().copied().unwrap_or(0);
        let (event, no_cycles) = match CpuSampler::open(Event::Cycles, first, frequency_hz) {
            Ok(_) => (SampledEvent::Cycles, None),
            Err(error) if is_refused(&error) => return Err(refused(&error)),
            Err(error) => (SampledEvent::CpuClock, Some(without_cycles(&error))),
        };
        let kind = match event {
            SampledEvent::Cycles => Event::Cycles,
            SampledEvent::CpuClock => Event::CpuClock,
        };
        let open = |&cpu: &usize| match CpuSampler::open(kind, cpu, frequency_hz) {
            Ok(sampler) => Ok((cpu, sampler)),
            Err(error) if is_refused(&error) => Err(refused(&error)),
            Err(error) => Err(Error::unsupported(
                "cannot-sample",
                format!("CPU {cpu} cannot be sampled: {}", in_words(&error)),
            )
            .help("zc run measures without samples")),
        };
        let cpus_open = cpus.iter().map(open).collect::<Result<_>>()?;
        let functions = Functions::read()?;
        let sampling = Sampling {
            event,
            no_cycles,
            frequency_hz,
            cpus: cpus.to_vec(),
            kernel_functions: functions.count(),
        };
        Ok(Self {
            cpus: cpus_open,
            sampling,
            functions,
            tables: Tables::default(),
            windows: Vec::new(),
        })
    }

    /// Reads the kernel's functions again: a link that is up may have brought modules and BPF
    /// programs.
    pub fn refresh(&mut self) {
        // If they cannot be read any more (in a user namespace), the previous ones remain.
        if let Ok(functions) = Functions::read() {
            self.functions = functions;
            self.sampling.kernel_functions = self.functions.count();
            self.tables.by_address.clear();
        }
    }

    /// The event, its frequency and the CPUs.
    pub fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    /// Starts or stops sampling.
    ///
    /// # Errors
    /// The kernel refuses, which is not known to happen.
    pub fn enable(&self, on: bool) -> Result<()> {
        for (cpu, sampler) in &self.cpus {
            let done = if on { sampler.enable() } else { sampler.disable() };
            done.map_err(|error| Error::os(format!("switch the sampling of CPU {cpu}"), error))?;
        }
        Ok(())
    }

    /// Takes the samples of a window that has closed, and discards those before and after it. The
    /// idle windows of a block are counted together.
    pub fn take(&mut self, cell: Option<&str>, from_ns: u64, to_ns: u64, threads: &SampledThreads) {
        let mut counts: HashMap<(usize, SampledTask, u32), u32> = HashMap::new();
        let mut classifier = Classifier::new(threads);
        let (functions, tables) = (&self.functions, &mut self.tables);
        let mut lost = 0;
        for (cpu, sampler) in &mut self.cpus {
            sampler.drain(|record| match record {
                Record::Sample(sample) => {
                    if (from_ns..to_ns).contains(&sample.at_ns) {
                        let task = classifier.task_of(&sample);
                        let frame =
                            if sample.user { 0 } else { tables.frame(sample.stack, functions) };
                        *counts.entry((*cpu, task, frame)).or_default() += 1;
                    }
                }
                Record::Lost(count) => lost += count,
                Record::Throttled => lost += 1,
            });
        }
        let elapsed_ns = to_ns.saturating_sub(from_ns);
        match self.windows.iter_mut().find(|window| cell.is_none() && window.cell.is_none()) {
            Some(idle) => {
                let before = std::mem::take(&mut idle.tasks);
                for task in before {
                    for (frame, count) in task.counts {
                        *counts.entry((task.cpu, task.task, frame)).or_default() += count;
                    }
                }
                idle.elapsed_ns += elapsed_ns;
                idle.lost += lost;
                idle.tasks = by_task(counts);
            }
            None => {
                let cell = cell.map(str::to_owned);
                self.windows.push(WindowSamples { cell, elapsed_ns, lost, tasks: by_task(counts) });
            }
        }
    }

    /// Returns the samples of the block and begins the next one.
    pub fn block(&mut self) -> BlockSamples {
        BlockSamples {
            symbols: std::mem::take(&mut self.tables.new_symbols),
            frames: std::mem::take(&mut self.tables.new_frames),
            windows: std::mem::take(&mut self.windows),
        }
    }
}

/// Sorted by CPU, task and frame, so that equal counts give equal files.
fn by_task(counts: HashMap<(usize, SampledTask, u32), u32>) -> Vec<TaskSamples> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable();
    let mut tasks: Vec<TaskSamples> = Vec::new();
    for ((cpu, task, frame), count) in counts {
        match tasks.last_mut() {
            Some(last) if last.cpu == cpu && last.task == task => last.counts.push((frame, count)),
            _ => tasks.push(TaskSamples { cpu, task, counts: vec![(frame, count)] }),
        }
    }
    tasks
}

impl Tables {
    /// The number of the innermost kernel frame of a stack.
    fn frame(&mut self, stack: &[u64], functions: &Functions) -> u32 {
        let mut frame = 0;
        for (depth, &address) in stack.iter().enumerate().rev() {
            // A caller's address is the return address, which may be the first byte of the next
            // function.
            let address = if depth == 0 { address } else { address.saturating_sub(1) };
            let symbol = self.symbol(address, functions);
            let next = self.frames.len() as u32 + 1;
            frame = *self.frames.entry((frame, symbol)).or_insert_with(|| {
                self.new_frames.push((frame, symbol));
                next
            });
        }
        if frame == 0 {
            // In the kernel without a stack: it gets a frame too, because 0 means user mode.
            return self.frame(&[0], functions);
        }
        frame
    }

    fn symbol(&mut self, address: u64, functions: &Functions) -> u32 {
        if let Some(&symbol) = self.by_address.get(&address) {
            return symbol;
        }
        let name = functions.name(address).unwrap_or(NOWHERE).replace('\t', " ");
        let next = self.symbols.len() as u32;
        let symbol = *self.symbols.entry(name).or_insert_with_key(|name| {
            self.new_symbols.push(name.clone());
            next
        });
        self.by_address.insert(address, symbol);
        symbol
    }
}

/// Classifies samples by task.
struct Classifier<'a> {
    threads: &'a SampledThreads,
    own_pid: i32,
    own_tid: i32,
    /// Threads that had to be looked up.
    others: HashMap<i32, SampledTask>,
}

impl<'a> Classifier<'a> {
    fn new(threads: &'a SampledThreads) -> Self {
        let own_pid = std::process::id() as i32; // what the kernel has as a pid_t
        Self { threads, own_pid, own_tid: sched::gettid(), others: HashMap::new() }
    }

    fn task_of(&mut self, sample: &Sample<'_>) -> SampledTask {
        let tid = sample.tid;
        match tid {
            _ if self.threads.soakers.contains(&tid) => SampledTask::Soaker,
            _ if self.threads.senders.contains(&tid) => SampledTask::Sender,
            _ if self.threads.receivers.contains(&tid) => SampledTask::Receiver,
            // In a PID namespace, processes outside of it have this number too.
            0 if sample.user => SampledTask::Other,
            0 => SampledTask::Idle,
            _ if tid == self.own_tid => SampledTask::Instrument,
            _ => {
                let (own, threads) = (sample.pid == self.own_pid, self.threads);
                *self
                    .others
                    .entry(tid)
                    .or_insert_with(|| if own { of_zc(tid, threads) } else { of_system(tid) })
            }
        }
    }
}

/// A thread of this process that was not named: a worker that io_uring made since, or zc itself.
fn of_zc(tid: i32, threads: &SampledThreads) -> SampledTask {
    let name = std::fs::read_to_string(format!("/proc/self/task/{tid}/comm")).unwrap_or_default();
    match name
        .trim_end()
        .strip_prefix("iou-wrk-")
        .and_then(|submitter| submitter.parse::<i32>().ok())
    {
        Some(submitter) if threads.receivers.contains(&submitter) => SampledTask::Receiver,
        Some(_) => SampledTask::Sender,
        None => SampledTask::Instrument,
    }
}

/// A thread of another process. If it has ended, it counts as another process's.
fn of_system(tid: i32) -> SampledTask {
    let stat = std::fs::read_to_string(format!("/proc/{tid}/stat")).unwrap_or_default();
    task_of_stat(&stat).unwrap_or(SampledTask::Other)
}

/// Classifies by a line of /proc/PID/stat.
fn task_of_stat(stat: &str) -> Option<SampledTask> {
    let (before, after) = stat.rsplit_once(") ")?;
    let (_, name) = before.split_once(" (")?;
    let flags: u64 = after.split(' ').nth(6)?.parse().ok()?;
    Some(match flags & PF_KTHREAD {
        0 => SampledTask::Other,
        _ if name.starts_with("ksoftirqd/") => SampledTask::Ksoftirqd,
        _ => SampledTask::KernelThread,
    })
}

fn is_refused(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// The error for a user without the right to sample.
fn refused(error: &io::Error) -> Error {
    let paranoid =
        std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let is = match paranoid.trim() {
        "" => String::new(),
        level => format!(", and kernel.perf_event_paranoid is {level}"),
    };
    Error::unsupported(
        "sampling-not-permitted",
        format!(
            "this user may not sample what all CPUs are doing in the kernel: {} (CAP_PERFMON is \
         missing{is})",
            in_words(error)
        ),
    )
    .help(
        "run as root, or let every user: sysctl kernel.perf_event_paranoid=-1 \
         kernel.kptr_restrict=0",
    )
}

/// Why cycles are not counted.
fn without_cycles(error: &io::Error) -> String {
    match error.raw_os_error().map(io::Error::from_raw_os_error).map(|error| error.kind()) {
        Some(io::ErrorKind::NotFound | io::ErrorKind::Unsupported) => {
            "this CPU, or its hypervisor, shows no counter of cycles".to_owned()
        }
        _ => format!("the counter of cycles is not available: {}", in_words(error)),
    }
}

#[cfg(test)]
mod tests {
    use zc_kernel::clock::{monotonic_ns, own_cpu_ns};

    use super::*;

    fn open() -> Option<Sampler> {
        match Sampler::open(&sched::allowed_cpus().unwrap()) {
            Ok(sampler) => Some(sampler),
            Err(error) => {
                eprintln!("skipped: {error}");
                assert_eq!(error.kind, zc_run::ErrorKind::Unsupported);
                assert!(error.help.is_some());
                None
            }
        }
    }

    #[test]
    fn system_calls_of_a_thread_are_found_in_the_kernel_on_its_own_time() {
        let Some(mut sampler) = open() else { return };
        sampler.enable(true).unwrap();
        let from_ns = monotonic_ns();
        let tid = std::thread::scope(|scope| {
            let work = || {
                while own_cpu_ns() < 50_000_000 {
                    drop(std::fs::read("/proc/self/maps"));
                }
                sched::gettid()
            };
            scope.spawn(work).join().unwrap()
        });
        let to_ns = monotonic_ns();
        sampler.enable(false).unwrap();
        let threads = SampledThreads { senders: vec![tid], ..SampledThreads::default() };
        sampler.take(Some("maps"), from_ns, to_ns, &threads);
        let block = sampler.block();
        assert_eq!(block.windows.len(), 1);
        let window = &block.windows[0];
        assert_eq!((window.cell.as_deref(), window.elapsed_ns), (Some("maps"), to_ns - from_ns));
        let own = window.tasks.iter().filter(|task| task.task == SampledTask::Sender);
        let own: Vec<(u32, u32)> = own.flat_map(|task| task.counts.clone()).collect();
        assert!(own.iter().any(|&(frame, _)| frame > 0), "{window:?}");
        assert!(block.symbols.iter().any(|name| name.contains("read")), "{:?}", block.symbols);
        assert!(
            block.frames.iter().enumerate().all(|(place, (caller, _))| *caller as usize <= place)
        );
        assert_eq!(sampler.block(), BlockSamples::default(), "samples are returned once");
    }

    #[test]
    fn samples_outside_of_the_window_do_not_count_and_idle_windows_are_one() {
        let Some(mut sampler) = open() else { return };
        sampler.enable(true).unwrap();
        let now = monotonic_ns();
        while monotonic_ns() < now + 10_000_000 {}
        sampler.take(None, 1, 2, &SampledThreads::default());
        sampler.take(None, 5, 7, &SampledThreads::default());
        let block = sampler.block();
        assert_eq!(block.windows.len(), 1);
        assert_eq!((block.windows[0].elapsed_ns, &block.windows[0].tasks), (3, &Vec::new()));
    }

    #[test]
    fn stacks_share_their_frames() {
        let functions = Functions::default();
        let mut tables = Tables::default();
        let (one, two) =
            (tables.frame(&[3, 2, 1], &functions), tables.frame(&[3, 2, 1], &functions));
        assert_eq!(one, two);
        // No address has a name here, so there is one symbol, and a frame for each depth.
        assert_eq!(tables.new_symbols, [NOWHERE]);
        assert_eq!(tables.new_frames, [(0, 0), (1, 0), (2, 0)]);
        assert_eq!(tables.frame(&[], &functions), 1, "in the kernel, whatever it was");
    }

    #[test]
    fn kernel_threads_are_recognised_by_their_flags() {
        let stat = |name: &str, flags: u64| format!("15 ({name}) S 2 0 0 0 -1 {flags} 0 0");
        assert_eq!(task_of_stat(&stat("ksoftirqd/0", 69_238_848)), Some(SampledTask::Ksoftirqd));
        assert_eq!(task_of_stat(&stat("kworker/0:1", 69_238_880)), Some(SampledTask::KernelThread));
        assert_eq!(task_of_stat(&stat("ksoftirqd/) x", 4_194_304)), Some(SampledTask::Other));
        assert_eq!(task_of_stat(""), None);
    }

    #[test]
    fn without_the_right_to_sample_the_error_has_a_hint() {
        let error = refused(&io::Error::from_raw_os_error(13));
        assert_eq!(error.id, "sampling-not-permitted");
        assert!(error.help.unwrap().contains("perf_event_paranoid"));
    }
}
