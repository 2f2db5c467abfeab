//! Meters a service that runs, period after period, without end, with little work of its own.
//!
//! Soakers that are always awake would keep the CPUs from sleeping. So a period is cut into slots,
//! and in each slot the soakers wake up once, at a moment drawn at random (stratified sampling:
//! Cochran, Sampling Techniques, chapter 5), for a fiftieth of it. In this window interrupts and
//! softirqs are measured, and whose segments they were for. The service's own CPU time, its
//! requests and the interfaces' bytes are counted by others all the time, and are read at both ends
//! of each slot.

use std::path::PathBuf;

use rand::{RngExt as _, SeedableRng};
use rand_pcg::Pcg64;

use super::log_lines::LogLines;
use super::service::{Who, network_of};
use super::setup::{Soaked, idle, interrupted, set_up};
use super::status::StatusUrl;
use zc_kernel::clock::{self, sleep_until_or_stop};
use zc_kernel::random;
use zc_kernel::stop::Stop;
use zc_rig::meter::{LoadMeter, Network, Target, TargetReading};
use zc_run::{
    Error, MeterPeriod, ProcessKind, ProcessTime, Result, ServiceTarget, ServiceWindow,
    SoakService, SoakStart, SoakWindow, Span, StatReading, TcpSpan, in_words,
};

const MS: u64 = 1_000_000;
/// Usual length of a slot.
const SLOT_NS: u64 = 5_000 * MS;
/// Least number of slots in a period: an interval comes from their scatter.
const LEAST_SLOTS: u64 = 4;
/// A window is this part of a slot.
const WINDOW_PART: u64 = 50;
/// The shortest window: some thousand units on each CPU.
const LEAST_WINDOW_NS: u64 = 20 * MS;
/// Time from the wake-up of the soakers to the window: they find out how long an undisturbed unit
/// takes, and the CPU its frequency.
const WARM_UP_NS: u64 = 20 * MS;
/// Time at the end of a slot in which no window ends.
const REST_NS: u64 = 20 * MS;
/// Part of a CPU that may go into reading sockets, in 10,000ths. With ten thousand connections a
/// reading takes milliseconds, and is made in fewer windows.
const SOCKETS_PER_10_000: u64 = 30;
/// A tick of /proc/stat: USER_HZ is 100.
const TICK_NS: u64 = 10 * MS;

/// Source of the number of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestsFrom {
    /// nginx's status page.
    Status(StatusUrl),
    /// The lines that are appended to an access log.
    Log(PathBuf),
}

/// Options of [`meter`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeterOptions {
    /// CPUs and kind of the soakers.
    pub soaked: Soaked,
    /// The service.
    pub who: Who,
    /// Length of a period.
    pub every_ns: u64,
    /// Source of the number of requests.
    pub requests: Option<RequestsFrom>,
}

