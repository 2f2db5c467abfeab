//! The connections of a load: opens them, sends requests on them, reads responses to their ends,
//! and says how each request came out. It knows nothing of schedules and phases.
//!
//! A connection that the server closes between two requests is no fault: the next request on it is
//! sent once more, on a new one (RFC 9110, 9.2.2: GET and HEAD are idempotent).

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;

use super::address::{cannot_connect, choose_address};
use super::counts::Fault;
use super::exchange::{Exchange, Purpose};
use super::options::{LoadOptions, Reuse};
use super::parting::Parting;
use super::poller::{Happened, Poller};
use super::reading::{Read, SCRATCH_BYTES, read};
use super::reply::{Cut, Head};
use super::request::Request;
use super::shared::Shared;
use super::slot::{Slot, State};
use super::tls::{self, Sessions};
use super::wire::Wire;
use zc_kernel::clock::monotonic_ns;
use zc_kernel::descriptors::{self, Room};
use zc_kernel::tcp;
use zc_run::{Error, Result, in_words};

/// Calls on one connection before others get their turn.
const CALLS_IN_A_ROW: usize = 16;

/// Time for which a connection that failed is left alone. A server that refuses is asked at most a
/// hundred times a second for each connection, instead of in a loop.
const TO_COOL_NS: u64 = 10_000_000;

/// Connections that servers are to close, at most.
const MOST_PARTING: u64 = 256;

/// Descriptors of this process beside the connections.
const OTHER_DESCRIPTORS: u64 = 64;

/// Outcome of a request.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) origin: usize,
    pub(super) exchange: Exchange,
    pub(super) at_ns: u64,
    pub(super) came: std::result::Result<Answer, (Fault, String)>,
}

/// A whole response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) head: Head,
    pub(super) body_bytes: u64,
}

/// The connections.
#[derive(Debug)]
pub(super) struct Pool {
    shared: Arc<Shared>,
    options: LoadOptions,
    /// The address of each origin.
    addresses: Vec<SocketAddr>,
    /// The requests for each origin, one for each of its targets.
    requests: Vec<Vec<Request>>,
    sessions: Option<Sessions>,
    slots: Vec<Slot>,
    /// Connections without a request, by origin: the one that has been free for longest comes
    /// first.
    free: Vec<VecDeque<u32>>,
    /// Connections that failed, and when they may be used again.
    cooling: VecDeque<(u64, u32)>,
    parting: Parting,
    /// Connections with more to read than their turn allowed.
    unread: VecDeque<(u64, bool)>,
    scratch: Vec<u8>,
    outcomes: Vec<Outcome>,
    timeout_ns: u64,
    /// Connections with something that may take too long.
    pub(super) busy: usize,
}

fn room_for(descriptors: u64) -> Result<Room> {
    descriptors::raise_limit(descriptors)
        .map_err(|error| Error::os("raise the limit of open files", error))
}

impl Pool {
    /// Prepares the connections. None is opened yet.
    ///
    /// # Errors
    /// The options are not valid, an origin has no address that accepts a connection, or too few
    /// descriptors can be open.
    pub(super) fn new(options: LoadOptions, shared: Arc<Shared>) -> Result<Self> {
        if options.origins.is_empty() || options.connections == 0 {
            return Err(Error::usage(
                "empty-load",
                "a load needs a URL and at least one connection",
            ));
        }
        let count = options.origins.len().saturating_mul(options.connections);
        let needed = count as u64 + OTHER_DESCRIPTORS;
        if let Room::No { hard } = room_for(needed)? {
            return Err(Error::unsupported(
                "too-many-connections",
                format!(
                    "{count} connections need {needed} open files, and this process may have {hard}"
                ),
            )
            .help("use fewer connections, or raise the limit: ulimit -n"));
        }
        let parting = match room_for(needed + MOST_PARTING)? {
            Room::No { hard } => hard.saturating_sub(needed),
            _ => MOST_PARTING,
        };
        let requests = options.origins.iter().map(|origin| {
            let targets = origin.targets.each().iter();
            targets.map(|target| Request::new(origin, target, &options)).collect()
        });
        let requests = requests.collect::<Result<_>>()?;
        let sessions = Sessions::new(&options)?;
        let addresses = options.origins.iter().map(|origin| choose_address(origin, &options));
        let addresses = addresses.collect::<Result<_>>()?;
        let origins = 0..options.origins.len();
        let slots: Vec<_> = origins
            .clone()
            .flat_map(|origin| (0..options.connections).map(move |_| Slot::new(origin)))
            .collect();
        let timeout_ns = u64::try_from(options.timeout.as_nanos()).unwrap_or(u64::MAX);
        Ok(Self {
            shared,
            addresses,
            requests,
            sessions,
            slots,
            free: origins.map(|_| VecDeque::new()).collect(),
            cooling: VecDeque::new(),
            parting: Parting::new(parting as usize),
            unread: VecDeque::new(),
            scratch: vec![0; SCRATCH_BYTES],
            outcomes: Vec::new(),
            timeout_ns,
            busy: 0,
            options,
        })
    }

