//! Connections that have not yet said what they are: the control connection of a new client, a stream of the test that is being
//! prepared, or nothing that iperf3 knows. Each has a place, a little memory and a little time; none of them holds up another.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use super::super::control::{COOKIE_BYTES, Control, State};
use super::super::messages::Parameters;
use super::TICK;

/// How many there can be. The oldest makes room for the next.
const MOST_VISITORS: usize = 64;
/// How many are taken at a time, so that a flood of them does not keep the test waiting.
const MOST_AT_ONCE: usize = 16;
/// The longest parameters. iperf3's own are some 200 bytes, and 8 KiB at most since 3.18.
const MOST_PARAMETER_BYTES: usize = 64 << 10;

#[derive(Debug, Default)]
pub(super) struct Visitors(Vec<Visitor>);

#[derive(Debug)]
struct Visitor {
    control: Control,
    peer: SocketAddr,
    since: Instant,
    /// What it said first, once it has; then it is asked for its parameters.
    cookie: Option<[u8; COOKIE_BYTES]>,
}

/// Whom the server has time for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Busy<'a> {
    /// For a new test.
    Idle,
    /// For the streams of a test, which know its cookie.
    Prepares(&'a [u8; COOKIE_BYTES]),
    /// For nobody.
    Tests,
}

/// A visitor who is let in.
#[derive(Debug)]
pub(super) enum Arrival {
    /// Somebody who wants a test.
    Client { control: Control, peer: SocketAddr, cookie: [u8; COOKIE_BYTES], parameters: Box<Parameters> },
    /// A stream of the test that is being prepared, and how many bytes of it have been read already.
    Stream { stream: TcpStream, early: usize },
}

/// What becomes of a visitor.
enum Fate {
    Stays,
    Goes,
    IsRefused(String),
    Enters(Box<Parameters>),
    IsAStream,
}

impl Visitors {
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|visitor| visitor.control.as_fd())
    }

    /// Takes what those of them said that are `ready`, and lets those go that hung up.
    pub(super) fn receive(&mut self, ready: &[bool]) {
        let mut ready = ready.iter();
        self.0.retain_mut(|visitor| ready.next() != Some(&true) || visitor.control.fill(Duration::ZERO).is_ok());
    }

    /// Takes connections.
    pub(super) fn accept(&mut self, listener: &TcpListener) -> std::io::Result<()> {
        for _ in 0..MOST_AT_ONCE {
            let taken = listener.accept().and_then(|(stream, peer)| Ok((Control::over(stream)?, peer)));
            let (control, peer) = match taken {
                Ok(taken) => taken,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // It has gone again, or a signal came.
                Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted) => {
                    continue;
                }
                Err(error) => return Err(error),
            };
            if self.0.len() >= MOST_VISITORS {
                self.0.remove(0);
            }
            // An IPv4 address that came over an IPv6 socket is an IPv4 address.
            let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
            self.0.push(Visitor { control, peer, since: Instant::now(), cookie: None });
        }
        Ok(())
    }

    /// The next one who is let in; `refused` learns who was not, and why.
    pub(super) fn next(
        &mut self,
        busy: Busy<'_>,
        patience: Duration,
        refused: &mut Vec<(SocketAddr, String)>,
    ) -> Option<Arrival> {
        let mut place = 0;
        while let Some(visitor) = self.0.get_mut(place) {
            let fate = visitor.fate(busy, patience);
            if matches!(fate, Fate::Stays) {
                place += 1;
                continue;
            }
            let Visitor { control, peer, cookie, .. } = self.0.remove(place);
            match (fate, cookie) {
                (Fate::IsRefused(why), _) => refused.push((peer, why)),
                (Fate::Enters(parameters), Some(cookie)) => {
                    return Some(Arrival::Client { control, peer, cookie, parameters });
                }
                (Fate::IsAStream, _) => {
                    let (stream, early) = control.into_stream();
                    return Some(Arrival::Stream { stream, early: early.len() });
                }
                _ => {}
            }
        }
        None
    }
}

impl Visitor {
    fn fate(&mut self, busy: Busy<'_>, patience: Duration) -> Fate {
        if self.since.elapsed() > patience {
            return match self.cookie {
                Some(_) => Fate::IsRefused(format!("sent no parameters for {} s", patience.as_secs_f64())),
                None => Fate::Goes, // it never spoke iperf3
            };
        }
        if self.cookie.is_none() {
            self.cookie = self.control.take_cookie();
            match (self.cookie, busy) {
                (None, _) => return Fate::Stays,
                (Some(cookie), Busy::Prepares(expected)) if cookie == *expected => return Fate::IsAStream,
                (Some(_), Busy::Idle) => {
                    if self.control.say(State::ParamExchange, TICK).is_err() {
                        return Fate::Goes;
                    }
                }
                (Some(_), Busy::Prepares(_) | Busy::Tests) => {}
            }
        }
        if !matches!(busy, Busy::Idle) {
            // Not only said, but ended in peace, so that a client has the time to hear it.
            drop(self.control.say(State::AccessDenied, TICK));
            drop(self.control.stream().shutdown(Shutdown::Write));
            return Fate::IsRefused("came while another client's test ran".to_owned());
        }
        match self.control.take_json(MOST_PARAMETER_BYTES) {
            Ok(None) => Fate::Stays,
            Ok(Some(parameters)) => Fate::Enters(Box::new(parameters)),
            Err(lost) => {
                // IERECVPARAMS: its client says that parameters could not be received.
                drop(self.control.say_error(114, 0, TICK));
                Fate::IsRefused(lost.to_string())
            }
        }
    }
}
