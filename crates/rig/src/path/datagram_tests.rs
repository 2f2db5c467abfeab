//! Every path of datagrams over real sockets: its bytes, its datagrams, and what it says when
//! things go wrong.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::testing::{
    ODD_LENS, PATIENCE, content, files_of, in_time, other_recv_setup_of, recv_setup_of, sender,
    setup_of,
};
use super::{Receiver, RecvSetup, SendSetup, open_receiver, open_sender};
use crate::workload::{FileSet, Piece};
use zc_run::{Datagrams, ErrorKind, Form, RecvCounts, RecvPath, SendCounts, SendPath};

fn send_paths() -> impl Iterator<Item = SendPath> {
    SendPath::ALL.iter().copied().filter(|path| path.form().is_datagrams())
}

fn recv_paths(form: Form) -> impl Iterator<Item = RecvPath> {
    RecvPath::ALL.iter().copied().filter(move |path| path.form() == form)
}

/// Two sockets over loopback, connected to each other.
fn pair() -> (UdpSocket, UdpSocket) {
    let [one, other] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    one.connect(other.local_addr().unwrap()).unwrap();
    other.connect(one.local_addr().unwrap()).unwrap();
    (one, other)
}

fn setup(files: Arc<FileSet>, payload_bytes: usize, of_a_call: usize) -> SendSetup {
    SendSetup { datagrams: Datagrams { payload_bytes, of_a_call }, ..setup_of(files, 65_536) }
}

fn receiver(path: RecvPath, socket: &UdpSocket, setup: &RecvSetup) -> Option<Box<dyn Receiver>> {
    open_receiver(path, socket, setup)
        .map_err(|no| eprintln!("skipped: {path}: {}", no.reason))
        .ok()
}

/// Counts of both ends, and the datagrams or joined datagrams that the receiver showed.
type Transferred = (SendCounts, RecvCounts, Vec<Vec<u8>>);

/// Sends a round of the files in small pieces, each once the one before has arrived, as nothing
/// else keeps datagrams from being lost.
fn transfer(send: SendPath, recv: RecvPath, setup: &SendSetup) -> Option<Transferred> {
    transfer_in_pieces(send, recv, setup, usize::MAX)
}

/// The same in pieces of so many datagrams.
fn transfer_in_pieces(
    send: SendPath,
    recv: RecvPath,
    setup: &SendSetup,
    at_once: usize,
) -> Option<Transferred> {
    let (one, other) = pair();
    let mut sender = sender(send, &one, setup)?;
    let recv_setup = recv_setup_of(65_536).with_datagrams(setup.datagrams.payload_bytes);
    receiver(recv, &other, &recv_setup)?;
    let arrived = Arc::new(AtomicU64::new(0));
    let all_sent = Arc::new(AtomicBool::new(false));
    let (counted, ended) = (Arc::clone(&arrived), Arc::clone(&all_sent));
    let received = in_time(move || {
        let mut receiver = open_receiver(recv, &other, &recv_setup).unwrap();
        let mut shown = Vec::new();
        loop {
            let received = receiver.receive(Some(&mut |bytes: &[u8]| shown.push(bytes.to_vec())));
            // An empty one may also be what io_uring sends to see whether it can.
            if received.unwrap() == 0 && ended.load(Ordering::Acquire) {
                break;
            }
            counted.store(receiver.counts().bytes, Ordering::Release);
        }
        shown.retain(|bytes: &Vec<u8>| !bytes.is_empty());
        (receiver.counts(), shown)
    });
    let began = Instant::now();
    for piece in whole(setup, at_once) {
        sender.send(piece).unwrap();
        while arrived.load(Ordering::Acquire) < sender.counts().bytes {
            assert!(began.elapsed() < PATIENCE, "{send} {recv}: bytes were lost");
            std::thread::yield_now();
        }
    }
    sender.drain().unwrap();
    all_sent.store(true, Ordering::Release);
    one.send(&[]).unwrap();
    let (received, shown) = received.recv_timeout(PATIENCE).expect("the receiver ends in time");
    Some((sender.counts(), received, shown))
}

/// A round of the files in pieces of so many datagrams, or of 30,000 bytes.
fn whole(setup: &SendSetup, at_once: usize) -> impl Iterator<Item = Piece> {
    let mut left = setup.files.total_bytes();
    setup
        .files
        .walk(0, at_once.saturating_mul(setup.datagrams.payload_bytes).min(30_000))
        .take_while(move |piece| {
            let is_wanted = left > 0;
            left = left.saturating_sub(piece.len as u64);
            is_wanted
        })
}

