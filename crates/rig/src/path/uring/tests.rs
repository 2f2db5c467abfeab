//! The io_uring paths over a real TCP connection of the loopback interface.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

use rustix::io::Errno;

use super::*;
use crate::path::testing::{
    self, content, files_of, pair, receiver, recv_paths, send_paths, sender,
};
use crate::path::{More, SendSetup, open_receiver, open_sender};
use crate::workload::{FileSet, Piece};
use zc_run::{Align, ErrorKind, RecvPath, SendPath};

/// Odd sizes: less than a page, around a page, around 64k, more than a pipe and a chain hold.
const SIZES: [usize; 6] = [1, 4095, 4096, 4097, 65_537, 3_000_000];

/// Files of these sizes, what paths are built from, and all bytes in a row.
fn setup_of(sizes: &[usize]) -> (SendSetup, Vec<u8>) {
    let mut setup = testing::setup_of(files_of(sizes), 65_536);
    setup.cpu = Some(0);
    (setup, sizes.iter().enumerate().flat_map(|(at, &len)| content(at, len)).collect())
}

/// A test that is over in time, or fails instead of hanging.
fn within_time(body: impl FnOnce() + Send + 'static) {
    testing::in_time(body)
        .recv_timeout(testing::PATIENCE)
        .expect("it is over in time, and did not panic");
}

/// The pieces of all files, `rounds` times over.
fn pieces(
    files: &FileSet,
    rounds: usize,
    piece_bytes: usize,
) -> impl Iterator<Item = Piece> + use<> {
    let per_round =
        files.files.iter().map(|file| file.len.div_ceil(piece_bytes as u64)).sum::<u64>();
    files.walk(0, piece_bytes).take(rounds * per_round as usize)
}

#[test]
fn an_unavailable_path_is_unsupported_or_refused_and_has_not_failed() {
    let (setup, _) = setup_of(&[1_000]);
    let (one, other) = pair();
    let senders = send_paths(true).map(|path| open_sender(path, &one, &setup).err());
    let receivers = recv_paths(true)
        .map(|path| open_receiver(path, &other, &testing::recv_setup_of(1_000)).err());
    for no in senders.chain(receivers).flatten() {
        assert!(
            matches!(no.kind.name(), "unsupported" | "refused"),
            "{}: {}",
            no.kind.name(),
            no.reason
        );
    }
}

#[test]
fn a_receiver_that_is_opened_and_dropped_takes_no_byte() {
    within_time(|| {
        for path in recv_paths(true) {
            let (mut one, mut other) = pair();
            one.write_all(b"untouched").unwrap();
            let Some(opened) = receiver(path, &other, 4_096) else { continue };
            drop(opened);
            let mut got = [0; 9];
            other.read_exact(&mut got).unwrap();
            assert_eq!(&got, b"untouched", "{path}");
        }
    });
}

#[test]
fn every_path_sends_exactly_the_bytes_of_its_files() {
    within_time(|| {
        for path in send_paths(true) {
            for (piece_bytes, buffer_bytes) in
                [(1 << 20, 65_536), (4 << 20, 5_000), (10_000, 1 << 20)]
            {
                let (mut setup, all) = setup_of(&SIZES);
                setup.buffer_bytes = buffer_bytes;
                let (one, mut other) = pair();
                let reader = thread::spawn(move || {
                    let mut got = Vec::new();
                    other.read_to_end(&mut got).map(|_| got)
                });
                let Some(mut sender) = sender(path, &one, &setup) else { continue };
                for piece in pieces(&setup.files, 2, piece_bytes) {
                    sender.send(piece).unwrap();
                }
                sender.drain().unwrap();
                one.shutdown(Shutdown::Write).unwrap();
                let got = reader.join().unwrap().unwrap();
                assert!(
                    got == [&all[..], &all[..]].concat(),
                    "{path}: {} bytes came of {}",
                    got.len(),
                    2 * all.len()
                );
                let counts = sender.counts();
                assert_eq!(counts.bytes, 2 * all.len() as u64, "{path}");
                assert!(
                    counts.calls > 0 && counts.copied <= counts.completions,
                    "{path}: {counts:?}"
                );
            }
        }
    });
}

