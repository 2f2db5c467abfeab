//! What the kernel writes for zc: messages of an error queue, records of perf, answers of netlink.

use std::cell::Cell;
use std::mem::size_of;

use arbitrary::Arbitrary;
use zc_kernel::errqueue::{Completion, completion_in};
use zc_kernel::perf_records::{Decoder, Record};
use zc_kernel::{ethtool, nftables};

/// A control part of a message.
#[derive(Debug, Clone, Arbitrary)]
pub struct Control {
    messages: Vec<ControlMessage>,
    cut: Option<u8>,
}

#[derive(Debug, Clone, Arbitrary)]
enum ControlMessage {
    /// A completion with a few fields that may be wrong.
    Completion {
        level: u8,
        errno: u8,
        origin: u8,
        code: u8,
        first: u32,
        last: u32,
    },
    Other {
        level: i32,
        kind: i32,
        data: Vec<u8>,
    },
    /// A length that is not that of what follows.
    Length(usize),
    Bytes(Vec<u8>),
}

impl Control {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for message in self.messages.iter().take(8) {
            match message {
                ControlMessage::Completion { level, errno, origin, code, first, last } => {
                    let (level, kind) = match level % 4 {
                        0 => (libc::SOL_IPV6, libc::IPV6_RECVERR),
                        1 => (libc::SOL_SOCKET, libc::IP_RECVERR),
                        _ => (libc::SOL_IP, libc::IP_RECVERR),
                    };
                    let mut data = u32::from(errno / 128).to_ne_bytes().to_vec();
                    data.extend([if origin % 4 == 0 { *origin } else { 5 }, 0, *code, 0]);
                    data.extend(first.to_ne_bytes());
                    data.extend(last.to_ne_bytes());
                    put(&mut bytes, level, kind, &data);
                }
                ControlMessage::Other { level, kind, data } => put(&mut bytes, *level, *kind, data),
                ControlMessage::Length(length) => bytes.extend(length.to_ne_bytes()),
                ControlMessage::Bytes(more) => bytes.extend(more),
            }
        }
        if let Some(cut) = self.cut {
            bytes.truncate(usize::from(cut));
        }
        bytes
    }

    /// The same is found as by the macros of libc, where these may be used.
    pub fn check(&self) {
        let bytes = self.bytes();
        let found = completion_in(&bytes);
        if let Some(completion) = found {
            assert!((1..=1 << 32).contains(&completion.sends()));
        }
        if let Some(expected) = by_libc(&bytes) {
            assert_eq!(found, expected);
        }
    }
}

fn put(bytes: &mut Vec<u8>, level: i32, kind: i32, data: &[u8]) {
    bytes.extend((size_of::<usize>() + 8 + data.len()).to_ne_bytes());
    bytes.extend(level.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(size_of::<usize>()), 0);
}

/// What the macros of cmsg(3) find; `None` for what the kernel does not write (a message that ends
/// beyond the control part), which they do not check.
fn by_libc(bytes: &[u8]) -> Option<Option<Completion>> {
    let mut words = vec![0_u64; bytes.len().div_ceil(8)];
    // SAFETY: the vector has at least that many bytes, and bytes need no alignment.
    let copy =
        unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), bytes.len()) };
    copy.copy_from_slice(bytes);
    // SAFETY: a msghdr consists of integers and pointers, for which all zeros are valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_control = words.as_mut_ptr().cast();
    message.msg_controllen = bytes.len();
    let end = words.as_ptr() as usize + bytes.len();
    // SAFETY: the control part has that many bytes.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    while !header.is_null() {
        // SAFETY: the macros return headers that lie within the control part.
        let (level, kind, length) =
            unsafe { ((*header).cmsg_level, (*header).cmsg_type, (*header).cmsg_len) };
        if length < size_of::<libc::cmsghdr>() || (header as usize).checked_add(length)? > end {
            return None;
        }
        let is_error = matches!(
            (level, kind),
            (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR)
        );
        if is_error && length >= size_of::<libc::cmsghdr>() + size_of::<libc::sock_extended_err>() {
            // SAFETY: by its length, which was checked, the structure follows the header. It is
            // read without regard to alignment.
            let error = unsafe {
                libc::CMSG_DATA(header).cast::<libc::sock_extended_err>().read_unaligned()
            };
            if error.ee_origin == 5 && error.ee_errno == 0 {
                return Some(Some(Completion {
                    first: error.ee_info,
                    last: error.ee_data,
                    copied: error.ee_code & 1 != 0,
                }));
            }
        }
        // SAFETY: the header came from these macros for this message, and its length was checked.
        header = unsafe { libc::CMSG_NXTHDR(&raw const message, header) };
    }
    Some(None)
}

