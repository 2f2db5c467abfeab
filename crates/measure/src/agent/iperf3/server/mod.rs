//! An iperf3 server: one test at a time, over TCP, in either direction, for unmodified clients.
//!
//! One thread looks after the listener, the connections that have not yet said what they want, and the control connection of
//! the test; every stream has a thread of its own. What a stranger may cost is bounded: a place among
//! 64 for [`Limits::patience`] and 64 KiB there, and then, if he speaks iperf3, a test within [`Limits`].

mod clients;
mod request;
mod running;
mod streams;

#[cfg(test)]
mod pending;

use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use zc_kernel::spawn::wait_readable;

use self::clients::{Arrival, Busy, Visitors};
use self::request::Request;
use self::running::Running;
use super::client::MOST_STREAMS;
use super::control::Control;
use zc_run::{Error, Result};

/// How often it is looked whether the server is to stop, or a client does nothing.
const TICK: Duration = Duration::from_millis(100);
/// How long no connections are taken when one could not be, for want of descriptors or memory.
const REST: Duration = Duration::from_secs(1);
/// No more than one refusal in this time is told: else a stranger could fill the screen.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// What a test may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Streams of a test.
    pub streams: usize,
    /// How long a client may take for the next step of the protocol: parameters, a stream, results.
    pub patience: Duration,
    /// A test on whose streams nothing moves for so long is given up.
    pub idle: Duration,
    /// The longest test.
    pub longest: Duration,
}

impl Default for Limits {
    /// As many streams, and as long a test (a day), as iperf3 takes; 10 seconds for a step, and 60 of nothing.
    fn default() -> Self {
        Self {
            streams: MOST_STREAMS,
            patience: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            longest: Duration::from_secs(86_400),
        }
    }
}

/// What happens at the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A test runs.
    Began {
        /// The client.
        peer: SocketAddr,
        /// How many streams it has.
        streams: usize,
        /// The server sends.
        reverse: bool,
    },
    /// A test has ended well.
    Ended(Ended),
    /// A test has ended otherwise.
    GivenUp {
        /// The client.
        peer: SocketAddr,
        /// A sentence that goes on after its name.
        why: String,
        /// What had been received, or sent, by then.
        bytes: u64,
    },
    /// A client was not served.
    Refused {
        /// The client.
        peer: SocketAddr,
        /// A sentence that goes on after its name.
        why: String,
        /// So many refusals before this one were not told, since there were more than one in a second.
        untold: u64,
    },
    /// A connection could not be taken; for a second none is.
    NotTaken(Error),
}

/// A test that has ended well.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The client.
    pub peer: SocketAddr,
    /// How many streams it had.
    pub streams: usize,
    /// The server sent.
    pub reverse: bool,
    /// Payload bytes of all streams, received or sent; without those of the time that is omitted.
    pub bytes: u64,
    /// From the start, or the end of what is omitted, to the client's end of the test or the last byte, if that came later.
    pub seconds: f64,
    /// CPU time of this process (getrusage(2)) in percent of the time of the test; 100 is a whole CPU.
    pub cpu_percent: f64,
}

/// Serves until `stop` is up, which it notices within a tenth of a second.
///
/// # Errors
/// The kernel cannot wait for connections.
pub fn serve(listener: TcpListener, stop: &AtomicBool, limits: Limits, tell: &mut dyn FnMut(Event)) -> Result<()> {
    listener.set_nonblocking(true).map_err(|error| Error::os("make the listener non-blocking", error))?;
    let (visitors, refusals) = (Visitors::default(), Refusals::default());
    let mut server = Server { listener, stop, limits, tell, visitors, refusals, rests_until: None };
    while !server.is_stopping() {
        server.wait(None)?;
        let Some(Arrival::Client { control, peer, cookie, parameters }) = server.next_arrival(Busy::Idle) else {
            continue;
        };
        match Request::of(&parameters, &limits) {
            Ok(request) => Running::run(&mut server, control, peer, cookie, request)?,
            Err(refusal) => server.refuse(control, peer, &refusal),
        }
    }
    Ok(())
}

/// Why a client's wish cannot be had.
#[derive(Debug, PartialEq)]
struct Refusal {
    /// The error of iperf3 that its client has a text for (`iperf_api.h`).
    error: u32,
    /// The errno that the client adds in words, where its text is one that takes one.
    errno: u32,
    /// A sentence that goes on after the client's name.
    why: String,
}

struct Server<'a> {
    listener: TcpListener,
    stop: &'a AtomicBool,
    limits: Limits,
    tell: &'a mut dyn FnMut(Event),
    visitors: Visitors,
    refusals: Refusals,
    rests_until: Option<Instant>,
}

/// When the last refusal was told, and what was not told since.
#[derive(Debug, Default)]
struct Refusals {
    told: Option<Instant>,
    untold: u64,
}

impl Server<'_> {
    fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Waits for a tick at most; takes connections, and what visitors say. Whether `also` can be read.
    fn wait(&mut self, also: Option<BorrowedFd<'_>>) -> Result<bool> {
        self.rests_until = self.rests_until.filter(|until| Instant::now() < *until);
        let mut fds: Vec<BorrowedFd<'_>> = self.visitors.fds().collect();
        let visitors = fds.len();
        fds.extend(also);
        if self.rests_until.is_none() {
            fds.push(self.listener.as_fd());
        }
        let ready = wait_readable(&fds, Some(TICK)).map_err(|error| Error::os("wait for iperf3 clients", error))?;
        let can_accept = self.rests_until.is_none() && ready.last() == Some(&true);
        let also_ready = also.is_some() && ready[visitors];
        self.visitors.receive(&ready[..visitors]);
        if can_accept && let Err(error) = self.visitors.accept(&self.listener) {
            self.rests_until = Some(Instant::now() + REST);
            (self.tell)(Event::NotTaken(Error::os("take a connection", error)));
        }
        Ok(also_ready)
    }

    /// The next visitor who has said enough to be let in. Those who cannot be are refused.
    fn next_arrival(&mut self, busy: Busy<'_>) -> Option<Arrival> {
        let mut refused = Vec::new();
        let arrival = self.visitors.next(busy, self.limits.patience, &mut refused);
        for (peer, why) in refused {
            self.tell_refusal(peer, why);
        }
        arrival
    }

    /// Tells the client of a test why it cannot be had.
    fn refuse(&mut self, mut control: Control, peer: SocketAddr, refusal: &Refusal) {
        // It may have gone; then it knows already that there is no test.
        drop(control.say_error(refusal.error, refusal.errno, TICK));
        self.tell_refusal(peer, refusal.why.clone());
    }

    fn tell_refusal(&mut self, peer: SocketAddr, why: String) {
        let now = Instant::now();
        if self.refusals.told.is_some_and(|told| now - told < TELL_EVERY) {
            self.refusals.untold += 1;
            return;
        }
        let untold = std::mem::take(&mut self.refusals.untold);
        self.refusals.told = Some(now);
        (self.tell)(Event::Refused { peer, why, untold });
    }
}
