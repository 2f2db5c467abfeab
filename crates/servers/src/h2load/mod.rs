//! HTTP/2: several h2load (of nghttp2) ask for a mix in place of zc's own load, which speaks
//! HTTP/1.1. They are started for each trial and ended with it. Each has one connection, and all run
//! on the load's CPU; their CPU time is the load's account, as that of zc's own thread is.
//!
//! h2load keeps to a rate by sending every 10 ms what has become due (`--rps`), several streams at
//! once on each connection, as browsers do with what a page refers to. Its log says how many
//! responses have come, which status each had, and how long it took from when it was sent (not from
//! when it was due). Of lengths it tells the sum, and only at its own end; of contents nothing. So
//! before anything is measured a whole cycle is asked for and compared, by HTTP/1.1 with contents
//! where the server speaks that, and by HTTP/2; in trials the statuses alone are. A body that is
//! not as long as its response says is a failed stream to h2load (RFC 9113, 8.1.1).
//!
//! It opens no other connection where a server ends one (nginx's `keepalive_requests`): the
//! requests that were on it have failed, and with them the trial.

mod group;
mod log;
mod said;

pub use group::askable;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use self::group::{Group, groups};
use self::log::{Log, Row};
use self::said::Said;
use super::asked_for::AskedFor;
use super::generator::{LOOK, PATIENCE, START_LIMIT};
use super::kept::{Kept, Wanted};
use zc_kernel::clock::monotonic_ns;
use zc_load::{HttpCounts, Latencies, Load, Origin, Pace, Targets};
use zc_rig::link::Link;
use zc_run::{Error, Result, escape, in_words, shell_word};

/// Time allowed after that until what is due has been answered. Congestion control begins anew with
/// each connection: BBR is slow at it between two namespaces.
const CATCH_UP_LIMIT: Duration = Duration::from_millis(500);

/// The part of a second of requests that may be on their way by then: two of the intervals in which
/// they are sent.
const ON_THEIR_WAY_S: f64 = 0.02;

/// Cycles of the mix at top speed: of one, the longest responses would be most of the time; more
/// would reach the number of requests after which nginx closes a connection.
const CYCLES_AT_TOP_SPEED: u64 = 8;

/// Time for which one that keeps to a rate has requests: far longer than a trial.
const LONG_S: f64 = 60.0;

/// The most streams at the same time on a connection, as most servers permit: `SETTINGS_
/// MAX_CONCURRENT_STREAMS` is not to be below 100 (RFC 9113, 6.5.2), and 128 in nginx.
const STREAMS: &str = "100";

/// The longest part of its words in an error.
const MOST_WORDS: usize = 300;

/// How HTTP/2 is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Http2 {
    /// The program h2load.
    pub program: PathBuf,
    /// A folder of its own, for what it reads and writes.
    pub folder: PathBuf,
    /// Connections of the requests without headers of their own.
    pub connections: usize,
}

impl Http2 {
    /// The program with the arguments that all of them have.
    pub fn words(&self) -> Vec<String> {
        let program = self.program.to_string_lossy().into_owned();
        [program.as_str(), "-c", "1", "-m", STREAMS].map(str::to_owned).into()
    }
}

/// See the module.
pub struct H2load {
    http2: Http2,
    /// zc's own load, which compares contents.
    load: Arc<Load>,
    link: Arc<dyn Link>,
    origins: Vec<Origin>,
    groups: Vec<Group>,
    /// Requests of a cycle, and bytes of their bodies.
    cycle: (u64, u64),
    cpu: usize,
    running: Mutex<Option<Running>>,
}

/// The processes of a trial.
struct Running {
    kept: Kept,
    /// A log for each group.
    logs: Vec<Log>,
    /// Lines of each when all had the first response.
    before: Vec<u64>,
    /// Whether they are to go on until they are ended.
    goes_on: bool,
}

impl H2load {
    /// Asks `origins` for `targets` from `cpu`, on the receiver's side of the link.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind): its folder cannot be written to.
    pub fn new(
        http2: Http2,
        load: Arc<Load>,
        link: Arc<dyn Link>,
        origins: Vec<Origin>,
        targets: &Targets,
        cpu: usize,
    ) -> Result<Self> {
        let groups = groups(targets, http2.connections);
        for (number, group) in groups.iter().enumerate() {
            let path = http2.folder.join(format!("{number}.uris"));
            let text: String = group.paths.iter().flat_map(|path| [path, "\n"]).collect();
            std::fs::write(&path, text).map_err(|error| cannot_write(&path, &error))?;
        }
        let bytes = groups.iter().map(|group| group.body_bytes).sum();
        let cycle = (targets.turns() as u64, bytes);
        let running = Mutex::default();
        Ok(Self { http2, load, link, origins, groups, cycle, cpu, running })
    }

