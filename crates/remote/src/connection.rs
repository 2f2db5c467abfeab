//! The control connection: messages of one line of JSON each, over a socket or a pair of pipes.
//!
//! Every message has a maximum length and a deadline. A peer that stalls, floods or sends garbage
//! costs a bounded amount of memory and time. docs/protocol.md describes it.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::lines::{Lines, TooLong};
use super::secret::SessionKey;
use zc_kernel::spawn::{is_hung_up, wait_readable, wait_writable};
use zc_rig::stderr_tail::shown;
use zc_rig::trial::{GLANCE, StillWanted};
use zc_run::{Error, ErrorKind, Result};

/// Bytes read or written at a time: no more than a writable pipe takes at once (PIPE_BUF).
const CHUNK_BYTES: usize = 4096;

/// Bytes shown of a line that is no message.
const SHOWN_BYTES: usize = 200;

/// Time for which a peer may leave a message unread.
const PATIENCE_TO_WRITE: Duration = Duration::from_secs(10);

/// One end of a control connection.
#[derive(Debug)]
pub struct Connection {
    read: File,
    write: File,
    /// Received and not yet returned.
    lines: Lines,
    /// The session's key, once a handshake has opened a session.
    key: SessionKey,
}

/// The other end of a connection.
#[derive(Debug)]
pub struct Peer(OwnedFd);

impl Peer {
    /// Whether it has closed its stream.
    pub fn is_gone(&self) -> bool {
        is_hung_up(self.0.as_fd()).unwrap_or(false)
    }
}

/// Result of waiting for a message.
#[derive(Debug)]
pub enum Received<T> {
    /// A complete message.
    Message(T),
    /// It was not complete in time.
    Late,
    /// The peer has closed the stream.
    Closed,
    /// The message exceeds its maximum length.
    TooLong,
    /// A line that is no message: its beginning, as text that is safe for a terminal.
    Nonsense(String),
}

impl Connection {
    /// A connection that reads one descriptor and writes another. For a socket they are duplicates.
    pub fn new(read: OwnedFd, write: OwnedFd) -> Self {
        Self {
            read: File::from(read),
            write: File::from(write),
            lines: Lines::default(),
            key: SessionKey::default(),
        }
    }

    /// The connection of a session with this key.
    pub(super) fn with_key(self, key: SessionKey) -> Self {
        Self { key, ..self }
    }

    /// The key of its session.
    pub(super) fn key(&self) -> SessionKey {
        self.key
    }

    /// A connection over a TCP socket, with TCP_NODELAY. Without that option a short message after
    /// another one waits for an acknowledgement, which a receiver may delay by 40 ms (tcp(7)).
    ///
    /// # Errors
    /// No descriptors are left, or it is not a TCP connection.
    pub fn over(socket: std::net::TcpStream) -> Result<Self> {
        socket.set_nodelay(true).map_err(|error| Error::os("set TCP_NODELAY", error))?;
        let write = socket.try_clone().map_err(|error| Error::os("duplicate a socket", error))?;
        Ok(Self::new(socket.into(), write.into()))
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The peer is gone, or has read nothing for ten seconds.
    pub fn send(&mut self, message: &impl Serialize) -> Result<()> {
        self.send_while(message, &|| Ok(()))
    }

    /// Sends a message, and gives up once it is not wanted any more.
    ///
    /// # Errors
    /// Same as [`send`](Self::send), or the error of `still_wanted`.
    pub fn send_while(
        &mut self,
        message: &impl Serialize,
        still_wanted: StillWanted<'_>,
    ) -> Result<()> {
        self.write_while(&line_of(message)?, still_wanted)
    }

    /// Another descriptor of the stream from the peer, to see whether it is still there.
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn peer(&self) -> Result<Peer> {
        let read = self.read.try_clone();
        read.map(|read| Peer(read.into())).map_err(|error| Error::os("duplicate a stream", error))
    }

    /// Sends raw bytes.
    ///
    /// # Errors
    /// Same as [`send`](Self::send).
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_while(bytes, &|| Ok(()))
    }

    /// Ends the stream to the peer of a pair of pipes; what it sends can still be received.
    ///
    /// # Errors
    /// There is no /dev/null, or no descriptor is left.
    pub(super) fn end_writing(&mut self) -> Result<()> {
        let null = File::options().write(true).open("/dev/null");
        self.write = null.map_err(|error| Error::os("open /dev/null", error))?;
        Ok(())
    }

    /// Whether the peer has sent more than was received.
    ///
    /// # Errors
    /// The stream is broken.
    pub fn has_more(&self) -> Result<bool> {
        if !self.lines.is_empty() {
            return Ok(true);
        }
        let readable = wait_readable(&[self.read.as_fd()], Some(Duration::ZERO)).map_err(lost)?;
        Ok(readable == [true])
    }

    fn write_while(&mut self, bytes: &[u8], still_wanted: StillWanted<'_>) -> Result<()> {
        self.write_until(bytes, Instant::now() + PATIENCE_TO_WRITE, still_wanted)
    }