/// A report of [`meter`].
#[derive(Debug)]
pub enum Metered<'a> {
    /// The service was found, at the beginning or after it was gone, and is being metered.
    Begun(&'a ServiceTarget),
    /// A period is over. Periods follow one another without a gap while the service runs.
    Period(&'a MeterPeriod),
    /// The service has ended, and is waited for.
    Gone(&'a Error),
}

/// Meters a service until `stop` is set. One that is named by a process id ends with it; another
/// one is waited for, as a deploy stops and starts it.
///
/// # Errors
/// Those of `hear`; there is no such service, requests cannot be counted, or the soakers cannot be
/// started; the process that was named has ended;
/// [`ErrorKind::Interrupted`](zc_run::ErrorKind) when `stop` was set before the first period was
/// over.
pub fn meter(
    options: &MeterOptions,
    stop: &Stop,
    hear: &mut dyn FnMut(Metered<'_>) -> Result<()>,
) -> Result<()> {
    let requests = Requests::open(options.requests.as_ref())?;
    let target = options.who.open()?;
    // Before the soakers: what is wrong is told at once.
    hear(Metered::Begun(target.description()))?;
    let mut meter = set_up(&options.soaked)?;
    // The service runs all the time: nothing here is idle, and what is missing is the pace.
    let start =
        meter.know(None, |meter| idle(meter, 1, &mut |at_ns| sleep_until_or_stop(at_ns, stop)))?;
    if start.idle.is_empty() {
        return Err(interrupted());
    }
    meter.soakers().pause()?;
    let seed = random::array().map_or(2001, u64::from_ne_bytes);
    let mut watcher = Watcher {
        target,
        network: None,
        meter,
        start,
        requests,
        rng: Pcg64::seed_from_u64(seed),
        sockets_credit_ns: 0,
        last: None,
        used_ns: (0, 0),
        stop,
    };
    let mut periods = 0_u64;
    loop {
        match watcher.period(options.every_ns) {
            Ok(Some(period)) => {
                periods += 1;
                hear(Metered::Period(&period))?;
            }
            Ok(None) if periods == 0 => return Err(interrupted()),
            Ok(None) => return Ok(()),
            Err(error) if error.id == "target-ended" && options.who.comes_back() => {
                hear(Metered::Gone(&error))?;
                if !watcher.wait_for(&options.who) {
                    return Ok(());
                }
                hear(Metered::Begun(watcher.target.description()))?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// What is metered, and by what.
struct Watcher<'o> {
    target: Target,
    /// Its network namespace, or why it is not seen; `None` until it is looked for.
    network: Option<std::result::Result<Network, String>>,
    meter: LoadMeter,
    start: SoakStart,
    requests: Requests,
    rng: Pcg64,
    /// CPU time that reading sockets may still take; below 0 it has to wait.
    sockets_credit_ns: i64,
    /// The end of the last slot, if the next one follows on it.
    last: Option<Edge>,
    /// CPU time of zc and of the soakers until the end of the last period.
    used_ns: (u64, u64),
    stop: &'o Stop,
}

/// Readings at the end of one slot and the start of the next.
struct Edge {
    at_ns: u64,
    target: TargetReading,
    stat: StatReading,
    /// When, and bytes that the interfaces have sent.
    sent: Option<(u64, u64)>,
    /// When, and requests so far, or why not.
    requests: Option<std::result::Result<(u64, u64), String>>,
    zc_ns: u64,
}

/// The part of a slot in which the soakers are awake.
struct Soak {
    window: SoakWindow,
    tcp: Option<TcpSpan>,
    no_sockets: Option<String>,
}

impl Watcher<'_> {
    /// Waits until the service runs again. Returns false when `stop` was set before.
    fn wait_for(&mut self, who: &Who) -> bool {
        loop {
            if sleep_until_or_stop(clock::monotonic_ns() + SLOT_NS / 5, self.stop) {
                return false;
            }
            if let Ok(target) = who.open()
                && target.read_account().is_ok()
            {
                (self.target, self.network) = (target, None);
                return true;
            }
        }
    }

    /// A period; `None` when `stop` was set.
    fn period(&mut self, every_ns: u64) -> Result<Option<MeterPeriod>> {
        let slots = (every_ns / SLOT_NS).max(LEAST_SLOTS);
        let slot_ns = every_ns / slots;
        let mut period = MeterPeriod {
            seen: SoakService {
                target: self.target.description().clone(),
                start: self.start.clone(),
                windows: Vec::new(),
                no_sockets: None,
            },
            dropped: 0,
            elapsed_ns: 0,
            soaked_ns: 0,
            soakers_cpu_ns: 0,
            zc_cpu_ns: 0,
            no_requests: None,
        };
        let mut before = match self.last.take() {
            Some(last) => last,
            None => self.edge()?,
        };
        let begun_ns = before.at_ns;
        for slot in 0..slots {
            // By the clock and not one after the other, so that no period becomes longer.
            let from_ns = begun_ns + slot * slot_ns;
            let Some((soak, awake_ns)) = self.soak(from_ns, slot_ns, &before.target.pids)? else {
                return Ok(None);
            };
            if sleep_until_or_stop(from_ns + slot_ns, self.stop) {
                return Ok(None);
            }
            let after = self.edge()?;
            period.soaked_ns += awake_ns;
            if after.target.is_same_as(&before.target) {
                period.seen.no_sockets = period.seen.no_sockets.or_else(|| soak.no_sockets.clone());
                if let Some(Err(why)) = &after.requests {
                    period.no_requests = Some(why.clone());
                }
                period.seen.windows.push(slot_window(soak, &before, &after, self.requests.of_zc()));
            } else {
                period.dropped += 1;
                self.network = None;
            }
            before = after;
        }
        period.elapsed_ns = before.at_ns.saturating_sub(begun_ns);
        self.last = Some(before);
        // Since the start: on a busy machine a soaker may get no time in one period.
        period.seen.start.pace = self.meter.soakers().pace();
        // Since zc started, and with what was done between the periods.
        let used_ns = (clock::process_cpu_ns(), self.meter.soakers().cpu_ns());
        period.zc_cpu_ns = used_ns.0.saturating_sub(self.used_ns.0);
        period.soakers_cpu_ns = used_ns.1.saturating_sub(self.used_ns.1);
        self.used_ns = used_ns;
        Ok(Some(period))
    }

    /// Wakes the soakers once in a slot, and says for how long. `None` when `stop` was set.
    fn soak(&mut self, from_ns: u64, slot_ns: u64, pids: &[i32]) -> Result<Option<(Soak, u64)>> {
        let window_ns = (slot_ns / WINDOW_PART).max(LEAST_WINDOW_NS);
        let room_ns = slot_ns.saturating_sub(window_ns + WARM_UP_NS + REST_NS).max(1);
        if sleep_until_or_stop(from_ns + self.rng.random_range(0..room_ns), self.stop) {
            return Ok(None);
        }
        let woken_ns = clock::monotonic_ns();
        self.meter.soakers().resume()?;
        let soak = self.soaked_window(woken_ns + WARM_UP_NS, window_ns, slot_ns, pids);
        self.meter.soakers().pause()?;
        let awake_ns = clock::monotonic_ns().saturating_sub(woken_ns);
        Ok(soak?.map(|soak| (soak, awake_ns)))
    }

    /// The window, while the soakers are awake. `None` when `stop` was set.
    fn soaked_window(
        &mut self,
        from_ns: u64,
        window_ns: u64,
        slot_ns: u64,
        pids: &[i32],
    ) -> Result<Option<Soak>> {
        if sleep_until_or_stop(from_ns, self.stop) {
            return Ok(None);
        }
        let share_ns = (slot_ns * SOCKETS_PER_10_000 / 10_000) as i64;
        self.sockets_credit_ns = (self.sockets_credit_ns + share_ns).min(share_ns);
        let network = self.network.as_ref().and_then(|network| network.as_ref().ok());
        let network = network.filter(|_| self.sockets_credit_ns > 0);
        let no_network = self.network.as_ref().and_then(|network| network.as_ref().err());
        let begun_ns = clock::process_cpu_ns();
        let before = network.map(|network| network.read(pids));
        let spent_ns = clock::process_cpu_ns().saturating_sub(begun_ns);
        let opened = self.meter.open()?;
        if sleep_until_or_stop(opened.soak.at_ns + window_ns, self.stop) {
            return Ok(None);
        }
        let closed = self.meter.close()?;
        let after = network.map(|network| network.read(pids));
        // The second reading takes as long as the first.
        self.sockets_credit_ns -= 2 * spent_ns as i64;
        let tcp = after.as_ref().zip(before.as_ref()).and_then(|(after, before)| {
            let (tcp, _) = after.since(before);
            tcp
        });
        let no_sockets = after.as_ref().and_then(|after| after.no_sockets());
        let no_sockets = no_sockets.map(str::to_owned).or_else(|| no_network.cloned());
        Ok(Some(Soak { window: SoakWindow { opened, closed }, tcp, no_sockets }))
    }

    /// The end of a slot, now.
    fn edge(&mut self) -> Result<Edge> {
        let target = self.target.read_account()?;
        if self.network.is_none() {
            self.network = Some(network_of(&target));
        }
        let network = self.network.as_ref().and_then(|network| network.as_ref().ok());
        Ok(Edge {
            at_ns: clock::monotonic_ns(),
            stat: self.meter.stat()?,
            sent: network.and_then(|network| network.sent_bytes(&target.pids)),
            requests: self.requests.read(),
            zc_ns: clock::process_cpu_ns(),
            target,
        })
    }
}

/// A slot: counts between its edges, and what the soakers saw. `of_zc` requests are zc's own.
fn slot_window(soak: Soak, before: &Edge, after: &Edge, of_zc: u64) -> ServiceWindow {
    let (clocks, cgroup) = after.target.since(&before.target);
    // A counter that has gone back belongs to a server that was started anew.
    let span = |(after_ns, after): (u64, u64), (before_ns, before): (u64, u64)| {
        let count = after.checked_sub(before)?;
        Some(Span { elapsed_ns: after_ns.saturating_sub(before_ns), count })
    };
    let counted = |edge: &Edge| match edge.requests {
        Some(Ok(count)) => Some(count),
        _ => None,
    };
    let zc_ns = after.zc_ns.saturating_sub(before.zc_ns);
    let own_ns = cgroup.unwrap_or(clocks).count + zc_ns;
    ServiceWindow {
        window: soak.window,
        processes: after.target.pids.len(),
        others_elapsed_ns: after.stat.at_ns.saturating_sub(before.stat.at_ns),
        // Names would take a reading of all processes.
        others: vec![ProcessTime {
            kind: ProcessKind::Other,
            name: "others".to_owned(),
            window_ns: busy_ns(&before.stat, &after.stat).saturating_sub(own_ns),
            idle_ns: 0,
        }],
        zc: Span { elapsed_ns: clocks.elapsed_ns, count: zc_ns },
        clocks,
        cgroup,
        tcp: soak.tcp,
        interfaces: after.sent.zip(before.sent).and_then(|(after, before)| span(after, before)),
        requests: counted(after).zip(counted(before)).and_then(|(after, before)| {
            let span = span(after, before)?;
            // The second request for the page is in its own answer.
            Some(Span { count: span.count.saturating_sub(of_zc), ..span })
        }),
    }
}

/// CPU time of processes between two readings, by ticks; not of those that are niced, as soakers.
fn busy_ns(before: &StatReading, after: &StatReading) -> u64 {
    let ticks =
        |stat: &StatReading| -> u64 { stat.cpus.iter().map(|it| it.user + it.system).sum() };
    ticks(after).saturating_sub(ticks(before)).saturating_mul(TICK_NS)
}

/// The counter of requests.
enum Requests {
    Nobody,
    Status(StatusUrl),
    Log(LogLines),
}

impl Requests {
    /// # Errors
    /// They cannot be counted.
    fn open(from: Option<&RequestsFrom>) -> Result<Self> {
        Ok(match from {
            None => Self::Nobody,
            Some(RequestsFrom::Status(page)) => {
                page.read()?;
                Self::Status(page.clone())
            }
            Some(RequestsFrom::Log(path)) => Self::Log(LogLines::open(path)?),
        })
    }

    /// Requests of a slot that are zc's own: nginx counts those for its page too.
    fn of_zc(&self) -> u64 {
        u64::from(matches!(self, Self::Status(_)))
    }

    /// When they were read, and the number so far; or why not.
    fn read(&mut self) -> Option<std::result::Result<(u64, u64), String>> {
        let at_ns = clock::monotonic_ns();
        match self {
            Self::Nobody => None,
            Self::Status(page) => Some(match page.read() {
                Ok(served) => Ok((served.at_ns, served.requests)),
                Err(error) => Err(error.message),
            }),
            Self::Log(log) => Some(match log.read() {
                Ok(lines) => Ok((at_ns, lines)),
                Err(error) => Err(format!("the log cannot be read: {}", in_words(&error))),
            }),
        }
    }
}
