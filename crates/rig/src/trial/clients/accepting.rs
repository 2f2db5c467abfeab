//! Accepts the connections of a trial's clients.

use std::collections::HashSet;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::super::worker::{GLANCE, PATIENCE};
use zc_run::{Error, Result};

/// The source ports of the clients, which the sender has bound. Nobody else can have one of them:
/// they are bound on all of its addresses.
#[derive(Debug, Default)]
pub(super) struct Ports(Mutex<HashSet<u16>>);

impl Ports {
    /// Adds one, before its connection begins.
    pub(super) fn add(&self, port: u16) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(port);
    }

    fn has(&self, port: u16) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&port)
    }
}

/// Accepts connections until there are `count` of the sender's. Those of others are dropped: over
/// loopback every user of this machine can connect.
///
/// # Errors
/// For some time none comes, or nobody wants them any more.
pub(super) fn accept(
    listener: &TcpListener,
    ports: &Ports,
    count: usize,
    given_up: &AtomicBool,
) -> Result<Vec<TcpStream>> {
    let failed = |error| Error::os("accept a client", error);
    let mut accepted = Vec::with_capacity(count);
    let mut until = Instant::now() + PATIENCE;
    while accepted.len() < count {
        let left = until.saturating_duration_since(Instant::now());
        if given_up.load(Ordering::Relaxed) || left == Duration::ZERO {
            return Err(failed(std::io::ErrorKind::TimedOut.into()));
        }
        if !zc_kernel::tcp::wait_readable(listener, left.min(GLANCE)).map_err(failed)? {
            continue;
        }
        let (socket, peer) = listener.accept().map_err(failed)?;
        if ports.has(peer.port()) {
            socket.set_nonblocking(true).map_err(failed)?;
            accepted.push(socket);
            until = Instant::now() + PATIENCE;
        }
    }
    Ok(accepted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_s_connection_is_not_taken_for_a_client_s() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connect = || TcpStream::connect(address).unwrap();
        let port = |socket: &TcpStream| socket.local_addr().unwrap().port();
        let all: Vec<TcpStream> = (0..6).map(|_| connect()).collect();
        let (ports, own) = (Ports::default(), [&all[1], &all[4]].map(port));
        own.iter().for_each(|port| ports.add(*port));
        let accepted = accept(&listener, &ports, own.len(), &AtomicBool::new(false)).unwrap();
        let accepted: Vec<u16> =
            accepted.iter().map(|socket| socket.peer_addr().unwrap().port()).collect();
        assert_eq!(accepted, own);
    }

    #[test]
    fn clients_that_nobody_wants_any_more_are_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let began = Instant::now();
        accept(&listener, &Ports::default(), 1, &AtomicBool::new(true)).unwrap_err();
        assert!(began.elapsed() < PATIENCE);
    }
}