    /// Sends raw bytes, up to a deadline, and gives up once they are not wanted any more.
    ///
    /// # Errors
    /// The peer is gone, or has not read them by then; or that of `still_wanted`.
    pub(super) fn write_until(
        &mut self,
        mut bytes: &[u8],
        until: Instant,
        still_wanted: StillWanted<'_>,
    ) -> Result<()> {
        while !bytes.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if !wait_writable(self.write.as_fd(), left.min(GLANCE)).map_err(lost)? {
                still_wanted()?;
                if left.is_zero() {
                    return Err(Error::remote(
                        "far-end-stalled",
                        "the other end of the control connection does not read its messages",
                    ));
                }
                continue;
            }
            match self.write.write(&bytes[..bytes.len().min(CHUNK_BYTES)]) {
                Ok(written) => bytes = &bytes[written..],
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                    ) => {}
                Err(error) => return Err(lost(error)),
            }
        }
        Ok(())
    }

    /// Receives the next message, of at most `most_bytes`, within `patience`.
    ///
    /// # Errors
    /// The stream is broken.
    pub fn receive<T: DeserializeOwned>(
        &mut self,
        most_bytes: usize,
        patience: Duration,
    ) -> Result<Received<T>> {
        let line = match self.line(most_bytes, patience)? {
            Received::Message(line) => line,
            Received::Late => return Ok(Received::Late),
            Received::Closed => return Ok(Received::Closed),
            Received::TooLong => return Ok(Received::TooLong),
            Received::Nonsense(line) => return Ok(Received::Nonsense(line)),
        };
        Ok(serde_json::from_slice(&line).map_or_else(
            |_| Received::Nonsense(shown(&line[..line.len().min(SHOWN_BYTES)])),
            Received::Message,
        ))
    }

    /// Receives the next line without its end. An incomplete line stays buffered and may be waited
    /// for again.
    ///
    /// # Errors
    /// The stream is broken.
    pub fn line(&mut self, most_bytes: usize, patience: Duration) -> Result<Received<Vec<u8>>> {
        let until = Instant::now() + patience;
        loop {
            match self.lines.next(most_bytes) {
                Some(Ok(line)) => return Ok(Received::Message(line)),
                Some(Err(TooLong)) => return Ok(Received::TooLong),
                None => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            let readable = wait_readable(&[self.read.as_fd()], Some(left)).map_err(lost)?;
            if readable != [true] {
                if Instant::now() >= until {
                    return Ok(Received::Late);
                }
                continue;
            }
            let mut chunk = [0; CHUNK_BYTES];
            match self.read.read(&mut chunk) {
                Ok(0) => return Ok(Received::Closed),
                Ok(len) => self.lines.push(&chunk[..len]),
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                    ) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Ok(Received::Closed);
                }
                Err(error) => return Err(lost(error)),
            }
        }
    }
}

/// A message as the line that is sent.
///
/// # Errors
/// It is no JSON.
pub(super) fn line_of(message: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)
        .map_err(|error| Error::failed("protocol", error.to_string()))?;
    line.push(b'\n');
    Ok(line)
}

fn lost(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
            Error::remote("far-end-gone", "the other end of the control connection is gone")
        }
        _ => Error::os("use the control connection", error).kind(ErrorKind::Remote),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    fn pair() -> (Connection, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Connection::new(ours.try_clone().unwrap().into(), ours.into()), theirs)
    }

    #[test]
    fn messages_arrive_unchanged_and_are_separated() {
        let (mut connection, mut theirs) = pair();
        connection.send(&vec![1, 2]).unwrap();
        let mut text = [0; 6];
        theirs.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"[1,2]\n");
        theirs.write_all(b"[3]\n[4]\n[5").unwrap();
        for number in [3, 4] {
            let received = connection.receive::<Vec<i32>>(10, SOON).unwrap();
            let Received::Message(list) = received else { panic!() };
            assert_eq!(list, [number]);
        }
        assert!(matches!(
            connection.receive::<Vec<i32>>(10, Duration::ZERO).unwrap(),
            Received::Late
        ));
        theirs.write_all(b"]\n").unwrap();
        let received = connection.receive::<Vec<i32>>(10, SOON).unwrap();
        let Received::Message(list) = received else { panic!() };
        assert_eq!(list, [5]);
    }

    #[test]
    fn an_invalid_message_one_that_is_too_long_and_an_end_differ() {
        let (mut connection, mut theirs) = pair();
        theirs.write_all(b"\xff{\n").unwrap();
        let received = connection.receive::<Vec<i32>>(10, SOON).unwrap();
        assert!(matches!(received, Received::Nonsense(line) if line == "\u{fffd}{"));
        theirs.write_all(&[b'1'; 5000]).unwrap();
        assert!(matches!(connection.receive::<Vec<i32>>(1000, SOON).unwrap(), Received::TooLong));
        let (mut connection, theirs) = pair();
        drop(theirs);
        assert!(matches!(connection.receive::<Vec<i32>>(10, SOON).unwrap(), Received::Closed));
        assert!(connection.send(&1).is_err());
    }
}
