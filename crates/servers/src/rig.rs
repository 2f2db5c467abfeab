//! The rig of a server: the load, the soakers, and a trial of one of the server's states.

use std::collections::BTreeMap;

use super::asked_for::AskedFor;
use super::asker::Asker;
use super::burner::BesideServer;
use super::file_origin::FileOrigin;
use super::nfs;
use super::served::Served;
use super::whole::{Replayed, Whole};
use zc_kernel::clock::{monotonic_ns, sleep_until};
use zc_kernel::sched;
use zc_load::{HttpCounts, Pace};
use zc_rig::meter::{WakeLatency, checks};
use zc_rig::trial::{
    Bench, LEAST_WARMUP_NS, Limit, Links, Machine, conditions, count_sniffers, edge, edge_ns,
    settle_ns,
};
use zc_run::{
    BlockSamples, Cell, Error, FixedParams, Host, IdleWindow, Latencies, LinkFacts, LinkKind,
    Probe, Reading, RecvCounts, Result, SendCounts, Severity, Timing, Trial, TrialKind, Warning,
};

/// The origin of a cell, by its place.
pub type OriginOf = Box<dyn Fn(&Cell) -> Option<usize>>;

/// Everything that [`ServerRig::new`] takes.
pub struct ServerSetup {
    /// The link between the load and the server.
    pub links: Links,
    /// The load, on the receiver's side of the link.
    pub load: Asker,
    /// Which of the load's origins is asked in a cell; `None`: it is none of this server's.
    pub origin_of: OriginOf,
    /// The server, on the sender's side of the link.
    pub served: Served,
    /// What answers behind a server that is a proxy; its CPU time is the load's.
    pub behind: Option<FileOrigin>,
    /// Parameters shared by all cells.
    pub fixed: FixedParams,
    /// Lengths of the parts of a trial.
    pub timing: Timing,
    /// The log that some cells replay.
    pub replayed: Option<Replayed>,
}

/// The state that trials of a server need and that outlives them. Its fields are dropped in this
/// order: a client that is left without its server or without its link waits for it.
pub struct ServerRig {
    beside: BesideServer,
    load: Asker,
    served: Served,
    /// What answers behind a proxy, in the load's account.
    behind: Option<FileOrigin>,
    links: Links,
    origin_of: OriginOf,
    machine: Machine,
    fixed: FixedParams,
    timing: Timing,
    limit: Limit,
    replayed: Option<Replayed>,
    /// `None` until it is chosen.
    requests_per_s: Option<f64>,
    /// Latencies of the first soaked trial of each cell in the block that was begun last, by the
    /// cell's label.
    latencies_of_block: BTreeMap<String, zc_load::Latencies>,
    /// Latencies of all blocks that count.
    latencies: BTreeMap<String, zc_load::Latencies>,
}

/// Whole responses that are asked for.
struct Begun {
    whole: Whole,
    /// What had been counted before.
    before: HttpCounts,
    /// When the first request is due.
    begin_ns: u64,
}

impl ServerRig {
    /// Starts the soakers, paused, and opens the meters.
    ///
    /// # Errors
    /// A CPU may not be used, SCHED_IDLE is refused, or /proc/stat cannot be read.
    pub fn new(setup: ServerSetup) -> Result<Self> {
        let ServerSetup { links, load, origin_of, served, behind, fixed, timing, replayed } = setup;
        let beside = BesideServer::start(fixed.sender_cpu)?;
        let below = served.soakers_below();
        let machine = Machine::below(below, &fixed.soaked_cpus, fixed.soaker)?;
        // What this thread does is not the server's either. (Where it may not choose, it is noise.)
        let _ = sched::pin(&[fixed.receiver_cpu]);
        Ok(Self {
            links,
            beside,
            load,
            origin_of,
            served,
            behind,
            machine,
            fixed,
            timing,
            limit: Limit::default(),
            replayed,
            requests_per_s: None,
            latencies_of_block: BTreeMap::new(),
            latencies: BTreeMap::new(),
        })
    }

    /// CPU time of the origin behind a proxy so far.
    fn behind_ns(&self) -> u64 {
        self.behind.as_ref().map_or(0, FileOrigin::cpu_ns)
    }