/// A ring of perf records.
#[derive(Debug, Clone, Arbitrary)]
pub struct Ring {
    records: Vec<RingRecord>,
    tail: u64,
    /// By how much the head differs from the end of the records.
    head: i8,
    /// Where the kernel's writing is interrupted, and the ring drained.
    drained_at: u16,
}

#[derive(Debug, Clone, Arbitrary)]
enum RingRecord {
    Sample { misc: u16, ids: u64, at_ns: u64, entries: Option<u64>, stack: Vec<u64> },
    Known { kind: u8, words: Vec<u64> },
    Header { kind: u32, misc: u16, size: u16 },
    Bytes(Vec<u8>),
}

const RING_BYTES: usize = 4096;

impl Ring {
    /// Draining ends, takes nothing from beyond the head, and gives the same in two steps.
    pub fn check(&self) {
        let mut bytes = Vec::new();
        for record in self.records.iter().take(64) {
            match record {
                RingRecord::Sample { misc, ids, at_ns, entries, stack } => {
                    let entries = entries.unwrap_or(stack.len() as u64);
                    let mut words = vec![*ids, *at_ns, entries];
                    words.extend(stack.iter().take(64));
                    header(&mut bytes, 9, *misc, 8 + words.len() * 8);
                    bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
                }
                RingRecord::Known { kind, words } => {
                    let words = &words[..words.len().min(8)];
                    header(&mut bytes, u32::from(kind % 16), 1, 8 + words.len() * 8);
                    bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
                }
                RingRecord::Header { kind, misc, size } => {
                    header(&mut bytes, *kind, *misc, usize::from(*size));
                }
                RingRecord::Bytes(more) => bytes.extend(more),
            }
        }
        bytes.truncate(RING_BYTES);
        let mut ring = vec![0; RING_BYTES];
        for (place, byte) in bytes.iter().enumerate() {
            ring[place_of(self.tail.wrapping_add(place as u64))] = *byte;
        }
        let length = (bytes.len() as i64 + i64::from(self.head)).clamp(0, RING_BYTES as i64) as u64;
        let head = self.tail.wrapping_add(length);
        let (records, end) = drained(&ring, self.tail, head);
        assert!(head.wrapping_sub(end) < 8, "whole headers are left");

        let between = self.tail.wrapping_add(u64::from(self.drained_at) % (length + 1));
        let (mut first, middle) = drained(&ring, self.tail, between);
        if middle == between && !records.starts_with(&first) {
            panic!("{first:?} of the beginning, {records:?} of all");
        }
        // Where the first step has met a record that is not whole, it has dropped what follows.
        let (rest, _) = drained(&ring, middle, head);
        first.extend(rest);
        assert!(first.len() <= records.len() + 1024);
    }
}

fn place_of(at: u64) -> usize {
    (at % RING_BYTES as u64) as usize
}

fn header(bytes: &mut Vec<u8>, kind: u32, misc: u16, size: usize) {
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(misc.to_ne_bytes());
    bytes.extend((size as u16).to_ne_bytes());
}

