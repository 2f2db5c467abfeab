//! The thread of a load: waits for sockets, for the time of the next request and for commands, and
//! does what is due. Nothing here blocks but that wait, and each turn is bounded, so a command or
//! the end of the load is never long in coming, whatever servers send.
//!
//! Sockets are registered once, edge-triggered: a request costs one send(2), one recv(2) where head
//! and body are short, and its part of an epoll_wait(2).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Duration;

use crc32fast::Hasher;

use super::counts::Fault;
use super::exchange::{Fetch, Purpose};
use super::expected::Expected;
use super::options::{LoadOptions, Pace};
use super::origin::Origin;
use super::phase::{Fetched, Phase};
use super::poller::{Happened, Poller};
use super::pool::{Answer, Outcome, Pool};
use super::running::Running;
use super::shared::Shared;
use zc_kernel::clock::monotonic_ns;
use zc_run::{Error, Result, escape};

/// Interval at which timeouts are checked.
const TICK: Duration = Duration::from_millis(50);

/// The same interval while a connection that failed is left alone.
const SHORT_TICK: Duration = Duration::from_millis(5);

/// Requests that one turn begins at most.
const IN_A_ROW: usize = 1024;

/// A command of the handle.
#[derive(Debug)]
pub(super) enum Command {
    /// A phase begins.
    Go {
        /// Its origin.
        origin: usize,
        /// When its requests are due.
        pace: Pace,
        /// When the first one is, by CLOCK_MONOTONIC.
        begin_ns: u64,
        /// The most requests.
        requests: u64,
    },
    /// The phase ends.
    Pause {
        /// Receives the phase's results.
        wanted_by: Sender<Result<Phase>>,
        /// Time until which outstanding responses are waited for at most, besides their own
        /// timeouts.
        until_ns: u64,
    },
    /// One response is read.
    Fetch {
        /// Its origin.
        origin: usize,
        /// Its target, by its index.
        target: usize,
        /// Receives the response.
        wanted_by: Sender<Result<Fetched>>,
    },
}

/// The thread's state.
pub(super) struct Engine {
    shared: Arc<Shared>,
    commands: Receiver<Command>,
    poller: Poller,
    pool: Pool,
    origins: Vec<Origin>,
    /// The length of the first body of each origin's targets.
    lengths: Vec<Vec<Option<u64>>>,
    /// Responses to be read that wait for a connection.
    fetches: VecDeque<(usize, usize, Sender<Result<Fetched>>)>,
    running: Option<Running>,
    /// Number of phases that have begun.
    phases: u64,
    happened: Vec<Happened>,
    /// Longest time that the last wait was to take. `u64::MAX`: until something happens.
    waits_ns: u64,
}

impl Engine {
    /// Opens the connections that are kept.
    ///
    /// # Errors
    /// One cannot be opened, or the options are not valid.
    pub(super) fn open(
        options: LoadOptions,
        shared: Arc<Shared>,
        commands: Receiver<Command>,
    ) -> Result<Self> {
        let mut poller = Poller::new(&shared.wakeup)
            .map_err(|error| Error::os("make an epoll instance", error))?;
        let origins = options.origins.clone();
        let mut pool = Pool::new(options, Arc::clone(&shared))?;
        pool.open(&mut poller)?;
        Ok(Self {
            shared,
            commands,
            poller,
            pool,
            lengths: origins.iter().map(|origin| vec![None; origin.targets.each().len()]).collect(),
            origins,
            fetches: VecDeque::new(),
            running: None,
            phases: 0,
            happened: Vec::new(),
            waits_ns: u64::MAX,
        })
    }

    /// Works until it is stopped, or its handle is gone.
    pub(super) fn run(&mut self) {
        let mut next_tick_ns = 0;
        let mut turn_ns = monotonic_ns();
        while !self.shared.is_stopped() {
            let now_ns = monotonic_ns();
            if let Some(running) = &mut self.running {
                running.stalls.turn(now_ns.saturating_sub(turn_ns), self.waits_ns);
            }
            turn_ns = now_ns;
            self.pool.go_on(&self.poller, now_ns);
            if now_ns >= next_tick_ns {
                self.pool.give_up(now_ns);
                next_tick_ns = now_ns + TICK.as_nanos() as u64;
            }
            self.settle();
            if !self.obey() {
                return;
            }
            let is_behind = self.dispatch();
            self.settle();
            if self.wait(is_behind).is_err() {
                return;
            }
        }
    }

