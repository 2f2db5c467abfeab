//! Each ring moves bytes unchanged between a file, a socket and memory.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use super::{
    Multishot, ReadSend, ReadSendBatch, Receive, ReceiveBundle, SendBundle, Splice, TransferError,
    ZeroCopy, ZeroCopySends, disabled_sysctl,
};
use crate::pages::Pages;
use crate::splice::Pipe;
use crate::testing::{connection, file_of};

const LEN: usize = 100_000;

fn bytes() -> Vec<u8> {
    (0..LEN).map(|at| (at * 7 + at / 256) as u8).collect()
}

fn skipped<T>(ring: std::io::Result<T>) -> Option<T> {
    ring.inspect_err(|error| eprintln!("skipped: {error}")).ok()
}

/// Sends with `send` while another thread reads, and returns what arrived until the end.
fn received_from(mut other: std::net::TcpStream, send: impl FnOnce()) -> Vec<u8> {
    let reader = std::thread::spawn(move || {
        let mut got = Vec::new();
        other.read_to_end(&mut got).map(|_| got)
    });
    send();
    reader.join().unwrap().unwrap()
}

#[test]
fn the_switch_is_one_of_three_values_or_absent() {
    assert!(disabled_sysctl().is_none_or(|value| value <= 2));
}

#[test]
fn read_send_sends_a_file_through_its_buffer() {
    let (one, other) = connection();
    let Some(mut ring) = skipped(ReadSend::new(one.into(), 4_096, 0, false, None)) else { return };
    let file = file_of(&bytes());
    let got = received_from(other, || {
        ring.send(file.as_fd(), 1, LEN - 1).unwrap();
        assert!(matches!(ring.send(file.as_fd(), LEN as u64, 1), Err(TransferError::FileEnded)));
        assert!(ring.calls() > 0);
        drop(ring);
    });
    assert_eq!(got, &bytes()[1..]);
}

#[test]
fn a_batch_sends_a_file_through_its_buffers() {
    let (one, other) = connection();
    let file = file_of(&bytes());
    let files = [file.as_fd()];
    let Some(mut ring) = skipped(ReadSendBatch::new(one.into(), &files, 1_000, 1, false, None))
    else {
        return;
    };
    let got = received_from(other, || {
        ring.send(0, file.as_fd(), 1, LEN - 1).unwrap();
        // Sixty-four buffers by a call.
        assert_eq!((ring.calls(), ring.short()), (2, 0));
        assert!(matches!(ring.send(0, file.as_fd(), LEN as u64, 1), Err(TransferError::FileEnded)));
        drop(ring);
    });
    assert!(got == bytes()[1..]);
}

#[test]
fn a_bundle_sends_a_file_through_its_buffers() {
    let (one, other) = connection();
    let file = file_of(&bytes());
    let files = [file.as_fd()];
    let Some(mut ring) = skipped(SendBundle::new(one.into(), &files, 1_000, 1, false, None)) else {
        return;
    };
    let got = received_from(other, || {
        ring.send(0, file.as_fd(), 1, LEN - 1).unwrap();
        assert_eq!((ring.calls(), ring.short()), (2, 0));
        assert!(matches!(ring.send(0, file.as_fd(), LEN as u64, 1), Err(TransferError::FileEnded)));
        drop(ring);
    });
    assert!(got == bytes()[1..]);
}

#[test]
fn what_a_short_read_has_read_is_sent_and_offers_are_taken_back() {
    let file = file_of(&bytes());
    let files = [file.as_fd()];
    let shorter = (LEN - 500) as u64;
    let (one, other) = connection();
    let Some(mut ring) = skipped(SendBundle::new(one.into(), &files, 1_000, 0, false, None)) else {
        return;
    };
    let got = received_from(other, || {
        let sent = ring.send(0, file.as_fd(), shorter, 3_000);
        assert!(matches!(sent, Err(TransferError::FileEnded)), "{sent:?}");
        ring.send(0, file.as_fd(), 0, LEN).unwrap();
        assert!(ring.short() > 0);
        drop(ring);
    });
    assert!(got == [&bytes()[LEN - 500..], &bytes()[..]].concat());

    let (one, other) = connection();
    let ring = ReadSendBatch::new(one.into(), &files, 1_000, 0, false, None);
    let Some(mut ring) = skipped(ring) else { return };
    let got = received_from(other, || {
        let sent = ring.send(0, file.as_fd(), shorter, 3_000);
        assert!(matches!(sent, Err(TransferError::FileEnded)), "{sent:?}");
        ring.send(0, file.as_fd(), 0, LEN).unwrap();
        assert!(ring.short() > 0);
        drop(ring);
    });
    assert!(got == [&bytes()[LEN - 500..], &bytes()[..]].concat());
}