#[test]
fn messages_of_every_size_change_no_byte_wherever_their_buffer_begins() {
    within_time(|| {
        let all: Vec<u8> = [content(0, 30_000), content(1, 1), content(2, 4_097)].concat();
        for path in send_paths(true) {
            for message in [64, 4_096, 10_001, 4 << 20] {
                for (align, more) in [(Align::Page, More::Never), (Align::Byte, More::Always)] {
                    let setup = testing::setup_of(files_of(&[30_000, 1, 4_097]), message);
                    let setup = SendSetup { call_bytes: Some(message), align, more, ..setup };
                    let recv = RecvPath::Recv;
                    let Some((sent, _, got)) =
                        testing::transfer(path, recv, &setup, 65_536, 1 << 20, 1)
                    else {
                        break;
                    };
                    assert!(got == all, "{path} {message} {align} {more:?}");
                    assert_eq!(sent.bytes, all.len() as u64, "{path}");
                }
            }
        }
    });
}

#[test]
fn a_slow_reader_gets_every_byte() {
    within_time(|| {
        for path in send_paths(true) {
            let (setup, all) = setup_of(&[2_000_000, 1, 2_000_001]);
            let (one, mut other) = pair();
            rustix::net::sockopt::set_socket_send_buffer_size(&one, 20_000).unwrap();
            let reader = thread::spawn(move || {
                let (mut got, mut buffer) = (Vec::new(), [0; 9_999]);
                loop {
                    match other.read(&mut buffer).unwrap() {
                        0 => return got,
                        read => got.extend_from_slice(&buffer[..read]),
                    }
                    thread::yield_now();
                }
            });
            let Some(mut sender) = sender(path, &one, &setup) else { continue };
            for piece in pieces(&setup.files, 1, 1 << 20) {
                sender.send(piece).unwrap();
            }
            sender.drain().unwrap();
            one.shutdown(Shutdown::Write).unwrap();
            assert!(reader.join().unwrap() == all, "{path}");
        }
    });
}

#[test]
fn a_zero_copy_completion_comes_for_every_send() {
    within_time(|| {
        for (path, sends) in [
            (SendPath::UringSendZc, 15),
            (SendPath::UringSendZcFixed, 15),
            (SendPath::UringSendZcBatch, 6),
            (SendPath::UringSendmsgZc, 3),
        ] {
            let (setup, _) = setup_of(&[65_536 * 5]);
            let (one, mut other) = pair();
            let reader = thread::spawn(move || std::io::copy(&mut other, &mut std::io::sink()));
            let Some(mut sender) = sender(path, &one, &setup) else { continue };
            for piece in pieces(&setup.files, 3, 1 << 20) {
                sender.send(piece).unwrap();
            }
            sender.drain().unwrap();
            one.shutdown(Shutdown::Write).unwrap();
            reader.join().unwrap().unwrap();
            // The loopback interface delivers locally, so every one of them is copied.
            let counts = sender.counts();
            assert_eq!((counts.completions, counts.copied), (sends, sends), "{path}: {counts:?}");
        }
    });
}

#[test]
fn a_peer_that_closes_is_an_error_and_nothing_hangs() {
    within_time(|| {
        for path in send_paths(true) {
            let (setup, _) = setup_of(&[3_000_000]);
            let (one, mut other) = pair();
            let Some(mut sender) = sender(path, &one, &setup) else { continue };
            let reader = thread::spawn(move || {
                // Closing with bytes unread resets the connection.
                other.read_exact(&mut [0; 100_000])
            });
            let mut endless = setup.files.walk(0, 1 << 20);
            let error = loop {
                if let Err(error) = sender.send(endless.next().unwrap()) {
                    break error;
                }
            };
            reader.join().unwrap().unwrap();
            assert_eq!(error.kind, ErrorKind::Failed, "{path}: {error}");
            assert!(sender.send(Piece { file: 0, offset: 0, len: 1 }).is_err(), "{path}");
            // What is outstanding comes back, for the connection has been torn down.
            let _ = sender.drain();
        }
    });
}

/// Lets every path send until it is blocked, or soon will be, and then calls `end` with its socket
/// and the peer's. That ends the send with an error.
fn blocked_until(end: impl Fn(&TcpStream, TcpStream) + Send + 'static) {
    within_time(move || {
        for path in send_paths(true) {
            let (setup, _) = setup_of(&[3_000_000]);
            let (one, other) = pair();
            let (filled, full) = std::sync::mpsc::channel();
            let Some(probe) = sender(path, &one, &setup) else { continue };
            drop(probe);
            let socket = one.try_clone().unwrap();
            let sending = thread::spawn(move || {
                let mut sender = open_sender(path, &one, &setup).unwrap();
                for piece in setup.files.walk(0, 1 << 20) {
                    filled.send(()).unwrap();
                    if let Err(error) = sender.send(piece) {
                        return error;
                    }
                }
                unreachable!("the walk is endless")
            });
            // Until no new piece is begun for a while.
            while full.recv_timeout(std::time::Duration::from_millis(50)).is_ok() {}
            end(&socket, other);
            assert_eq!(sending.join().unwrap().kind, ErrorKind::Failed, "{path}");
        }
    });
}