fn drained(ring: &[u8], tail: u64, head: u64) -> (Vec<String>, u64) {
    let furthest = Cell::new(0);
    let copy = |at: u64, into: &mut [u8]| {
        furthest.set(furthest.get().max(at.wrapping_sub(tail) + into.len() as u64));
        for (place, byte) in into.iter_mut().enumerate() {
            *byte = ring[place_of(at.wrapping_add(place as u64))];
        }
    };
    let mut records = Vec::new();
    let end = Decoder::default().records(tail, head, copy, |record| {
        if let Record::Sample(sample) = &record {
            assert!(sample.stack.iter().all(|&address| address < -4095_i64 as u64));
            assert!(sample.stack.len() <= RING_BYTES / 8);
        }
        records.push(format!("{record:?}"));
    });
    let length = head.wrapping_sub(tail);
    assert!(furthest.get() <= length, "{} of {length} bytes were read", furthest.get());
    assert!(end.wrapping_sub(tail) <= length);
    assert!(records.len() as u64 <= length / 8);
    (records, end)
}

/// A datagram of netlink.
#[derive(Debug, Clone, Arbitrary)]
pub struct Datagram {
    sequence: u32,
    messages: Vec<NetlinkMessage>,
    cut: Option<u16>,
}

#[derive(Debug, Clone, Arbitrary)]
struct NetlinkMessage {
    length: Option<u32>,
    kind: MessageKind,
    flags: u16,
    other_sequence: bool,
    family: u8,
    body: Vec<Attribute>,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum MessageKind {
    NewChain,
    Error,
    Done,
    Other(u16),
}

#[derive(Debug, Clone, Arbitrary)]
enum Attribute {
    Known { kind: u8, value: Vec<u8> },
    Nested { kind: u8, inner: Vec<(u8, Vec<u8>)> },
    Length(u16),
    Bytes(Vec<u8>),
}

impl Datagram {
    /// It is decoded, or is an error.
    pub fn check(&self) {
        let mut bytes = Vec::new();
        let mut attributes = Vec::new();
        for message in self.messages.iter().take(8) {
            let mut body = vec![message.family, 0, 0, 0];
            attributes.clear();
            for attribute in message.body.iter().take(8) {
                attribute.put(&mut attributes);
            }
            body.extend(&attributes);
            let kind = match message.kind {
                MessageKind::NewChain => 10 << 8 | 3,
                MessageKind::Error => 2,
                MessageKind::Done => 3,
                MessageKind::Other(kind) => kind,
            };
            let sequence = self.sequence.wrapping_add(u32::from(message.other_sequence));
            bytes.extend(message.length.unwrap_or(16 + body.len() as u32).to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(message.flags.to_ne_bytes());
            bytes.extend(sequence.to_ne_bytes());
            bytes.extend([0; 4]);
            bytes.extend(&body);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        if let Some(cut) = self.cut {
            bytes.truncate(usize::from(cut));
        }
        if let Ok(tables) = nftables::tables_in(&bytes, self.sequence) {
            let all: std::collections::BTreeSet<&String> = tables.iter().collect();
            assert_eq!(all.len(), tables.len(), "a table twice");
        }
        if let Ok(names) = ethtool::active_in(&attributes) {
            assert!(names.iter().all(|name| !name.ends_with('\0')));
        }
    }
}

impl Attribute {
    fn put(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Known { kind, value } => attribute(bytes, u16::from(kind % 16), value),
            Self::Nested { kind, inner } => {
                let mut value = Vec::new();
                for (kind, text) in inner.iter().take(8) {
                    let mut bit = Vec::new();
                    attribute(&mut bit, u16::from(kind % 8), text);
                    attribute(&mut value, u16::from(kind % 8), &bit);
                }
                attribute(bytes, u16::from(kind % 16) | 1 << 15, &value);
            }
            Self::Length(length) => bytes.extend(length.to_ne_bytes()),
            Self::Bytes(more) => bytes.extend(more),
        }
    }
}

fn attribute(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    bytes.extend((4 + value.len() as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}