    /// Waits until there is something to do, and does what sockets are ready for.
    fn wait(&mut self, is_behind: bool) -> std::io::Result<()> {
        self.waits_ns = u64::MAX;
        if let Some(running) = &mut self.running {
            let now_ns = monotonic_ns();
            if running.is_open(now_ns)
                && let Some(due_ns) = running.schedule.next_ns(now_ns)
                && due_ns > now_ns
            {
                self.poller.wake_at(due_ns)?;
                self.waits_ns = due_ns - now_ns;
            }
        }
        let at_most = match () {
            () if is_behind || self.pool.has_unread() => Some(Duration::ZERO),
            () if self.pool.is_cooling() => Some(SHORT_TICK),
            () if self.pool.busy > 0 || self.pool.is_parting() => Some(TICK),
            () => None,
        };
        if let Some(at_most) = at_most {
            self.waits_ns = self.waits_ns.min(at_most.as_nanos() as u64);
        }
        self.happened.clear();
        self.happened.extend(self.poller.wait(at_most)?);
        for index in 0..self.happened.len() {
            self.pool.on(&self.poller, self.happened[index]);
            // A connection that has become free is used before others are read: a server that had
            // to wait for the end of the batch would fall asleep meanwhile, and waking it costs
            // this thread as much as the request.
            if self.pool.has_outcomes() {
                self.settle();
                self.dispatch();
            }
        }
        Ok(())
    }

    /// Does what the handle asks for. Returns false once it is gone.
    fn obey(&mut self) -> bool {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Go { origin, pace, begin_ns, requests }) => {
                    self.phases += 1;
                    let before = self.shared.counting.read();
                    self.running =
                        Some(Running::new(self.phases, origin, pace, begin_ns, requests, before));
                }
                Ok(Command::Pause { wanted_by, until_ns }) => match &mut self.running {
                    Some(running) => {
                        let counts = self.shared.counting.read();
                        running.end(wanted_by, monotonic_ns(), until_ns, counts);
                    }
                    None => {
                        let _ = wanted_by
                            .send(Err(Error::failed("no-phase", "no phase of requests goes on")));
                    }
                },
                Ok(Command::Fetch { origin, target, wanted_by })
                    if (self.origins.get(origin))
                        .is_some_and(|origin| target < origin.targets.each().len()) =>
                {
                    self.fetches.push_back((origin, target, wanted_by));
                }
                Ok(Command::Fetch { wanted_by, .. }) => {
                    let _ = wanted_by.send(Err(no_such_origin()));
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
        true
    }

    /// Begins the requests that are due, on connections that are free. Returns whether more could
    /// be begun at once.
    fn dispatch(&mut self) -> bool {
        for _ in 0..self.fetches.len() {
            let Some((origin, target, wanted_by)) = self.fetches.pop_front() else { break };
            if !self.pool.has_free(origin) {
                self.fetches.push_back((origin, target, wanted_by));
                continue;
            }
            let purpose = Purpose::Fetch(Box::new(Fetch { hasher: Hasher::new(), wanted_by }));
            let now_ns = monotonic_ns();
            self.pool.begin(&self.poller, origin, target as u32, purpose, now_ns, now_ns);
        }
        let Some(running) = &mut self.running else { return false };
        for _ in 0..IN_A_ROW {
            let now_ns = monotonic_ns();
            if !running.is_open(now_ns) || !self.pool.has_free(running.origin) {
                return false;
            }
            let turn = running.schedule.taken();
            let Some(due_ns) = running.schedule.take(now_ns) else { return false };
            let origin = running.origin;
            let target = self.origins[origin].targets.of_turn(turn as usize);
            let purpose = Purpose::Load { phase: running.number };
            let begun = self.pool.begin(&self.poller, origin, target, purpose, due_ns, now_ns);
            if let Some(free_ns) = begun {
                running.begun(due_ns, free_ns, now_ns);
            }
        }
        true
    }

