//! Each ring moves bytes unchanged between a file, a socket and memory.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use super::{Multishot, ReadSend, Receive, Splice, TransferError, ZeroCopy, disabled_sysctl};
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
    let ring = ZeroCopy::new(one.into(), Arc::new(memory), 16_384, false, false, patience);
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