#[test]
fn every_path_sends_exactly_the_bytes_of_its_files_to_every_receiver() {
    let expected: Vec<u8> =
        ODD_LENS.iter().enumerate().flat_map(|(at, &len)| content(at, len)).collect();
    for send in send_paths() {
        for recv in recv_paths(send.form()) {
            for (payload_bytes, of_a_call) in [(1_452, 44), (400, 4)] {
                let of_a_call = if send.joins_datagrams() { of_a_call } else { 1 };
                let setup = setup(files_of(&ODD_LENS), payload_bytes, of_a_call);
                if send == SendPath::UdpUringVectored && of_a_call > 4 {
                    continue; // a packet has no room for so many fragments
                }
                // Any receive buffer has room for so many, also where each is charged with two
                // whole pages, as what is sent without a copy is.
                let Some((sent, received, shown)) = transfer_in_pieces(send, recv, &setup, 16)
                else {
                    break;
                };
                let what = format!("{send} {recv} {payload_bytes} {of_a_call}");
                assert!(shown.concat() == expected, "{what}: other bytes arrived than were sent");
                assert_eq!(sent.bytes, expected.len() as u64, "{what}");
                assert_eq!(received.bytes, sent.bytes, "{what}");
                assert!(sent.calls > 0 && received.calls > 0, "{what}");
            }
        }
    }
}

#[test]
fn datagrams_have_the_payload_that_was_asked_for_and_only_the_last_of_a_piece_is_shorter() {
    let (len, payload_bytes) = (30_000, 1_300);
    for send in send_paths() {
        let of_a_call = if send.joins_datagrams() { 4 } else { 1 };
        let setup = setup(files_of(&[len]), payload_bytes, of_a_call);
        let recv = match send.form() {
            Form::SealedDatagrams => RecvPath::QuicRecv,
            _ => RecvPath::UdpRecvmsg,
        };
        let Some((sent, _, shown)) = transfer(send, recv, &setup) else { continue };
        let own_bytes = match send.form() {
            Form::SealedDatagrams => payload_bytes - 29,
            _ => payload_bytes,
        };
        let lengths: Vec<usize> = shown.iter().map(Vec::len).collect();
        let whole = len / own_bytes;
        let mut expected = vec![own_bytes; whole];
        expected.push(len - whole * own_bytes);
        assert_eq!(lengths, expected, "{send}");
        let framing = (lengths.len() * (payload_bytes - own_bytes)) as u64;
        assert_eq!(sent.framing_bytes, framing, "{send}");
    }
}

#[test]
fn a_call_takes_as_many_datagrams_as_were_asked_for() {
    // 30 datagrams: one read, and so many sends.
    let setup = |of_a_call| setup(files_of(&[30_000]), 1_000, of_a_call);
    for (send, of_a_call, calls) in [
        (SendPath::UdpSend, 1, 1 + 30),
        (SendPath::UdpSendmmsg, 10, 1 + 3),
        (SendPath::UdpGso, 10, 1 + 3),
        (SendPath::UdpGso, 30, 1 + 1),
    ] {
        let Some((sent, ..)) = transfer(send, RecvPath::UdpRecvmmsg, &setup(of_a_call)) else {
            continue;
        };
        assert_eq!(sent.calls, calls, "{send} {of_a_call}");
    }
}

#[test]
fn every_zero_copy_send_of_datagrams_is_completed() {
    for send in [SendPath::UdpZerocopy, SendPath::UdpGsoZerocopy] {
        let of_a_call = if send.joins_datagrams() { 10 } else { 1 };
        let setup = setup(files_of(&[30_000]), 1_000, of_a_call);
        let Some((sent, ..)) = transfer(send, RecvPath::UdpRecvmmsg, &setup) else { continue };
        assert_eq!(sent.completions, 30 / of_a_call as u64, "{send}: {sent:?}");
    }
}

#[test]
fn more_datagrams_than_a_call_has_room_for_are_refused_with_a_remedy() {
    for send in send_paths().filter(|send| {
        send.joins_datagrams() && !matches!(send, SendPath::UdpSendmmsg | SendPath::UdpUring)
    }) {
        let (one, _other) = pair();
        let setup = setup(files_of(&[10]), 1_452, 64);
        let no = open_sender(send, &one, &setup).map(drop).unwrap_err();
        assert!(no.reason.contains("64 datagrams of 1452 bytes"), "{send}: {}", no.reason);
        assert_eq!(no.remedy.as_deref(), Some("--segments 45"), "{send}");
    }
}