    /// Records how requests came out.
    fn settle(&mut self) {
        for Outcome { origin, exchange, at_ns, came } in self.pool.outcomes() {
            let asked = &self.origins[origin];
            let target = exchange.target as usize;
            let fault = match &came {
                Ok(answer) => {
                    let expected = asked.targets.each()[target].expected;
                    judge(answer, expected, &mut self.lengths[origin][target])
                }
                Err(_) => None,
            };
            let counted = match (&came, &fault) {
                (Err((fault, _)), _) | (Ok(_), Some((fault, _))) => Some(*fault),
                _ => None,
            };
            if let Some(fault) = counted {
                self.shared.counting.fault(fault);
            }
            match exchange.purpose {
                Purpose::Fetch(fetch) => {
                    let fetched = came
                        .map(|answer| fetched(asked, target, answer, &fetch.hasher))
                        .map_err(|(fault, words)| unanswered(asked, target, fault, words));
                    let _ = fetch.wanted_by.send(fetched);
                }
                Purpose::Load { phase } => {
                    if let Some(running) =
                        self.running.as_mut().filter(|running| running.number == phase)
                    {
                        let (whole, fault) = match came {
                            Ok(answer) => {
                                let latency_ns = at_ns.saturating_sub(exchange.due_ns);
                                (Some((answer.head.status, latency_ns)), fault)
                            }
                            Err(why) => (None, Some(why)),
                        };
                        let told = |(fault, words)| (fault, of_target(asked, target, words));
                        running.came(at_ns, whole, fault.map(told));
                    }
                }
            }
        }
        if let Some(over) = self.running.take_if(|running| running.is_over(monotonic_ns())) {
            over.tell(monotonic_ns(), &self.shared.counting.read());
        }
    }
}

/// Says which target a fault is about, where there are several.
fn of_target(origin: &Origin, target: usize, words: String) -> String {
    match origin.targets.each() {
        [_] => words,
        each => format!("{}: {words}", each[target]),
    }
}

/// Returns the fault of a whole response, if it has one. Where nothing is expected, `length` is that
/// of the first one that was right.
fn judge(
    answer: &Answer,
    expected: Option<Expected>,
    length: &mut Option<u64>,
) -> Option<(Fault, String)> {
    let head = &answer.head;
    if let Some(expected) = expected {
        if let Some(words) = expected.difference(head.status, answer.body_bytes) {
            return Some((Fault::Unexpected, words));
        }
        let encoding = head.encoding.as_deref();
        return encoding.map(|encoding| (Fault::Encoded, encoded_with(encoding)));
    }
    match (head.status, &head.location, &head.encoding) {
        (300..=399, location, _) => {
            let location = location.as_deref().unwrap_or("nowhere");
            Some((Fault::Redirect, format!("status {}, a redirect to {location}", head.status)))
        }
        (status, ..) if !(200..300).contains(&status) => {
            Some((Fault::Status, format!("status {status}")))
        }
        (_, _, Some(encoding)) => Some((Fault::Encoded, encoded_with(encoding))),
        _ => {
            let first = *length.get_or_insert(answer.body_bytes);
            (first != answer.body_bytes).then(|| {
                let words = format!(
                    "a body has {} bytes, and the first one had {first}",
                    answer.body_bytes
                );
                (Fault::Length, words)
            })
        }
    }
}

fn encoded_with(encoding: &str) -> String {
    format!("the content is encoded with {encoding}")
}

pub(super) fn no_such_origin() -> Error {
    Error::failed("no-such-origin", "the load has no such origin")
}

fn fetched(origin: &Origin, target: usize, answer: Answer, hasher: &Hasher) -> Fetched {
    let Answer { head, body_bytes } = answer;
    Fetched {
        url: origin.url_of(target),
        status: head.status,
        body_bytes,
        crc32: hasher.clone().finalize(),
        is_chunked: head.is_chunked,
        encoding: head.encoding,
        location: head.location,
        server: head.server,
        keeps_alive: head.keeps_alive,
        content_length: head.length,
    }
}

/// A response that did not come, as an error.
fn unanswered(origin: &Origin, target: usize, fault: Fault, words: String) -> Error {
    let error = match fault {
        Fault::Connect => Error::remote("cannot-connect", words),
        Fault::Tls => Error::remote("tls-failed", words),
        _ => Error::remote(
            if fault == Fault::Malformed { "not-http" } else { "no-answer" },
            format!("no answer from \"{}\": {words}", escape(&origin.url_of(target), 200)),
        ),
    };
    error.help(match fault {
        Fault::Timeout => "give it more time with --timeout, or ask a server that is less busy",
        Fault::Malformed => {
            "check that the port is that of an HTTP server, and the scheme (https?)"
        }
        _ => "check that the server runs, and its log",
    })
}
