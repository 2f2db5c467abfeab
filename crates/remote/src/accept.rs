//! Accepts the connections of flows. Each sends a greeting first; connections with a wrong one, or
//! none, are not flows. The answer proves to a flow that it has reached the server of its session.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use super::hex::{hex, unhex};
use super::protocol::GREETING_BYTES;
use super::secret::{BYTES as ANSWER_BYTES, SessionKey, random};
use zc_kernel::spawn::wait_readable;
use zc_rig::trial::{GLANCE, StillWanted};
use zc_run::{Error, Result};

/// Limit of connections without a complete greeting. The oldest is dropped for a newer one.
const MOST_PENDING: usize = 64;

/// First bytes on a flow's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Greeting([u8; GREETING_BYTES]);

impl Greeting {
    /// A random greeting.
    ///
    /// # Errors
    /// The kernel gives no random bytes.
    pub(super) fn fresh() -> Result<Self> {
        random().map(Self)
    }

    /// The greeting in hexadecimal digits.
    pub(super) fn to_hex(self) -> String {
        hex(&self.0)
    }

    /// The server's answer to it.
    pub(super) fn answer(self, key: SessionKey) -> [u8; ANSWER_BYTES] {
        key.answer(&self.0)
    }

    /// Its bytes.
    pub(super) fn bytes(self) -> [u8; GREETING_BYTES] {
        self.0
    }

    /// Decodes a greeting from its digits. `None` for anything else.
    pub(super) fn of_hex(text: &str) -> Option<Self> {
        unhex::<GREETING_BYTES>(text).map(Self)
    }
}

struct PendingFlow {
    socket: TcpStream,
    said: Vec<u8>,
}

/// Waits for a connection with each of `greetings`, answers it with `key`, and returns them in that
/// order.
///
/// # Errors
/// Not all of them arrived in time, or nobody wants them any more.
pub(super) fn gather(
    listener: &TcpListener,
    greetings: &[Greeting],
    key: SessionKey,
    patience: Duration,
    still_wanted: StillWanted<'_>,
) -> Result<Vec<TcpStream>> {
    let failed = |error| Error::os("accept a flow", error);
    listener.set_nonblocking(true).map_err(failed)?;
    let until = Instant::now() + patience;
    let mut found: Vec<Option<TcpStream>> = greetings.iter().map(|_| None).collect();
    let mut pending: Vec<PendingFlow> = Vec::new();
    while found.iter().any(Option::is_none) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let missing = found.iter().filter(|each| each.is_none()).count();
            return Err(Error::failed(
                "flows-missing",
                format!(
                    "{missing} of {} flows did not arrive within {} s",
                    found.len(),
                    patience.as_secs()
                ),
            )
            .help(format!("does a firewall let TCP to port {} through?", port(listener))));
        }
        still_wanted()?;
        let mut waited_for = vec![listener.as_fd()];
        waited_for.extend(pending.iter().map(|pending| pending.socket.as_fd()));
        let readable = wait_readable(&waited_for, Some(left.min(GLANCE))).map_err(failed)?;
        let received: Vec<bool> = readable[1..].to_vec();
        let mut received = received.into_iter();
        let mut still = Vec::new();
        for mut pending in pending.drain(..) {
            if received.next() != Some(true) {
                still.push(pending);
                continue;
            }
            match pending.receive() {
                Ok(false) => still.push(pending),
                Ok(true) => {
                    let place =
                        greetings.iter().position(|greeting| greeting.0[..] == pending.said[..]);
                    if let Some(place) = place.filter(|&place| found[place].is_none()) {
                        pending.socket.set_nonblocking(false).map_err(failed)?;
                        // It has room for this; a client that is gone by now is seen later.
                        let _ = pending.socket.write_all(&greetings[place].answer(key));
                        found[place] = Some(pending.socket);
                    }
                }
                Err(_) => {} // closed before its greeting was complete
            }
        }
        pending = still;
        if readable[0] {
            match listener.accept() {
                Ok((socket, _)) => {
                    if socket.set_nonblocking(true).is_ok() {
                        pending.push(PendingFlow { socket, said: Vec::new() });
                    }
                }
                Err(error) if transient(&error) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        if pending.len() > MOST_PENDING {
            pending.remove(0);
        }
    }
    Ok(found.into_iter().flatten().collect())
}

impl PendingFlow {
    /// Reads what has arrived of the greeting and not a byte more. True when it is complete.
    fn receive(&mut self) -> io::Result<bool> {
        let mut bytes = [0; GREETING_BYTES];
        let wanted = GREETING_BYTES - self.said.len();
        match self.socket.read(&mut bytes[..wanted]) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(len) => {
                self.said.extend_from_slice(&bytes[..len]);
                Ok(self.said.len() == GREETING_BYTES)
            }
            Err(error) if transient(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
    )
}

fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().map_or(0, |address| address.port())
}

#[cfg(test)]
mod tests {
    use super::super::secret::Secret;
    use super::*;

    #[test]
    fn flows_are_recognized_by_their_greetings_and_keep_their_order() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let greetings: Vec<Greeting> = (0..3).map(|_| Greeting::fresh().unwrap()).collect();
        let connect = |said: &[u8]| {
            let mut socket = TcpStream::connect(address).unwrap();
            socket.write_all(said).unwrap();
            socket
        };
        let _silent: Vec<TcpStream> = (0..20).map(|_| connect(b"")).collect();
        let _wrong = connect(&[7; 64]);
        drop(connect(&greetings[0].0[..5]));
        let payload = |index: usize| {
            [&greetings[index].0[..], format!("payload {index}").as_bytes()].concat()
        };
        let flows: Vec<TcpStream> =
            [2, 0, 1].into_iter().map(|index| connect(&payload(index))).collect();
        let key = Secret::from_word("0123456789abcdef").unwrap().session_key(&[[1; 32], [2; 32]]);
        let found =
            gather(&listener, &greetings, key, Duration::from_secs(10), &|| Ok(())).unwrap();
        for (mut flow, index) in flows.into_iter().zip([2, 0, 1]) {
            let mut answer = [0; ANSWER_BYTES];
            flow.read_exact(&mut answer).unwrap();
            assert_eq!(answer, greetings[index].answer(key), "the answer to its own greeting");
            assert_ne!(answer, greetings[index].answer(SessionKey::default()));
        }
        for (index, mut socket) in found.into_iter().enumerate() {
            let mut text = String::new();
            socket.read_to_string(&mut text).unwrap();
            assert_eq!(text, format!("payload {index}"));
        }
    }

    #[test]
    fn a_flow_that_does_not_arrive_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (greetings, key) = ([Greeting::fresh().unwrap()], SessionKey::default());
        let error =
            gather(&listener, &greetings, key, Duration::from_millis(20), &|| Ok(())).unwrap_err();
        assert_eq!(error.id, "flows-missing");
    }
}
