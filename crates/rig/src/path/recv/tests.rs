//! Every receive path over a real connection: its bytes, its counts, its ends.

use std::net::Shutdown;

use crate::path::testing::{
    ODD_LENS, PATIENCE, content, files_of, in_time, other_recv_setup_of, pair, receiver,
    recv_paths, recv_setup_of, sender, setup_of, transfer,
};
use crate::path::{open_receiver, shows_bytes};
use crate::workload::Piece;
use zc_run::{ErrorKind, RecvPath, SendPath};

/// All but those over io_uring and those that decrypt, which have tests of their own.
fn paths() -> impl Iterator<Item = RecvPath> {
    recv_paths(false).filter(|path| !path.decrypts())
}

#[test]
fn every_path_receives_every_byte_from_every_kind_of_sender() {
    let expected: Vec<u8> =
        ODD_LENS.iter().enumerate().flat_map(|(at, &len)| content(at, len)).collect();
    for path in paths() {
        for send in
            [SendPath::ReadSend, SendPath::Sendfile, SendPath::Vmsplice, SendPath::MsgZerocopy]
        {
            for buffer_bytes in [65_536, 4_099] {
                let setup = setup_of(files_of(&ODD_LENS), 65_536);
                let Some((_, received, shown)) =
                    transfer(send, path, &setup, buffer_bytes, 1 << 20, 1)
                else {
                    continue;
                };
                assert_eq!(received.bytes, expected.len() as u64, "{send} {path}");
                assert!(
                    received.calls > 0 && received.mapped_bytes <= received.bytes,
                    "{send} {path}"
                );
                if shows_bytes(path) {
                    assert!(shown == expected, "{send} {path}: other bytes arrived than were sent");
                } else {
                    assert!(shown.is_empty(), "{send} {path}");
                }
            }
        }
    }
}

#[test]
fn the_end_of_the_stream_is_zero_and_stays_so() {
    for path in paths() {
        let (one, other) = pair();
        zc_kernel::tcp::send(&one, b"last words").unwrap();
        one.shutdown(Shutdown::Write).unwrap();
        let Some(mut receiver) = receiver(path, &other, 1_000) else { continue };
        let mut total = 0;
        loop {
            match receiver.receive(None).unwrap() {
                0 => break,
                len => total += len,
            }
        }
        assert_eq!(total, 10, "{path}");
        assert_eq!(receiver.receive(None).unwrap(), 0, "{path}");
        assert_eq!(receiver.counts().bytes, 10, "{path}");
    }
}

#[test]
fn records_of_another_key_and_a_stream_that_ends_in_one_are_errors() {
    let setup = setup_of(files_of(&[100_000]), 65_536);
    for path in recv_paths(false).filter(|path| path.decrypts()) {
        for is_cut in [true, false] {
            let (one, other) = pair();
            let keyed = if is_cut { recv_setup_of(1_000) } else { other_recv_setup_of(1_000) };
            let Ok(mut receiver) = open_receiver(path, &other, &keyed) else {
                eprintln!("skipped: {path} cannot run here");
                continue;
            };
            let setup = setup.clone();
            let sent = in_time(move || {
                let mut sender = sender(SendPath::TlsWrite, &one, &setup).unwrap();
                // Who cannot decrypt may have left by then.
                let sent = sender.send(Piece { file: 0, offset: 0, len: 100_000 });
                assert!(sent.is_ok() || !is_cut, "{sent:?}");
                if is_cut {
                    zc_kernel::tcp::send(&one, &[23, 3, 3, 1, 0]).unwrap(); // begins a record
                }
            });
            let error = loop {
                match receiver.receive(None) {
                    Ok(0) => panic!("{path} takes it for the end"),
                    Ok(_) => assert!(is_cut, "{path} shows what it cannot decrypt"),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.id, "not-decrypted", "{path}: {error}");
            drop((receiver, other));
            sent.recv_timeout(PATIENCE).expect("the sender ends in time");
        }
    }
}

#[test]
fn a_reset_is_an_error_and_no_end() {
    for path in paths() {
        let (one, other) = pair();
        let Some(mut receiver) = receiver(path, &other, 1_000) else { continue };
        zc_kernel::tcp::send(&other, b"unread").unwrap();
        assert!(zc_kernel::tcp::wait_readable(&one, PATIENCE).unwrap());
        drop(one); // with bytes unread: a reset
        let error = loop {
            match receiver.receive(None) {
                Ok(len) => assert!(len > 0, "{path}: a reset is taken for the end"),
                Err(error) => break error,
            }
        };
        assert_eq!((error.kind, &*error.id), (ErrorKind::Failed, "sender-reset"), "{path}");
    }
}

#[test]
fn a_receiver_that_waits_wakes_when_its_socket_is_shut_down() {
    for path in paths() {
        let (_one, other) = pair();
        if receiver(path, &other, 1_000).is_none() {
            continue;
        }
        let handle = other.try_clone().unwrap();
        let ended = in_time(move || {
            open_receiver(path, &other, &recv_setup_of(1_000)).unwrap().receive(None)
        });
        handle.shutdown(Shutdown::Both).unwrap();
        assert_eq!(
            ended.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{path} hangs")).unwrap(),
            0,
            "{path}"
        );
    }
}

#[test]
fn pages_of_their_own_are_mapped_and_those_of_a_file_are_not() {
    // The kernel copies what MSG_ZEROCOPY sends to this host into single pages (skb_copy_ubufs) and
    // delivers the pages that sendfile sends, which belong to a file.
    let setup = setup_of(files_of(&[8 << 20]), 65_536);
    for (send, is_mapped) in [(SendPath::MsgZerocopy, true), (SendPath::Sendfile, false)] {
        for buffer_bytes in [65_536, 1 << 20] {
            let path = RecvPath::ZerocopyReceive;
            let Some((sent, received, _)) = transfer(send, path, &setup, buffer_bytes, 1 << 20, 1)
            else {
                continue;
            };
            eprintln!("{send} {buffer_bytes}: {sent:?} {received:?}");
            let share = received.mapped_bytes as f64 / received.bytes as f64;
            assert_eq!(share > 0.5, is_mapped, "{send} {buffer_bytes}: {share} is mapped");
            assert_eq!(share > 0.0, is_mapped, "{send} {buffer_bytes}: {share} is mapped");
        }
    }
}
