//! Flows of datagrams. Nothing says that one begins, that it has ended, or that something arrived:
//! both sides are bound and connected to each other before the first datagram, the last ones are
//! empty, and proofs, in which nothing may be lost, wait for what they have sent.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver as Inbox;
use std::time::{Duration, Instant};

use super::counting::Counting;
use super::worker::{PATIENCE, Published, Ready};
use crate::link::Link;
use zc_kernel::tcp;
use zc_run::{
    Cell, Datagrams, Error, FixedParams, IpVersion, LinkFacts, LinkKind, RecvCounts, Result,
    SendCounts, Unavailable,
};

/// What a sender of datagrams can learn from their receiver only.
#[derive(Clone)]
pub(super) struct DatagramReceiver {
    pub(super) counts: Arc<Counting<RecvCounts>>,
    /// Set before the empty datagrams that end the flow.
    pub(super) all_sent: Arc<AtomicBool>,
    pub(super) has_ended: Arc<AtomicBool>,
}

/// The receive buffer that a receiver asks for: implementations of QUIC ask for several MB, as
/// there is nothing else to keep a burst from being lost. The kernel gives at most
/// net.core.rmem_max.
const RCVBUF_BYTES: usize = 4 << 20;

/// Bytes that are under way at most at top speed: a receive buffer of the kernel's usual
/// net.core.rmem_max has room for them also as datagrams of 1200 bytes, each of which is charged
/// with twice that.
const IN_FLIGHT_BYTES: u64 = 192 << 10;

/// Bytes after which that is looked at, at most.
const TOP_SPEED_PIECE_BYTES: usize = 64 << 10;

/// What has not arrived for so long is lost: a receiver takes a datagram in microseconds.
const LATE: Duration = Duration::from_millis(1);

/// Pause between two of the empty datagrams that end a flow. Each but the last is lost, or is late.
const PAUSE: Duration = Duration::from_micros(200);

/// In a proof this many datagrams are under way at most: any receive buffer has room for them, also
/// where io_uring has each charged with whole pages.
const PROVEN_AT_ONCE: usize = 16;

/// The piece after which a proof waits.
pub(super) fn proven_at_once(datagrams: Datagrams) -> usize {
    datagrams.payload_bytes.saturating_mul(PROVEN_AT_ONCE).min(64 << 10)
}

/// The piece after which a sender at top speed looks at what is under way: whole calls, as a rest
/// would have a call of its own.
pub(super) fn top_speed_piece_bytes(datagrams: Datagrams) -> usize {
    let call_bytes = datagrams.call_bytes().max(1);
    (TOP_SPEED_PIECE_BYTES / call_bytes).max(1) * call_bytes
}

/// Binds a receiver's socket on its side of a link; the calling thread stays there.
pub(super) fn bind_on(link: &dyn Link, rcvbuf_bytes: Option<usize>) -> Result<UdpSocket> {
    link.enter_receiver()?;
    let socket = bind((link.receiver_address(), 0).into())?;
    tcp::set_rcvbuf(&socket, rcvbuf_bytes.unwrap_or(RCVBUF_BYTES))
        .map_err(|error| Error::os("set SO_RCVBUF", error))?;
    Ok(socket)
}

/// A sender's socket, on any port towards `to`.
pub(super) fn bind_towards(to: SocketAddr) -> Result<UdpSocket> {
    let any: IpAddr = match to {
        SocketAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    bind((any, 0).into())
}

fn bind(at: SocketAddr) -> Result<UdpSocket> {
    UdpSocket::bind(at).map_err(|error| Error::os("bind a socket for datagrams", error))
}

/// Connects a socket: it takes datagrams from nobody else from here on.
pub(super) fn connect(socket: &UdpSocket, to: SocketAddr) -> Result<()> {
    socket.connect(to).map_err(|error| Error::os(format!("connect datagrams to {to}"), error))
}

/// Connects a receiver's socket to the address that the sender publishes, and drops what others
/// have sent to it before: over loopback every user of this machine can.
///
/// # Errors
/// It publishes none in time.
pub(super) fn await_sender(
    socket: &UdpSocket,
    sender: &Published<Option<SocketAddr>>,
) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    let sender = loop {
        match sender.get() {
            Some(address) => break address,
            None if Instant::now() >= until => {
                return Err(Error::failed("thread-stalled", "the sender did not begin in time"));
            }
            None => std::thread::sleep(Duration::from_micros(50)),
        }
    };
    connect(socket, sender)?;
    let dropped = socket.set_nonblocking(true).and_then(|()| {
        let mut byte = [0];
        while socket.recv(&mut byte).is_ok() {}
        socket.set_nonblocking(false)
    });
    dropped.map_err(|error| Error::os("empty a socket for datagrams", error))
}

