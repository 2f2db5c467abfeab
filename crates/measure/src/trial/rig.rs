//! The rig: what stays between trials, and the trial itself.

use std::collections::HashMap;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;

use crate::link::{AckGenerator, Link};
use crate::meter::{self, Environment, InstanceLock, SampledThreads, Sampler, WakeLatency, checks};
use crate::path::SendSetup;
use zc_kernel::clock::{monotonic_ns, sleep_until};
use zc_run::{
    Align, BlockSamples, Cell, Error, FixedParams, Host, IdleWindow, LinkFacts, Probe, Reading,
    RemoteWindow, Result, Sampling, Timing, Trial, TrialKind, Unavailable, Warning,
};

use super::bursts::Bursts;
use super::cell_config::CellConfig;
use super::flow::Flow;
use super::flows::why_ended;
use super::links::Links;
use super::machine::Machine;
use super::remote_side::RemoteSide;
use super::sending::SendConfig;
use super::window::{
    APART_NS, EDGE_TRIES, MANY_FLOWS, Threads, UNSOAKED_NS_PER_FLOW, add_noted, apart_ns, edge_ns,
    flow_counts, settle_ns, tcp_reading,
};
use super::worker::TrialError;

/// What a rig is made of.
pub struct RigSetup {
    /// The links, up.
    pub links: Links,
    /// The files and what the paths need.
    pub setup: SendSetup,
    /// What all cells share.
    pub fixed: FixedParams,
    /// How long the parts of a trial are.
    pub timing: Timing,
    /// Who takes the bytes on another machine.
    pub far: Option<Box<dyn RemoteSide>>,
    /// Samples the CPUs in soaked windows.
    pub sampler: Option<Sampler>,
}

/// Everything that a trial needs and that outlives it.
pub struct Rig {
    pub(super) links: Links,
    pub(super) setup: SendSetup,
    fixed: FixedParams,
    pub(super) expected: HashMap<(u64, Align), u32>,
    timing: Timing,
    first_file: usize,
    /// Bytes from the first file on that were read in this block.
    warm_bytes: u64,
    /// Of the trial before.
    ended_flows: usize,
    machine: Machine,
    pub(super) far: Option<Box<dyn RemoteSide>>,
    sampler: Option<Sampler>,
}

impl Rig {
    /// Starts the soakers, paused, and opens the meters.
    ///
    /// # Errors
    /// A CPU may not be used, SCHED_IDLE is refused, or /proc/stat cannot be read.
    pub fn new(setup: RigSetup) -> Result<Self> {
        let RigSetup { links, setup, fixed, timing, far, sampler } = setup;
        let machine = Machine::new(&fixed.soaked_cpus, fixed.soaker)?;
        let (expected, first_file, warm_bytes) = (HashMap::new(), 0, 0);
        Ok(Self {
            links,
            setup,
            fixed,
            expected,
            timing,
            first_file,
            warm_bytes,
            ended_flows: 0,
            machine,
            far,
            sampler,
        })
    }

    /// Whether soakers delay those who wake up on the CPUs of the two sides, as far as they are on this machine; leaves the soakers
    /// asleep.
    ///
    /// # Errors
    /// A CPU may not be used.
    pub fn wake_latencies(&self) -> Result<Vec<WakeLatency>> {
        let mut cpus = vec![self.fixed.sender_cpu];
        if self.far.is_none() && self.fixed.receiver_cpu != self.fixed.sender_cpu {
            cpus.push(self.fixed.receiver_cpu);
        }
        self.machine.wake_latencies(&cpus)
    }

    /// What can be known before the first block that would make the figures a lie; takes a fifth of a second, in which
    /// nothing of zc is at work.
    ///
    /// # Errors
    /// A namespace could not be entered, or /proc/stat cannot be read.
    pub fn conditions(
        &mut self,
        host: &Host,
        link: &LinkFacts,
        instance_lock: &InstanceLock,
    ) -> Result<Vec<Warning>> {
        let while_idle = self.machine.look()?;
        let sender_cpu = self.fixed.sender_cpu;
        let read = || Environment::read(&link.device, sender_cpu, instance_lock);
        let around = Environment {
            sniffers: self.count_sniffers(),
            ..on_senders_side(&**self.links.base(), read)?
        };
        let mut warnings = checks::before(host, link, &self.fixed, &around);
        warnings.extend(checks::of_other_links(link, &self.links.other_facts()));
        warnings.extend(while_idle);
        Ok(warnings)
    }

    /// Somebody who listens in on a link just now.
    pub fn sniffers(&self) -> Option<Warning> {
        checks::sniffers(self.count_sniffers())
    }