    /// zc's own load on the same link.
    pub(super) fn load(&self) -> &Load {
        &self.load
    }

    /// Asks an origin for a whole cycle, and compares what comes with what is expected: contents by
    /// HTTP/1.1 where the server speaks it, statuses and the sum of lengths by HTTP/2.
    ///
    /// # Errors
    /// It is another response, there is none, or the server does not speak HTTP/2.
    pub(super) fn check(&self, origin: usize) -> Result<()> {
        match self.load.check(origin) {
            // Without TLS there may be no version but HTTP/2, which servers begin at once.
            Err(error) if error.id == "not-http" && !self.uses_tls(origin) => {}
            checked => checked?,
        }
        let mut running = self.start(origin, None, 1)?;
        let until = Instant::now() + START_LIMIT;
        loop {
            match running.kept.check_within(Duration::from_millis(50)) {
                Err(ended) if ended.id == "program-ended" => break,
                Err(error) => return Err(error),
                Ok(()) if Instant::now() >= until => {
                    let message = format!("h2load had not ended after {START_LIMIT:?}");
                    return Err(Error::remote("server-silent", message));
                }
                Ok(()) => {}
            }
        }
        let answered = running.read();
        for (number, (group, came)) in std::iter::zip(&self.groups, answered).enumerate() {
            let said = self.said(number);
            self.spoke_http2(origin, came, &said)?;
            if let Some(fault) = self.fault(number, &running.logs[number]) {
                return Err(unexpected(fault));
            }
            if came != group.paths.len() as u64 || said.body_bytes != Some(group.body_bytes) {
                return Err(unexpected(format!(
                    "by HTTP/2 {came} responses came with bodies of {} bytes, and {} with {} are \
                     expected",
                    said.body_bytes.unwrap_or_default(),
                    group.paths.len(),
                    group.body_bytes
                )));
            }
        }
        Ok(())
    }

    /// Starts all of them, and returns once each has the first response and, at a rate, no more
    /// requests are on their way than usually are, with that time by CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// One cannot be started, has ended, or gets no response.
    pub(super) fn go(&self, origin: usize, pace: Pace) -> Result<u64> {
        let (per_s, cycles) = match pace {
            Pace::At { per_s } => {
                let cycles = (per_s * LONG_S / self.cycle.0 as f64).ceil();
                (Some(per_s), (cycles as u64).max(CYCLES_AT_TOP_SPEED))
            }
            Pace::Unpaced => (None, CYCLES_AT_TOP_SPEED),
        };
        let mut running = self.start(origin, per_s, cycles)?;
        let until = Instant::now() + START_LIMIT;
        loop {
            // Before they are read: what has ended has written all.
            let ended = running.kept.check();
            running.before = running.read();
            let Some(silent) = running.before.iter().position(|lines| *lines == 0) else { break };
            if let Err(error) = ended {
                // What was never started has said nothing; what is there is of an earlier trial.
                if error.id == "program-ended" {
                    self.spoke_http2(origin, 0, &self.said(silent))?;
                }
                return Err(error);
            }
            if Instant::now() >= until {
                let message = format!("h2load got no response within {START_LIMIT:?}");
                return Err(Error::remote("server-silent", message));
            }
            std::thread::sleep(LOOK);
        }
        running.kept.find_processes();
        let until = Instant::now() + CATCH_UP_LIMIT;
        while per_s.is_some_and(|per_s| self.is_behind(&running, per_s)) && Instant::now() < until {
            std::thread::sleep(LOOK);
            running.before = running.read();
        }
        let begin_ns = monotonic_ns();
        *self.running() = Some(running);
        Ok(begin_ns)
    }

    /// Whether more requests are on their way than were sent in [`ON_THEIR_WAY_S`].
    fn is_behind(&self, running: &Running, per_s: f64) -> bool {
        let now_us = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        let due = std::iter::zip(&running.logs, &self.groups).map(|(log, group)| {
            let first_us = log.rows().flatten().map(|row| row.sent_us).min();
            let since_us = first_us.map_or(0, |first_us| now_us.saturating_sub(first_us.into()));
            1.0 + self.part(group) * per_s * since_us as f64 / 1e6
        });
        let come: u64 = running.before.iter().sum();
        let usual = per_s * ON_THEIR_WAY_S + self.groups.len() as f64;
        due.sum::<f64>() - come as f64 > usual
    }