#[test]
fn a_receiver_that_is_gone_is_an_error_and_no_hang() {
    for send in send_paths() {
        let (one, other) = pair();
        let setup = setup(files_of(&[1_000_000]), 1_200, 4);
        let Some(mut sender) = sender(send, &one, &setup) else { continue };
        drop(other);
        let failed =
            setup.files.walk(0, 30_000).take(100).find_map(|piece| sender.send(piece).err());
        let error = failed.unwrap_or_else(|| panic!("{send} does not notice"));
        assert_eq!(
            (error.kind, &*error.id),
            (ErrorKind::Failed, "receiver-closed-early"),
            "{send}"
        );
    }
}

#[test]
fn a_file_that_is_truncated_while_its_datagrams_are_sent_is_an_error_that_names_it() {
    for send in [SendPath::UdpSend, SendPath::UdpSendmmsg, SendPath::UdpGso, SendPath::QuicLike] {
        let (one, _other) = pair();
        let setup = setup(files_of(&[100_000]), 1_200, 4);
        let Some(mut sender) = sender(send, &one, &setup) else { continue };
        sender.send(Piece { file: 0, offset: 0, len: 10_000 }).unwrap();
        setup.files.files[0].file.set_len(11_000).unwrap();
        let error = sender.send(Piece { file: 0, offset: 10_000, len: 10_000 }).unwrap_err();
        assert_eq!((error.kind, &*error.id), (ErrorKind::Input, "file-shrank"), "{send}");
    }
}

#[test]
fn a_receiver_of_datagrams_that_waits_wakes_when_its_socket_is_shut_down() {
    for path in RecvPath::ALL.iter().copied().filter(|path| path.form().is_datagrams()) {
        let (_one, other) = pair();
        let setup = recv_setup_of(65_536);
        if receiver(path, &other, &setup).is_none() {
            continue;
        }
        let handle = other.try_clone().unwrap();
        let ended = in_time(move || open_receiver(path, &other, &setup).unwrap().receive(None));
        zc_kernel::udp::shut_down(&handle).unwrap();
        let ended = ended.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{path} hangs"));
        assert_eq!(ended.unwrap(), 0, "{path}");
    }
}

#[test]
fn datagrams_of_another_key_are_an_error() {
    let (one, other) = pair();
    let setup = setup(files_of(&[10_000]), 1_200, 4);
    let Some(mut sender) = sender(SendPath::QuicLike, &one, &setup) else { return };
    let Some(mut receiver) = receiver(RecvPath::QuicRecv, &other, &other_recv_setup_of(65_536))
    else {
        return;
    };
    sender.send(Piece { file: 0, offset: 0, len: 10_000 }).unwrap();
    assert_eq!(receiver.receive(None).unwrap_err().id, "not-decrypted");
}

#[test]
fn a_message_of_more_parts_than_a_packet_has_fragments_is_an_error() {
    let (one, _other) = pair();
    let setup = setup(files_of(&[100_000]), 1_200, 40);
    let Some(mut sender) = sender(SendPath::UdpUringVectored, &one, &setup) else { return };
    let error = sender.send(Piece { file: 0, offset: 0, len: 60_000 }).unwrap_err();
    assert_eq!(error.id, "datagram-too-long", "{error}");
}

#[test]
fn a_path_of_datagrams_is_refused_on_a_stream_and_one_of_streams_on_datagrams() {
    let (stream, _other) = super::testing::pair();
    let (datagrams, _other) = pair();
    let setup = setup(files_of(&[10]), 1_200, 1);
    for &path in SendPath::ALL {
        let no = match path.form().is_datagrams() {
            true => open_sender(path, &stream, &setup).map(drop),
            false => open_sender(path, &datagrams, &setup).map(drop),
        };
        let reason = no.unwrap_err().reason;
        assert!(reason.starts_with(&format!("{path} is about")), "{reason}");
    }
    for &path in RecvPath::ALL {
        let setup = recv_setup_of(1_000);
        let no = match path.form().is_datagrams() {
            true => open_receiver(path, &stream, &setup).map(drop),
            false => open_receiver(path, &datagrams, &setup).map(drop),
        };
        let reason = no.unwrap_err().reason;
        assert!(reason.starts_with(&format!("{path} is about")), "{reason}");
    }
}