#[test]
fn splice_sends_a_file_through_its_pipe() {
    let (one, other) = connection();
    let Some(mut ring) = skipped(Splice::new(one.into(), Pipe::new(1 << 16).unwrap(), None)) else {
        return;
    };
    let file = file_of(&bytes());
    let got = received_from(other, || {
        ring.send(file.as_fd(), 1, LEN - 1, false).unwrap();
        assert!(matches!(
            ring.send(file.as_fd(), LEN as u64, 1, false),
            Err(TransferError::FileEnded)
        ));
        assert!(ring.calls() > 0);
        drop(ring);
    });
    assert_eq!(got, &bytes()[1..]);
}

#[test]
fn zero_copy_sends_memory_and_counts_its_notifications() {
    let (one, other) = connection();
    let mut memory = Pages::new(LEN).unwrap();
    memory.as_mut_slice()[..LEN].copy_from_slice(&bytes());
    let patience = Duration::from_secs(10);
    let single = ZeroCopySends::Single;
    let ring = ZeroCopy::new(one.into(), Arc::new(memory), 16_384, single, false, patience);
    let Some(mut ring) = skipped(ring) else { return };
    let got = received_from(other, || {
        ring.send(1, LEN - 1).unwrap();
        ring.drain().unwrap();
        let counts = ring.counts();
        assert_eq!(counts.completions > 0, ring.reports_copies(), "{counts:?}");
        drop(ring);
    });
    assert_eq!(got, &bytes()[1..]);
}

#[test]
fn receive_returns_every_byte_and_then_nothing() {
    let (mut one, other) = connection();
    let Some(mut ring) = skipped(Receive::new(other.into(), 4_096)) else { return };
    let writer = std::thread::spawn(move || one.write_all(&bytes()));
    let mut got = Vec::new();
    loop {
        let part = ring.receive().unwrap();
        if part.is_empty() {
            break;
        }
        got.extend_from_slice(part);
    }
    writer.join().unwrap().unwrap();
    assert!(got == bytes() && ring.calls() > 0);
}

#[test]
fn multishot_passes_every_byte_in_order_and_then_ends() {
    let (mut one, other) = connection();
    let Some(mut ring) = skipped(Multishot::new(other.into(), 4_096)) else { return };
    let writer = std::thread::spawn(move || one.write_all(&bytes()));
    let mut got = Vec::new();
    while ring.receive(&mut |part| got.extend_from_slice(part)).unwrap() > 0 {}
    writer.join().unwrap().unwrap();
    assert!(got == bytes() && ring.calls() > 0);
}

#[test]
fn a_bundle_passes_every_byte_in_order_and_then_ends() {
    for (buffer_bytes, min_wait) in
        [(1, None), (999, None), (4_096, Some(Duration::from_millis(1))), (1 << 20, None)]
    {
        let (mut one, other) = connection();
        // No card's queue: polling it finds nothing, and changes nothing.
        assert_eq!(ReceiveBundle::napi_id(&other).unwrap(), 0);
        let ring = ReceiveBundle::new(other.into(), buffer_bytes, min_wait);
        let Some(mut ring) = skipped(ring) else { return };
        if buffer_bytes == 999 {
            let _ = skipped(ring.poll_card(Duration::from_micros(20)));
        }
        let writer = std::thread::spawn(move || {
            // Of sizes that fit no buffer.
            bytes().chunks(1_234).try_for_each(|part| one.write_all(part))
        });
        let mut got = Vec::new();
        while ring.receive(&mut |part| got.extend_from_slice(part)).unwrap() > 0 {}
        writer.join().unwrap().unwrap();
        assert!(got == bytes() && ring.calls() > 0, "{buffer_bytes}");
    }
}

#[test]
fn a_wait_with_a_minimum_collects_what_comes_within_it() {
    let (mut one, other) = connection();
    let minimum = Duration::from_millis(200);
    let Some(mut ring) = skipped(ReceiveBundle::new(other.into(), 4_096, Some(minimum))) else {
        return;
    };
    let writer = std::thread::spawn(move || {
        for _ in 0..4 {
            one.write_all(&[7; 10]).unwrap();
            std::thread::sleep(Duration::from_millis(2));
        }
        one
    });
    let began = std::time::Instant::now();
    let first = ring.receive(&mut |_| {}).unwrap();
    // And not for all that would fill the pool, which do not come.
    let waited = began.elapsed();
    assert!((minimum..Duration::from_secs(30)).contains(&waited), "{first} bytes in {waited:?}");
    assert!(first > 10, "only what came first: {first}");
    drop(writer.join().unwrap());
}