    /// Sets until when windows are waited for.
    pub fn limit_to(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// Looks at the machine before the first block: what invalidates or weakens the results, and
    /// how much soakers delay wake-ups. `another_zc` says whether another one is at work. Leaves
    /// the soakers paused.
    ///
    /// # Errors
    /// A namespace could not be entered, /proc/stat cannot be read, or a CPU may not be used.
    pub fn examine(
        &mut self,
        host: &Host,
        link: &LinkFacts,
        another_zc: bool,
    ) -> Result<(Vec<Warning>, Vec<Probe>)> {
        let mut warnings = self.conditions(host, link, another_zc)?;
        let latencies = self.wake_latencies()?;
        warnings.extend(latencies.iter().filter_map(|latency| latency.warning()));
        Ok((warnings, latencies.into_iter().map(|latency| latency.probe()).collect()))
    }

    /// Measures how much soakers delay wake-ups on the server's CPU; leaves the soakers paused.
    ///
    /// # Errors
    /// A CPU may not be used.
    fn wake_latencies(&mut self) -> Result<Vec<WakeLatency>> {
        self.machine.wake_latencies(&[self.fixed.sender_cpu])
    }

    /// Finds conditions that invalidate or weaken the results, before the first block. Takes a
    /// fifth of a second, in which nothing is asked for. `another_zc` says whether another one is
    /// at work.
    ///
    /// # Errors
    /// A namespace could not be entered, or /proc/stat cannot be read.
    fn conditions(
        &mut self,
        host: &Host,
        link: &LinkFacts,
        another_zc: bool,
    ) -> Result<Vec<Warning>> {
        let rank = self.machine.rank_warning();
        let others =
            conditions(&mut self.machine, &self.links, &self.fixed, host, link, another_zc)?;
        let link = self.fixed.link;
        Ok(rank.into_iter().chain(others).map(|each| of_a_server(each, link)).collect())
    }

    /// Parameters shared by all cells.
    pub fn fixed(&self) -> &FixedParams {
        &self.fixed
    }

    /// Sets the rate at which costs are measured; a response of the reference has so many bytes.
    pub fn set_rate(&mut self, requests_per_s: f64, body_bytes: u64, chosen: bool) {
        self.requests_per_s = Some(requests_per_s);
        self.fixed.rate_bytes_per_s = requests_per_s * body_bytes as f64;
        self.fixed.burst_ns = (1e9 / requests_per_s) as u64;
        self.fixed.rate_chosen = chosen;
    }

    /// Sets the rate at which the log is replayed.
    pub fn set_replay_rate(&mut self, requests_per_s: f64) {
        if let Some(replayed) = &mut self.replayed {
            replayed.requests_per_s = Some(requests_per_s);
        }
    }

    /// Sets which responses of the log a window has all of.
    pub fn set_replayed(&mut self, whole: Whole) {
        if let Some(replayed) = &mut self.replayed {
            replayed.whole = whole;
        }
    }

    /// The log that a cell replays; `None`: its responses are of one length.
    fn replayed(&self, cell: &Cell) -> Option<&Replayed> {
        self.replayed.as_ref().filter(|replayed| replayed.cells.contains(&cell.label))
    }

    /// Requests per second of a cell: its own, or that of all; `None` until they are chosen. A cell
    /// that has a rate of its own has the length of its responses, too.
    fn rate_of(&self, cell: &Cell) -> Option<f64> {
        if let Some(replayed) = self.replayed(cell) {
            return replayed.requests_per_s;
        }
        match (cell.levels.rate_bytes_per_s, cell.levels.message_bytes) {
            (Some(rate), Some(bytes)) => Some(rate / bytes as f64),
            _ => self.requests_per_s,
        }
    }

    /// Asks as fast as responses arrive, once, and returns requests per second. The soakers must be
    /// paused.
    ///
    /// # Errors
    /// Same as [`run`](Bench::run).
    pub fn top_speed(&mut self, cell: &Cell) -> Result<f64> {
        let trial = self.run(cell, TrialKind::TopSpeed)?;
        // Of long responses parts count, as a window may have none that is whole.
        Ok(match cell.levels.message_bytes {
            Some(bytes) => bytes_per_s(&trial) / bytes.max(1) as f64,
            None => requests_per_s(&trial),
        })
    }

    /// Length of an unsoaked window.
    pub fn unsoaked_window_s(&self) -> f64 {
        self.timing.unsoaked_ns as f64 / 1e9
    }

    /// Asks at the load's rate once, and returns requests per second. The soakers must be paused.
    ///
    /// # Errors
    /// Same as [`run`](Bench::run).
    pub fn unsoaked_rate(&mut self, cell: &Cell) -> Result<f64> {
        self.run(cell, TrialKind::UnsoakedControl).map(|trial| requests_per_s(&trial))
    }

    /// Reads what bounds a window over a load that goes on: soakers, responses and clocks.
    fn watch(
        &self,
        opens_ns: u64,
        length_ns: u64,
        opened: &mut Reading,
        closed: &mut Reading,
    ) -> Result<()> {
        let opened_ns = self.edge(opens_ns, |rig| {
            rig.accounts(opened);
            opened.soak = rig.machine.soaked();
        })?;
        self.edge(opened_ns + length_ns, |rig| {
            closed.soak = rig.machine.soaked();
            rig.accounts(closed);
        })?;
        Ok(())
    }

    /// The responses that a trial of a cell at this pace is to have all of; `None`: its window is
    /// of the usual length.
    fn complete_responses(&self, cell: &Cell, pace: Pace) -> Option<Whole> {
        match (self.replayed(cell), cell.levels.message_bytes, pace) {
            (Some(replayed), ..) => Some(replayed.whole),
            (None, Some(bytes), Pace::At { per_s }) => {
                Whole::of_length(bytes, per_s, self.timing.window_ns)
            }
            _ => None,
        }
    }

    /// The time of whole cycles of a mix by a load that goes on beyond them; `None`: there is none,
    /// or no rate.
    fn cycles_ns(&self, cell: &Cell, pace: Pace) -> Option<u64> {
        match (self.replayed(cell), pace) {
            (Some(replayed), Pace::At { per_s }) => {
                Some((replayed.whole.responses as f64 / per_s * 1e9) as u64)
            }
            _ => None,
        }
    }

    /// Opens a window over whole responses, and has the load ask for them; `None`: the load has no
    /// such limit. It is opened before the load is told: afterwards this thread may be late, and
    /// responses would come before the window.
    fn begin_whole(
        &self,
        whole: Whole,
        origin: usize,
        pace: Pace,
        opened: &mut Reading,
    ) -> Result<Option<Begun>> {
        let before = self.load.counts_before(origin);
        self.edge(monotonic_ns(), |rig| {
            count(&before, opened);
            rig.clocks(opened);
            opened.soak = rig.machine.soaked();
        })?;
        let begin_ns = self.load.go_for(origin, pace, whole.responses)?;
        Ok(begin_ns.map(|begin_ns| Begun { whole, before, begin_ns }))
    }

    /// Closes a window over whole responses when all have come.
    fn watch_whole(&self, begun: &Begun, pace: Pace, closed: &mut Reading) -> Result<()> {
        let Begun { whole, before, begin_ns } = begun;
        let ended_ns = whole.wait(&self.load, before, pace, *begin_ns)?;
        self.edge(ended_ns, |rig| {
            closed.soak = rig.machine.soaked();
            rig.accounts(closed);
        })?;
        Ok(())
    }

    /// Reads what bounds a window at `at_ns`, or as soon after it as that takes no longer than it
    /// may. Returns that time.
    fn edge(&self, at_ns: u64, mut read: impl FnMut(&Self)) -> Result<u64> {
        edge(at_ns, edge_ns(1), |at_ns| self.limit.sleep_until(at_ns), Some, || read(self))
    }

    /// Reads the counts at the very edge: responses, and CPU time of the server and of the load.
    fn accounts(&self, into: &mut Reading) {
        count(&self.load.counts().unwrap_or_default(), into);
        self.clocks(into);
    }

    /// CPU time of the server, with that of what burns beside it, and of the load, with that of
    /// the origin behind a proxy.
    fn clocks(&self, into: &mut Reading) {
        let at_ns = monotonic_ns();
        let server_ns = self.served.cpu_ns() + self.beside.cpu_ns();
        (into.sender.at_ns, into.sender.cpu_ns) = (at_ns, server_ns);
        into.burned_units = Some(self.beside.units());
        let load_ns = self.load.cpu_ns() + self.behind_ns();
        (into.receiver.at_ns, into.receiver.cpu_ns) = (at_ns, load_ns);
    }

    fn slow_meters(&mut self, into: &mut Reading) -> Result<()> {
        let load_ns = self.load.cpu_ns_so_far() + self.behind_ns();
        let others_ns = load_ns + self.beside.cpu_ns() + self.served.cpu_ns();
        self.machine.kernel(others_ns, into)?;
        into.link = self.links.base().counters().ok();
        Ok(())
    }
}

impl Bench for ServerRig {
    fn begin_block(&mut self, _block: usize) -> Result<()> {
        self.latencies_of_block.clear();
        self.load.find_workers();
        self.served.look(&self.load)
    }