#[test]
fn a_sender_that_is_blocked_notices_that_the_peer_goes_away() {
    blocked_until(|_, other| drop(other));
}

/// This is how a trial ends when nobody reads its data: a send itself has no time limit.
#[test]
fn a_sender_that_is_blocked_wakes_when_its_socket_is_shut_down() {
    let peers = std::sync::Mutex::new(Vec::new());
    blocked_until(move |socket, other| {
        peers.lock().unwrap().push(other);
        socket.shutdown(Shutdown::Both).unwrap();
    });
}

#[test]
fn a_file_that_becomes_shorter_while_it_is_sent_is_named() {
    within_time(|| {
        for path in [
            SendPath::UringSend,
            SendPath::UringSplice,
            SendPath::UringSendBatch,
            SendPath::UringSendBundle,
        ] {
            let (setup, all) = setup_of(&[300_000]);
            let (one, mut other) = pair();
            let reader = thread::spawn(move || {
                let mut got = Vec::new();
                other.read_to_end(&mut got).map(|_| got)
            });
            let Some(mut sender) = sender(path, &one, &setup) else { continue };
            sender.send(Piece { file: 0, offset: 0, len: 100_000 }).unwrap();
            setup.files.files[0].file.set_len(250_001).unwrap();
            let error = sender.send(Piece { file: 0, offset: 100_000, len: 200_000 }).unwrap_err();
            assert_eq!((error.kind, &*error.id), (ErrorKind::Input, "file-shrank"), "{path}");
            one.shutdown(Shutdown::Write).unwrap();
            drop(sender);
            assert!(
                all.starts_with(&reader.join().unwrap().unwrap()),
                "{path}: what was sent is what was there"
            );
        }
    });
}

#[test]
fn every_receive_path_shows_exactly_the_bytes_that_were_sent() {
    within_time(|| {
        for path in recv_paths(true) {
            for buffer_bytes in [1_000, 65_536, 1 << 20] {
                let sent = content(7, 9_999_999);
                let (mut one, other) = pair();
                let Some(mut receiver) = receiver(path, &other, buffer_bytes) else { continue };
                let copy = sent.clone();
                let writer = thread::spawn(move || one.write_all(&copy));
                let (mut got, mut counted) = (Vec::new(), 0);
                loop {
                    match receiver.receive(Some(&mut |bytes| got.extend_from_slice(bytes))).unwrap()
                    {
                        0 => break,
                        bytes => counted += bytes,
                    }
                }
                writer.join().unwrap().unwrap();
                assert!(got == sent, "{path}: {} bytes came of {}", got.len(), sent.len());
                assert_eq!(receiver.receive(None).unwrap(), 0, "{path}: the end stays the end");
                assert_eq!(counted, sent.len(), "{path}");
                assert_eq!(receiver.counts().bytes, sent.len() as u64, "{path}");
                assert!(receiver.counts().calls > 0, "{path}");
            }
        }
    });
}

#[test]
fn a_receiver_returns_the_bytes_before_a_reset_and_then_the_reset() {
    within_time(|| {
        for path in recv_paths(true) {
            let (mut one, other) = pair();
            let Some(mut receiver) = receiver(path, &other, 65_536) else { continue };
            one.write_all(b"last words").unwrap();
            let mut got = Vec::new();
            while got.len() < 10 {
                receiver.receive(Some(&mut |bytes| got.extend_from_slice(bytes))).unwrap();
            }
            assert_eq!(got, b"last words", "{path}");
            rustix::net::sockopt::set_socket_linger(&one, Some(std::time::Duration::ZERO)).unwrap();
            drop(one);
            let error = receiver.receive(None).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Failed, "{path}: {error}");
        }
    });
}

