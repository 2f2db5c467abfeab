//! The far end of all clients: one thread, which reads what there is when there is some.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender as Outbox;

use super::super::connection::Connection;
use super::super::counting::Counting;
use super::super::receiving::RecvConfig;
use super::super::worker::{GLANCE, Published, Ready, TrialError};
use super::poller::{EventFlags, Poller};
use crate::path;
use zc_kernel::pages::Pages;
use zc_kernel::tcp;
use zc_run::{RecvCounts, RecvPath, Result};

/// The far ends of the clients.
struct FarEnds {
    sockets: Arc<[TcpStream]>,
    poller: Poller,
    buffer: Pages,
    drops: bool,
    counts: RecvCounts,
    /// In proofs, the checksums of what each has received.
    checksums: Vec<crc32fast::Hasher>,
    open: usize,
}

/// Receives on all `sockets` until the end of each, and publishes counts, and in proofs the
/// checksum of what each of them received.
pub(super) fn receive(
    sockets: Vec<TcpStream>,
    how: &RecvConfig,
    ready: &Outbox<Ready>,
    counts: &Counting<RecvCounts>,
    crc32: &Published<u32>,
    given_up: &AtomicBool,
) -> std::result::Result<(), TrialError> {
    let mut far_ends = FarEnds::open(sockets, how)?;
    let socket = Connection::Clients(Arc::clone(&far_ends.sockets));
    let _ = ready.send(Ready { tid: zc_kernel::sched::gettid(), socket });
    while far_ends.open > 0 && !given_up.load(Ordering::Relaxed) {
        far_ends.turn(counts)?;
    }
    counts.set(far_ends.counts);
    crc32.set(far_ends.checksum());
    Ok(())
}

impl FarEnds {
    fn open(sockets: Vec<TcpStream>, how: &RecvConfig) -> std::result::Result<Self, TrialError> {
        let buffer = path::receive_buffer(how.buffer_bytes).map_err(TrialError::CannotRun)?;
        let poller = Poller::new()?;
        for (client, socket) in sockets.iter().enumerate() {
            poller.add(client, socket, EventFlags::IN)?;
        }
        let checksums = if how.checksum { sockets.len() } else { 0 };
        Ok(Self {
            open: sockets.len(),
            sockets: sockets.into(),
            poller,
            buffer,
            drops: how.path == RecvPath::RecvTrunc,
            counts: RecvCounts::default(),
            checksums: vec![crc32fast::Hasher::new(); checksums],
        })
    }

    /// Waits until there is something, and reads once from each that has some.
    fn turn(&mut self, counts: &Counting<RecvCounts>) -> Result<()> {
        let buffer = self.buffer.as_mut_slice();
        let mut ended = Vec::new();
        for (client, _) in self.poller.wait(GLANCE)? {
            let socket = &self.sockets[client];
            self.counts.calls += 1;
            let received = match self.drops {
                true => tcp::recv_discard(socket, buffer.len()),
                false => tcp::recv(socket, buffer),
            };
            match received {
                Ok(0) => ended.push(client),
                Ok(received) => {
                    self.counts.bytes += received as u64;
                    if let Some(checksum) = self.checksums.get_mut(client) {
                        checksum.update(&buffer[..received]);
                    }
                    counts.set(self.counts);
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(path::not_received("recv(2)", error)),
            }
        }
        for client in ended {
            self.poller.remove(&self.sockets[client])?;
            self.open -= 1;
        }
        Ok(())
    }

    /// Sum, in proofs, of the CRC-32 of what each client received: they may come in any order.
    fn checksum(self) -> u32 {
        let checksums = self.checksums.into_iter().map(crc32fast::Hasher::finalize);
        checksums.fold(0, u32::wrapping_add)
    }
}
