//! Pending connections: not yet known to be a client's control connection, a stream of the test in
//! preparation, or neither. Each has a limited place, memory and time, and none delays another.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use super::super::control::Control;
use super::super::inbox::{COOKIE_BYTES, State};
use super::super::messages::Parameters;
use super::limits::TICK;
use zc_run::address::canonical;

/// Limit of pending connections. The oldest makes room for the next.
const MOST_PENDING: usize = 64;
/// Connections accepted at a time, so that a flood does not delay the test.
const MOST_AT_ONCE: usize = 16;
/// Longest parameters. iperf3's own take about 200 bytes, and 8 KiB at most since 3.18.
const MOST_PARAMETER_BYTES: usize = 64 << 10;

#[derive(Debug, Default)]
pub(super) struct PendingConnections(Vec<PendingConnection>);

#[derive(Debug)]
struct PendingConnection {
    control: Control,
    peer: SocketAddr,
    since: Instant,
    /// The cookie, which arrives first. Parameters are requested after it.
    cookie: Option<[u8; COOKIE_BYTES]>,
}

/// Connections that the server can accept.
#[derive(Debug, Clone, Copy)]
pub(super) enum Busy<'a> {
    /// A new test.
    Idle,
    /// Streams of a test, which know its cookie.
    Prepares(&'a [u8; COOKIE_BYTES]),
    /// Nothing.
    Tests,
}

/// A connection that was accepted as one or the other.
#[derive(Debug)]
pub(super) enum Arrival {
    /// A client that wants a test.
    Client {
        control: Control,
        peer: SocketAddr,
        cookie: [u8; COOKIE_BYTES],
        parameters: Box<Parameters>,
    },
    /// A stream of the test in preparation, and the number of its payload bytes that have been read
    /// already.
    Stream { stream: TcpStream, early: usize },
}

enum Decision {
    Wait,
    Drop,
    Refuse(String),
    Test(Box<Parameters>),
    Stream,
}

impl PendingConnections {
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|pending| pending.control.as_fd())
    }

    /// Reads from those that are `ready`, and removes those that have been closed.
    pub(super) fn receive(&mut self, ready: &[bool]) {
        let mut ready = ready.iter();
        self.0.retain_mut(|pending| {
            ready.next() != Some(&true) || pending.control.fill(Duration::ZERO).is_ok()
        });
    }

    /// Accepts connections.
    pub(super) fn accept(&mut self, listener: &TcpListener) -> std::io::Result<()> {
        for _ in 0..MOST_AT_ONCE {
            let taken =
                listener.accept().and_then(|(stream, peer)| Ok((Control::over(stream)?, peer)));
            let (control, peer) = match taken {
                Ok(taken) => taken,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // Closed by the peer already, or interrupted by a signal.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                    ) =>
                {
                    continue;
                }
                Err(error) => return Err(error),
            };
            if self.0.len() >= MOST_PENDING {
                self.0.remove(0);
            }
            let peer = canonical(peer);
            self.0.push(PendingConnection { control, peer, since: Instant::now(), cookie: None });
        }
        Ok(())
    }

    /// The next accepted connection. `refused` receives the others and the reason.
    pub(super) fn next(
        &mut self,
        busy: Busy<'_>,
        patience: Duration,
        refused: &mut Vec<(SocketAddr, String)>,
    ) -> Option<Arrival> {
        let mut place = 0;
        while let Some(pending) = self.0.get_mut(place) {
            let decision = pending.decide(busy, patience);
            if matches!(decision, Decision::Wait) {
                place += 1;
                continue;
            }
            let PendingConnection { control, peer, cookie, .. } = self.0.remove(place);
            match (decision, cookie) {
                (Decision::Refuse(why), _) => refused.push((peer, why)),
                (Decision::Test(parameters), Some(cookie)) => {
                    return Some(Arrival::Client { control, peer, cookie, parameters });
                }
                (Decision::Stream, _) => {
                    let (stream, early) = control.into_stream();
                    return Some(Arrival::Stream { stream, early });
                }
                _ => {}
            }
        }
        None
    }
}

impl PendingConnection {
    fn decide(&mut self, busy: Busy<'_>, patience: Duration) -> Decision {
        if self.since.elapsed() > patience {
            return match self.cookie {
                Some(_) => {
                    Decision::Refuse(format!("sent no parameters for {} s", patience.as_secs_f64()))
                }
                None => Decision::Drop, // it never spoke iperf3
            };
        }
        if self.cookie.is_none() {
            self.cookie = self.control.inbox().take_cookie();
            match (self.cookie, busy) {
                (None, _) => return Decision::Wait,
                (Some(cookie), Busy::Prepares(expected)) if cookie == *expected => {
                    return Decision::Stream;
                }
                (Some(_), Busy::Idle) => {
                    if self.control.say(State::ParamExchange, TICK).is_err() {
                        return Decision::Drop;
                    }
                }
                (Some(_), Busy::Prepares(_) | Busy::Tests) => {}
            }
        }
        if !matches!(busy, Busy::Idle) {
            // With an orderly end, so that the client can read the state.
            drop(self.control.say(State::AccessDenied, TICK));
            drop(self.control.stream().shutdown(Shutdown::Write));
            return Decision::Refuse("came while another client's test ran".to_owned());
        }
        match self.control.inbox().take_json(MOST_PARAMETER_BYTES) {
            Ok(None) => Decision::Wait,
            Ok(Some(parameters)) => Decision::Test(Box::new(parameters)),
            Err(lost) => {
                // IERECVPARAMS: the client prints that parameters could not be received.
                drop(self.control.say_error(114, 0, TICK));
                Decision::Refuse(lost.to_string())
            }
        }
    }
}