    /// The part of the requests that a group has.
    fn part(&self, group: &Group) -> f64 {
        group.paths.len() as f64 / self.cycle.0.max(1) as f64
    }

    /// Ends them, and says what came.
    ///
    /// # Errors
    /// None runs.
    pub(super) fn end(&self) -> Result<AskedFor> {
        let Some(mut running) = self.running().take() else {
            return Err(Error::failed("no-phase", "no h2load runs"));
        };
        let ended = if running.goes_on { running.kept.check().err() } else { None };
        let lines = running.read();
        let mut faults =
            running.logs.iter().enumerate().filter_map(|(number, log)| self.fault(number, log));
        let fault = faults.next().or_else(|| ended.map(|error| error.message));
        let mut latency = Latencies::default();
        for (log, before) in running.logs.iter().zip(&running.before) {
            let of_trial = log.rows().skip(*before as usize).flatten();
            of_trial.for_each(|row| latency.record(row.took_ns));
        }
        let HttpCounts { responses, body_bytes, .. } = self.counts_of(&lines);
        // As fast as they can, they may have ended before the window did.
        let responses_per_s = if running.goes_on { None } else { per_s(&running.logs) };
        Ok(AskedFor { responses_per_s, responses, body_bytes, fault, latency })
    }

    /// Responses that have come; `None` if none runs.
    pub(super) fn counts(&self) -> Option<HttpCounts> {
        let lines = self.running().as_mut()?.read();
        Some(self.counts_of(&lines))
    }

    /// CPU time of those that run; `None` if none does.
    pub(super) fn cpu_ns(&self) -> Option<u64> {
        self.running().as_ref().map(|running| running.kept.cpu_ns())
    }

    /// A body of the mean length for each response: logs do not say which one came.
    fn counts_of(&self, lines: &[u64]) -> HttpCounts {
        let responses: u64 = lines.iter().sum();
        let (requests, bytes) = self.cycle;
        let body_bytes = responses as f64 * bytes as f64 / requests.max(1) as f64;
        HttpCounts { responses, body_bytes: body_bytes as u64, ..HttpCounts::default() }
    }

    /// Starts one for each group, each for whole cycles of its requests.
    fn start(&self, origin: usize, per_s: Option<f64>, cycles: u64) -> Result<Running> {
        let logs = (0..self.groups.len()).map(|number| {
            let path = self.path(number, "log");
            Log::create(&path).map_err(|error| cannot_write(&path, &error))
        });
        let logs = logs.collect::<Result<Vec<_>>>()?;
        let wanted = Wanted {
            what: "h2load".to_owned(),
            words: ["/bin/sh", "-c", &self.script(origin, per_s, cycles)?]
                .map(str::to_owned)
                .into(),
            cpus: vec![self.cpu],
            patience: PATIENCE,
            has_own_state: false,
        };
        let kept = Kept::start(wanted, || self.link.enter_receiver())?;
        Ok(Running { kept, before: vec![0; logs.len()], logs, goes_on: per_s.is_some() })
    }

    fn script(&self, origin: usize, per_s: Option<f64>, cycles: u64) -> Result<String> {
        let origin = self.origins.get(origin).ok_or_else(no_such_origin)?;
        let address = origin.addresses().first().ok_or_else(no_such_origin)?;
        let mut script = String::new();
        for (number, group) in self.groups.iter().enumerate() {
            let mut words = self.http2.words();
            let own = group.paths.len() as u64;
            words.extend(["-n".to_owned(), own.saturating_mul(cycles).to_string()]);
            if let Some(per_s) = per_s {
                words.push(format!("--rps={:.6}", per_s * self.part(group)));
            }
            words.extend(["-B".to_owned(), origin.url().to_owned()]);
            words.push(format!("--connect-to={address}"));
            let path = |ending| self.path(number, ending).to_string_lossy().into_owned();
            words.extend(["-i".to_owned(), path("uris"), format!("--log-file={}", path("log"))]);
            words.extend(group.headers.iter().flat_map(|it| ["-H".to_owned(), it.clone()]));
            let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
            script += &format!("{} >{} 2>&1 &\n", words.join(" "), shell_word(&path("out")));
        }
        Ok(script + "wait\n")
    }

