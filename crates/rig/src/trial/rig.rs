//! The rig: what outlives trials, and the trial itself.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::bench::Bench;
use super::burning::SoftirqBurner;
use super::bursts::Bursts;
use super::cell_config::CellConfig;
use super::clients;
use super::crossing::Crossing;
use super::datagrams;
use super::delivered;
use super::flow::Flow;
use super::flows::{Ended, finish_flows, open_flows, why_ended};
use super::limit::Limit;
use super::links::Links;
use super::machine::Machine;
use super::placement::thread_cpus;
use super::priority::{Priority, Realtime};
use super::remote_side::RemoteSide;
use super::sending::SendConfig;
use super::window::{
    APART_NS, IDLE_CLOCK_TIMES, MANY_FLOWS, Threads, UNSOAKED_NS_PER_FLOW, add_noted, apart_ns,
    edge, edge_ns, flow_counts, looks, settle_ns, socket_facts, tcp_reading,
};
use super::worker::TrialError;
use crate::link::{AckGenerator, Link};
use crate::meter::{
    self, CpuCounters, Environment, IdleClock, SampledThreads, Sampler, WakeLatency, checks,
};
use crate::path::SendSetup;
use zc_kernel::bpf::AckBurn;
use zc_kernel::clock::{monotonic_ns, sleep_until};
use zc_run::{
    Align, BlockSamples, Cell, Error, FixedParams, Host, HostState, IdleWindow, Latencies,
    LinkFacts, Reading, RemoteWindow, Result, Sampling, SocketFacts, Timing, Trial, TrialKind,
    Warning,
};

/// Everything that [`Rig::new`] takes.
pub struct RigSetup {
    /// Links that are up.
    pub links: Links,
    /// The files, and the settings of the send paths.
    pub setup: SendSetup,
    /// Parameters shared by all cells.
    pub fixed: FixedParams,
    /// Lengths of the parts of a trial.
    pub timing: Timing,
    /// The machine that receives the bytes, over the link `remote`.
    pub remote: Option<Box<dyn RemoteSide>>,
    /// Samples the CPUs in soaked windows.
    pub sampler: Option<Sampler>,
    /// Counts hardware events on the CPUs of the flows.
    pub counters: Option<CpuCounters>,
}

/// Properties that the cost of the harness depends on: how often which CPUs wake how many senders,
/// and the state of the host. The number of pieces in a burst is not among them: there is no sleep
/// between two pieces.
#[derive(Debug, Clone, PartialEq)]
pub struct Pacing {
    period_ns: u64,
    flows: usize,
    sender_cpus: Vec<usize>,
    state: Option<HostState>,
}

/// Time allowed for the flows of a trial without pacing to drain.
const DRAIN_AT_MOST: Duration = Duration::from_secs(1);

/// Files that were replaced are kept until the next time if they have at most this many bytes.
const REPLACED_BYTES: u64 = 64 << 20;

/// Everything that trials need and that outlives them.
pub struct Rig {
    links: Links,
    pub(super) setup: SendSetup,
    /// The setup replaced last. While it lives, the next one gets other pages.
    replaced: Option<SendSetup>,
    fixed: FixedParams,
    /// Checksums of proofs, by their bytes, alignment and clients.
    pub(super) expected: HashMap<(u64, Align, usize), u32>,
    timing: Timing,
    first_file: usize,
    /// Bytes after the beginning of the first file that were read in this block.
    warm_bytes: u64,
    /// Flows of the previous trial.
    ended_flows: usize,
    /// The congestion control that states of the host give to sockets which ask for none.
    congestion_of: BTreeMap<HostState, String>,
    machine: Machine,
    burner: SoftirqBurner,
    /// `None` where there is no such clock, and with another machine, which has its own.
    idle_clock: Option<IdleClock>,
    pub(super) remote: Option<Box<dyn RemoteSide>>,
    sampler: Option<Sampler>,
    limit: Limit,
    /// What the flows that are open are to cross.
    crossing: Option<Crossing>,
    /// Present where flows have real-time threads.
    realtime: Option<Realtime>,
    /// Duration of the last trial until its window had closed.
    until_closed: Duration,
}