/// Ends a flow: sends empty datagrams until the receiver has ended. One of them may be lost, as any
/// datagram.
///
/// # Errors
/// It does not end in time.
pub(super) fn end(socket: &UdpSocket, receiver: &DatagramReceiver) -> Result<()> {
    receiver.all_sent.store(true, Ordering::Release);
    let until = Instant::now() + PATIENCE;
    while !receiver.has_ended.load(Ordering::Acquire) {
        if Instant::now() >= until {
            return Err(Error::failed("receiver-stalled", "the receiver of datagrams did not end"));
        }
        // An error says that the receiver is gone, or that nobody wants its result.
        if socket.send(&[]).is_err() {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Ends a receiver whose sender has not come up.
pub(super) fn abandon(ready: &Inbox<Ready>, given_up: &AtomicBool) {
    given_up.store(true, Ordering::Relaxed);
    // It is about to be ready, or has ended. If it waits for the sender's address, it gives up by
    // itself.
    if let Ok(Ready { socket, .. }) = ready.recv_timeout(Duration::from_secs(1)) {
        let _ = socket.shut_down();
    }
}

/// Keeps a sender at top speed from flooding the receiver, which would then lose most of what it
/// gets and say nothing of what the two can do: as congestion control does.
#[derive(Default)]
pub(super) struct InFlight {
    /// Bytes that were taken for lost.
    lost_bytes: u64,
}

impl InFlight {
    /// Waits until no more than [`IN_FLIGHT_BYTES`] are under way. What does not arrive in time is
    /// taken for lost.
    pub(super) fn wait(&mut self, sent: SendCounts, arrived: &Counting<RecvCounts>) {
        let until = Instant::now() + LATE;
        loop {
            let missing = sent.bytes.saturating_sub(arrived.get().bytes);
            // What has arrived after all was not lost.
            self.lost_bytes = self.lost_bytes.min(missing);
            if missing.saturating_sub(self.lost_bytes) <= IN_FLIGHT_BYTES {
                return;
            }
            if Instant::now() >= until {
                self.lost_bytes = missing;
                return;
            }
            std::thread::yield_now();
        }
    }
}

/// Waits until as many bytes have arrived as were sent: in a proof nothing may be lost.
///
/// # Errors
/// They do not arrive in time.
pub(super) fn await_arrival(sent: SendCounts, arrived: &Counting<RecvCounts>) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        let bytes = arrived.get().bytes;
        if bytes >= sent.bytes {
            return Ok(());
        }
        if Instant::now() >= until {
            let sent = sent.bytes;
            return Err(Error::failed(
                "bytes-lost",
                format!("of {sent} bytes sent in datagrams {bytes} arrived"),
            ));
        }
        std::thread::yield_now();
    }
}

/// Why datagrams cannot be sent over a link, or not these; `None` if they can.
pub(super) fn refuse(
    datagrams: Datagrams,
    cell: &Cell,
    fixed: &FixedParams,
    link: &LinkFacts,
) -> Option<Unavailable> {
    if link.kind == LinkKind::Remote {
        let no = Unavailable::unsupported("datagrams are not sent to another machine");
        return Some(no.remedy("a link inside this machine: --link veth, --link null"));
    }
    if cell.burn_softirq_ns_per_mb.is_some() {
        let no = "what burns in softirqs does so for acknowledgements, and datagrams have none";
        return Some(Unavailable::unsupported(no));
    }
    let headers = if link.ip == IpVersion::V6 { 48 } else { 28 };
    let most = usize::try_from(link.mtu_bytes).unwrap_or(usize::MAX).saturating_sub(headers);
    if datagrams.payload_bytes > most {
        return Some(
            Unavailable::unsupported(format!(
                "datagrams of {} bytes are longer than the MTU of {} bytes lets pass whole",
                datagrams.payload_bytes, link.mtu_bytes
            ))
            .remedy(format!("--datagram {most}, or a larger --mtu")),
        );
    }
    super::factor::option_of_streams(fixed).map(|option| {
        Unavailable::unsupported(format!(
            "{option} is an option of TCP, and this path sends datagrams"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(bytes: u64) -> SendCounts {
        SendCounts { bytes, ..SendCounts::default() }
    }

    #[test]
    fn more_than_may_be_under_way_is_waited_for_and_then_taken_for_lost_once() {
        let arrived = Counting::<RecvCounts>::default();
        let mut in_flight = InFlight::default();
        in_flight.wait(sent(IN_FLIGHT_BYTES), &arrived);
        assert_eq!(in_flight.lost_bytes, 0);
        let began = Instant::now();
        in_flight.wait(sent(10 * IN_FLIGHT_BYTES), &arrived);
        assert!(began.elapsed() >= LATE);
        assert_eq!(in_flight.lost_bytes, 10 * IN_FLIGHT_BYTES);
        // What follows has as much room as before.
        in_flight.wait(sent(11 * IN_FLIGHT_BYTES), &arrived);
        assert_eq!(in_flight.lost_bytes, 10 * IN_FLIGHT_BYTES);
        // It was late, and not lost.
        arrived.set(RecvCounts { bytes: 11 * IN_FLIGHT_BYTES, ..RecvCounts::default() });
        in_flight.wait(sent(12 * IN_FLIGHT_BYTES), &arrived);
        assert_eq!(in_flight.lost_bytes, IN_FLIGHT_BYTES);
    }

    #[test]
    fn a_sender_waits_for_what_is_on_its_way() {
        let arrived = Counting::<RecvCounts>::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                arrived.set(RecvCounts { bytes: 100, ..RecvCounts::default() });
            });
            await_arrival(sent(100), &arrived).unwrap();
        });
    }
}