#[test]
fn a_receiver_dropped_while_bytes_come_leaves_nothing_that_writes_to_its_memory() {
    within_time(|| {
        for path in recv_paths(true) {
            let (mut one, other) = pair();
            let Some(mut receiver) = receiver(path, &other, 4_096) else { continue };
            let writer = thread::spawn(move || while one.write_all(&[1; 65_536]).is_ok() {});
            receiver.receive(None).unwrap();
            drop(receiver);
            drop(other);
            writer.join().unwrap();
        }
    });
}

/// Runs the test `name` again in a process of its own, with `LIMIT` saying how much memory it may
/// lock.
fn under_memlock(name: &str, limit: u64) {
    let test = format!("path::uring::tests::{name}");
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--nocapture"])
        .env("ZC_TEST_MEMLOCK", limit.to_string())
        .output()
        .unwrap();
    let said = [&child.stdout[..], &child.stderr[..]].concat();
    assert!(child.status.success(), "with {limit} bytes: {}", String::from_utf8_lossy(&said));
}

/// In a process made by [`under_memlock`]: makes the limit hold, for this thread and for root too.
/// None elsewhere.
///
/// Locked memory is counted by user, over all processes: root's thread becomes a user that has no
/// other process, or what another process has locked would count here.
fn memlock_of_this_process() -> Option<u64> {
    let limit = std::env::var("ZC_TEST_MEMLOCK").ok()?.parse().ok()?;
    if rustix::process::geteuid().is_root() {
        let nobody_else = rustix::process::Uid::from_raw(1_000_000_000 + std::process::id());
        rustix::thread::set_thread_res_uid(nobody_else, nobody_else, nobody_else).unwrap();
    }
    let mut own = rustix::thread::capabilities(None).unwrap();
    own.effective.remove(rustix::thread::CapabilitySet::IPC_LOCK);
    own.permitted.remove(rustix::thread::CapabilitySet::IPC_LOCK);
    rustix::thread::set_capabilities(None, own).unwrap();
    let memlock = rustix::process::Resource::Memlock;
    let maximum = rustix::process::getrlimit(memlock).maximum;
    rustix::process::setrlimit(memlock, rustix::process::Rlimit { current: Some(limit), maximum })
        .unwrap();
    Some(limit)
}

#[test]
fn with_little_locked_memory_zero_copy_sends_are_smaller_and_complete_or_refused() {
    let Some(limit) = memlock_of_this_process() else {
        for limit in [0, 65_536, 300_000] {
            under_memlock(
                "with_little_locked_memory_zero_copy_sends_are_smaller_and_complete_or_refused",
                limit,
            );
        }
        return;
    };
    let (mut setup, all) = setup_of(&SIZES);
    // Larger than the limit, so that it is met for certain where it holds.
    setup.buffer_bytes = 400_000;
    let (one, mut other) = pair();
    let reader = thread::spawn(move || {
        let mut got = Vec::new();
        other.read_to_end(&mut got).map(|_| got)
    });
    let mut sender = match open_sender(SendPath::UringSendZc, &one, &setup) {
        Ok(sender) => sender,
        // The kernel counts what all processes of a user lock, and frees rings that are closed a
        // little later.
        Err(no) if limit > 0 && no.reason.contains("more locked memory than is allowed") => {
            return eprintln!("skipped: other rings of this user have its locked memory");
        }
        Err(no) => {
            assert!(
                limit == 0 || no.kind.name() == "unsupported",
                "{}: {}",
                no.kind.name(),
                no.reason
            );
            return;
        }
    };
    let sent = pieces(&setup.files, 2, 1 << 20).try_for_each(|piece| sender.send(piece));
    if let Err(error) = sent {
        assert!(limit == 0 && error.id == "locked-memory-limit", "{error}");
        return;
    }
    sender.drain().unwrap();
    one.shutdown(Shutdown::Write).unwrap();
    assert!(reader.join().unwrap().unwrap() == [&all[..], &all[..]].concat());
    assert!(sender.counts().enobufs > 0, "{:?}", sender.counts());
}

