//! The receiver's thread of a flow: a receive path on a connected socket, until the end of what is
//! sent.

use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender as Outbox;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::counting::Counting;
use super::datagrams;
use super::worker::{PATIENCE, Published, Ready, TrialError};
use crate::link::Link;
use crate::path::{self, RecvSetup};
use crate::tls::TlsKeying;
use zc_kernel::mptcp;
use zc_run::{Datagrams, Error, Layer, RecvCounts, RecvPath, Result};

/// Configuration of a receiver.
#[derive(Debug, Clone)]
pub struct RecvConfig {
    /// The receive path.
    pub path: RecvPath,
    /// Bytes per call.
    pub buffer_bytes: usize,
    /// The CPUs that its thread is pinned to.
    pub cpus: Vec<usize>,
    /// It computes a checksum (proofs).
    pub checksum: bool,
    /// How the connections are encrypted, if they are.
    pub keying: Option<TlsKeying>,
    /// What arrives, if not a stream.
    pub datagrams: Option<Datagrams>,
}

/// Receives on connection number `index` until the end of what is sent, and publishes counts and
/// CRC-32. Once it is `given_up` it leaves what has arrived: calls of a byte would take seconds for
/// that. Datagrams end with an empty one once `all_sent` is set: before that, io_uring sends one to
/// see whether it can. Streams have an end of their own.
#[expect(clippy::too_many_arguments, reason = "each is what one of the two sides has")]
pub(super) fn receive(
    socket: &Connection,
    index: usize,
    how: &RecvConfig,
    ready: &Outbox<Ready>,
    counts: &Counting<RecvCounts>,
    crc32: &Published<u32>,
    given_up: &AtomicBool,
    all_sent: Option<&AtomicBool>,
) -> std::result::Result<(), TrialError> {
    let session = how.keying.map(|keying| keying.session(index));
    let setup = RecvSetup::new(how.buffer_bytes).keyed(session);
    let setup =
        how.datagrams.map_or(setup, |datagrams| setup.with_datagrams(datagrams.payload_bytes));
    let mut receiver =
        path::open_receiver(how.path, socket, &setup).map_err(TrialError::CannotRun)?;
    let _ = ready.send(Ready { tid: zc_kernel::sched::gettid(), socket: socket.duplicate()? });
    let mut crc = crc32fast::Hasher::new();
    loop {
        let received = if how.checksum {
            receiver.receive(Some(&mut |bytes: &[u8]| crc.update(bytes)))?
        } else {
            receiver.receive(None)?
        };
        let has_ended =
            received == 0 && all_sent.is_none_or(|all_sent| all_sent.load(Ordering::Acquire));
        if has_ended || given_up.load(Ordering::Relaxed) {
            break;
        }
        counts.set(receiver.counts());
    }
    counts.set(receiver.counts());
    crc32.set(crc.finalize());
    Ok(())
}

/// What the sender of a flow will send to.
pub(super) enum Expecting {
    Stream(TcpListener),
    Datagrams(UdpSocket),
}

impl Expecting {
    /// Listens on the receiver's side of a link, or on that of the sender `behind_proxy`; the
    /// calling thread stays in the namespace of that side.
    pub(super) fn on(
        link: &dyn Link,
        how: &RecvConfig,
        rcvbuf_bytes: Option<usize>,
        behind_proxy: bool,
    ) -> Result<Self> {
        if how.datagrams.is_some() {
            return datagrams::bind_on(link, rcvbuf_bytes).map(Self::Datagrams);
        }
        let address = if behind_proxy {
            link.enter_sender()?;
            link.sender_address()
        } else {
            link.enter_receiver()?;
            link.receiver_address()
        };
        listen_over(link.facts().layer(), (address, 0).into(), rcvbuf_bytes).map(Self::Stream)
    }

    /// The address to send to.
    pub(super) fn address(&self) -> Result<SocketAddr> {
        let address = match self {
            Self::Stream(listener) => listener.local_addr(),
            Self::Datagrams(socket) => socket.local_addr(),
        };
        address.map_err(|error| Error::os("ask for a port", error))
    }

    /// The socket, once it is connected to the address that the sender publishes.
    ///
    /// # Errors
    /// It does not come in time.
    pub(super) fn connected_to(self, sender: &Published<Option<SocketAddr>>) -> Result<Connection> {
        match self {
            Self::Stream(listener) => accept(&listener, sender).map(Connection::Stream),
            Self::Datagrams(socket) => {
                datagrams::await_sender(&socket, sender)?;
                Ok(Connection::Datagrams(socket))
            }
        }
    }
}

/// Listens, with SO_RCVBUF set if a size is given.
pub(super) fn listen(at: SocketAddr, rcvbuf_bytes: Option<usize>) -> Result<TcpListener> {
    listen_over(Layer::Plain, at, rcvbuf_bytes)
}

/// The same for flows over a layer that may have sockets of its own.
fn listen_over(layer: Layer, at: SocketAddr, rcvbuf_bytes: Option<usize>) -> Result<TcpListener> {
    let listener = match layer {
        Layer::Mptcp => mptcp::listen(at),
        _ => TcpListener::bind(at),
    };
    let listener = listener.map_err(|error| Error::os("listen for a flow", error))?;
    if let Some(bytes) = rcvbuf_bytes {
        // Before the first connection: the window scale is agreed upon in the handshake (tcp(7)).
        zc_kernel::tcp::set_rcvbuf(&listener, bytes)
            .map_err(|error| Error::os("set SO_RCVBUF", error))?;
    }
    Ok(listener)
}

/// Accepts the connection from the address that the sender publishes once it has connected. Those
/// of others are dropped: over loopback every user of this machine can connect.
///
/// # Errors
/// It does not come in time.
pub(super) fn accept(
    listener: &TcpListener,
    sender: &Published<Option<SocketAddr>>,
) -> Result<TcpStream> {
    let until = Instant::now() + PATIENCE;
    let failed = |error| Error::os("accept a flow", error);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if !zc_kernel::tcp::wait_readable(listener, left).map_err(failed)? {
            return Err(failed(std::io::ErrorKind::TimedOut.into()));
        }
        let (socket, peer) = listener.accept().map_err(failed)?;
        while sender.get().is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_micros(50));
        }
        if sender.get() == Some(peer) {
            return Ok(socket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_s_connection_is_not_taken_for_the_sender_s() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _strangers: Vec<TcpStream> =
            (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
        let connected = Published::default();
        std::thread::scope(|scope| {
            let accepted = scope.spawn(|| accept(&listener, &connected).unwrap());
            let sender = TcpStream::connect(address).unwrap();
            let own = sender.local_addr().unwrap();
            connected.set(Some(own));
            assert_eq!(accepted.join().unwrap().peer_addr().unwrap(), own);
        });
    }
}
