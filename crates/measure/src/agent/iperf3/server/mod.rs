//! An iperf3 server: one test at a time, over TCP, in either direction, for unmodified clients.
//!
//! One thread serves the listener, the pending connections, and the control connection of the test.
//! Every stream has a thread of its own. The cost of an unknown peer is bounded: one of 64 places
//! for [`Limits::patience`] with 64 KiB, and then, if it speaks iperf3, a test within [`Limits`].

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

/// Interval at which the stop flag and idle clients are checked.
const TICK: Duration = Duration::from_millis(100);
/// Pause of accepting after descriptors or memory ran out.
const REST: Duration = Duration::from_secs(1);
/// At most one refusal per interval is reported, so that a flood does not fill the screen.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Limits of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Number of streams.
    pub streams: usize,
    /// How long a client may take for a step of the protocol: parameters, a stream, results.
    pub patience: Duration,
    /// A test whose streams move nothing for this long is given up.
    pub idle: Duration,
    /// The longest test.
    pub longest: Duration,
}

impl Default for Limits {
    /// As many streams, and as long a test (a day), as iperf3 allows; 10 seconds per step, and 60
    /// without progress.
    fn default() -> Self {
        Self {
            streams: MOST_STREAMS,
            patience: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            longest: Duration::from_secs(86_400),
        }
    }
}

/// An event at the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A test has begun.
    Began {
        /// Address of the client.
        peer: SocketAddr,
        /// Number of streams.
        streams: usize,
        /// Whether the server sends.
        reverse: bool,
    },
    /// A test has ended successfully.
    Ended(Ended),
    /// A test was given up.
    GivenUp {
        /// Address of the client.
        peer: SocketAddr,
        /// The reason, which continues a sentence whose subject is the client.
        why: String,
        /// Bytes received, or sent, by then.
        bytes: u64,
    },
    /// A client was refused.
    Refused {
        /// Address of the client.
        peer: SocketAddr,
        /// The reason, which continues a sentence whose subject is the client.
        why: String,
        /// Number of refusals before this one that were not reported.
        untold: u64,
    },
    /// A connection could not be accepted. Accepting pauses for a second.
    NotTaken(Error),
}

/// A test that has ended successfully.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Address of the client.
    pub peer: SocketAddr,
    /// Number of streams.
    pub streams: usize,
    /// Whether the server sent.
    pub reverse: bool,
    /// Payload bytes of all streams, received or sent, without those of the omitted time.
    pub bytes: u64,
    /// From the start, or the end of the omitted time, to the client's end of the test or the last
    /// byte, whichever is later.
    pub seconds: f64,
    /// CPU time of this process (getrusage(2)) in percent of the time of the test. 100 is a whole
    /// CPU.
    pub cpu_percent: f64,
}

/// Serves until `stop` is set, which is noticed within a tenth of a second.
///
/// # Errors
/// The kernel cannot wait for connections.
pub fn serve(
    listener: TcpListener,
    stop: &AtomicBool,
    limits: Limits,
    tell: &mut dyn FnMut(Event),
) -> Result<()> {
    listener
        .set_nonblocking(true)
        .map_err(|error| Error::os("make the listener non-blocking", error))?;
    let (visitors, refusals) = (Visitors::default(), Refusals::default());
    let mut server = Server { listener, stop, limits, tell, visitors, refusals, rests_until: None };
    while !server.is_stopping() {
        server.wait(None)?;
        let Some(Arrival::Client { control, peer, cookie, parameters }) =
            server.next_arrival(Busy::Idle)
        else {
            continue;
        };
        match Request::of(&parameters, &limits) {
            Ok(request) => Running::run(&mut server, control, peer, cookie, request)?,
            Err(refusal) => server.refuse(control, peer, &refusal),
        }
    }
    Ok(())
}

/// Why a client's request is refused.
#[derive(Debug, PartialEq)]
struct Refusal {
    /// The error number of iperf3 for which its client has a text (`iperf_api.h`).
    error: u32,
    /// The errno that the client prints, with errors that have one.
    errno: u32,
    /// The reason, which continues a sentence whose subject is the client.
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

/// When the last refusal was reported, and the number suppressed since.
#[derive(Debug, Default)]
struct Refusals {
    told: Option<Instant>,
    untold: u64,
}

impl Server<'_> {
    fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Waits for one tick at most, accepts connections, and reads pending ones. Returns whether
    /// `also` is readable.
    fn wait(&mut self, also: Option<BorrowedFd<'_>>) -> Result<bool> {
        self.rests_until = self.rests_until.filter(|until| Instant::now() < *until);
        let mut fds: Vec<BorrowedFd<'_>> = self.visitors.fds().collect();
        let visitors = fds.len();
        fds.extend(also);
        if self.rests_until.is_none() {
            fds.push(self.listener.as_fd());
        }
        let ready = wait_readable(&fds, Some(TICK))
            .map_err(|error| Error::os("wait for iperf3 clients", error))?;
        let can_accept = self.rests_until.is_none() && ready.last() == Some(&true);
        let also_ready = also.is_some() && ready[visitors];
        self.visitors.receive(&ready[..visitors]);
        if can_accept && let Err(error) = self.visitors.accept(&self.listener) {
            self.rests_until = Some(Instant::now() + REST);
            (self.tell)(Event::NotTaken(Error::os("take a connection", error)));
        }
        Ok(also_ready)
    }

    /// The next accepted connection. Others are refused and reported.
    fn next_arrival(&mut self, busy: Busy<'_>) -> Option<Arrival> {
        let mut refused = Vec::new();
        let arrival = self.visitors.next(busy, self.limits.patience, &mut refused);
        for (peer, why) in refused {
            self.tell_refusal(peer, why);
        }
        arrival
    }

    /// Sends the client the reason for refusing its test.
    fn refuse(&mut self, mut control: Control, peer: SocketAddr, refusal: &Refusal) {
        // It may have closed the connection, and then knows that there is no test.
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