    /// Opens all connections that are kept, and waits until they are established.
    ///
    /// # Errors
    /// [`ErrorKind::Remote`](zc_run::ErrorKind): one of an origin that may not be missing is
    /// refused, or not established in time.
    pub(super) fn open(&mut self, poller: &mut Poller) -> Result<()> {
        let all = 0..self.slots.len() as u32;
        if self.options.reuse == Reuse::Close {
            all.for_each(|index| self.set_free(index, 0));
            return Ok(());
        }
        for index in all {
            self.busy += 1;
            if let Err(error) = self.connect(poller, index) {
                self.leave_closed(index, &error)?;
            }
        }
        while self.busy > 0 && !self.shared.is_stopped() {
            let happened: Vec<_> = poller
                .wait(Some(Duration::from_millis(50)))
                .map_err(|error| Error::os("wait for connections", error))?
                .collect();
            for event in happened {
                let Some(index) = self.slot_of(event.token) else { continue };
                let was = self.slots[index as usize].state;
                if let Err(error) = self.establish(index, event) {
                    self.leave_closed(index, &error)?;
                } else if was != State::Open && self.slots[index as usize].state == State::Open {
                    self.busy -= 1;
                    self.set_free(index, monotonic_ns());
                }
            }
            let now_ns = monotonic_ns();
            for index in 0..self.slots.len() {
                let until_ns = self.slots[index].deadline_ns();
                if until_ns.is_some_and(|until_ns| until_ns <= now_ns) {
                    let error = io::Error::from(Errno::TIMEDOUT);
                    self.leave_closed(index as u32, &error)?;
                }
            }
        }
        Ok(())
    }

    /// Leaves a connection closed that cannot be opened at the start, until a request takes it.
    ///
    /// # Errors
    /// Its origin may not be missing.
    fn leave_closed(&mut self, index: u32, error: &io::Error) -> Result<()> {
        let slot = &mut self.slots[index as usize];
        if !self.options.origins[slot.origin].may_be_missing {
            return Err(self.no_connection(index, error));
        }
        slot.close();
        self.busy -= 1;
        self.set_free(index, monotonic_ns());
        Ok(())
    }

    /// Whether a request of `origin` can be begun.
    pub(super) fn has_free(&self, origin: usize) -> bool {
        self.free.get(origin).is_some_and(|free| !free.is_empty())
    }

    /// Begins a request for a target of `origin` on the connection that has been free for longest,
    /// and returns since when; `None` if there is none.
    pub(super) fn begin(
        &mut self,
        poller: &Poller,
        origin: usize,
        target: u32,
        purpose: Purpose,
        due_ns: u64,
        now_ns: u64,
    ) -> Option<u64> {
        let index = self.free.get_mut(origin)?.pop_front()?;
        let keeps_texts = matches!(purpose, Purpose::Fetch(_));
        let slot = &mut self.slots[index as usize];
        slot.reply.reset(self.requests[origin][target as usize].is_head, keeps_texts);
        slot.exchange = Some(Exchange {
            purpose,
            target,
            due_ns,
            deadline_ns: now_ns.saturating_add(self.timeout_ns),
            sent_bytes: 0,
        });
        let (since_ns, state) = (slot.free_since_ns, slot.state);
        self.busy += 1;
        self.shared.counting.requests.add(1);
        match state {
            State::Open => self.send(poller, index),
            _ => self.reopen(poller, index),
        }
        Some(since_ns)
    }

