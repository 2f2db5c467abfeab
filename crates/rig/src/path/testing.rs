//! For the tests of paths: file sets of odd sizes, connections over loopback, and transfers.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use super::{Receiver, RecvSetup, SendSetup, Sender, open_receiver, open_sender};
use crate::tls::{TlsKeying, TlsSecret, TlsSession};
use crate::workload::{FileSet, SourceFile};
use zc_run::{
    Cipher, LONGEST_RECORD, RecvCounts, RecvPath, SendCounts, SendPath, TlsRecords, TlsVersion,
    Transfer,
};

/// A test that takes longer is considered to hang.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// One byte, just below and just above pages and buffers, and more than every pipe and buffer
/// holds.
pub(super) const ODD_LENS: [usize; 5] = [1, 4_095, 4_096, 65_537, 3_000_000];

/// Files of these lengths whose bytes depend on position and file.
pub(super) fn files_of(lens: &[usize]) -> Arc<FileSet> {
    let source = |(at, &len): (usize, &usize)| {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&content(at, len)).unwrap();
        SourceFile { name: format!("file {at}"), file, len: len as u64 }
    };
    Arc::new(FileSet::new(lens.iter().enumerate().map(source).collect()))
}

/// The bytes of file `at` of [`files_of`].
pub(super) fn content(at: usize, len: usize) -> Vec<u8> {
    (0..len).map(|byte| (byte.wrapping_mul(2_654_435_761) >> 13) as u8 ^ at as u8).collect()
}

/// The setup of a path with buffers of `buffer_bytes`.
pub(super) fn setup_of(files: Arc<FileSet>, buffer_bytes: usize) -> SendSetup {
    SendSetup { session: Some(session(0)), ..SendSetup::new(files, buffer_bytes) }
}

/// The setup of a receive path for what such a path sends.
pub(super) fn recv_setup_of(buffer_bytes: usize) -> RecvSetup {
    RecvSetup::new(buffer_bytes).keyed(Some(session(0)))
}

/// The same with keys that the sender has not.
pub(super) fn other_recv_setup_of(buffer_bytes: usize) -> RecvSetup {
    RecvSetup::new(buffer_bytes).keyed(Some(session(1)))
}

/// The keys of a connection; those of senders here are of number 0.
fn session(index: usize) -> TlsSession {
    static KEYING: OnceLock<TlsKeying> = OnceLock::new();
    let records = TlsRecords {
        cipher: Cipher::Aes128Gcm,
        version: TlsVersion::V13,
        payload_bytes: LONGEST_RECORD,
    };
    let new = || TlsKeying { records, secret: TlsSecret::new().unwrap() };
    KEYING.get_or_init(new).session(index)
}

/// Whether a path is one over io_uring, by its name.
fn is_uring(name: &str) -> bool {
    name.starts_with("uring-")
}

/// The send paths of streams over io_uring (`uring` is true), or all others.
pub(super) fn send_paths(uring: bool) -> impl Iterator<Item = SendPath> {
    let streams = SendPath::ALL.iter().copied().filter(|path| !path.form().is_datagrams());
    streams.filter(move |path| is_uring(path.name()) == uring)
}

/// Same as [`send_paths`], for receive paths.
pub(super) fn recv_paths(uring: bool) -> impl Iterator<Item = RecvPath> {
    let streams = RecvPath::ALL.iter().copied().filter(|path| !path.form().is_datagrams());
    streams.filter(move |path| is_uring(path.name()) == uring)
}

/// Two ends of a connection over loopback: the one that connected, and the one that accepted.
pub(super) fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

/// The path, or `None` and the reason on stderr where it cannot run here.
pub(super) fn sender(
    path: SendPath,
    socket: impl AsFd,
    setup: &SendSetup,
) -> Option<Box<dyn Sender>> {
    open_sender(path, socket, setup).map_err(|no| eprintln!("skipped: {path}: {}", no.reason)).ok()
}

/// Same as [`sender`], for a receive path.
pub(super) fn receiver(
    path: RecvPath,
    socket: &TcpStream,
    buffer_bytes: usize,
) -> Option<Box<dyn Receiver>> {
    open_receiver(path, socket, &recv_setup_of(buffer_bytes))
        .map_err(|no| eprintln!("skipped: {path}: {}", no.reason))
        .ok()
}

/// Sends `rounds` rounds of the files in pieces of `piece_bytes` and receives them. Returns the
/// counts and the bytes that the receiver showed; `None` where a path cannot run here.
pub(super) fn transfer(
    send: SendPath,
    recv: RecvPath,
    setup: &SendSetup,
    recv_buffer_bytes: usize,
    piece_bytes: usize,
    rounds: u64,
) -> Option<(SendCounts, RecvCounts, Vec<u8>)> {
    let recv = Transfer::Paths { send, recv }.paired().receiver();
    let (one, other) = pair();
    let mut sender = sender(send, &one, setup)?;
    receiver(recv, &other, recv_buffer_bytes)?;
    let received = in_time(move || {
        let mut receiver = open_receiver(recv, &other, &recv_setup_of(recv_buffer_bytes)).unwrap();
        let mut shown = Vec::new();
        while receiver.receive(Some(&mut |bytes: &[u8]| shown.extend_from_slice(bytes))).unwrap()
            > 0
        {}
        (receiver.counts(), shown)
    });
    let mut left = rounds * setup.files.total_bytes();
    for piece in setup.files.walk(0, piece_bytes) {
        if left == 0 {
            break;
        }
        sender.send(piece).unwrap();
        left -= piece.len as u64;
    }
    sender.drain().unwrap();
    let sent = sender.counts();
    one.shutdown(std::net::Shutdown::Write).unwrap();
    let (received, shown) = received.recv_timeout(PATIENCE).expect("the receiver ends in time");
    Some((sent, received, shown))
}

/// Runs `body` on a thread of its own. The caller waits for its result with [`PATIENCE`].
pub(super) fn in_time<T: Send + 'static>(
    body: impl FnOnce() -> T + Send + 'static,
) -> mpsc::Receiver<T> {
    let (out, inbox) = mpsc::channel();
    std::thread::spawn(move || out.send(body()));
    inbox
}
