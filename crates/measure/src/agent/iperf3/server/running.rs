//! One test from the accepted request to its results: preparation, run, end, exchange of results.
//! Other clients are refused as busy meanwhile.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use rustix::net::sockopt;
use zc_kernel::process::{self, Usage};
use zc_kernel::{clock, tcp};

use super::super::control::Control;
use super::super::inbox::{COOKIE_BYTES, Inbox, Lost, State};
use super::super::messages::{Results, StreamResults};
use super::clients::{Arrival, Busy};
use super::event::{Ended, Event};
use super::limits::TICK;
use super::listening::Server;
use super::refusal::Refusal;
use super::request::Request;
use super::streams::Streams;
use zc_run::{Error, Result};

/// Longest results of a client. Those of 128 streams take about 30 KiB.
const MOST_RESULT_BYTES: usize = 256 << 10;
/// After the client's end of the test, bytes in flight are waited for until none has arrived for
/// this long,
const STILL: Duration = Duration::from_millis(500);
/// and for this long at most. Newer clients wait 10 s for an answer.
const DRAIN: Duration = Duration::from_secs(5);

pub(super) struct Running<'s, 'a> {
    server: &'s mut Server<'a>,
    control: Control,
    peer: SocketAddr,
    cookie: [u8; COOKIE_BYTES],
    request: Request,
    prepares: bool,
}

/// Why a test ends early.
enum Halt {
    /// This server is stopped.
    Stopped,
    /// The client is gone, or violates the protocol.
    Lost(String),
    /// The client is sent an error.
    Refused(Refusal),
    /// The server itself cannot go on.
    Failed(Error),
}

impl From<Lost> for Halt {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost.to_string())
    }
}

type Step<T> = std::result::Result<T, Halt>;

/// The time and the bytes of each stream at which counting starts.
struct Baseline {
    since_ns: u64,
    bytes: Vec<u64>,
}

impl<'s, 'a> Running<'s, 'a> {
    /// Runs the test and reports how it ended. An error is one of the server, not of the test.
    pub(super) fn run(
        server: &'s mut Server<'a>,
        control: Control,
        peer: SocketAddr,
        cookie: [u8; COOKIE_BYTES],
        request: Request,
    ) -> Result<()> {
        let mut test = Self { server, control, peer, cookie, request, prepares: true };
        let mut streams = None;
        let halt = match test.test(&mut streams) {
            Ok(()) => return Ok(()),
            Err(halt) => halt,
        };
        let bytes = streams.map_or(0, |streams| streams.bytes().iter().sum());
        let why = match halt {
            Halt::Failed(error) => return Err(error),
            Halt::Lost(why) => why,
            Halt::Stopped => {
                drop(test.control.say(State::ServerTerminate, TICK));
                "was told that the server ends".to_owned()
            }
            Halt::Refused(refusal) => {
                drop(test.control.say_error(refusal.error, refusal.errno, TICK));
                refusal.why
            }
        };
        (test.server.tell)(Event::GivenUp { peer, why, bytes });
        Ok(())
    }

    fn test(&mut self, place: &mut Option<Streams>) -> Step<()> {
        self.control.say(State::CreateStreams, TICK)?;
        let connections = self.connections()?;
        self.prepares = false;
        let before =
            process::usage().map_err(|error| Halt::Failed(Error::os("read CPU times", error)))?;
        self.control.say(State::TestStart, TICK)?;
        let began_ns = clock::monotonic_ns();
        self.control.say(State::TestRunning, TICK)?;
        // IECREATESTREAM
        let streams = Streams::start(&self.request, connections)
            .map_err(|error| refuse(200, &error, "streams"))?;
        let streams = place.insert(streams);
        let (streams_of_it, reverse) = (self.request.streams, self.request.reverse);
        (self.server.tell)(Event::Began { peer: self.peer, streams: streams_of_it, reverse });

        let baseline = self.until_the_end(streams, began_ns)?;
        let mut ended_ns = clock::monotonic_ns();
        if reverse {
            streams.stop();
        }
        self.control.say(State::ExchangeResults, TICK)?;
        let theirs: Results = self.receive(|inbox| inbox.take_json(MOST_RESULT_BYTES))?;
        if !reverse {
            // With omitted time the two ends do not count from the same byte on.
            if self.request.omit.is_zero() {
                let sent =
                    theirs.streams.iter().map(StreamResults::bytes).fold(0, u64::saturating_add);
                self.drain(streams, sent)?;
            }
            streams.stop();
            ended_ns = ended_ns.max(streams.last_ns());
        }
        let used = process::usage().map_or(Usage::default(), |after| after.since(&before));
        let ours = results(
            streams,
            &self.request,
            &baseline,
            ended_ns,
            used,
            clock::monotonic_ns() - began_ns,
        );
        let server = &self.server;
        let said =
            self.control.say_json_while(&ours, server.limits.patience, &|| !server.is_stopping());
        said.map_err(|lost| if server.is_stopping() { Halt::Stopped } else { lost.into() })?;
        self.control.say(State::DisplayResults, TICK)?;
        let ended = Ended {
            peer: self.peer,
            streams: streams_of_it,
            reverse,
            bytes: ours.streams.iter().map(StreamResults::bytes).sum(),
            seconds: seconds(ended_ns.saturating_sub(baseline.since_ns)),
            cpu_percent: ours.cpu_util_total,
        };
        (self.server.tell)(Event::Ended(ended));
        // The client has its results. Whether it sends the last state or just closes makes no
        // difference.
        drop(self.receive(Inbox::take_state));
        Ok(())
    }

