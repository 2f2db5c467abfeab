//! The rig: what stays between trials, and the trial itself.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::link::{FarEnd, Link};
use crate::meter::{self, Alone, Surroundings, WakeLatency, conditions};
use crate::path::SendSetup;
use crate::record::{
    Cell, Fault, FixedParams, Host, IdleWindow, LinkFacts, No, Probe, Reading, RemoteReport, RemoteWindow, Result,
    SendCounts, Timing, Trial, TrialKind, Usage, Warning,
};
use zc_sys::clock::{monotonic_ns, sleep_until};

use super::far::{FarSide, SentFlow};
use super::flow::Flow;
use super::links::Links;
use super::machine::Machine;
use super::receiving::Taking;
use super::sending::{Drive, Target};
use super::side::Trouble;
use super::window::{APART_NS, SETTLE_NS, Threads, add_noted, flow_counts, tcp_reading};

/// A piece is not cut smaller than this, however low the rate.
const SMALLEST_PIECE_BYTES: usize = 16 << 10;

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
    pub far: Option<Box<dyn FarSide>>,
}

/// Everything that a trial needs and that outlives it.
pub struct Rig {
    links: Links,
    pub(super) setup: SendSetup,
    pub(super) fixed: FixedParams,
    pub(super) expected: OnceCell<(u64, u32)>,
    timing: Timing,
    first_file: usize,
    machine: Machine,
    pub(super) far: Option<Box<dyn FarSide>>,
}