impl Rig {
    /// Starts the soakers, paused, and opens the meters.
    ///
    /// # Errors
    /// A CPU may not be used, SCHED_IDLE is refused, or /proc/stat cannot be read.
    pub fn new(setup: RigSetup) -> Result<Self> {
        let RigSetup { links, setup, fixed, timing, remote, sampler, counters } = setup;
        let realtime = fixed.realtime.then(Realtime::begin).transpose()?;
        let machine = Machine::new(&fixed.soaked_cpus, fixed.soaker)?.counting(counters);
        let (expected, first_file, warm_bytes) = (HashMap::new(), 0, 0);
        let idle_clock = if remote.is_none() { IdleClock::open() } else { None };
        Ok(Self {
            links,
            setup,
            replaced: None,
            fixed,
            expected,
            timing,
            first_file,
            warm_bytes,
            ended_flows: 0,
            congestion_of: BTreeMap::new(),
            machine,
            burner: SoftirqBurner::default(),
            idle_clock,
            remote,
            sampler,
            limit: Limit::default(),
            crossing: None,
            realtime,
            until_closed: Duration::ZERO,
        })
    }

    /// Duration of the last trial from its first connection until its window had closed.
    pub fn until_closed(&self) -> Duration {
        self.until_closed
    }

    /// Sets until when trials are waited for.
    pub fn limit_to(&mut self, limit: Limit) {
        if let Some(remote) = &mut self.remote {
            remote.limit_to(limit.clone());
        }
        self.limit = limit;
    }

    /// See [`Machine::read_cgroups_under`].
    pub fn read_cgroups_under(&mut self, host: &Host) {
        self.machine.read_cgroups_under(host);
    }

    /// Measures how much soakers delay wake-ups on the CPUs of the sides that are on this machine;
    /// leaves the soakers paused.
    ///
    /// # Errors
    /// A CPU may not be used.
    pub fn wake_latencies(&mut self) -> Result<Vec<WakeLatency>> {
        let mut cpus = vec![self.fixed.sender_cpu];
        if self.remote.is_none() && self.fixed.receiver_cpu != self.fixed.sender_cpu {
            cpus.push(self.fixed.receiver_cpu);
        }
        self.machine.wake_latencies(&cpus)
    }

    /// Finds conditions that invalidate or weaken the results, before the first block. Takes a
    /// fifth of a second, in which zc is idle. `another_zc` says whether another one is at work.
    ///
    /// # Errors
    /// A namespace could not be entered, or /proc/stat cannot be read.
    pub fn conditions(
        &mut self,
        host: &Host,
        link: &LinkFacts,
        another_zc: bool,
    ) -> Result<Vec<Warning>> {
        conditions(&mut self.machine, &self.links, &self.fixed, host, link, another_zc)
    }

    /// A warning if a packet sniffer is on one of the links now.
    pub fn sniffers(&self) -> Option<Warning> {
        checks::sniffers(count_sniffers(&self.links))
    }

    /// Sets the rate at which costs are measured.
    pub fn set_rate(&mut self, rate_bytes_per_s: f64, chosen: bool) {
        self.fixed.rate_bytes_per_s = rate_bytes_per_s;
        self.fixed.rate_chosen = chosen;
    }

    /// Leaves the congestion control to the states of the host, in which sockets that ask for none
    /// are to have these.
    pub fn leave_congestion_to(&mut self, states: BTreeMap<HostState, String>) {
        self.fixed.unset_congestion();
        self.congestion_of = states;
    }

    /// Draws anew what outlives trials and may have been a matter of luck: the places of the files,
    /// their mappings and their copy in memory, and the soakers. The soakers must be paused.
    ///
    /// # Errors
    /// Same as [`new`](Self::new); or the generated files cannot be copied. The old state stays.
    pub fn redraw(&mut self) -> Result<()> {
        let files = Arc::new(self.setup.files.elsewhere()?);
        self.machine.renew_soakers(self.fixed.soaker)?;
        let small = files.total_bytes() <= REPLACED_BYTES;
        let setup = SendSetup { files, resident: Arc::default(), ..self.setup.clone() };
        let replaced = std::mem::replace(&mut self.setup, setup);
        self.replaced = small.then_some(replaced);
        Ok(())
    }

    /// Thread ids of the soakers, which differ after [`redraw`](Self::redraw).
    #[cfg(test)]
    pub(super) fn soaker_tids(&self) -> &[i32] {
        self.machine.soaker_tids()
    }

