//! The receiver's thread of a flow: a receive path on a connected socket, until the end of the
//! stream.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::Sender as Outbox;

use super::counting::Counting;
use super::worker::{PATIENCE, Published, Ready, TrialError, clone};
use crate::link::Link;
use crate::path;
use zc_run::{Error, RecvCounts, RecvPath, Result};

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
}

/// Receives until the end of the stream, and publishes counts and CRC-32.
pub(super) fn receive(
    socket: &TcpStream,
    how: &RecvConfig,
    ready: &Outbox<Ready>,
    counts: &Counting<RecvCounts>,
    crc32: &Published<u32>,
) -> std::result::Result<(), TrialError> {
    let mut receiver =
        path::open_receiver(how.path, socket, how.buffer_bytes).map_err(TrialError::CannotRun)?;
    let _ = ready.send(Ready { tid: zc_kernel::sched::gettid(), socket: clone(socket)? });
    let mut crc = crc32fast::Hasher::new();
    loop {
        let received = if how.checksum {
            receiver.receive(Some(&mut |bytes: &[u8]| crc.update(bytes)))?
        } else {
            receiver.receive(None)?
        };
        if received == 0 {
            break;
        }
        counts.set(receiver.counts());
    }
    counts.set(receiver.counts());
    crc32.set(crc.finalize());
    Ok(())
}

/// Listens on the receiver's side of a link; the calling thread stays in the namespace of that
/// side.
pub(super) fn listen_on(link: &dyn Link, rcvbuf_bytes: Option<usize>) -> Result<TcpListener> {
    link.enter_receiver()?;
    listen((link.receiver_address(), 0).into(), rcvbuf_bytes)
}

/// Listens, with SO_RCVBUF set if a size is given.
pub(super) fn listen(at: SocketAddr, rcvbuf_bytes: Option<usize>) -> Result<TcpListener> {
    let listener = TcpListener::bind(at).map_err(|error| Error::os("listen for a flow", error))?;
    if let Some(bytes) = rcvbuf_bytes {
        // Before the first connection: the window scale is agreed upon in the handshake (tcp(7)).
        zc_kernel::tcp::set_rcvbuf(&listener, bytes)
            .map_err(|error| Error::os("set SO_RCVBUF", error))?;
    }
    Ok(listener)
}

/// accept(2) with a timeout.
pub(super) fn accept(listener: &TcpListener) -> Result<TcpStream> {
    zc_kernel::tcp::wait_readable(listener, PATIENCE)
        .and_then(|readable| {
            if readable {
                listener.accept()
            } else {
                Err(std::io::Error::from(std::io::ErrorKind::TimedOut))
            }
        })
        .map(|(socket, _)| socket)
        .map_err(|error| Error::os("accept a flow", error))
}
