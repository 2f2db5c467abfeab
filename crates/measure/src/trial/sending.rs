//! The sender's thread of a flow: connects, opens its path, and sends pieces of the files until it is told to stop.

use std::io::Write as _;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Inbox, Sender as Outbox};

use zc_kernel::tcp::Unconnected;

use super::bursts::Bursts;
use super::cell_config::CellConfig;
use super::counting::Counting;
use super::factor::{self, EFFECTS};
use super::usage::UsedSince;
use super::worker::{PATIENCE, Published, Ready, TrialError, clone, give_way, settle_on};
use crate::link::{AckGenerator, AckedFlow, Link};
use crate::path;
use crate::workload::Pacer;
use zc_run::{Error, FixedParams, Result, SendCounts, Usage};

/// How a flow's sender is driven.
#[derive(Debug, Clone, Copy)]
pub(super) struct SendConfig {
    /// When it sends how much.
    pub(super) bursts: Bursts,
    /// Stop after this many bytes (proofs); null is until told to.
    pub(super) stop_after_bytes: Option<u64>,
    /// The file that the first flow begins with.
    pub(super) first_file: usize,
    /// The largest piece of a file that is handed to the path at once.
    pub(super) piece_bytes: usize,
    /// The receiver checks what it gets (proofs).
    pub(super) checksum: bool,
    /// Its threads give way to the one that reads the meters.
    pub(super) gives_way: bool,
    /// A receive path on this machine takes the bytes, also on a link with a far end of its own.
    pub(super) to_listener: bool,
}

impl SendConfig {
    /// The link's far end, where it is the one that takes the bytes.
    pub(super) fn far_end(self, link: &dyn Link) -> Option<&AckGenerator> {
        if self.to_listener { None } else { link.far_end() }
    }
}

/// Where a sender connects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The address.
    pub address: SocketAddr,
    /// What it sends before anything else, so that the far end knows whose connection it is.
    pub greeting: Vec<u8>,
    /// The connection is left open for sending after the last byte: an iperf3 server goes round in circles on a stream that is
    /// at its end.
    pub stays_open: bool,
}

impl Target {
    /// A connection that needs no greeting.
    pub fn plain(address: SocketAddr) -> Self {
        Self { address, greeting: Vec::new(), stays_open: false }
    }
}

/// A sender that is ready, and who takes its bytes where that is the link itself.
pub(super) struct SenderReady {
    pub(super) ready: Ready,
    pub(super) far: Option<AckedFlow>,
}

/// Which of the flows of a trial it is, and what it needs.
pub(super) struct Sending<'a> {
    pub(super) index: usize,
    pub(super) config: &'a CellConfig,
    pub(super) link: &'a dyn Link,
    pub(super) send_config: SendConfig,
    pub(super) to: &'a Target,
}

/// Sends.
pub(super) fn send(
    what: &Sending<'_>,
    begin: &Inbox<u64>,
    stop: &AtomicBool,
    ready: &Outbox<SenderReady>,
    counts: &Counting<SendCounts>,
    used: &Published<Option<Usage>>,
) -> std::result::Result<(), TrialError> {
    let &Sending { index, config, link, send_config, to } = what;
    let CellConfig { cell, fixed, setup } = config;
    settle_on(&config.sender_cpus())?;
    if send_config.gives_way {
        give_way()?;
    }
    link.enter_sender()?;
    let (socket, far) = connect(to, fixed, send_config.far_end(link))?;
    let mut sender = path::open_sender(cell.send, &socket, setup).map_err(TrialError::CannotRun)?;
    let at_work = Ready { tid: zc_kernel::sched::gettid(), socket: clone(&socket)? };
    let _ = ready.send(SenderReady { ready: at_work, far });
    let Ok(begin_ns) = begin.recv() else {
        return Ok(()); // the trial was given up
    };
    let (bursts, first_due_ns) =
        (send_config.bursts, send_config.bursts.first_due_ns(begin_ns, index));
    let mut pacer = Pacer::new(bursts.rate_bytes_per_s(), bursts.period_ns(), first_due_ns);
    let mut since_begin = None;
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
        if !pacer.wait_unless(piece.len, stop) {
            break;
        }
        if since_begin.is_none() {
            since_begin = UsedSince::now();
        }
        sender.send(piece)?;
        counts.set(sender.counts());
    }
    EFFECTS.iter().try_for_each(|effect| effect.before_drain(&socket, fixed))?;
    sender.drain()?;
    counts.set(sender.counts());
    used.set(since_begin.and_then(|since| since.usage()));
    if !to.stays_open {
        socket
            .shutdown(Shutdown::Write)
            .map_err(|error| Error::os("close a flow for sending", error))?;
    }
    Ok(())
}

fn connect(
    to: &Target,
    fixed: &FixedParams,
    far_end: Option<&AckGenerator>,
) -> Result<(TcpStream, Option<AckedFlow>)> {
    let failed = |error| Error::os(format!("connect a flow to {}", to.address), error);
    let socket = Unconnected::bind_towards(to.address).map_err(failed)?;
    let far = far_end.map(|far_end| far_end.expect(socket.port()));
    EFFECTS.iter().try_for_each(|effect| effect.before_connect(&socket, fixed))?;
    let mut socket = socket.connect(to.address, PATIENCE).map_err(failed)?;
    EFFECTS.iter().try_for_each(|effect| effect.connected(&socket, fixed))?;
    socket
        .write_all(&to.greeting)
        .map_err(|error| Error::os("greet the far end of a flow", error))?;
    factor::set_tcp_options(&socket, fixed)?;
    Ok((socket, far))
}