    /// Chooses the file with which every trial of block number `block` begins; the blocks together
    /// go through the whole set. Reads into the page cache what a trial at the rate will send.
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

    /// Reads this many bytes from the block's first file on, unless this block has done so.
    fn warm_up_to(&mut self, bytes: u64) -> Result<()> {
        if bytes > self.warm_bytes {
            self.setup.files.warm_from(self.first_file, bytes)?;
            self.warm_bytes = bytes;
        }
        Ok(())
    }

    /// Resolves the configuration of a cell.
    pub(super) fn config(&self, cell: &Cell) -> std::result::Result<Arc<CellConfig>, TrialError> {
        let mut config = CellConfig::resolve(cell, &self.fixed, &self.setup)?;
        config.limit = self.limit.clone();
        let of_state = || self.congestion_of.get(cell.levels.state.as_ref()?).cloned();
        config.congestion = config.congestion.or_else(of_state);
        config.check(&**self.links.for_levels(&cell.levels).map_err(TrialError::CannotRun)?)?;
        // Last: who lacks only the right to load it is told so, and no one whom it would not help.
        config.burner = self.burner.for_cell(cell)?;
        Ok(Arc::new(config))
    }

    /// Sets the lengths of the parts of a trial.
    pub fn set_timing(&mut self, timing: Timing) {
        self.timing = timing;
    }

    /// Lengths of the parts of a trial.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Parameters shared by all cells, at present.
    pub fn fixed(&self) -> &FixedParams {
        &self.fixed
    }

    /// Resumes the soakers (soaked trials and idle windows) or pauses them (unsoaked controls, top
    /// speed), on both machines if there are two.
    ///
    /// # Errors
    /// The other machine is gone.
    pub fn soak(&mut self, on: bool) -> Result<()> {
        self.machine.soak(on)?;
        self.sampler.as_ref().map_or(Ok(()), |sampler| sampler.enable(on))?;
        self.remote.as_mut().map_or(Ok(()), |remote| remote.soak(on))
    }

    /// Sampling of soaked windows, if they are sampled.
    pub fn sampling(&self) -> Option<&Sampling> {
        self.sampler.as_ref().map(Sampler::sampling)
    }

    /// Returns the samples taken since the last call.
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

    /// Measures a window in which nothing is sent. The soakers must be running.
    ///
    /// # Errors
    /// A meter that could be read before cannot be read now.
    pub fn idle(&mut self) -> Result<IdleWindow> {
        let watched = self.watch_idle();
        self.or_give_up(watched)
    }

    fn watch_idle(&mut self) -> Result<IdleWindow> {
        let settle_ns = settle_ns(self.ended_flows);
        let opens_ns = monotonic_ns() + settle_ns;
        if let Some(remote) = &mut self.remote {
            remote.open_window(settle_ns, self.timing.idle_ns)?;
        }
        let mut opened = Reading::default();
        self.kernel(None, &mut opened)?;
        sleep_until(opens_ns);
        (opened.counted, opened.soak) = (self.machine.counted(), self.machine.soaked());
        // As long wherever it begins: /proc may take longer than the settling does.
        self.limit.sleep_until(opens_ns.max(opened.soak.at_ns) + self.timing.idle_ns)?;
        let soak = self.machine.soaked();
        let mut closed = Reading { soak, counted: self.machine.counted(), ..Reading::default() };
        self.kernel(None, &mut closed)?;
        self.take_samples(None, &opened, &closed, None);
        Ok(IdleWindow { opened, closed, remote: self.remote_window()?.map(Box::new) })
    }

    /// On failure, abandons the trial on the other machine too: it may be waiting for flows, or owe
    /// an answer about a window. What the flows were to cross has duplicates of their sockets.
    pub(super) fn or_give_up<T, E>(
        &mut self,
        done: std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        if done.is_err() {
            self.crossing = None;
            if let Some(remote) = &mut self.remote {
                remote.give_up();
            }
        }
        done
    }

    fn remote_window(&mut self) -> Result<Option<RemoteWindow>> {
        self.remote.as_mut().map_or(Ok(None), |remote| remote.window())
    }