    /// Those who listen in on any of the links; null where that cannot be seen on one of them.
    fn count_sniffers(&self) -> Option<usize> {
        let on = |link: &Arc<dyn Link>| {
            on_senders_side(&**link, || meter::sniffers(&link.facts().device)).ok().flatten()
        };
        self.links.all().map(on).sum()
    }

    /// Where the network namespaces of senders and receivers can be found by other processes, for each link that has its own; the
    /// link of most cells first.
    pub fn namespaces(&self) -> Vec<[PathBuf; 2]> {
        let path = |fd: BorrowedFd<'_>| {
            format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd()).into()
        };
        self.links.all().filter_map(|link| link.namespaces()).map(|pair| pair.map(path)).collect()
    }

    /// Sets the rate at which costs are measured.
    pub fn set_rate(&mut self, rate_bytes_per_s: f64, chosen: bool) {
        self.fixed.rate_bytes_per_s = rate_bytes_per_s;
        self.fixed.rate_chosen = chosen;
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
        self.warm_bytes = 0;
        self.warm_up_to(bytes)
    }

    /// Reads so many bytes from the block's first file on, unless that was done in this block.
    fn warm_up_to(&mut self, bytes: u64) -> Result<()> {
        if bytes > self.warm_bytes {
            self.setup.files.warm_from(self.first_file, bytes)?;
            self.warm_bytes = bytes;
        }
        Ok(())
    }

    /// What holds for a cell.
    pub(super) fn config(&self, cell: &Cell) -> std::result::Result<Arc<CellConfig>, TrialError> {
        let config = CellConfig::of(cell, &self.fixed, &self.setup);
        config.check(&**self.links.of(&cell.levels).map_err(TrialError::CannotRun)?)?;
        Ok(Arc::new(config))
    }

    /// Sets how long the parts of a trial are.
    pub fn set_timing(&mut self, timing: Timing) {
        self.timing = timing;
    }

    /// How long the parts of a trial are.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// What all cells share, as it stands.
    pub fn fixed(&self) -> &FixedParams {
        &self.fixed
    }

    /// Lets the soakers work (soaked trials and idle windows) or sleep (twins, top speed), on both machines where there are two.
    ///
    /// # Errors
    /// The other machine is gone.
    pub fn soak(&mut self, on: bool) -> Result<()> {
        self.machine.soak(on);
        self.sampler.as_ref().map_or(Ok(()), |sampler| sampler.enable(on))?;
        self.far.as_mut().map_or(Ok(()), |far| far.soak(on))
    }

    /// How soaked windows are sampled, where they are.
    pub fn sampling(&self) -> Option<&Sampling> {
        self.sampler.as_ref().map(Sampler::sampling)
    }

    /// What was sampled since this was last asked.
    pub fn samples(&mut self) -> Option<BlockSamples> {
        self.sampler.as_mut().map(Sampler::block)
    }

    /// Takes the samples of a soaked window that has closed.
    fn take_samples(
        &mut self,
        cell: Option<&str>,
        opened: &Reading,
        closed: &Reading,
        threads: Option<&Threads>,
    ) {
        let Some(sampler) = &mut self.sampler else { return };
        let (senders, receivers) = threads.map_or_else(Default::default, Threads::tids);
        let threads =
            SampledThreads { senders, receivers, soakers: self.machine.soaker_tids().to_vec() };
        sampler.take(cell, opened.soak.at_ns, closed.soak.at_ns, &threads);
    }

    /// Proves a cell, or says why it cannot run here.
    ///
    /// # Errors
    /// A file has become shorter, or the bytes that arrived were others: the run must not go on.
    pub fn prove(&mut self, cell: &Cell) -> Result<std::result::Result<Probe, Unavailable>> {
        let proven = self.attempt_proof(cell);
        match self.or_given_up(proven) {
            Ok(probe) => Ok(Ok(probe)),
            Err(TrialError::CannotRun(no)) => Ok(Err(no)),
            Err(TrialError::Broke(error)) => Err(error),
        }
    }

    /// A window in which nothing is sent. The soakers must be at work.
    ///
    /// # Errors
    /// A meter that could be read before cannot be read now.
    pub fn idle(&mut self) -> Result<IdleWindow> {
        let watched = self.watch_idle();
        self.or_given_up(watched)
    }

    fn watch_idle(&mut self) -> Result<IdleWindow> {
        let settle_ns = settle_ns(self.ended_flows);
        let opens_ns = monotonic_ns() + settle_ns;
        if let Some(far) = &mut self.far {
            far.open_window(settle_ns, self.timing.idle_ns)?;
        }
        let mut opened = Reading::default();
        self.kernel(None, &mut opened)?;
        sleep_until(opens_ns);
        opened.soak = self.machine.soaked();
        sleep_until(opens_ns + self.timing.idle_ns);
        let mut closed = Reading { soak: self.machine.soaked(), ..Reading::default() };
        self.kernel(None, &mut closed)?;
        self.take_samples(None, &opened, &closed, None);
        Ok(IdleWindow { opened, closed, remote: self.far_window()?.map(Box::new) })
    }

    /// What failed here is given up at the far end too, which may be waiting for flows, or owe an answer about a window.
    fn or_given_up<T, E>(&mut self, done: std::result::Result<T, E>) -> std::result::Result<T, E> {
        if let (Err(_), Some(far)) = (&done, &mut self.far) {
            far.give_up();
        }
        done
    }

    fn far_window(&mut self) -> Result<Option<RemoteWindow>> {
        self.far.as_mut().map_or(Ok(None), |far| far.window())
    }

    /// Runs a cell once.
    ///
    /// # Errors
    /// The connection broke, a file became shorter, the bytes that arrived were not the bytes that were sent, or a
    /// thread got stuck. Nothing of the trial is left when it returns.
    pub fn run(&mut self, cell: &Cell, kind: TrialKind) -> Result<Trial> {
        let run = self.attempt(cell, kind);
        self.or_given_up(run).map_err(|error| match error {
            TrialError::Broke(error) => error,
            TrialError::CannotRun(no) => Error::failed(format!(
                "\"{}\" could run before and cannot now: {}",
                cell.label, no.reason
            )),
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

    fn attempt(&mut self, cell: &Cell, kind: TrialKind) -> std::result::Result<Trial, TrialError> {
        let config = self.config(cell)?;
        let bursts = if kind == TrialKind::TopSpeed { config.unpaced() } else { config.paced() };
        let count = config.fixed.flows;
        self.ended_flows = count;
        let warmup_ns = self.timing.warmup_ns.max(2 * apart_ns(count));
        let more_ns = UNSOAKED_NS_PER_FLOW * count.saturating_sub(1) as u64;
        let window_ns = if kind == TrialKind::Soaked {
            self.timing.window_ns
        } else {
            self.timing.unsoaked_ns + more_ns
        };
        let edges_from = |begin_ns| bursts.edges(begin_ns, warmup_ns, window_ns);
        if kind != TrialKind::TopSpeed {
            self.warm_up_to((config.fixed.rate_bytes_per_s * edges_from(0).1 as f64 / 1e9) as u64)?;
        }
        let send_config = SendConfig {
            bursts,
            stop_after_bytes: None,
            first_file: self.first_file,
            piece_bytes: bursts.piece_bytes(config.fixed.piece_bytes),
            checksum: false,
            gives_way: kind == TrialKind::TopSpeed && count > MANY_FLOWS,
            to_listener: false,
        };
        let flows = self.open_flows(&config, count, send_config)?;
        let threads = Threads::of(&flows);
        // Threads that are told of it last are to know of it in time.
        let begin_ns = monotonic_ns() + 500_000 + 20_000 * count.saturating_sub(1) as u64;
        let sampled = (kind == TrialKind::Soaked).then_some(cell.label.as_str());
        let (flows, seen) =
            self.watch(flows, threads, begin_ns, edges_from(begin_ns), bursts, sampled)?;
        stop_all(&flows);
        let ended = self.finish_flows(flows, begin_ns)?;
        Ok(Trial {
            cell: cell.label.clone(),
            kind,
            opened: seen.opened,
            closed: seen.closed,
            whole_bytes: ended.sent.bytes,
            whole_completions: ended.sent.completions,
            whole_copied: ended.sent.copied,
            whole_sender_usage: ended.used,
            remote: seen.remote,
            remote_report: ended.report,
        })
    }

    /// Lets flows begin, and reads all meters at both edges of the window over them; the flows go on. `sampled` is the cell whose samples those of the
    /// window are, where it is sampled.
    fn watch(
        &mut self,
        flows: Vec<Flow>,
        threads: Result<Threads>,
        begin_ns: u64,
        edges_ns: (u64, u64),
        bursts: Bursts,
        sampled: Option<&str>,
    ) -> std::result::Result<(Vec<Flow>, Seen), TrialError> {
        let (opens_ns, closes_ns) = edges_ns;
        for flow in &flows {
            flow.begin(begin_ns);
        }
        if let Some(far) = &mut self.far {
            far.open_window(opens_ns.saturating_sub(monotonic_ns()), closes_ns - opens_ns)?;
        }
        let mut opened = Reading::default();
        sleep_until(opens_ns - apart_ns(flows.len()));
        // By now io_uring has made its workers.
        let threads = match threads.and_then(|mut threads| threads.add_workers().map(|()| threads))
        {
            Err(_) if flows.iter().any(Flow::has_ended) => return Err(why_ended(flows)),
            opened => opened?,
        };
        self.slow_meters(&flows, &threads, &mut opened)?;
        let length_ns = closes_ns - opens_ns;
        let opens_ns = match &self.far {
            Some(_) => opens_ns, // its window opens when it was told to
            None => bursts.not_before(monotonic_ns(), opens_ns),
        };
        let opened_ns = self.edge(opens_ns, bursts, flows.len(), |soakers| {
            threads.read_cpu(&mut opened);
            flow_counts(&flows, &mut opened);
            opened.soak = soakers.soaked();
        });
        let opened_ns = opened_ns.inspect_err(|_| stop_all(&flows))?;
        let closes_ns = if self.far.is_some() { closes_ns } else { opened_ns + length_ns };
        let mut closed = Reading::default();
        let closed_ns = self.edge(closes_ns, bursts, flows.len(), |soakers| {
            closed.soak = soakers.soaked();
            flow_counts(&flows, &mut closed);
            threads.read_cpu(&mut closed);
        });
        closed_ns.inspect_err(|_| stop_all(&flows))?;
        if flows.iter().any(Flow::has_ended) {
            return Err(why_ended(flows));
        }
        self.slow_meters(&flows, &threads, &mut closed)?;
        if let Some(cell) = sampled {
            self.take_samples(Some(cell), &opened, &closed, Some(&threads));
        }
        let remote = self.far_window()?.map(Box::new);
        Ok((flows, Seen { opened, closed, remote }))
    }

    /// Reads what bounds a window at `at_ns` or, where the reader got its CPU too late, as soon as it has it; and says when that was.
    /// Again, whole periods of bursts later, where it lost its CPU in the middle: what was read would not be of one moment.
    fn edge(
        &self,
        at_ns: u64,
        bursts: Bursts,
        flows: usize,
        mut read: impl FnMut(&Machine),
    ) -> Result<u64> {
        let mut at_ns = at_ns;
        for _ in 0..EDGE_TRIES {
            sleep_until(at_ns);
            let from_ns = monotonic_ns();
            read(&self.machine);
            let now_ns = monotonic_ns();
            // The other machine's window opens and closes when it was told to.
            if self.far.is_some() || now_ns - from_ns <= edge_ns(flows) {
                return Ok(if from_ns - at_ns <= edge_ns(flows) { at_ns } else { from_ns });
            }
            at_ns = bursts.not_before(now_ns, at_ns);
        }
        Err(Error::failed(
            "the counters could not be read in one moment: something else had the CPU, again and again",
        ))
    }

    /// What the kernel counts, and the CPU time of everything that is zc's.
    fn kernel(&mut self, threads: Option<&Threads>, into: &mut Reading) -> Result<()> {
        let flows_ns = threads.map_or(0, Threads::cpu_ns);
        let far_end_ns: u64 =
            self.links.all().filter_map(|link| link.far_end()).map(AckGenerator::cpu_ns).sum();
        self.machine.kernel(flows_ns + far_end_ns, into)
    }

    fn slow_meters(&mut self, flows: &[Flow], threads: &Threads, into: &mut Reading) -> Result<()> {
        self.kernel(Some(threads), into)?;
        threads.read_switches(into);
        into.link =
            flows.first().and_then(|flow| flow.link().counters().ok()).map(|mut counters| {
                add_noted(flows, &mut counters);
                counters
            });
        into.tcp = tcp_reading(flows);
        Ok(())
    }
}

/// What was read at the edges of a window over flows that are still under way.
struct Seen {
    opened: Reading,
    closed: Reading,
    remote: Option<Box<RemoteWindow>>,
}

/// Before they are dropped, one after another: a thousand flows of which all but one go on end in no time worth waiting for.
fn stop_all(flows: &[Flow]) {
    for flow in flows {
        flow.stop();
    }
}

/// Asks something in the sender's namespace. A namespace is entered by a thread for good, so it has one of its own.
fn on_senders_side<T: Send>(link: &dyn Link, ask: impl FnOnce() -> T + Send) -> Result<T> {
    std::thread::scope(|scope| scope.spawn(|| link.enter_sender().map(|()| ask())).join())
        .map_err(|_| Error::failed("a thread that looked around on the sender's side died"))?
}

impl std::fmt::Debug for Rig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rig")
            .field("fixed", &self.fixed)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}
