//! The sender's thread of a flow: it connects, opens its path, and sends pieces of the files until
//! it is stopped.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Inbox, Sender as Outbox};
use std::time::Duration;

use super::bursts::Bursts;
use super::cell_config::CellConfig;
use super::connection::Connection;
use super::counting::Counting;
use super::datagrams::{self, DatagramReceiver, InFlight};
use super::factor::{self, EFFECTS};
use super::priority::Priority;
use super::usage::UsedSince;
use super::worker::{PATIENCE, Published, Ready, TrialError, pin_to};
use crate::link::{AckGenerator, Link, NotedFlow};
use crate::meter::Burner;
use crate::path::{self, SendSetup};
use crate::tls::TlsKeying;
use crate::workload::Pacer;
use zc_kernel::mptcp;
use zc_kernel::tcp::Unconnected;
use zc_run::{Clients, Error, FixedParams, Layer, Result, SendCounts, Usage};

/// Configuration of a flow's sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct SendConfig {
    /// The bursts in which it sends.
    pub(super) bursts: Bursts,
    /// Stop after this many bytes (proofs); `None` sends until it is stopped.
    pub(super) stop_after_bytes: Option<u64>,
    /// The file that the first flow begins with.
    pub(super) first_file: usize,
    /// The largest piece of a file that the path is given at once.
    pub(super) piece_bytes: usize,
    /// The receiver computes a checksum (proofs).
    pub(super) checksum: bool,
    /// Priority of its threads.
    pub(super) priority: Priority,
    /// A receive path on this machine receives the bytes, also on the link `null`.
    pub(super) to_listener: bool,
    /// The sender is woken for each burst and sends nothing: what it costs is the harness.
    pub(super) sends_nothing: bool,
    /// How the connections are encrypted, if they are.
    pub(super) keying: Option<TlsKeying>,
    /// The receiver decrypts them: what it counts is payload. Otherwise it counts records.
    pub(super) is_decrypted: bool,
    /// The clients that are sent to, if that is what a flow is. At an infinite rate they are not
    /// paced.
    pub(super) clients: Option<Clients>,
}

impl SendConfig {
    /// Whether cells burn on purpose in softirq context: between bursts, so where there are any.
    pub(super) fn burns(self) -> bool {
        self.bursts.rate_bytes_per_s().is_some() && !self.sends_nothing
    }

    /// The link's ACK generator, if that is what receives the bytes.
    pub(super) fn ack_generator(self, link: &dyn Link) -> Option<&AckGenerator> {
        if self.to_listener { None } else { link.far_end() }
    }
}

/// Destination of a sender's connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Address and port of the receiver.
    pub address: SocketAddr,
    /// Sent before anything else, so that the server knows which flow the connection belongs to.
    pub greeting: Vec<u8>,
    /// The server's answer to it, which nobody else could give; empty if it gives none.
    pub answer: Vec<u8>,
    /// The connection is left open for sending after the last byte: an iperf3 server spins on a
    /// stream that is at its end.
    pub stays_open: bool,
}

impl Target {
    /// A connection that needs no greeting.
    pub fn plain(address: SocketAddr) -> Self {
        Self { address, greeting: Vec::new(), answer: Vec::new(), stays_open: false }
    }

    /// Whether the server at the other end of `socket` gives the answer within `patience`, or owes
    /// none.
    pub fn is_answered(&self, mut socket: &TcpStream, patience: Duration) -> bool {
        if self.answer.is_empty() {
            return true;
        }
        let mut answer = vec![0; self.answer.len()];
        let read = socket
            .set_read_timeout(Some(patience))
            .and_then(|()| socket.read_exact(&mut answer))
            .and_then(|()| socket.set_read_timeout(None));
        read.is_ok() && answer == self.answer
    }
}

/// A sender that is ready, and its flow on the link `null` where that takes the bytes.
pub(super) struct SenderReady {
    pub(super) ready: Ready,
    /// One for each connection; none where the link does not note them.
    pub(super) noted: Vec<NotedFlow>,
}

