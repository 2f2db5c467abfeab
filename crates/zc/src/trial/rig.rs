//! The rig: what stays between trials, and the trial itself.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::link::{FarEnd, Link};
use crate::meter::{self, Alone, KernelMeters, Soakers, Surroundings, WakeLatency, conditions, wake_latency};
use crate::path::SendSetup;
use crate::record::{
    Cell, Fault, FixedParams, Host, IdleWindow, LinkFacts, No, Probe, Reading, Result, Timing, Trial, TrialKind,
    Warning,
};
use zc_sys::clock::{monotonic_ns, own_cpu_ns, sleep_until};

use super::flow::{Drive, Flow, Trouble};
use super::window::{APART_NS, Threads, add_noted, flow_counts, tcp_reading};

/// After a trial, before the next window: its threads have ended, but frees, timers and RCU callbacks are still due.
const SETTLE_NS: u64 = 3_000_000;

/// A piece is not cut smaller than this, however low the rate.
const SMALLEST_PIECE_BYTES: usize = 16 << 10;

/// How long zc looks at the machine before it does anything: 20 ticks of 10 ms.
const LOOK_NS: u64 = 200_000_000;

/// What a rig is made of.
pub struct RigSetup {
    /// The link, up.
    pub link: Arc<dyn Link>,
    /// The files and what the paths need.
    pub setup: SendSetup,
    /// What all cells share.
    pub fixed: FixedParams,
    /// How long the parts of a trial are.
    pub timing: Timing,
}

/// Everything that a trial needs and that outlives it.
pub struct Rig {
    pub(super) link: Arc<dyn Link>,
    pub(super) setup: SendSetup,
    pub(super) fixed: FixedParams,
    pub(super) expected: OnceCell<(u64, u32)>,
    timing: Timing,
    first_file: usize,
    soakers: Soakers,
    meters: KernelMeters,
}

impl Rig {
    /// Starts the soakers, paused, and opens the meters.
    ///
    /// # Errors
    /// A CPU may not be used, SCHED_IDLE is refused, or /proc/stat cannot be read.
    pub fn new(setup: RigSetup) -> Result<Self> {
        let RigSetup { link, setup, fixed, timing } = setup;
        let soakers = Soakers::start(&fixed.soaked_cpus, fixed.soaker)?;
        soakers.pause();
        let meters = KernelMeters::open(&fixed.soaked_cpus)?;
        Ok(Self { link, setup, fixed, expected: OnceCell::new(), timing, first_file: 0, soakers, meters })
    }

    /// Whether soakers delay those who wake up on the CPUs of the two sides; leaves the soakers asleep.
    ///
    /// # Errors
    /// A CPU may not be used.
    pub fn wake_latencies(&self) -> Result<Vec<WakeLatency>> {
        let mut cpus = vec![self.fixed.sender_cpu, self.fixed.receiver_cpu];
        cpus.dedup();
        let latencies = cpus.into_iter().map(|cpu| wake_latency(cpu, &self.soakers)).collect();
        self.soakers.pause();
        latencies
    }

    /// What can be known before the first block that would make the figures a lie; takes a fifth of a second, in which
    /// nothing of zc is at work.
    ///
    /// # Errors
    /// A namespace could not be entered, or /proc/stat cannot be read.
    pub fn conditions(&mut self, host: &Host, link: &LinkFacts, alone: &Alone) -> Result<Vec<Warning>> {
        let (mut opened, mut closed) = (Reading::default(), Reading::default());
        self.meters.read(&mut opened)?;
        sleep_until(monotonic_ns() + LOOK_NS);
        self.meters.read(&mut closed)?;
        let sender_cpu = self.fixed.sender_cpu;
        let around = self.on_senders_side(|| Surroundings::read(&link.device, sender_cpu, alone))?;
        let mut warnings = conditions::before(host, link, &self.fixed, &around);
        warnings.extend(conditions::while_idle(&opened.stat, &closed.stat));
        Ok(warnings)
    }

    /// Somebody who listens in on the link just now.
    pub fn sniffers(&self) -> Option<Warning> {
        let device = self.link.facts().device.clone();
        conditions::sniffers(self.on_senders_side(|| meter::sniffers(&device)).ok().flatten())
    }

    /// Asks something in the sender's namespace. A namespace is entered by a thread for good, so it has one of its own.
    fn on_senders_side<T: Send>(&self, ask: impl FnOnce() -> T + Send) -> Result<T> {
        let link = &self.link;
        std::thread::scope(|scope| scope.spawn(|| link.enter_sender().map(|()| ask())).join())
            .map_err(|_| Fault::failed("a thread that looked around on the sender's side died"))?
    }