    fn state_was_entered(&mut self) {
        self.served.find_processes();
    }

    fn soak(&mut self, on: bool) -> Result<()> {
        self.machine.soak(on)
    }

    fn idle(&mut self) -> Result<IdleWindow> {
        let opens_ns = monotonic_ns() + settle_ns(1);
        let (mut opened, mut closed) = (Reading::default(), Reading::default());
        self.slow_meters(&mut opened)?;
        sleep_until(opens_ns);
        self.clocks(&mut opened);
        opened.soak = self.machine.soaked();
        self.limit.sleep_until(opens_ns + self.timing.idle_ns)?;
        closed.soak = self.machine.soaked();
        self.clocks(&mut closed);
        self.slow_meters(&mut closed)?;
        Ok(IdleWindow { opened, closed, remote: None })
    }

    fn run(&mut self, cell: &Cell, kind: TrialKind) -> Result<Trial> {
        self.served.check()?;
        let origin = (self.origin_of)(cell);
        let origin = origin.ok_or_else(|| {
            Error::failed("state-missing", "the cell is in no state of the server")
        })?;
        let pace = match self.rate_of(cell) {
            Some(per_s) if kind != TrialKind::TopSpeed => Pace::At { per_s },
            _ => Pace::Unpaced,
        };
        let length_ns =
            if kind.is_soaked() { self.timing.window_ns } else { self.timing.unsoaked_ns };
        let (mut opened, mut closed) = (Reading::default(), Reading::default());
        // The slow meters take a millisecond of a CPU: read while the load works, they would make
        // its requests late, by more than a server takes to answer.
        self.slow_meters(&mut opened)?;
        let served_before = cell.transfer.nfs_call().and_then(|_| self.served.io_bytes());
        let begun = match self.complete_responses(cell, pace) {
            Some(whole) => self.begin_whole(whole, origin, pace, &mut opened)?,
            None => None,
        };
        let begin_ns = match &begun {
            Some(begun) => begun.begin_ns,
            None => self.load.go(origin, pace)?,
        };
        let mb_per_s = self.fixed.at(&cell.levels).rate_bytes_per_s / 1e6;
        let burned = cell.burn_units_per_mb.filter(|_| kind.is_soaked());
        self.beside.go(burned.map(|per_mb| per_mb * mb_per_s));
        let watched = match &begun {
            Some(begun) => self.watch_whole(begun, pace, &mut closed),
            None => {
                let opens_ns = begin_ns + self.timing.warmup_ns.max(LEAST_WARMUP_NS);
                let length_ns = self.cycles_ns(cell, pace).unwrap_or(length_ns);
                self.watch(opens_ns, length_ns, &mut opened, &mut closed)
            }
        };
        self.beside.stop();
        let phase = self.load.pause();
        // Of two errors that of the server says more.
        match &phase {
            Ok(AskedFor { fault: None, .. }) => self.served.check()?,
            _ => self.served.check_after_a_fault()?,
        }
        // And that of the load more than that of whoever waited for it.
        if let Ok(AskedFor { fault: Some(fault), .. }) = &phase {
            return Err(Error::failed("load-failed", fault.clone()));
        }
        let phase = phase.and_then(|phase| watched.map(|()| phase))?;
        self.slow_meters(&mut closed)?;
        if let Some(before) = served_before {
            nfs::same_bytes(cell, &phase, before, self.served.io_bytes())?;
        }
        if let Some(Begun { whole, .. }) = &begun {
            whole.check(&phase)?;
        }
        count_by_rate(&phase, &opened, &mut closed);
        if kind == TrialKind::Soaked {
            // Of the first trial alone: a cell that has further ones, in place of controls that it
            // does not have, would have a longer longest one for it.
            self.latencies_of_block.entry(cell.label.clone()).or_insert(phase.latency);
        }
        Ok(Trial {
            cell: cell.label.clone(),
            kind,
            opened,
            closed,
            whole_bytes: phase.body_bytes,
            whole_completions: 0,
            whole_lost_bytes: None,
            whole_copied: 0,
            fragments: None,
            whole_sender_usage: None,
            sockets: None,
            remote: None,
            remote_report: None,
        })
    }