    /// The connections of all streams, and the number of payload bytes that arrived with each
    /// cookie.
    fn connections(&mut self) -> Step<Vec<(TcpStream, usize)>> {
        let mut connections = Vec::new();
        let mut until = Instant::now() + self.server.limits.patience;
        while connections.len() < self.request.streams {
            if let Some(stream) = self.stream()? {
                connections.push(stream);
                until = Instant::now() + self.server.limits.patience;
                continue;
            }
            // Only a termination is valid in this state.
            if let Some(state) = self.turn(Inbox::take_state)? {
                return Err(unexpected(state));
            }
            if Instant::now() >= until {
                let missing = self.request.streams - connections.len();
                return Err(Halt::Lost(format!(
                    "left {missing} streams unconnected for {} s",
                    self.server.limits.patience.as_secs_f64()
                )));
            }
        }
        Ok(connections)
    }

    /// An accepted stream with the client's socket options.
    fn stream(&mut self) -> Step<Option<(TcpStream, usize)>> {
        let arrival = self.server.next_arrival(Busy::Prepares(&self.cookie));
        let Some(Arrival::Stream { stream, early }) = arrival else { return Ok(None) };
        let request = &self.request;
        // TCP_NODELAY is set on every control connection, but on a stream only by request.
        tcp::set_nodelay(&stream, request.nodelay)
            .map_err(|error| refuse(122, &error, "TCP_NODELAY"))?;
        if let Some(bytes) = request.window_bytes {
            let given = tcp::set_rcvbuf(&stream, bytes)
                .and_then(|()| tcp::set_sndbuf(&stream, bytes))
                .and_then(|()| Ok(tcp::rcvbuf(&stream)?.min(tcp::sndbuf(&stream)?)));
            // The kernel reports twice the size that it granted. IESETBUF, IESETBUF2.
            if given.map_err(|error| refuse(124, &error, "socket buffers"))? < bytes {
                let why = format!(
                    "wants socket buffers of {bytes} bytes, which the kernel does not give"
                );
                return Err(Halt::Refused(Refusal { error: 141, errno: 0, why }));
            }
        }
        if let Some(tos) = request.tos {
            let is_ipv6 = stream.local_addr().is_ok_and(|address| address.is_ipv6());
            let set = if is_ipv6 {
                sockopt::set_ipv6_tclass(&stream, tos.into())
            } else {
                sockopt::set_ip_tos(&stream, tos)
            };
            set.map_err(|error| refuse(125, &error.into(), "the type of service"))?;
        }
        if let Some(name) = &request.congestion {
            tcp::set_congestion(&stream, name)
                .map_err(|error| refuse(134, &error, "the congestion control"))?;
        }
        Ok(Some((stream, early)))
    }

