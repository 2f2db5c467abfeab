//! Every send path over a real connection: its bytes, its counts, and what it says when things go
//! wrong.

use std::io::Read;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::msg_zerocopy::MsgZerocopy;
use crate::path::testing::{
    ODD_LENS, PATIENCE, content, files_of, in_time, pair, recv_setup_of, send_paths, sender,
    setup_of, transfer,
};
use crate::path::{More, SendSetup, Sender, open_receiver};
use crate::workload::Piece;
use zc_run::{Align, Error, ErrorKind, RecvPath, SendPath, Transfer};

/// All but those over io_uring, which have tests of their own.
fn paths() -> impl Iterator<Item = SendPath> {
    send_paths(false)
}

fn is_zero_copy_with_completions(path: SendPath) -> bool {
    matches!(path, SendPath::MsgZerocopy | SendPath::MsgZerocopyMmap)
}

fn expected(lens: &[usize], rounds: usize) -> Vec<u8> {
    let round: Vec<u8> = lens.iter().enumerate().flat_map(|(at, &len)| content(at, len)).collect();
    round.repeat(rounds)
}

#[test]
fn every_path_sends_exactly_the_bytes_of_its_files() {
    let expected = expected(&ODD_LENS, 2);
    for path in paths() {
        let setup = setup_of(files_of(&ODD_LENS), 65_536);
        for piece_bytes in [1 << 20, 8_192] {
            let Some((sent, _, got)) =
                transfer(path, RecvPath::Recv, &setup, 65_536, piece_bytes, 2)
            else {
                break;
            };
            assert!(got == expected, "{path}: other bytes arrived than were sent");
            assert_eq!(sent.bytes, expected.len() as u64, "{path}");
            assert!(sent.calls > 0, "{path}");
        }
    }
}

#[test]
fn odd_buffers_and_pieces_change_no_byte() {
    let lens = [1, 4_097, 30_000];
    let expected = expected(&lens, 3);
    for path in paths() {
        let setup = setup_of(files_of(&lens), 1_000);
        let Some((_, _, got)) = transfer(path, RecvPath::Recv, &setup, 777, 4_001, 3) else {
            continue;
        };
        assert!(got == expected, "{path}: other bytes arrived than were sent");
    }
}

#[test]
fn on_loopback_every_zero_copy_send_is_completed_and_was_copied() {
    for path in paths().filter(|&path| is_zero_copy_with_completions(path)) {
        let setup = setup_of(files_of(&[1_000_000, 300_000]), 65_536);
        let Some((sent, _, _)) = transfer(path, RecvPath::Recv, &setup, 65_536, 1 << 20, 4) else {
            continue;
        };
        // 16 sends and 5 to a round, more where a send was short.
        assert_eq!(sent.completions, 4 * 21 + sent.short, "{path}");
        assert_eq!(sent.copied, sent.completions, "{path}");
    }
}

#[test]
fn paths_without_completions_count_none() {
    for path in paths().filter(|&path| !is_zero_copy_with_completions(path)) {
        let setup = setup_of(files_of(&[10_000]), 65_536);
        let Some((sent, _, _)) = transfer(path, RecvPath::Recv, &setup, 65_536, 1 << 20, 1) else {
            continue;
        };
        assert_eq!((sent.completions, sent.copied, sent.enobufs), (0, 0, 0), "{path}");
    }
}

#[test]
fn a_piece_is_one_sendfile_and_two_splices() {
    let setup = setup_of(files_of(&[10_000]), 65_536);
    for (path, calls) in [
        (SendPath::Sendfile, 1),
        (SendPath::Splice, 2),
        (SendPath::ReadSend, 2),
        (SendPath::MmapWrite, 1),
    ] {
        let Some((sent, _, _)) = transfer(path, RecvPath::Recv, &setup, 65_536, 1 << 20, 1) else {
            continue;
        };
        assert_eq!(sent.calls, calls, "{path}");
    }
}