    /// Sets the rate at which costs are measured.
    pub fn set_rate(&mut self, rate_bytes_per_s: f64, chosen: bool) {
        self.fixed.rate_bytes_per_s = rate_bytes_per_s;
        self.fixed.rate_chosen = chosen;
    }

    /// The largest piece that a path is handed at once. Paced: about a burst's bytes, as a larger piece would pay for
    /// several bursts and leave the window with few and uneven ones.
    fn piece_bytes(&self, rate_bytes_per_s: Option<f64>) -> usize {
        let largest = self.fixed.piece_bytes;
        let burst_bytes = rate_bytes_per_s.map(|rate| rate * self.fixed.burst_ns as f64 / 1e9);
        burst_bytes.map_or(largest, |bytes| (bytes as usize).max(SMALLEST_PIECE_BYTES).next_power_of_two().min(largest))
    }

    /// Lets every trial of block number `block` begin with the same file, the blocks one after the other through the whole
    /// set, and reads into the page cache what a trial at the rate will send.
    ///
    /// # Errors
    /// A file cannot be read, or has become shorter.
    pub fn begin_block(&mut self, block: usize) -> Result<()> {
        let seconds = (self.timing.warmup_ns + APART_NS + self.timing.window_ns) as f64 / 1e9;
        let bytes = (self.fixed.rate_bytes_per_s * seconds) as u64;
        self.first_file = self.setup.files.file_at((block as u64).saturating_mul(bytes));
        self.setup.files.warm_from(self.first_file, bytes)
    }

    /// Sets how long the parts of a trial are.
    pub fn set_timing(&mut self, timing: Timing) {
        self.timing = timing;
    }

    /// What all cells share, as it stands.
    pub fn fixed(&self) -> &FixedParams {
        &self.fixed
    }

    /// Lets the soakers work (soaked trials and idle windows) or sleep (twins, top speed).
    pub fn soak(&self, on: bool) {
        if on {
            self.soakers.resume();
        } else {
            self.soakers.pause();
        }
    }

    /// Proves a cell, or says why it cannot run here.
    ///
    /// # Errors
    /// A file has become shorter, or the bytes that arrived were others: the run must not go on.
    pub fn prove(&self, cell: &Cell) -> Result<std::result::Result<Probe, No>> {
        match self.attempt_proof(cell) {
            Ok(probe) => Ok(Ok(probe)),
            Err(Trouble::CannotRun(no)) => Ok(Err(no)),
            Err(Trouble::Broke(fault)) => Err(fault),
        }
    }

    /// A window in which nothing is sent. The soakers must be at work.
    ///
    /// # Errors
    /// A meter that could be read before cannot be read now.
    pub fn idle(&mut self) -> Result<IdleWindow> {
        let opens_ns = monotonic_ns() + SETTLE_NS;
        let mut opened = Reading::default();
        self.kernel(None, &mut opened)?;
        sleep_until(opens_ns);
        opened.soak = self.soakers.read();
        sleep_until(opens_ns + self.timing.idle_ns);
        let mut closed = Reading { soak: self.soakers.read(), ..Reading::default() };
        self.kernel(None, &mut closed)?;
        Ok(IdleWindow { opened, closed, remote: None })
    }

    /// Runs a cell once.
    ///
    /// # Errors
    /// The connection broke, a file became shorter, the bytes that arrived were not the bytes that were sent, or a
    /// thread got stuck. Nothing of the trial is left when it returns.
    pub fn run(&mut self, cell: &Cell, kind: TrialKind) -> Result<Trial> {
        self.attempt(cell, kind).map_err(|trouble| match trouble {
            Trouble::Broke(fault) => fault,
            Trouble::CannotRun(no) => {
                Fault::failed(format!("\"{}\" could run before and cannot now: {}", cell.label, no.reason()))
            }
        })
    }

