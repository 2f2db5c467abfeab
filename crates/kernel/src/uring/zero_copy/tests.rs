//! Zero-copy sends of each kind: their memory, their notifications, and what cuts a chain.

use std::net::{TcpListener, TcpStream};

use super::*;

/// Bytes that fit into the send buffer of a socket if it is as large as net.core.wmem_max is by
/// default: 416 KiB, in which a byte in small packets takes almost three.
const FITS: usize = 100_000;

/// A socket with room for [`FITS`], whose peer has almost no room to receive.
fn connection_to_a_slow_peer() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 4_096).unwrap();
    let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    rustix::net::sockopt::set_socket_send_buffer_size(&sender, 400_000).unwrap();
    (sender, listener.accept().unwrap().0)
}

const ALL: [ZeroCopySends; 4] = [
    ZeroCopySends::Single,
    ZeroCopySends::SingleRegistered,
    ZeroCopySends::Linked,
    ZeroCopySends::Vectored,
];

fn ring_to(socket: TcpStream, memory: &Arc<Pages>, sends_as: ZeroCopySends) -> Option<ZeroCopy> {
    ZeroCopy::new(
        socket.into(),
        Arc::clone(memory),
        65_536,
        sends_as,
        false,
        Duration::from_millis(50),
    )
    .map_err(|error| eprintln!("skipped: {error}"))
    .ok()
}

#[test]
fn a_drain_whose_peer_does_not_read_is_over_in_time_and_nothing_the_kernel_reads_is_freed() {
    let memory = Arc::new(Pages::new(FITS).unwrap());
    for sends_as in ALL {
        let (sender, receiver) = connection_to_a_slow_peer();
        let Some(mut ring) = ring_to(sender, &memory, sends_as) else { return };
        ring.send(0, FITS).unwrap();
        let held = Arc::strong_count(&memory);
        // Its kernel took bytes before the drain, and none in it: once more patience, and over.
        let began = Instant::now();
        assert_eq!(ring.drain().unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() >= 2 * Duration::from_millis(50));
        drop(ring);
        assert_eq!(Arc::strong_count(&memory), held, "leaked, because the kernel still used it");
        drop(receiver);
    }
}

#[test]
fn a_drained_ring_gives_its_memory_back() {
    let memory = Arc::new(Pages::new(200_000).unwrap());
    for sends_as in ALL {
        let (sender, mut receiver) = connection_to_a_slow_peer();
        let Some(mut ring) = ring_to(sender, &memory, sends_as) else { return };
        let reader = std::thread::spawn(move || std::io::copy(&mut receiver, &mut std::io::sink()));
        ring.send(1, 199_999).unwrap();
        ring.drain().unwrap();
        drop(ring);
        assert_eq!(reader.join().unwrap().unwrap(), 199_999);
        assert_eq!(Arc::strong_count(&memory), 1);
    }
}

#[test]
fn a_range_that_is_not_within_the_memory_is_refused() {
    let memory = Arc::new(Pages::new(4_096).unwrap());
    let (sender, _receiver) = connection_to_a_slow_peer();
    let Some(mut ring) = ring_to(sender, &memory, ZeroCopySends::Single) else { return };
    for (offset, len) in [(0, memory.len() + 1), (memory.len(), 1), (usize::MAX, 2)] {
        assert_eq!(ring.send(offset, len).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}

#[test]
fn a_socket_without_zero_copy_is_unsupported_at_once() {
    for sends_as in ALL {
        let memory = Arc::new(Pages::new(4_096).unwrap());
        let (sender, _receiver) = std::os::unix::net::UnixStream::pair().unwrap();
        let patience = Duration::from_millis(50);
        let error =
            ZeroCopy::new(sender.into(), memory, 65_536, sends_as, false, patience).unwrap_err();
        if error.raw_os_error().is_some() {
            eprintln!("skipped: {error}");
            return;
        }
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    }
}

/// Makes a cut of the chain certain: the send buffer is far too small for it.
#[test]
fn links_that_are_cancelled_leave_nothing_outstanding_and_nothing_counted() {
    let memory = Arc::new(Pages::new(2_000_000).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 4_096).unwrap();
    let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    rustix::net::sockopt::set_socket_send_buffer_size(&sender, 4_096).unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    let Some(mut ring) = ring_to(sender, &memory, ZeroCopySends::Linked) else { return };
    let reader = std::thread::spawn(move || {
        // Closing with bytes unread resets the connection.
        std::io::Read::read_exact(&mut receiver, &mut [0; 100_000])
    });
    ring.send(0, 1_000_000).unwrap_err();
    reader.join().unwrap().unwrap();
    let cancelled = ring.current.iter().filter(|send| send.taken == Some(-libc::ECANCELED));
    assert!(cancelled.count() > 10, "{:?}", ring.current);
    assert!(ring.void.iter().all(|void| !void.announced), "their notifications have come");
    ring.drain().unwrap();
    assert_eq!(ring.in_flight.ring.outstanding(), 0);
    // At most the one that was cut took bytes.
    assert!(ring.counts().completions <= 3, "{:?}", ring.counts());
    drop(ring);
    assert_eq!(Arc::strong_count(&memory), 1);
}

#[test]
fn notifications_of_cancelled_links_are_not_taken_for_those_that_are_outstanding() {
    let memory = Arc::new(Pages::new(2_000_000).unwrap());
    let (sender, receiver) = connection_to_a_slow_peer();
    let socket = sender.try_clone().unwrap();
    let Some(mut ring) = ring_to(sender, &memory, ZeroCopySends::Linked) else { return };
    ring.send(0, FITS).unwrap();
    // What is queued stays there, and nothing joins it.
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    ring.send(0, 2_000_000).unwrap_err();
    let cancelled = ring.current.iter().filter(|send| send.taken == Some(-libc::ECANCELED));
    assert!(cancelled.count() > 10, "{:?}", ring.current);
    assert_eq!(ring.drain().unwrap_err().kind(), io::ErrorKind::TimedOut);
    assert!(ring.void.is_empty(), "{:?}", ring.void);
    assert!(ring.in_flight.ring.outstanding() > 0);
    drop(receiver);
}

#[test]
fn several_sends_are_one_call() {
    let memory = Arc::new(Pages::new(200_000).unwrap());
    for (sends_as, completions) in [(ZeroCopySends::Linked, 10), (ZeroCopySends::Vectored, 1)] {
        let (sender, mut receiver) = crate::testing::connection();
        let patience = Duration::from_secs(10);
        let ring =
            ZeroCopy::new(sender.into(), Arc::clone(&memory), 1_000, sends_as, false, patience);
        let Ok(mut ring) = ring.map_err(|error| eprintln!("skipped: {error}")) else { return };
        let reader = std::thread::spawn(move || std::io::copy(&mut receiver, &mut std::io::sink()));
        let before = ring.calls();
        ring.send(7, 10_000).unwrap();
        assert_eq!(ring.calls() - before, 1, "{sends_as:?}");
        ring.drain().unwrap();
        if ring.reports_copies() {
            assert_eq!(ring.counts().completions, completions, "{sends_as:?}");
            assert_eq!(ring.counts().copied, completions, "{sends_as:?}: over loopback");
        }
        drop(ring);
        assert_eq!(reader.join().unwrap().unwrap(), 10_000);
    }
}