    /// Goes on with a connection to which something happened.
    pub(super) fn on(&mut self, poller: &Poller, happened: Happened) {
        if happened.is_ending && self.parting.ended(happened.token) {
            return;
        }
        let Some(index) = self.slot_of(happened.token) else { return };
        let was_open = self.slots[index as usize].state == State::Open;
        if let Err(error) = self.establish(index, happened) {
            return self.fail_to_connect(index, &error);
        }
        let is_open = self.slots[index as usize].state == State::Open;
        if is_open && (happened.is_writable || !was_open) {
            self.send(poller, index);
        }
        // What was registered may be another connection now.
        if self.slot_of(happened.token).is_some() {
            self.read(poller, happened.token, happened.is_ending);
        }
    }

    /// Goes on with connections that had more to read, and lets those that have cooled be used.
    pub(super) fn go_on(&mut self, poller: &Poller, now_ns: u64) {
        for _ in 0..self.unread.len() {
            if let Some((token, is_ending)) = self.unread.pop_front() {
                self.read(poller, token, is_ending);
            }
        }
        while let Some((until_ns, index)) = self.cooling.front().copied()
            && until_ns <= now_ns
        {
            self.cooling.pop_front();
            self.set_free(index, now_ns);
        }
    }

    /// Whether [`go_on`](Self::go_on) has something to read at once.
    pub(super) fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Whether [`go_on`](Self::go_on) will have something to do.
    pub(super) fn is_cooling(&self) -> bool {
        !self.cooling.is_empty()
    }

    /// Whether a server is to close a connection.
    pub(super) fn is_parting(&self) -> bool {
        !self.parting.is_empty()
    }