    fn path(&self, number: usize, ending: &str) -> PathBuf {
        self.http2.folder.join(format!("{number}.{ending}"))
    }

    /// What the one of a group has printed.
    fn said(&self, number: usize) -> Said {
        let text = std::fs::read(self.path(number, "out")).unwrap_or_default();
        Said::parse(&String::from_utf8_lossy(&text))
    }

    /// Checks that a group, of which so many requests were answered, was asked for by HTTP/2.
    ///
    /// # Errors
    /// It was not.
    fn spoke_http2(&self, origin: usize, answered: u64, said: &Said) -> Result<()> {
        // Without TLS there is nothing to agree on, and h2load says h2c before the server answers.
        if said.is_http2() && (self.uses_tls(origin) || answered > 0) {
            return Ok(());
        }
        let url = self.origins.get(origin).map_or("", Origin::url);
        let how = match (&said.protocol, said.odd()) {
            (Some(protocol), _) if !said.is_http2() => format!("it speaks {protocol} with it"),
            (_, Some(words)) => format!("it says \"{}\"", escape(words, MOST_WORDS)),
            _ => "no request was answered".to_owned(),
        };
        let message = format!("h2load gets no HTTP/2 from \"{}\": {how}", escape(url, 200));
        Err(Error::remote("no-http2", message).help(
            "nginx speaks it with \"http2 on\" or \"listen ... http2\", Apache with Protocols",
        ))
    }

    /// How a response of a group is not what it should be; `None`: all are.
    fn fault(&self, number: usize, log: &Log) -> Option<String> {
        let group = self.groups.get(number)?;
        let odd =
            log.rows().find(|row| !row.is_some_and(|row| row.status == Some(group.status)))?;
        let asked = match group.headers.join(", ") {
            none if none.is_empty() => "GET".to_owned(),
            headers => escape(&headers, MOST_WORDS),
        };
        Some(match odd {
            Some(Row { status: Some(status), .. }) => format!(
                "a response by HTTP/2 has the status {status}, and {} is expected ({asked})",
                group.status
            ),
            Some(Row { status: None, .. }) => format!(
                "a stream of HTTP/2 failed ({asked}): the server ended it or its connection, as \
                 after keepalive_requests"
            ),
            None => "h2load's log has a line of another form".to_owned(),
        })
    }

    fn uses_tls(&self, origin: usize) -> bool {
        self.origins.get(origin).is_some_and(Origin::uses_tls)
    }

    /// A panic while it was held leaves nothing half done that matters.
    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// Requests that have ended, by group.
    fn read(&mut self) -> Vec<u64> {
        self.logs.iter_mut().map(Log::read).collect()
    }
}

/// Responses per second from the first request to the last response.
fn per_s(logs: &[Log]) -> Option<f64> {
    let rows = || logs.iter().flat_map(Log::rows).flatten();
    let began_us = rows().map(|row| row.sent_us).min()?;
    let ended_us = rows().map(|row| row.sent_us.saturating_add(row.took_ns / 1_000)).max()?;
    let took_us = ended_us.saturating_sub(began_us).max(1);
    Some(rows().count() as f64 * 1e6 / took_us as f64)
}

fn unexpected(what: String) -> Error {
    let message = format!("the server does not answer as it should: {what}");
    Error::remote("unexpected-response", message)
        .help("its configuration changes what is sent: curl --http2 -i shows the whole answer")
}

fn no_such_origin() -> Error {
    Error::failed("no-such-origin", "the load has no such origin")
}

fn cannot_write(path: &std::path::Path, error: &std::io::Error) -> Error {
    let message = format!("cannot write \"{}\": {}", path.display(), in_words(error));
    Error::output("cannot-write", message).help("TMPDIR=FOLDER names a folder with more room")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn top_speed_is_that_from_the_first_request_to_the_last_response_of_all() {
        let folder = tempfile::tempdir().unwrap();
        let log = |number: usize, text: &str| {
            let path = folder.path().join(number.to_string());
            let mut log = Log::create(&path).unwrap();
            std::fs::write(path, text).unwrap();
            log.read();
            log
        };
        let logs = [
            log(0, "1000000\t200\t500\n1000100\t200\t1000\n"),
            log(1, "1009000\t200\t1000\n1000500\t304\t10\n"),
        ];
        let per_s = per_s(&logs).unwrap();
        assert!((per_s - 400.0).abs() < 1e-9, "4 in 10 ms: {per_s}");
        assert_eq!(super::per_s(&[log(2, "")]), None);
    }
}