    /// Runs a cell once as fast as it goes, and returns its speed in bytes per second. The soakers must be asleep.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn top_speed(&mut self, cell: &Cell) -> Result<f64> {
        let Trial { opened, closed, .. } = self.run(cell, TrialKind::TopSpeed)?;
        let bytes = closed.received.bytes.saturating_sub(opened.received.bytes);
        let elapsed_ns = closed.soak.at_ns.saturating_sub(opened.soak.at_ns).max(1);
        Ok(bytes as f64 * 1e9 / elapsed_ns as f64)
    }

    fn attempt(&mut self, cell: &Cell, kind: TrialKind) -> std::result::Result<Trial, Trouble> {
        let paced = kind != TrialKind::TopSpeed;
        let flows = self.fixed.flows;
        let rate_bytes_per_s = paced.then(|| self.fixed.rate_bytes_per_s / flows as f64);
        let drive = Drive {
            rate_bytes_per_s,
            stop_after_bytes: None,
            first_file: self.first_file,
            piece_bytes: self.piece_bytes(rate_bytes_per_s),
            checksum: false,
            to_listener: false,
        };
        let flows = (0..flows)
            .map(|index| Flow::open(index, cell, &self.fixed, &self.link, &self.setup, drive))
            .collect::<std::result::Result<Vec<_>, _>>()?;

        let begin_ns = monotonic_ns() + 500_000;
        for flow in &flows {
            flow.begin(begin_ns);
        }
        let (opens_ns, closes_ns) = self.edges(begin_ns, kind);

        let mut opened = Reading::default();
        sleep_until(opens_ns - APART_NS);
        // By now io_uring has made its workers.
        let threads = match Threads::open(&flows) {
            Err(_) if flows.iter().any(Flow::has_ended) => return Err(why_ended(flows)),
            opened => opened?,
        };
        self.slow_meters(&flows, &threads, &mut opened)?;
        sleep_until(opens_ns);
        threads.read_cpu(&mut opened);
        flow_counts(&flows, &mut opened);
        opened.soak = self.soakers.read();

        sleep_until(closes_ns);
        let mut closed = Reading { soak: self.soakers.read(), ..Reading::default() };
        flow_counts(&flows, &mut closed);
        if flows.iter().any(Flow::has_ended) {
            return Err(why_ended(flows));
        }
        threads.read_cpu(&mut closed);
        self.slow_meters(&flows, &threads, &mut closed)?;

        for flow in &flows {
            flow.stop();
        }
        let mut trial = Trial {
            cell: cell.label.clone(),
            kind,
            opened,
            closed,
            whole_bytes: 0,
            whole_completions: 0,
            whole_copied: 0,
            remote: None,
            remote_report: None,
        };
        for flow in flows {
            let (sent, _, _) = flow.finish()?;
            trial.whole_bytes += sent.bytes;
            trial.whole_completions += sent.completions;
            trial.whole_copied += sent.copied;
        }
        Ok(trial)
    }

    /// When the window opens and closes. Paced: both in the middle between two bursts, so that a burst is in the window
    /// whole or not at all.
    fn edges(&self, begin_ns: u64, kind: TrialKind) -> (u64, u64) {
        let window_ns = if kind == TrialKind::Soaked { self.timing.window_ns } else { self.timing.unsoaked_ns };
        let burst_ns = self.fixed.burst_ns.max(1);
        let whole_bursts = |ns: u64| ns.div_ceil(burst_ns) * burst_ns;
        let opens_ns = begin_ns + whole_bursts(self.timing.warmup_ns.max(2 * APART_NS)) + burst_ns / 2;
        (opens_ns, opens_ns + whole_bursts(window_ns))
    }

    /// What the kernel counts, and right before it the CPU time of everything that is zc's.
    fn kernel(&mut self, threads: Option<&Threads>, into: &mut Reading) -> Result<()> {
        let flows_ns = threads.map_or(0, Threads::cpu_ns);
        let far_end_ns = self.link.far_end().map_or(0, FarEnd::cpu_ns);
        into.process_cpu_ns = self.soakers.cpu_ns()? + own_cpu_ns() + flows_ns + far_end_ns;
        self.meters.read(into)
    }

    fn slow_meters(&mut self, flows: &[Flow], threads: &Threads, into: &mut Reading) -> Result<()> {
        self.kernel(Some(threads), into)?;
        threads.read_switches(into);
        into.link = self.link.counters().ok().map(|mut counters| {
            add_noted(flows, &mut counters);
            counters
        });
        into.tcp = tcp_reading(flows);
        Ok(())
    }
}

/// Why flows have ended that were not told to: their own reason is the better sentence.
fn why_ended(flows: Vec<Flow>) -> Trouble {
    for flow in &flows {
        flow.stop();
    }
    let reason = flows.into_iter().find_map(|flow| flow.finish().err());
    reason.unwrap_or_else(|| Trouble::Broke(Fault::failed("a flow ended in the middle of a trial")))
}

impl std::fmt::Debug for Rig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rig").field("fixed", &self.fixed).field("timing", &self.timing).finish_non_exhaustive()
    }
}