    /// Gives up what has taken too long.
    pub(super) fn give_up(&mut self, now_ns: u64) {
        self.shared.counting.unclosed.add(self.parting.give_up(now_ns));
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            let is_late = |deadline_ns| deadline_ns <= now_ns;
            if slot.exchange.is_none() || !slot.deadline_ns().is_some_and(is_late) {
                continue;
            }
            let index = index as u32;
            let seconds = self.options.timeout.as_secs_f64();
            let (fault, what) = match slot.state {
                State::Connecting { .. } => {
                    (Fault::Connect, "no connection was established".to_owned())
                }
                State::Greeting { .. } => (Fault::Tls, "no TLS session was established".to_owned()),
                _ if slot.reply.has_begun() => (
                    Fault::Timeout,
                    format!(
                        "a response is not whole ({} bytes of its body)",
                        slot.reply.body_bytes()
                    ),
                ),
                _ => (Fault::Timeout, "the server does not answer".to_owned()),
            };
            self.fail(index, fault, format!("{what} after {seconds} s"));
        }
    }

    /// Whether a request has come out since [`outcomes`](Self::outcomes) was called.
    pub(super) fn has_outcomes(&self) -> bool {
        !self.outcomes.is_empty()
    }

    /// Takes how requests came out since the last call.
    pub(super) fn outcomes(&mut self) -> std::vec::Drain<'_, Outcome> {
        self.outcomes.drain(..)
    }

    /// The connection that an event is about, unless it is one of the past.
    fn slot_of(&self, token: u64) -> Option<u32> {
        let index = token as u32;
        let slot = self.slots.get(index as usize)?;
        (slot.wire.is_some() && u64::from(slot.generation) == token >> 32).then_some(index)
    }

    fn set_free(&mut self, index: u32, now_ns: u64) {
        let slot = &mut self.slots[index as usize];
        slot.free_since_ns = now_ns;
        self.free[slot.origin].push_back(index);
    }

    /// Begins a connection in the place `index`.
    fn connect(&mut self, poller: &Poller, index: u32) -> io::Result<()> {
        let slot = &mut self.slots[index as usize];
        let to = self.addresses[slot.origin];
        let socket = tcp::begin_connect(to, self.options.source)?;
        poller.add(&socket, token(index, slot.generation))?;
        slot.serves = serves(self.options.reuse, index as usize, self.options.connections, slot);
        slot.wire = Some(match &self.sessions {
            Some(sessions) => sessions.wire(socket, slot.origin)?,
            None => Wire::new(socket),
        });
        slot.state = State::Connecting { until_ns: monotonic_ns().saturating_add(self.timeout_ns) };
        Ok(())
    }

    /// Goes on with a connection that is not established yet.
    fn establish(&mut self, index: u32, happened: Happened) -> io::Result<()> {
        let slot = &mut self.slots[index as usize];
        let Some(wire) = &mut slot.wire else { return Ok(()) };
        let counting = &self.shared.counting;
        match slot.state {
            State::Connecting { until_ns } if happened.is_writable => {
                if let Some(error) = tcp::take_error(wire.socket())? {
                    return Err(error);
                }
                // Each request is one call, which nothing is to hold back.
                let _ = tcp::set_nodelay(wire.socket(), true);
                slot.state = State::Greeting { until_ns };
            }
            State::Greeting { .. } => {}
            _ => return Ok(()),
        }
        if wire.handshake(counting)? {
            slot.state = State::Open;
            counting.connects.add(1);
            if std::mem::take(&mut slot.replaces) {
                counting.reconnects.add(1);
            }
        }
        Ok(())
    }

    /// Opens the connection that the request in the place `index` waits for.
    fn reopen(&mut self, poller: &Poller, index: u32) {
        if let Err(error) = self.connect(poller, index) {
            self.fail_to_connect(index, &error);
        }
    }

    /// Sends what is left of a request.
    fn send(&mut self, poller: &Poller, index: u32) {
        let slot = &mut self.slots[index as usize];
        let is_last = slot.is_last();
        let (Some(wire), Some(exchange)) = (&mut slot.wire, &mut slot.exchange) else { return };
        let request = &self.requests[slot.origin][exchange.target as usize];
        let bytes = if is_last { &request.last } else { &request.bytes };
        let sent = wire.send(bytes, &mut exchange.sent_bytes, &self.shared.counting);
        if let Err(error) = sent {
            self.cut(poller, index, Some(&error));
        }
    }

    /// Reads what there is, for a bounded time.
    fn read(&mut self, poller: &Poller, token: u64, is_ending: bool) {
        for _ in 0..CALLS_IN_A_ROW {
            let Some(index) = self.slot_of(token) else { return };
            let slot = &mut self.slots[index as usize];
            if matches!(slot.state, State::Connecting { .. } | State::Greeting { .. }) {
                return;
            }
            match read(slot, &mut self.scratch, &self.shared.counting) {
                Read::Nothing => return,
                Read::Again => {}
                Read::Part { is_all } if is_all && !is_ending => return,
                Read::Part { .. } => {}
                Read::Answered => {
                    self.answered(index, is_ending);
                    if !is_ending {
                        return;
                    }
                }
                Read::Malformed(what) => {
                    let words = format!("the server's answer is not valid HTTP/1.1: {what}");
                    return self.fail(index, Fault::Malformed, words);
                }
                // A last word before it closes (408), or nonsense.
                Read::Unasked => return self.drop_idle(index),
                Read::Ended => return self.end(poller, index),
                Read::Broken(error) => return self.cut(poller, index, Some(&error)),
            }
        }
        self.unread.push_back((token, is_ending));
    }

    /// The response of the place `index` is whole, and the server may have closed the connection.
    fn answered(&mut self, index: u32, is_ending: bool) {
        let now_ns = monotonic_ns();
        let slot = &mut self.slots[index as usize];
        let Some(exchange) = slot.exchange.take() else { return };
        let is_last = slot.is_last();
        let keeps_alive = slot.reply.head().keeps_alive && !is_last;
        slot.served += 1;
        let answer = Answer { head: slot.reply.take_head(), body_bytes: slot.reply.body_bytes() };
        let origin = slot.origin;
        self.shared.counting.responses.add(1);
        if !keeps_alive {
            slot.replaces = !is_last;
            let token = token(index, slot.generation);
            let wire = slot.wire.take();
            slot.close();
            if let Some(wire) = wire.filter(|_| !is_ending) {
                self.shared.counting.unclosed.add(self.parting.add(token, wire, now_ns));
            }
        }
        self.busy -= 1;
        self.set_free(index, now_ns);
        self.outcomes.push(Outcome { origin, exchange, at_ns: now_ns, came: Ok(answer) });
    }

    /// The server has closed the connection.
    fn end(&mut self, poller: &Poller, index: u32) {
        let slot = &mut self.slots[index as usize];
        if slot.exchange.is_none() {
            return self.drop_idle(index);
        }
        match slot.reply.end() {
            // The body ended with the connection.
            Ok(()) => self.answered(index, true),
            Err(_) => self.cut(poller, index, None),
        }
    }

    /// Closes a connection on which nothing was waited for. Its place stays free.
    fn drop_idle(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.replaces = true;
        slot.close();
    }

    /// The connection is gone before the response was whole: by an error, or closed.
    fn cut(&mut self, poller: &Poller, index: u32, error: Option<&io::Error>) {
        let slot = &mut self.slots[index as usize];
        let Some(exchange) = &mut slot.exchange else { return self.drop_idle(index) };
        // A reset may have overtaken the response.
        let cut = slot.reply.cut();
        // Once: the new connection will not have served any.
        if cut == Cut::Unanswered && slot.served > 0 {
            exchange.sent_bytes = 0;
            slot.replaces = true;
            slot.close();
            return self.reopen(poller, index);
        }
        if let Some((_, why, _)) = error.and_then(tls::why) {
            return self.fail(index, Fault::Tls, format!("the TLS session broke: {why}"));
        }
        let how = error.map(|error| format!(" ({})", in_words(error))).unwrap_or_default();
        let words = match cut {
            Cut::Unanswered => {
                format!("the server closed a connection without an answer{how}")
            }
            Cut::Inside => format!(
                "the server closed a connection inside a response, after {} bytes of its \
                 body{how}",
                slot.reply.body_bytes()
            ),
        };
        self.fail(index, Fault::Closed, words);
    }

    fn fail_to_connect(&mut self, index: u32, error: &io::Error) {
        let words = self.no_connection(index, error).message;
        let greeted = matches!(self.slots[index as usize].state, State::Greeting { .. });
        self.fail(index, if greeted { Fault::Tls } else { Fault::Connect }, words);
    }

    /// The request of the place `index` gets no whole response.
    fn fail(&mut self, index: u32, fault: Fault, words: String) {
        let now_ns = monotonic_ns();
        let slot = &mut self.slots[index as usize];
        slot.close();
        let origin = slot.origin;
        self.busy -= 1;
        self.cooling.push_back((now_ns.saturating_add(TO_COOL_NS), index));
        if let Some(exchange) = slot.exchange.take() {
            self.outcomes.push(Outcome {
                origin,
                exchange,
                at_ns: now_ns,
                came: Err((fault, words)),
            });
        }
    }

    /// A connection that cannot be had, as an error.
    fn no_connection(&self, index: u32, error: &io::Error) -> Error {
        let origin = self.slots[index as usize].origin;
        cannot_connect(
            &self.options.origins[origin],
            self.addresses[origin],
            self.options.source,
            error,
        )
    }
}

/// Requests that the connection in the place `index` may serve. Of the first connections, those of
/// each origin end one after the other.
fn serves(reuse: Reuse, index: usize, connections: usize, slot: &Slot) -> u64 {
    match reuse {
        Reuse::KeepAlive => u64::MAX,
        Reuse::Close => 1,
        Reuse::Requests(most) if slot.generation == 0 => {
            let part = (index % connections.max(1) + 1) as u64;
            most.get().saturating_mul(part).div_ceil(connections.max(1) as u64)
        }
        Reuse::Requests(most) => most.get(),
    }
}

/// Token of a connection: its place, and its number among the connections of that place.
fn token(index: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(index)
}