/// Input of a sender thread.
pub(super) struct Sending<'a> {
    pub(super) index: usize,
    pub(super) config: &'a CellConfig,
    pub(super) link: &'a dyn Link,
    pub(super) send_config: SendConfig,
    pub(super) to: &'a Target,
    /// The receiver of datagrams, where it is a thread of this process.
    pub(super) receiver: Option<&'a DatagramReceiver>,
}

/// Sends pieces until `stop`, at the configured number of bytes, or at an error; then drains. Its
/// address is published once it has `connected`.
pub(super) fn send(
    what: &Sending<'_>,
    begin: &Inbox<u64>,
    stop: &AtomicBool,
    connected: &Published<Option<SocketAddr>>,
    ready: &Outbox<SenderReady>,
    counts: &Counting<SendCounts>,
    used: &Published<Option<Usage>>,
) -> std::result::Result<(), TrialError> {
    let &Sending { index, config, link, send_config, to, receiver } = what;
    let CellConfig { cell, fixed, setup, burner, .. } = config;
    pin_to(&config.sender_cpus())?;
    link.enter_sender()?;
    let generator = send_config.ack_generator(link);
    let (socket, noted) = match config.datagrams {
        None => connect(to, fixed, generator)?,
        Some(_) => connect_datagrams(to, fixed, generator)?,
    };
    connected.set(socket.local_address());
    let session = send_config.keying.map(|keying| keying.session(index));
    let keyed = SendSetup { session, ..setup.clone() };
    let mut sender =
        path::open_sender(config.send, &socket, &keyed).map_err(TrialError::CannotRun)?;
    let at_work = Ready { tid: zc_kernel::sched::gettid(), socket: socket.duplicate()? };
    let _ = ready.send(SenderReady { ready: at_work, noted: noted.into_iter().collect() });
    // All flows wait for their answers together: a thousand round trips would take long.
    socket.stream().map_or(Ok(()), |stream| await_answer(stream, to))?;
    // Opening a path may take longer than a real-time thread may work at a time.
    send_config.priority.take()?;
    let Ok(begin_ns) = begin.recv() else {
        return Ok(()); // the trial was given up
    };
    let (bursts, first_due_ns) =
        (send_config.bursts, send_config.bursts.first_due_ns(begin_ns, index));
    let mut pacer = Pacer::new(bursts.rate_bytes_per_s(), bursts.period_ns(), first_due_ns);
    let mut own_burner = cell.burn_units_per_mb.map(Burner::new);
    let burned = match (burner, cell.burn_softirq_ns_per_mb, socket.stream()) {
        (Some(burner), Some(ns_per_mb), Some(stream)) if send_config.burns() => {
            let burned = burner.burn(stream, ns_per_mb);
            Some(burned.map_err(|error| Error::os("burn CPU time in softirqs", error))?)
        }
        _ => None,
    };
    let sleeps = |sleeps| burned.iter().for_each(|flow| flow.set_sleeps(sleeps));
    let mut since_begin = None;
    let mut in_flight = InFlight::default();
    let mut left = send_config.stop_after_bytes;
    // Flows start at different files, so that they do not all send the same bytes at the same time.
    for mut piece in setup
        .files
        .walk(send_config.first_file + index * 17, send_config.piece_bytes)
        .aligned(fixed.align)
    {
        if stop.load(Ordering::Relaxed) || left == Some(0) {
            break;
        }
        if let Some(left) = &mut left {
            piece.len = piece.len.min(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= piece.len as u64;
        }
        sleeps(true);
        let is_due = pacer.wait_unless(piece.len, stop);
        sleeps(false);
        if !is_due {
            break;
        }
        if since_begin.is_none() {
            since_begin = UsedSince::now();
        }
        if !send_config.sends_nothing {
            if let Some(burner) = &mut own_burner {
                burner.before_piece(piece.len, pacer.due());
            }
            sender.send(piece)?;
        }
        counts.set(sender.counts());
        match receiver {
            Some(receiver) if send_config.checksum => {
                datagrams::await_arrival(sender.counts(), &receiver.counts)?;
            }
            Some(receiver) if bursts.rate_bytes_per_s().is_none() => {
                in_flight.wait(sender.counts(), &receiver.counts);
            }
            _ => {}
        }
    }
    EFFECTS.iter().try_for_each(|effect| effect.before_drain(socket.as_fd(), fixed))?;
    sender.drain()?;
    counts.set(sender.counts());
    used.set(since_begin.and_then(|since| since.usage()));
    match &socket {
        Connection::Stream(stream) if !to.stays_open => stream
            .shutdown(Shutdown::Write)
            .map_err(|error| Error::os("close a flow for sending", error))?,
        Connection::Stream(_) | Connection::Clients(_) => {}
        Connection::Datagrams(socket) => {
            receiver.map_or(Ok(()), |receiver| datagrams::end(socket, receiver))?;
        }
    }
    Ok(())
}

/// Waits for the answer to the greeting: nothing is sent to a stranger.
///
/// # Errors
/// Another answer comes, or none in time.
fn await_answer(socket: &TcpStream, to: &Target) -> Result<()> {
    if to.is_answered(socket, PATIENCE) {
        return Ok(());
    }
    let message =
        format!("what takes connections at {} does not prove that it is the far end", to.address);
    Err(Error::remote("far-end-unproven", message)
        .help("--far-address names an address that leads there"))
}

/// Connects to `to`, with the options of the sender's sockets.
///
/// # Errors
/// Nobody listens there, or the kernel refuses an option.
pub(super) fn connect(
    to: &Target,
    fixed: &FixedParams,
    ack_generator: Option<&AckGenerator>,
) -> Result<(Connection, Option<NotedFlow>)> {
    let failed = |error| Error::os(format!("connect a flow to {}", to.address), error);
    let socket = match Layer::of(fixed) {
        Layer::Mptcp => mptcp::bind_towards(to.address),
        _ => Unconnected::bind_towards(to.address),
    };
    let socket = socket.map_err(failed)?;
    let noted = ack_generator.map(|generator| generator.expect(socket.port()));
    EFFECTS.iter().try_for_each(|effect| effect.before_connect(&socket, fixed))?;
    let mut socket = socket.connect(to.address, PATIENCE).map_err(failed)?;
    EFFECTS.iter().try_for_each(|effect| effect.connected(socket.as_fd(), fixed))?;
    socket
        .write_all(&to.greeting)
        .map_err(|error| Error::os("send the greeting of a flow", error))?;
    factor::set_tcp_options(&socket, fixed)?;
    Ok((Connection::Stream(socket), noted))
}

fn connect_datagrams(
    to: &Target,
    fixed: &FixedParams,
    ack_generator: Option<&AckGenerator>,
) -> Result<(Connection, Option<NotedFlow>)> {
    let socket = datagrams::bind_towards(to.address)?;
    datagrams::connect(&socket, to.address)?;
    EFFECTS.iter().try_for_each(|effect| effect.connected(socket.as_fd(), fixed))?;
    let socket = Connection::Datagrams(socket);
    let port = socket.local_address().map_or(0, |address| address.port());
    Ok((socket, ack_generator.map(|generator| generator.expect_datagrams(port))))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use zc_run::ErrorKind;

    /// Result of a flow whose server answers the greeting with `said`.
    fn answered(said: &[u8]) -> Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let target = Target { answer: b"the right one".to_vec(), ..Target::plain(address) };
        let socket = TcpStream::connect(address).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        server.write_all(said).unwrap();
        drop(server);
        await_answer(&socket, &target)
    }

    #[test]
    fn a_flow_sends_nothing_to_a_server_that_does_not_prove_that_it_is_the_far_end() {
        answered(b"the right one").unwrap();
        for said in [&b"another one.."[..], b"the right on", b""] {
            let error = answered(said).unwrap_err();
            assert_eq!((error.kind, &*error.id), (ErrorKind::Remote, "far-end-unproven"));
        }
    }
}