    /// Runs a cell once, as a trial of the given kind.
    ///
    /// # Errors
    /// The connection broke, a file became shorter, other bytes arrived than were sent, or a thread
    /// got stuck. Nothing of the trial is left when it returns.
    pub fn run(&mut self, cell: &Cell, kind: TrialKind) -> Result<Trial> {
        let run = self.attempt(cell, kind);
        let in_time = self.realtime.as_ref().map_or(Ok(()), Realtime::check);
        let run = in_time.map_err(TrialError::Broke).and(run);
        self.or_give_up(run).map_err(|error| match error {
            TrialError::Broke(error) => error,
            TrialError::CannotRun(no) => Error::failed(
                "path-became-unavailable",
                format!("\"{}\" could run before and cannot now: {}", cell.label, no.reason),
            ),
        })
    }

    /// Pacing of a cell: cells with the same pacing have the same harness.
    pub fn pacing(&self, cell: &Cell) -> Pacing {
        let fixed = self.fixed.at(&cell.levels);
        Pacing {
            period_ns: Bursts::paced(&fixed, cell.levels.message_bytes).period_ns(),
            flows: fixed.flows,
            sender_cpus: thread_cpus(&fixed, fixed.sender_cpu),
            state: cell.levels.state.clone(),
        }
    }

    /// Runs a cell once without a rate limit, and returns its speed in bytes per second. Clients are
    /// paced all the same: theirs is the rate that they reach. The soakers must be paused.
    ///
    /// # Errors
    /// Same as [`run`](Self::run).
    pub fn top_speed(&mut self, cell: &Cell) -> Result<f64> {
        let Trial { opened, closed, .. } = self.run(cell, TrialKind::TopSpeed)?;
        let bytes = closed.received.bytes.saturating_sub(opened.received.bytes);
        let elapsed_ns = closed.soak.at_ns.saturating_sub(opened.soak.at_ns).max(1);
        Ok(bytes as f64 * 1e9 / elapsed_ns as f64)
    }

    /// Connects the flows of a trial and opens their paths.
    pub(super) fn open_flows(
        &mut self,
        config: &Arc<CellConfig>,
        flows: usize,
        send_config: SendConfig,
    ) -> std::result::Result<Vec<Flow>, TrialError> {
        let remote = self.remote.as_deref_mut();
        let flows = open_flows(&self.links, remote, config, flows, send_config)?;
        if let Some(found) = socket_facts(&flows) {
            config.check_sockets(&found)?;
        }
        self.crossing = Crossing::begin(&flows)?;
        Ok(flows)
    }

    /// Waits for the end of flows that began at `began_ns` of CLOCK_MONOTONIC; with
    /// `drain_at_most`, no longer than that.
    pub(super) fn finish_flows(
        &mut self,
        flows: Vec<Flow>,
        began_ns: u64,
        drain_at_most: Option<Duration>,
    ) -> std::result::Result<Ended, TrialError> {
        let crossing = self.crossing.take();
        let ended = finish_flows(self.remote.as_deref_mut(), flows, began_ns, drain_at_most)?;
        // What has not drained has not crossed it either.
        if let Some(crossing) = crossing.filter(|_| !ended.cut) {
            crossing.check(ended.sent.bytes.saturating_sub(ended.lost_bytes.unwrap_or(0)))?;
        }
        Ok(ended)
    }