    /// Waits until the client ends the test. Returns where counting starts.
    fn until_the_end(&mut self, streams: &Streams, began_ns: u64) -> Step<Baseline> {
        let mut baseline = Baseline { since_ns: began_ns, bytes: vec![0; self.request.streams] };
        let (mut omits, began) = (!self.request.omit.is_zero(), Instant::now());
        let (mut moved, mut moved_at) = (0, began);
        loop {
            match self.turn(Inbox::take_state)? {
                None => {}
                Some(State::TestEnd) => return Ok(baseline),
                Some(other) => return Err(unexpected(other)),
            }
            let bytes = streams.bytes();
            if omits && began.elapsed() >= self.request.omit {
                omits = false;
                baseline = Baseline { since_ns: clock::monotonic_ns(), bytes: bytes.clone() };
            }
            let all = bytes.iter().sum::<u64>();
            if all > moved {
                (moved, moved_at) = (all, Instant::now());
            }
            if moved_at.elapsed() >= self.server.limits.idle {
                // IENOMSG
                let why = format!("moved no byte for {} s", self.server.limits.idle.as_secs_f64());
                return Err(Halt::Refused(Refusal { error: 144, errno: 0, why }));
            }
            if began.elapsed() >= self.request.longest {
                let why =
                    format!("did not end its test within {} s", self.request.longest.as_secs_f64());
                return Err(Halt::Refused(Refusal { error: 5, errno: 0, why }));
            }
        }
    }

    /// Waits for what the client sent before it ended the test.
    fn drain(&mut self, streams: &Streams, sent: u64) -> Step<()> {
        let began = Instant::now();
        let (mut came, mut came_at) = (0, began);
        loop {
            let all = streams.bytes().iter().sum::<u64>();
            if all > came {
                (came, came_at) = (all, Instant::now());
            }
            if all >= sent || came_at.elapsed() >= STILL || began.elapsed() >= DRAIN {
                return Ok(());
            }
            if self.server.is_stopping() {
                return Err(Halt::Stopped);
            }
            clock::sleep_until(clock::monotonic_ns() + 1_000_000);
        }
    }

    /// Waits until `take` returns something from the control connection.
    fn receive<T>(
        &mut self,
        mut take: impl FnMut(&mut Inbox) -> std::result::Result<Option<T>, Lost>,
    ) -> Step<T> {
        let until = Instant::now() + self.server.limits.patience;
        loop {
            if let Some(taken) = self.turn(&mut take)? {
                return Ok(taken);
            }
            if Instant::now() >= until {
                return Err(Lost::Late(self.server.limits.patience).into());
            }
        }
    }

    /// Waits for one tick at most, and serves pending connections.
    fn turn<T>(
        &mut self,
        mut take: impl FnMut(&mut Inbox) -> std::result::Result<Option<T>, Lost>,
    ) -> Step<Option<T>> {
        if self.server.is_stopping() {
            return Err(Halt::Stopped);
        }
        if let Some(taken) = take(self.control.inbox())? {
            return Ok(Some(taken));
        }
        if self.server.wait(Some(self.control.as_fd())).map_err(Halt::Failed)? {
            self.control.fill(Duration::ZERO)?;
        }
        if !self.prepares {
            // None is accepted: all are refused.
            let _ = self.server.next_arrival(Busy::Tests);
        }
        Ok(take(self.control.inbox())?)
    }
}

fn refuse(error: u32, because: &std::io::Error, what: &str) -> Halt {
    let errno = because.raw_os_error().and_then(|errno| u32::try_from(errno).ok()).unwrap_or(0);
    Halt::Refused(Refusal { error, errno, why: format!("could not be given {what}: {because}") })
}

fn unexpected(state: State) -> Halt {
    match state {
        State::ClientTerminate => Halt::Lost("was interrupted".to_owned()),
        other => {
            // IEMESSAGE
            let why = format!(
                "sent \"{}\" ({other:?}), which is not valid there",
                other.byte().cast_signed()
            );
            Halt::Refused(Refusal { error: 110, errno: 0, why })
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn results(
    streams: &Streams,
    request: &Request,
    baseline: &Baseline,
    ended_ns: u64,
    used: Usage,
    took_ns: u64,
) -> Results {
    let percent = |ns: u64| 100.0 * ns as f64 / took_ns.max(1) as f64;
    let again = if request.reverse { streams.retransmits() } else { vec![None; request.streams] };
    let took = seconds(ended_ns.saturating_sub(baseline.since_ns));
    let counted = streams.bytes().into_iter().zip(&baseline.bytes).zip(again).enumerate();
    Results {
        cpu_util_total: percent(used.user_ns + used.system_ns),
        cpu_util_user: percent(used.user_ns),
        cpu_util_system: percent(used.system_ns),
        sender_has_retransmits: if request.reverse { 1.0 } else { -1.0 },
        congestion_used: streams.congestion(),
        streams: counted
            .map(|(place, ((bytes, before), again))| {
                StreamResults::new(place, bytes - before, again, took)
            })
            .collect(),
    }
}