impl Rig {
    /// Starts the soakers, paused, and opens the meters.
    ///
    /// # Errors
    /// A CPU may not be used, SCHED_IDLE is refused, or /proc/stat cannot be read.
    pub fn new(setup: RigSetup) -> Result<Self> {
        let RigSetup { links, setup, fixed, timing, far } = setup;
        let machine = Machine::new(&fixed.soaked_cpus, fixed.soaker)?;
        Ok(Self { links, setup, fixed, expected: OnceCell::new(), timing, first_file: 0, machine, far })
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
    pub fn conditions(&mut self, host: &Host, link: &LinkFacts, alone: &Alone) -> Result<Vec<Warning>> {
        let while_idle = self.machine.look()?;
        let sender_cpu = self.fixed.sender_cpu;
        let read = || Surroundings::read(&link.device, sender_cpu, alone);
        let around = Surroundings { sniffers: self.count_sniffers(), ..on_senders_side(&**self.links.base(), read)? };
        let mut warnings = conditions::before(host, link, &self.fixed, &around);
        warnings.extend(conditions::of_other_links(link, &self.links.other_facts()));
        warnings.extend(while_idle);
        Ok(warnings)
    }

    /// Somebody who listens in on a link just now.
    pub fn sniffers(&self) -> Option<Warning> {
        conditions::sniffers(self.count_sniffers())
    }

    /// Those who listen in on any of the links; null where that cannot be seen on one of them.
    fn count_sniffers(&self) -> Option<usize> {
        let on =
            |link: &Arc<dyn Link>| on_senders_side(&**link, || meter::sniffers(&link.facts().device)).ok().flatten();
        self.links.all().map(on).sum()
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
        self.far.as_mut().map_or(Ok(()), |far| far.soak(on))
    }

    /// Proves a cell, or says why it cannot run here.
    ///
    /// # Errors
    /// A file has become shorter, or the bytes that arrived were others: the run must not go on.
    pub fn prove(&mut self, cell: &Cell) -> Result<std::result::Result<Probe, No>> {
        let proven = self.attempt_proof(cell);
        match self.or_given_up(proven) {
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
        let watched = self.watch_idle();
        self.or_given_up(watched)
    }

    fn watch_idle(&mut self) -> Result<IdleWindow> {
        let opens_ns = monotonic_ns() + SETTLE_NS;
        if let Some(far) = &mut self.far {
            far.open_window(SETTLE_NS, self.timing.idle_ns)?;
        }
        let mut opened = Reading::default();
        self.kernel(None, &mut opened)?;
        sleep_until(opens_ns);
        opened.soak = self.machine.soaked();
        sleep_until(opens_ns + self.timing.idle_ns);
        let mut closed = Reading { soak: self.machine.soaked(), ..Reading::default() };
        self.kernel(None, &mut closed)?;
        Ok(IdleWindow { opened, closed, remote: self.far_window()? })
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
        self.or_given_up(run).map_err(|trouble| match trouble {
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
        let flows = self.open_flows(cell, flows, drive)?;
        let begin_ns = monotonic_ns() + 500_000;
        let (opens_ns, closes_ns) = self.edges(begin_ns, kind);
        let (flows, opened, closed, remote) = self.watch(flows, begin_ns, opens_ns, closes_ns)?;
        for flow in &flows {
            flow.stop();
        }
        let ended = self.finish_flows(flows, begin_ns)?;
        Ok(Trial {
            cell: cell.label.clone(),
            kind,
            opened,
            closed,
            whole_bytes: ended.sent.bytes,
            whole_completions: ended.sent.completions,
            whole_copied: ended.sent.copied,
            whole_sender_usage: ended.used,
            remote,
            remote_report: ended.report,
        })
    }

    /// Lets flows begin, and reads all meters at both edges of the window over them.
    #[allow(clippy::type_complexity)] // the flows that are still under way, and what was read
    fn watch(
        &mut self,
        flows: Vec<Flow>,
        begin_ns: u64,
        opens_ns: u64,
        closes_ns: u64,
    ) -> std::result::Result<(Vec<Flow>, Reading, Reading, Option<RemoteWindow>), Trouble> {
        for flow in &flows {
            flow.begin(begin_ns);
        }
        if let Some(far) = &mut self.far {
            far.open_window(opens_ns.saturating_sub(monotonic_ns()), closes_ns - opens_ns)?;
        }
        let mut opened = Reading::default();
        sleep_until(opens_ns - APART_NS);
        // By now io_uring has made its workers.
        let threads = match Threads::of(&flows) {
            Err(_) if flows.iter().any(Flow::has_ended) => return Err(why_ended(flows)),
            opened => opened?,
        };
        self.slow_meters(&flows, &threads, &mut opened)?;
        sleep_until(opens_ns);
        threads.read_cpu(&mut opened);
        flow_counts(&flows, &mut opened);
        opened.soak = self.machine.soaked();

        sleep_until(closes_ns);
        let mut closed = Reading { soak: self.machine.soaked(), ..Reading::default() };
        flow_counts(&flows, &mut closed);
        if flows.iter().any(Flow::has_ended) {
            return Err(why_ended(flows));
        }
        threads.read_cpu(&mut closed);
        self.slow_meters(&flows, &threads, &mut closed)?;
        let remote = self.far_window()?;
        Ok((flows, opened, closed, remote))
    }

    /// Connects the flows of a trial and opens their paths, on both machines where there are two.
    pub(super) fn open_flows(
        &mut self,
        cell: &Cell,
        flows: usize,
        drive: Drive,
    ) -> std::result::Result<Vec<Flow>, Trouble> {
        let taking = Taking {
            path: cell.recv,
            buffer_bytes: self.fixed.recv_buffer_bytes,
            cpu: self.fixed.receiver_cpu,
            checksum: drive.checksum,
        };
        let Some(far) = self.far.as_mut().filter(|_| !drive.to_listener) else {
            return self.connect_flows(cell, flows, drive, &[]);
        };
        let targets = far.expect(flows, taking)?;
        let opened = self.connect_flows(cell, flows, drive, &targets)?;
        self.far.as_mut().map_or(Ok(()), |far| far.await_flows())?;
        Ok(opened)
    }

    fn connect_flows(
        &self,
        cell: &Cell,
        flows: usize,
        drive: Drive,
        targets: &[Target],
    ) -> std::result::Result<Vec<Flow>, Trouble> {
        let link = self.links.of(&cell.levels).map_err(Trouble::CannotRun)?;
        (0..flows)
            .map(|index| {
                let target = targets.get(index).cloned();
                Flow::open(index, cell, &self.fixed, link, &self.setup, drive, target)
            })
            .collect()
    }

    /// Waits for the end of flows that have been told to stop, or stop by themselves, and holds what was sent against what was
    /// received.
    pub(super) fn finish_flows(&mut self, flows: Vec<Flow>, began_ns: u64) -> std::result::Result<Ended, Trouble> {
        let elsewhere = flows.iter().any(Flow::goes_elsewhere);
        let mut ended = Ended { used: Some(Usage::default()), ..Ended::default() };
        let mut sent_bytes = Vec::new();
        for flow in &flows {
            let (sent, _, crc32) = flow.finish()?;
            sent_bytes.push(sent.bytes);
            ended.sent.add(&sent);
            ended.crc32 = crc32;
            ended.used = ended.used.zip(flow.sender_usage()).map(|(mut sum, one)| {
                sum.add(&one);
                sum
            });
        }
        if let Some(far) = self.far.as_mut().filter(|_| elsewhere) {
            let seconds = monotonic_ns().saturating_sub(began_ns) as f64 / 1e9;
            let sent: Vec<SentFlow<'_>> =
                flows.iter().zip(sent_bytes).map(|(flow, bytes)| SentFlow { socket: flow.socket(), bytes }).collect();
            let there = far.finish(&sent, seconds)?;
            if let Some(received) = there.received_bytes.filter(|received| *received != ended.sent.bytes) {
                return Err(Trouble::Broke(Fault::failed(format!(
                    "the sender sent {} bytes and the far end received {received}",
                    ended.sent.bytes
                ))));
            }
            ended.crc32 = there.crc32.unwrap_or_default();
            ended.report = there.report;
        }
        Ok(ended)
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

    /// What the kernel counts, and the CPU time of everything that is zc's.
    fn kernel(&mut self, threads: Option<&Threads>, into: &mut Reading) -> Result<()> {
        let flows_ns = threads.map_or(0, Threads::cpu_ns);
        let far_end_ns: u64 = self.links.all().filter_map(|link| link.far_end()).map(FarEnd::cpu_ns).sum();
        self.machine.kernel(flows_ns + far_end_ns, into)
    }

    fn slow_meters(&mut self, flows: &[Flow], threads: &Threads, into: &mut Reading) -> Result<()> {
        self.kernel(Some(threads), into)?;
        threads.read_switches(into);
        into.link = flows.first().and_then(|flow| flow.link().counters().ok()).map(|mut counters| {
            add_noted(flows, &mut counters);
            counters
        });
        into.tcp = tcp_reading(flows);
        Ok(())
    }
}

/// Asks something in the sender's namespace. A namespace is entered by a thread for good, so it has one of its own.
fn on_senders_side<T: Send>(link: &dyn Link, ask: impl FnOnce() -> T + Send) -> Result<T> {
    std::thread::scope(|scope| scope.spawn(|| link.enter_sender().map(|()| ask())).join())
        .map_err(|_| Fault::failed("a thread that looked around on the sender's side died"))?
}

/// What became of the flows of a trial.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// What their senders did.
    pub(super) sent: SendCounts,
    /// Of what the last one received, in proofs.
    pub(super) crc32: u32,
    /// What their threads used.
    pub(super) used: Option<Usage>,
    /// What the far end said of itself.
    pub(super) report: Option<RemoteReport>,
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