    /// The server and its connections stay as they are.
    fn redraw(&mut self) -> Result<()> {
        self.machine.renew_soakers(self.fixed.soaker)
    }

    fn samples(&mut self) -> Option<BlockSamples> {
        None
    }

    fn sniffers(&self) -> Option<Warning> {
        checks::sniffers(count_sniffers(&self.links))
    }

    fn latencies(&self) -> Vec<Latencies> {
        let of = |(cell, all): (&String, &zc_load::Latencies)| {
            let (up_to_ns, requests) = all.classes().unzip();
            Latencies { cell: cell.clone(), up_to_ns, requests }
        };
        self.latencies.iter().map(of).collect()
    }

    fn block_ended(&mut self, counts: bool) {
        for (cell, some) in std::mem::take(&mut self.latencies_of_block) {
            if counts {
                self.latencies.entry(cell).or_default().merge(&some);
            }
        }
    }
}

/// Puts what a load has counted into a reading.
fn count(counts: &HttpCounts, into: &mut Reading) {
    let &HttpCounts { responses: calls, body_bytes: bytes, .. } = counts;
    into.sent = SendCounts { bytes, calls, ..SendCounts::default() };
    into.received = RecvCounts { bytes, calls, ..RecvCounts::default() };
}

/// Requests per second of a trial's window.
fn requests_per_s(trial: &Trial) -> f64 {
    per_s(trial, trial.closed.sent.calls.saturating_sub(trial.opened.sent.calls))
}

/// Bytes of bodies per second of a trial's window.
fn bytes_per_s(trial: &Trial) -> f64 {
    per_s(trial, trial.closed.sent.bytes.saturating_sub(trial.opened.sent.bytes))
}

fn per_s(Trial { opened, closed, .. }: &Trial, count: u64) -> f64 {
    let elapsed_ns = closed.soak.at_ns.saturating_sub(opened.soak.at_ns).max(1);
    count as f64 * 1e9 / elapsed_ns as f64
}

/// Adapts a warning to a server that is not zc's. A setting that zc's own senders should avoid is
/// part of how a server is configured. Between two namespaces it is a doubt all the same: there it
/// decides which of two settings costs less (docs/servers.md).
fn of_a_server(warning: Warning, link: LinkKind) -> Warning {
    match link {
        _ if warning.name != checks::PACING => warning,
        LinkKind::Veth => Warning::new(
            checks::PACING,
            Severity::Doubt,
            format!(
                "{}, and between two namespaces large responses wait for these as on no network",
                warning.text
            ),
        )
        .remedy(
            "as root, --serve 'sysctl -qw net.ipv4.tcp_congestion_control=reno; exec SERVER', \
             which leaves the host as it is",
        ),
        _ => Warning::new(checks::PACING, Severity::Note, warning.text).remedy(
            "sudo sysctl net.ipv4.tcp_congestion_control=cubic, unless your server is to use this \
             one",
        ),
    }
}

/// Counts the responses of a window by their rate where the load cannot count at its edges: it is
/// on another machine, or has ended before. At a fixed rate that is kept, it is as exact as its
/// clock.
fn count_by_rate(phase: &AskedFor, opened: &Reading, closed: &mut Reading) {
    let Some(per_s) = phase.responses_per_s else { return };
    let window_s = closed.soak.at_ns.saturating_sub(opened.soak.at_ns) as f64 / 1e9;
    let responses = per_s * window_s;
    let bytes = responses * phase.body_bytes as f64 / phase.responses.max(1) as f64;
    closed.sent.calls = opened.sent.calls + responses.round() as u64;
    closed.sent.bytes = opened.sent.bytes + bytes as u64;
    (closed.received.calls, closed.received.bytes) = (closed.sent.calls, closed.sent.bytes);
}

impl Drop for ServerRig {
    fn drop(&mut self) {
        let _ = sched::pin(&self.fixed.soaked_cpus); // as before
    }
}

impl std::fmt::Debug for ServerRig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerRig")
            .field("fixed", &self.fixed)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_counts_from_what_had_come_when_the_window_opened() {
        let phase = AskedFor {
            responses_per_s: Some(2_000.0),
            responses: 512,
            body_bytes: 51_200,
            fault: None,
            latency: zc_load::Latencies::default(),
        };
        let mut opened = Reading::default();
        (opened.sent.calls, opened.sent.bytes) = (512, 51_200);
        let mut closed = opened.clone();
        closed.soak.at_ns = opened.soak.at_ns + 100_000_000;
        count_by_rate(&phase, &opened, &mut closed);
        assert_eq!((closed.sent.calls, closed.received.bytes), (712, 71_200));
    }

    #[test]
    fn pacing_is_a_doubt_between_namespaces_and_elsewhere_the_server_s_own_affair() {
        let warned = |name, link| of_a_server(Warning::new(name, Severity::Doubt, "paces"), link);
        let between = warned(checks::PACING, LinkKind::Veth);
        assert_eq!(between.severity, Severity::Doubt);
        assert!(between.remedy.is_some_and(|it| it.contains("--serve 'sysctl -qw")));
        let elsewhere = warned(checks::PACING, LinkKind::Loopback);
        assert_eq!(elsewhere.severity, Severity::Note);
        let other = warned("steal", LinkKind::Loopback);
        assert_eq!((other.severity, other.text.as_str()), (Severity::Doubt, "paces"));
    }
}