#[test]
fn messages_of_every_size_change_no_byte_and_are_a_call_each() {
    let lens = [30_000, 1, 4_097];
    for path in paths() {
        for message in [64, 256, 4_096, 10_001, 4 << 20] {
            let setup =
                SendSetup { call_bytes: Some(message), ..setup_of(files_of(&lens), message) };
            let Some((sent, _, got)) = transfer(path, RecvPath::Recv, &setup, 65_536, 1 << 20, 2)
            else {
                break;
            };
            assert!(
                got == expected(&lens, 2),
                "{path} {message}: other bytes arrived than were sent"
            );
            let messages: usize = lens.iter().map(|len| 2 * len.div_ceil(message)).sum();
            assert!(sent.calls >= messages as u64, "{path} {message}: {sent:?}");
        }
    }
}

#[test]
fn a_message_larger_than_a_pipe_is_cut_only_by_the_pipe() {
    for path in [SendPath::Splice, SendPath::Vmsplice] {
        let setup =
            SendSetup { call_bytes: Some(4 << 20), ..setup_of(files_of(&[5_000_000]), 65_536) };
        let Some((sent, _, got)) = transfer(path, RecvPath::Recv, &setup, 65_536, 4 << 20, 1)
        else {
            continue;
        };
        assert!(got == content(0, 5_000_000), "{path}");
        assert!(sent.calls >= 2 * 5, "{path}: a pipe holds no more than 1 MiB");
    }
}

#[test]
fn msg_more_changes_no_byte_and_is_refused_by_calls_without_flags() {
    for path in paths() {
        let setup = SendSetup {
            more: More::Always,
            call_bytes: Some(1_000),
            ..setup_of(files_of(&[30_000]), 1_000)
        };
        if matches!(path, SendPath::ReadWrite | SendPath::MmapWrite | SendPath::Sendfile) {
            let no = crate::path::open_sender(path, &pair().0, &setup).map(drop).unwrap_err();
            assert!(
                no.reason.contains("MSG_MORE") && no.remedy.as_deref().is_some(),
                "{path}: {}",
                no.reason
            );
            continue;
        }
        let Some((_, _, got)) = transfer(path, RecvPath::Recv, &setup, 65_536, 1 << 20, 1) else {
            continue;
        };
        assert!(got == content(0, 30_000), "{path}");
    }
}

#[test]
fn all_calls_of_a_piece_but_the_last_say_msg_more() {
    const LEN: usize = 10_000;
    let mut tried = 0;
    for path in paths().filter(|path| path.form() == zc_run::Form::Stream) {
        let (one, other) = pair();
        // Without MSG_MORE, each call is a packet of its own.
        zc_kernel::tcp::set_nodelay(&one, true).unwrap();
        let setup = SendSetup {
            more: More::Inside,
            call_bytes: Some(100),
            ..setup_of(files_of(&[2 * LEN]), 100)
        };
        let mut sender = match crate::path::open_sender(path, &one, &setup) {
            Ok(sender) => sender,
            Err(no) => {
                let is_known = matches!(path, SendPath::ReadWrite | SendPath::MmapWrite);
                assert!(is_known && no.reason.contains("MSG_MORE"), "{path}: {}", no.reason);
                continue;
            }
        };
        if path == SendPath::Sendfile {
            continue; // says it inside a call alone
        }
        let before = zc_kernel::tcp::info(&one).unwrap();
        sender.send(Piece { file: 0, offset: 0, len: LEN }).unwrap();
        let after = zc_kernel::tcp::info(&one).unwrap();
        assert_eq!(after.notsent_bytes, 0, "{path}: the last call holds bytes back");
        // One, but for the kernel's limits of a packet's fragments, and its timer of 200 ms.
        let packets = after.segs_out - before.segs_out;
        assert!((1..LEN as u32 / 100 / 2).contains(&packets), "{path}: {packets} packets");
        let mut got = vec![0; LEN];
        (&other).read_exact(&mut got).unwrap();
        assert!(got == content(0, 2 * LEN)[..LEN], "{path}");
        tried += 1;
    }
    assert!(tried >= 4, "only {tried} paths were tried");
}

