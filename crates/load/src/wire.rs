//! The bytes of one connection: sent, received, or discarded in the kernel, and counted; with TLS
//! around them or without.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::counts::Counting;
use zc_kernel::tcp;

/// The most that one call discards. It only bounds how long the call takes.
const DISCARD_AT_A_TIME: u64 = 4 << 20;

/// Room for what one call receives of TLS: four records.
const CIPHERTEXT_BYTES: usize = 64 << 10;

/// Pieces of ciphertext without a byte of content before others get their turn.
const ADVANCES: usize = 64;

/// A connection's socket, and its TLS session.
#[derive(Debug)]
pub(super) struct Wire {
    socket: OwnedFd,
    tls: Option<Box<Session>>,
}

#[derive(Debug)]
struct Session {
    connection: ClientConnection,
    /// Received and not yet taken by the session: from `begin` to `end`.
    ciphertext: Vec<u8>,
    begin: usize,
    end: usize,
}

/// Result of one receive call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Received {
    /// Number of bytes; 0 at the end of the stream.
    pub(super) bytes: usize,
    /// Whether there were no more: the next ones raise an event.
    pub(super) is_all: bool,
}

impl Wire {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self { socket, tls: None }
    }

    /// Same as [`new`](Self::new), with a TLS session to a server of that name.
    pub(super) fn with_tls(
        socket: OwnedFd,
        config: &Arc<ClientConfig>,
        name: &ServerName<'static>,
    ) -> io::Result<Self> {
        let connection =
            ClientConnection::new(Arc::clone(config), name.clone()).map_err(io::Error::other)?;
        let ciphertext = vec![0; CIPHERTEXT_BYTES];
        let session = Session { connection, ciphertext, begin: 0, end: 0 };
        Ok(Self { socket, tls: Some(Box::new(session)) })
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether bytes can be discarded in the kernel.
    pub(super) fn is_plain(&self) -> bool {
        self.tls.is_none()
    }

    /// Goes on with the handshake of TLS as far as it goes without waiting. Returns whether it is
    /// done, as it is without TLS.
    ///
    /// # Errors
    /// The connection is gone, or, as a `rustls::Error` within, there is no session.
    pub(super) fn handshake(&mut self, counting: &Counting) -> io::Result<bool> {
        let Some(session) = &mut self.tls else { return Ok(true) };
        for _ in 0..ADVANCES {
            let is_flushed = session.flush(&self.socket, counting)?;
            if !session.connection.is_handshaking() {
                return Ok(true);
            }
            if !is_flushed {
                return Ok(false);
            }
            match session.advance(&self.socket, counting) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(false) // it does not end: it is given up in time
    }

    /// Sends as much of `request` as goes without waiting; `sent` bytes of it have gone before.
    pub(super) fn send(
        &mut self,
        request: &[u8],
        sent: &mut usize,
        counting: &Counting,
    ) -> io::Result<()> {
        if let Some(session) = &mut self.tls {
            // The session takes what is given to it, and keeps it until the socket does.
            *sent += session.connection.writer().write(&request[*sent..])?;
            return session.flush(&self.socket, counting).map(drop);
        }
        while *sent < request.len() {
            match tcp::send(&self.socket, &request[*sent..]) {
                Ok(bytes) => {
                    *sent += bytes;
                    counting.sent_bytes.add(bytes as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Receives bytes.
    ///
    /// # Errors
    /// `WouldBlock`: there are none. `Interrupted`: none yet, but perhaps at the next call. Others:
    /// the connection is gone.
    pub(super) fn receive(&mut self, into: &mut [u8], counting: &Counting) -> io::Result<Received> {
        let Some(session) = &mut self.tls else {
            let bytes = tcp::recv(&self.socket, into)?;
            counting.received_bytes.add(bytes as u64);
            // epoll(7): fewer bytes than asked for means that a stream has no more.
            return Ok(Received { bytes, is_all: bytes < into.len() });
        };
        for _ in 0..ADVANCES {
            match session.connection.reader().read(into) {
                Ok(bytes) => return Ok(Received { bytes, is_all: false }),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            // At the end of the stream the reader knows whether the session had ended before.
            session.advance(&self.socket, counting)?;
        }
        Err(io::ErrorKind::Interrupted.into())
    }

    /// Removes up to `most` bytes without copying them. For a plain connection alone.
    pub(super) fn discard(&mut self, most: u64, counting: &Counting) -> io::Result<Received> {
        let most = most.min(DISCARD_AT_A_TIME) as usize;
        let bytes = tcp::recv_discard(&self.socket, most)?;
        counting.received_bytes.add(bytes as u64);
        Ok(Received { bytes, is_all: bytes < most })
    }
}

impl Session {
    /// Gives the session what has been received, or receives more first. Returns how many bytes it
    /// took: 0 at the end of the stream.
    ///
    /// rustls would receive 4 KiB in a call; records have up to 16.
    fn advance(&mut self, socket: &OwnedFd, counting: &Counting) -> io::Result<usize> {
        if self.begin == self.end {
            let bytes = tcp::recv(socket, &mut self.ciphertext)?;
            counting.received_bytes.add(bytes as u64);
            (self.begin, self.end) = (0, bytes);
        }
        let mut rest = &self.ciphertext[self.begin..self.end];
        let taken = self.connection.read_tls(&mut rest)?;
        self.begin += taken;
        let processed = self.connection.process_new_packets();
        // An alert says to the server what was wrong, and answers of the protocol are due.
        let flushed = self.flush(socket, counting);
        processed.map_err(io::Error::other)?;
        flushed?;
        Ok(taken)
    }

    /// Sends what the session has to send. Returns whether all has gone.
    fn flush(&mut self, socket: &OwnedFd, counting: &Counting) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Counted(socket, counting)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Sends to a socket, and counts.
struct Counted<'a>(&'a OwnedFd, &'a Counting);

impl io::Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = tcp::send(self.0, bytes)?;
        self.1.sent_bytes.add(sent as u64);
        Ok(sent)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