#[test]
fn a_set_that_may_not_be_registered_is_refused_with_both_figures_and_a_remedy() {
    let Some(limit) = memlock_of_this_process() else {
        under_memlock(
            "a_set_that_may_not_be_registered_is_refused_with_both_figures_and_a_remedy",
            1_000_000,
        );
        return;
    };
    let (setup, _) = setup_of(&[2_000_000]);
    let (one, _other) = pair();
    for path in [SendPath::UringSendZcFixed, SendPath::UringSendZcBatch, SendPath::UringSendmsgZc] {
        let Err(no) = open_sender(path, &one, &setup) else {
            panic!("{path}: registered over the limit")
        };
        if no.kind.name() == "unsupported" {
            eprintln!("skipped: {path}: {}", no.reason);
            continue;
        }
        assert_eq!(no.kind.name(), "refused", "{path}: {}", no.reason);
        let set = setup.resident.copy_of(&setup.files, setup.pages).unwrap().pages().len();
        assert!(
            no.reason.contains(&set.to_string()) && no.reason.contains(&limit.to_string()),
            "{path}: {}",
            no.reason
        );
        assert!(no.remedy.as_deref().unwrap().contains("ulimit -l"), "{path}");
    }
}

#[test]
fn paths_are_opened_over_and_over_without_using_the_limit_of_locked_memory_up() {
    // Closed rings are taken down later than they are closed; 1 MB is what about 40 rings need.
    let Some(_) = memlock_of_this_process() else {
        under_memlock(
            "paths_are_opened_over_and_over_without_using_the_limit_of_locked_memory_up",
            1_000_000,
        );
        return;
    };
    let (setup, _) = setup_of(&[400_000]);
    let (one, other) = pair();
    for _ in 0..50 {
        if send_paths(true).any(|path| sender(path, &one, &setup).is_none())
            || recv_paths(true).any(|path| receiver(path, &other, 65_536).is_none())
        {
            return;
        }
    }
}

#[test]
fn the_worker_threads_of_a_splice_stay_on_the_cpu_of_their_sender() {
    within_time(|| {
        let allowed = rustix::thread::sched_getaffinity(None).unwrap();
        let Some(cpu) = (0..rustix::thread::CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu))
        else {
            return;
        };
        let (mut setup, _) = setup_of(&[100_000]);
        setup.cpu = Some(cpu);
        let (one, mut other) = pair();
        let reader = thread::spawn(move || std::io::copy(&mut other, &mut std::io::sink()));
        let Some(mut sender) = sender(SendPath::UringSplice, &one, &setup) else { return };
        sender.send(Piece { file: 0, offset: 0, len: 100_000 }).unwrap();
        // They are called by this thread's id in the first PID namespace: in another one, by a
        // number that is not known here.
        let name = format!("iou-wrk-{}", rustix::thread::gettid().as_raw_nonzero());
        let mut workers = Vec::new();
        for task in std::fs::read_dir("/proc/self/task").unwrap() {
            // A thread of another test may have ended meanwhile.
            let Ok(status) = std::fs::read_to_string(task.unwrap().path().join("status")) else {
                continue;
            };
            let field = |key: &str| {
                status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim()
            };
            if field("Name:").starts_with("iou-wrk-") {
                workers.push((field("Name:").to_owned(), field("Cpus_allowed_list:").to_owned()));
            }
        }
        if workers.iter().any(|(worker, _)| *worker == name) {
            workers.retain(|(worker, _)| *worker == name);
        }
        assert!(!workers.is_empty(), "no thread is called {name}");
        assert!(workers.iter().all(|(_, cpus)| *cpus == cpu.to_string()), "{workers:?}");
        drop((sender, one));
        reader.join().unwrap().unwrap();
    });
}

fn no_of(errno: Errno, disabled: Option<u8>) -> Unavailable {
    no_because(&io::Error::from(errno), disabled)
}

#[test]
fn a_switched_off_io_uring_is_refused_with_the_sysctl_that_switches_it_on() {
    let no = no_of(Errno::PERM, Some(2));
    assert_eq!(no.kind.name(), "refused");
    assert!(no.reason.contains("kernel.io_uring_disabled is 2"), "{}", no.reason);
    assert!(no.remedy.as_deref().unwrap().contains("kernel.io_uring_disabled=0"));
}

#[test]
fn a_filter_and_an_old_kernel_are_not_failures() {
    assert_eq!(no_of(Errno::PERM, Some(0)).kind.name(), "refused");
    assert_eq!(no_of(Errno::PERM, None).kind.name(), "refused");
    assert_eq!(no_of(Errno::NOSYS, None).kind.name(), "unsupported");
    assert_eq!(no_of(Errno::NOMEM, None).kind.name(), "refused");
    assert_eq!(no_of(Errno::IO, None).kind.name(), "failed");
    let lacking =
        no_because(&io::Error::new(io::ErrorKind::Unsupported, "no such operation"), None);
    assert_eq!(lacking.kind.name(), "unsupported");
}