    fn attempt(&mut self, cell: &Cell, kind: TrialKind) -> std::result::Result<Trial, TrialError> {
        let began = Instant::now();
        let config = self.config(cell)?;
        let bursts = if kind == TrialKind::TopSpeed { config.unpaced() } else { config.paced() };
        let flows = config.flows();
        let count = clients::weight(flows, config.clients);
        self.ended_flows = count;
        let timing = clients::at_least(self.timing, config.clients, config.fixed.link);
        let warmup_ns = timing.warmup_ns.max(2 * apart_ns(count));
        let more_ns = UNSOAKED_NS_PER_FLOW * count.saturating_sub(1) as u64;
        let by_idle_clock = self.idle_clock.is_some()
            && matches!(kind, TrialKind::UnsoakedControl | TrialKind::UnsoakedPaced);
        let window_ns = match kind.is_soaked() {
            true => timing.window_ns,
            false if by_idle_clock => IDLE_CLOCK_TIMES * timing.unsoaked_ns + more_ns,
            false => timing.unsoaked_ns + more_ns,
        };
        let edges_from = |begin_ns| bursts.edges(begin_ns, warmup_ns, window_ns);
        if kind != TrialKind::TopSpeed {
            self.warm_up_to((config.fixed.rate_bytes_per_s * edges_from(0).1 as f64 / 1e9) as u64)?;
        }
        let send_config = SendConfig {
            bursts,
            stop_after_bytes: None,
            first_file: self.first_file,
            piece_bytes: match (config.datagrams, kind) {
                (Some(datagrams), TrialKind::TopSpeed) => {
                    datagrams::top_speed_piece_bytes(datagrams)
                }
                _ => bursts.piece_bytes(config.fixed.piece_bytes),
            },
            checksum: false,
            priority: priority(kind, &config.fixed),
            to_listener: false,
            sends_nothing: kind.sends_nothing(),
            keying: None,
            is_decrypted: false,
            clients: config.clients,
        };
        for far_end in self.links.all().filter_map(|link| link.far_end()) {
            far_end.count_fragments(!kind.is_soaked());
        }
        let flows = self.open_flows(&config, flows, send_config)?;
        let threads = Threads::from_flows(&flows);
        // Late enough for every thread to receive it in time.
        let begin_ns = monotonic_ns() + 500_000 + 20_000 * count.saturating_sub(1) as u64;
        let window = Window {
            count,
            begin_ns,
            edges_ns: edges_from(begin_ns),
            bursts,
            sampled: (kind == TrialKind::Soaked).then_some(cell.label.as_str()),
            by_idle_clock,
            config: &config,
            burner: config.burner.as_deref().filter(|_| send_config.burns()),
        };
        let (flows, watched) = self.watch(flows, threads, &window)?;
        stop_all(&flows);
        self.until_closed = began.elapsed();
        // Without pacing every buffer on the way is full. Over a slow link that is seconds of
        // traffic, which nothing is learnt from.
        let is_unpaced = kind == TrialKind::TopSpeed && config.clients.is_none();
        let drain_at_most = is_unpaced.then_some(DRAIN_AT_MOST);
        let ended = self.finish_flows(flows, begin_ns, drain_at_most)?;
        Ok(Trial {
            cell: cell.label.clone(),
            kind,
            opened: watched.opened,
            closed: watched.closed,
            whole_bytes: ended.sent.bytes,
            whole_lost_bytes: ended.lost_bytes,
            whole_completions: ended.sent.completions,
            whole_copied: ended.sent.copied,
            fragments: ended.fragments,
            whole_sender_usage: ended.used,
            sockets: watched.sockets,
            remote: watched.remote,
            remote_report: ended.report,
        })
    }

    /// Whether cells can burn CPU time in softirq context.
    pub fn can_burn_in_softirqs(&self) -> bool {
        self.burner.program().is_ok()
    }