#[test]
fn buffers_that_begin_after_a_page_boundary_change_no_byte() {
    for path in paths() {
        let setup = SendSetup { align: Align::Byte, ..setup_of(files_of(&ODD_LENS), 4_096) };
        let Some((_, _, got)) = transfer(path, RecvPath::Recv, &setup, 65_536, 1 << 20, 1) else {
            continue;
        };
        assert!(got == expected(&ODD_LENS, 1), "{path}");
    }
}

/// Sends rounds of the files until it fails, then drains; in time.
fn sends_until_it_fails(path: SendPath, socket: &TcpStream, setup: &SendSetup) -> Option<Error> {
    sender(path, socket, setup)?;
    let (socket, setup) = (socket.try_clone().unwrap(), setup.clone());
    let failed = in_time(move || {
        let mut sender = crate::path::open_sender(path, &socket, &setup).unwrap();
        let mut walk = setup.files.walk(0, 1 << 20);
        loop {
            if let Err(error) = sender.send(walk.next().unwrap()) {
                let _ = sender.drain();
                break error;
            }
        }
    });
    Some(failed.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{path} hangs")))
}

#[test]
fn a_receiver_that_closes_midway_is_an_error_and_no_hang() {
    for path in paths() {
        let setup = setup_of(files_of(&[3_000_000]), 65_536);
        let (one, mut other) = pair();
        let closes = in_time(move || other.read_exact(&mut vec![0; 1_000_000]).unwrap());
        let Some(error) = sends_until_it_fails(path, &one, &setup) else { continue };
        closes.recv_timeout(PATIENCE).unwrap();
        assert_eq!(
            (error.kind, &*error.id),
            (ErrorKind::Failed, "receiver-closed-early"),
            "{path}"
        );
    }
}

#[test]
fn a_sender_that_is_blocked_wakes_when_its_socket_is_shut_down() {
    for path in paths() {
        let setup = setup_of(files_of(&[3_000_000]), 65_536);
        let (one, other) = pair();
        let handle = one.try_clone().unwrap();
        // Nobody reads, so it is blocked or soon will be; the shutdown ends it either way.
        let shuts = in_time(move || {
            assert!(zc_kernel::tcp::wait_readable(&other, PATIENCE).unwrap());
            handle.shutdown(Shutdown::Both).unwrap();
            other
        });
        let Some(error) = sends_until_it_fails(path, &one, &setup) else { continue };
        assert_eq!(error.kind, ErrorKind::Failed, "{path}: {error}");
        drop(shuts.recv_timeout(PATIENCE).unwrap());
    }
}

/// Reads everything, until the other end closes.
fn swallow(mut socket: TcpStream) -> std::sync::mpsc::Receiver<usize> {
    in_time(move || socket.read_to_end(&mut Vec::new()).unwrap_or(0))
}

#[test]
fn a_file_that_is_truncated_while_it_is_sent_is_an_error_that_names_it() {
    for path in paths().filter(|path| !matches!(path, SendPath::Vmsplice | SendPath::MsgZerocopy)) {
        let setup = setup_of(files_of(&[10, 3_000_000]), 65_536);
        let (one, other) = pair();
        let Some(mut sender) = sender(path, &one, &setup) else { continue };
        let swallowed = swallow(other);
        sender.send(Piece { file: 0, offset: 0, len: 10 }).unwrap();
        sender.send(Piece { file: 1, offset: 0, len: 1 << 20 }).unwrap();
        setup.files.files[1].file.set_len(1_500_000).unwrap();
        let error = sender.send(Piece { file: 1, offset: 1 << 20, len: 1 << 20 }).unwrap_err();
        assert_eq!((error.kind, &*error.id), (ErrorKind::Input, "file-shrank"), "{path}");
        assert!(error.message.contains("\"file 1\""), "{path}: {error}");
        let _ = sender.drain();
        drop((sender, one));
        swallowed.recv_timeout(PATIENCE).unwrap();
    }
}

#[test]
fn a_mapped_file_that_loses_the_end_of_a_page_is_noticed_when_the_path_is_drained() {
    for path in [SendPath::MmapWrite, SendPath::MsgZerocopyMmap] {
        let setup = setup_of(files_of(&[10_000]), 65_536);
        let (one, other) = pair();
        let Some(mut sender) = sender(path, &one, &setup) else { continue };
        let swallowed = swallow(other);
        setup.files.files[0].file.set_len(9_999).unwrap();
        sender.send(Piece { file: 0, offset: 0, len: 10_000 }).unwrap();
        assert_eq!(sender.drain().unwrap_err().id, "file-shrank", "{path}");
        drop((sender, one));
        swallowed.recv_timeout(PATIENCE).unwrap();
    }
}

#[test]
fn paths_that_send_from_memory_are_not_affected_by_a_later_truncation() {
    for path in [SendPath::Vmsplice, SendPath::MsgZerocopy] {
        let setup = setup_of(files_of(&[10_000]), 65_536);
        setup.resident.copy_of(&setup.files, setup.pages).unwrap();
        setup.files.files[0].file.set_len(1).unwrap();
        let Some((_, _, got)) = transfer(path, RecvPath::Recv, &setup, 65_536, 1 << 20, 1) else {
            continue;
        };
        assert!(got == content(0, 10_000), "{path}");
    }
}

#[test]
fn a_slow_reader_and_a_small_send_buffer_change_no_byte() {
    let lens = [1, 70_000, 150_000];
    for path in paths() {
        let setup = setup_of(files_of(&lens), 65_536);
        let recv = Transfer::Paths { send: path, recv: RecvPath::Recv }.paired().receiver();
        let (one, other) = pair();
        zc_kernel::tcp::set_sndbuf(&one, 4_096).unwrap();
        zc_kernel::tcp::set_rcvbuf(&other, 65_536).unwrap();
        let Some(mut sender) = sender(path, &one, &setup) else { continue };
        // Slow by reading little at a time, with a turn for everybody else in between.
        let reader = in_time(move || {
            let mut receiver = open_receiver(recv, &other, &recv_setup_of(1_000)).unwrap();
            let mut got = Vec::new();
            while receiver.receive(Some(&mut |bytes| got.extend_from_slice(bytes))).unwrap() > 0 {
                std::thread::yield_now();
            }
            got
        });
        let mut walk = setup.files.walk(0, 1 << 20);
        for _ in 0..3 {
            sender.send(walk.next().unwrap()).unwrap();
        }
        sender.drain().unwrap();
        drop(sender);
        one.shutdown(Shutdown::Write).unwrap();
        let got = reader.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{path} hangs"));
        assert!(got == expected(&lens, 1), "{path}: other bytes arrived than were sent");
    }
}

#[test]
fn a_drain_ends_when_the_receiver_has_stopped_reading() {
    let setup = setup_of(files_of(&[1_000_000]), 65_536);
    let (one, other) = pair();
    // Little room at the receiver, much at the sender: bytes remain that are never acknowledged.
    zc_kernel::tcp::set_rcvbuf(&other, 4_096).unwrap();
    zc_kernel::tcp::set_sndbuf(&one, 4 << 20).unwrap();
    let Ok(mut path) = MsgZerocopy::open(one.as_fd(), &setup) else {
        eprintln!("skipped: no MSG_ZEROCOPY here");
        return;
    };
    path.tracker().set_patience_ns(50_000_000);
    let taken = Arc::new(AtomicU64::new(0));
    let (ended, sends) = (Arc::clone(&taken), one.try_clone().unwrap());
    let result = in_time(move || {
        let sent = path.send(Piece { file: 0, offset: 0, len: 150_000 });
        ended.store(path.counts().bytes, Ordering::Relaxed);
        let began = Instant::now();
        let drained = path.drain();
        drop(sends);
        (sent, drained, began.elapsed())
    });
    let (sent, drained, elapsed) =
        result.recv_timeout(PATIENCE).expect("the drain is bounded in time");
    sent.unwrap();
    assert_eq!(taken.load(Ordering::Relaxed), 150_000);
    let error = drained.unwrap_err();
    assert_eq!((error.kind, &*error.id), (ErrorKind::Failed, "receiver-stalled"));
    assert!(error.message.contains("50 ms"), "{error}");
    // Bytes were acknowledged before the drain, but no send was completed: that is progress, once.
    assert!(elapsed >= 2 * Duration::from_millis(50), "{elapsed:?}");
    drop(other);
}

#[test]
fn completions_are_counted_over_ipv6_too() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        eprintln!("skipped: no IPv6 on loopback");
        return;
    };
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let swallowed = swallow(listener.accept().unwrap().0);
    let setup = setup_of(files_of(&[1_000_000]), 65_536);
    let Some(mut sender) = sender(SendPath::MsgZerocopy, &one, &setup) else { return };
    sender.send(Piece { file: 0, offset: 0, len: 1_000_000 }).unwrap();
    sender.drain().unwrap();
    let counts = sender.counts();
    assert_eq!((counts.completions, counts.copied), (16 + counts.short, 16 + counts.short));
    drop((sender, one));
    assert_eq!(swallowed.recv_timeout(PATIENCE).unwrap(), 1_000_000);
}

#[test]
fn a_limit_of_locked_memory_that_holds_no_send_is_refused_with_a_remedy() {
    let is_root = zc_kernel::process::euid() == 0;
    let mut shell = std::process::Command::new("sh");
    if is_root {
        // The kernel adds up what all processes of a user have locked, and tests that run at the
        // same time are root's: a user whom nobody else is.
        std::os::unix::process::CommandExt::uid(&mut shell, 2_000_000_000 + std::process::id());
    }
    let child = shell
        .arg("-c")
        // In a user namespace CAP_IPC_LOCK does not count, so the limit holds for root as well.
        .arg("ulimit -l 64 && exec unshare -r \"$0\" \"$@\"")
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "path::send::tests::child_with_64_kib_of_locked_memory"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    if !said.contains("running 1 test") {
        eprintln!(
            "skipped: no user namespace, or no limit can be set: {}",
            String::from_utf8_lossy(&child.stderr)
        );
        return;
    }
    let full = "the kernel allows no more memory for zero-copy sends";
    if !is_root && said.contains(full) {
        return eprintln!("skipped: other processes of this user have locked its memory");
    }
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "runs as a child under a limit"]
fn child_with_64_kib_of_locked_memory() {
    for path in [SendPath::MsgZerocopy, SendPath::MsgZerocopyMmap] {
        let setup = setup_of(files_of(&[200_000]), 65_536);
        let no = crate::path::open_sender(path, &pair().0, &setup).map(drop).unwrap_err();
        assert_eq!(no.kind.name(), "refused");
        assert_eq!(
            no.reason,
            "a zero-copy send of 65536 bytes locks 73728 bytes of memory, more than RLIMIT_MEMLOCK"
        );
        assert!(no.remedy.as_deref().is_some());
        // Smaller sends fit, two or three at a time: the kernel says ENOBUFS, and every byte
        // arrives all the same.
        let setup = setup_of(files_of(&[200_000]), 16_384);
        let (sent, _, got) = transfer(path, RecvPath::Recv, &setup, 1_000, 1 << 20, 5).unwrap();
        assert!(got == content(0, 200_000).repeat(5));
        assert_eq!(sent.completions, 5 * 13 + sent.short);
    }
}