    /// Starts the flows, and reads all meters at both edges of the window over them; the flows go
    /// on.
    fn watch(
        &mut self,
        flows: Vec<Flow>,
        threads: Result<Threads>,
        window: &Window<'_>,
    ) -> std::result::Result<(Vec<Flow>, Watched), TrialError> {
        let &Window { begin_ns, edges_ns: (opens_ns, closes_ns), bursts, .. } = window;
        for flow in &flows {
            flow.begin(begin_ns);
        }
        if let Some(remote) = &mut self.remote {
            remote.open_window(opens_ns.saturating_sub(monotonic_ns()), closes_ns - opens_ns)?;
        }
        let mut opened = Reading::default();
        let slept = self.limit.sleep_until(opens_ns - apart_ns(window.count));
        slept.inspect_err(|_| stop_all(&flows))?;
        // By now io_uring has made its workers.
        let threads = match threads.and_then(|mut threads| threads.add_workers().map(|()| threads))
        {
            Err(_) if flows.iter().any(Flow::has_ended) => return Err(why_ended(flows)),
            opened => opened?,
        };
        self.slow_meters(&flows, &threads, &mut opened)?;
        let length_ns = closes_ns - opens_ns;
        let opens_ns = match &self.remote {
            Some(_) => opens_ns, // its window opens at the time it was sent
            None => bursts.not_before(monotonic_ns(), opens_ns),
        };
        let opened_ns = self.edge_of(window, opens_ns, window.count, |soakers, idle_ns| {
            opened.idle_ns = idle_ns;
            threads.read_cpu(&mut opened);
            flow_counts(&flows, &mut opened);
            opened.burned_ns = window.burner.map(AckBurn::burned_ns);
            opened.counted = soakers.counted();
            opened.soak = soakers.soaked();
        });
        let opened_ns = opened_ns.inspect_err(|_| stop_all(&flows))?;
        // A reader that came late has a window of the same length all the same, later than that of
        // another machine: /proc can take longer to read than a window lasts.
        let closes_ns = opened_ns + length_ns;
        let mut closed = Reading::default();
        let closed_ns = self.edge_of(window, closes_ns, window.count, |soakers, idle_ns| {
            closed.idle_ns = idle_ns;
            closed.soak = soakers.soaked();
            closed.counted = soakers.counted();
            closed.burned_ns = window.burner.map(AckBurn::burned_ns);
            flow_counts(&flows, &mut closed);
            threads.read_cpu(&mut closed);
        });
        closed_ns.inspect_err(|_| stop_all(&flows))?;
        if flows.iter().any(Flow::has_ended) {
            return Err(why_ended(flows));
        }
        self.slow_meters(&flows, &threads, &mut closed)?;
        if let Some(cell) = window.sampled {
            self.take_samples(Some(cell), &opened, &closed, Some(&threads));
        }
        let mut sockets = socket_facts(&flows);
        if let Some(found) = &sockets {
            window.config.check_sockets(found)?;
        }
        let mut remote = self.remote_window()?.map(Box::new);
        let receiver = remote.as_mut().and_then(|window| window.receiver.take());
        if let (Some(sockets), Some(receiver)) = (&mut sockets, receiver) {
            sockets.rcvbuf_bytes = Some(receiver.rcvbuf_bytes);
            sockets.rcv_ssthresh_bytes = Some(receiver.rcv_ssthresh_bytes);
        }
        Ok((flows, Watched { opened, closed, sockets, remote }))
    }

    /// Reads what bounds a window at `at_ns` or later. With the idle clock this is the first time
    /// between two bursts at which the clock has stepped since the one before: `read` is given what
    /// it says there, and `None` if it does not step.
    fn edge_of(
        &self,
        window: &Window<'_>,
        at_ns: u64,
        flows: usize,
        mut read: impl FnMut(&Machine, Option<u64>),
    ) -> Result<u64> {
        let bursts = window.bursts;
        let Some(clock) = self.idle_clock.as_ref().filter(|_| window.by_idle_clock) else {
            return self.edge(at_ns, bursts, flows, |machine| read(machine, None));
        };
        let period_ns = bursts.period_ns();
        let (mut at_ns, mut before_ns) = (at_ns, None);
        for _ in 0..looks(period_ns) {
            let mut idle_ns = None;
            at_ns = self.edge(at_ns, bursts, flows, |machine| {
                idle_ns = clock.read_ns();
                read(machine, idle_ns);
            })?;
            if before_ns.is_some() && idle_ns > before_ns {
                return Ok(at_ns);
            }
            before_ns = idle_ns;
            at_ns = bursts.not_before(at_ns + 1, at_ns);
        }
        self.edge(at_ns, bursts, flows, |machine| read(machine, None))
    }

    /// Reads what bounds a window at `at_ns`, or whole periods of bursts later.
    fn edge(
        &self,
        at_ns: u64,
        bursts: Bursts,
        flows: usize,
        mut read: impl FnMut(&Machine),
    ) -> Result<u64> {
        // The window of the other machine opens and closes at the times it was sent.
        let again = |now_ns| self.remote.is_none().then(|| bursts.not_before(now_ns, at_ns));
        let sleep_until = |at_ns| self.limit.sleep_until(at_ns);
        edge(at_ns, edge_ns(flows), sleep_until, again, || read(&self.machine))
    }

    /// Reads the kernel's counters and the CPU time of everything that belongs to zc.
    fn kernel(&mut self, threads: Option<&Threads>, into: &mut Reading) -> Result<()> {
        let flows_ns = threads.map_or(0, Threads::cpu_ns);
        let ack_generator_ns: u64 =
            self.links.all().filter_map(|link| link.far_end()).map(AckGenerator::cpu_ns).sum();
        self.machine.kernel(flows_ns + ack_generator_ns, into)
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
        into.delivered = delivered::of_flows(flows);
        Ok(())
    }
}

/// The priority of a trial's threads. Those that send as fast as they can do not sleep.
fn priority(kind: TrialKind, fixed: &FixedParams) -> Priority {
    match kind {
        TrialKind::TopSpeed if fixed.flows > MANY_FLOWS => Priority::Low,
        TrialKind::TopSpeed => Priority::Usual,
        _ if fixed.realtime => Priority::Realtime,
        _ => Priority::Usual,
    }
}

/// When the flows of a trial begin, and the window over them.
struct Window<'a> {
    /// Flows, or as many as the work at its edges is worth.
    count: usize,
    begin_ns: u64,
    edges_ns: (u64, u64),
    bursts: Bursts,
    /// The cell to which the samples of the window belong, if it is sampled.
    sampled: Option<&'a str>,
    /// Whether its edges lie at steps of the idle clock.
    by_idle_clock: bool,
    config: &'a CellConfig,
    /// Burns on purpose in softirq context, if anything does.
    burner: Option<&'a AckBurn>,
}

/// Readings at the edges of a window over flows that go on.
struct Watched {
    opened: Reading,
    closed: Reading,
    sockets: Option<SocketFacts>,
    remote: Option<Box<RemoteWindow>>,
}

/// Stops all flows, before they are dropped one after another: dropping a thousand flows that still
/// send would take long.
fn stop_all(flows: &[Flow]) {
    for flow in flows {
        flow.stop();
    }
}

/// Finds conditions that invalidate or weaken the results, in a fifth of a second in which zc is
/// idle.
pub fn conditions(
    machine: &mut Machine,
    links: &Links,
    fixed: &FixedParams,
    host: &Host,
    link: &LinkFacts,
    another_zc: bool,
) -> Result<Vec<Warning>> {
    let while_idle = machine.look()?;
    let read = || Environment::read(&link.device, fixed.sender_cpu, another_zc);
    let around =
        Environment { sniffers: count_sniffers(links), ..on_senders_side(&**links.base(), read)? };
    let mut warnings = checks::before(host, link, fixed, &around);
    warnings.extend(checks::of_other_links(link, &links.other_facts()));
    warnings.extend(while_idle);
    Ok(warnings)
}

/// Packet sockets on all links; `None` where they cannot be counted on one of them.
pub fn count_sniffers(links: &Links) -> Option<usize> {
    let on = |link: &Arc<dyn Link>| {
        on_senders_side(&**link, || meter::sniffers(&link.facts().device)).ok().flatten()
    };
    links.all().map(on).sum()
}

/// Runs `ask` in the sender's namespace. A thread cannot leave a namespace that it has entered, so
/// this has a thread of its own.
pub(super) fn on_senders_side<T: Send>(
    link: &dyn Link,
    ask: impl FnOnce() -> T + Send,
) -> Result<T> {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .spawn_scoped(scope, || link.enter_sender().map(|()| ask()))
            .map_err(|error| Error::os("start a thread on the sender's side of the link", error))?
            .join()
            .map_err(|_| {
                Error::failed(
                    "thread-panicked",
                    "a thread on the sender's side of the link panicked",
                )
            })?
    })
}

impl Bench for Rig {
    fn begin_block(&mut self, block: usize) -> Result<()> {
        Self::begin_block(self, block)
    }

    fn soak(&mut self, on: bool) -> Result<()> {
        Self::soak(self, on)
    }

    fn idle(&mut self) -> Result<IdleWindow> {
        Self::idle(self)
    }

    fn run(&mut self, cell: &Cell, kind: TrialKind) -> Result<Trial> {
        Self::run(self, cell, kind)
    }

    fn redraw(&mut self) -> Result<()> {
        Self::redraw(self)
    }

    fn samples(&mut self) -> Option<BlockSamples> {
        Self::samples(self)
    }

    fn sniffers(&self) -> Option<Warning> {
        Self::sniffers(self)
    }

    fn block_ended(&mut self, _counts: bool) {}

    fn latencies(&self) -> Vec<Latencies> {
        Vec::new()
    }
}

impl std::fmt::Debug for Rig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rig")
            .field("fixed", &self.fixed)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}
