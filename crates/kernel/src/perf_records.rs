//! The records in the ring buffer of perf_event_open(2), decoded from their bytes: see
//! [`perf`](super::perf), which maps the ring.

/// One PERF_RECORD_SAMPLE.
///
/// # References
/// [perf_event_open(2)]
///
/// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
#[doc(alias = "PERF_RECORD_SAMPLE")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample<'a> {
    /// Time of the sample in ns of CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Process that was running, 0 for the idle task. Numbered in the PID namespace of the opener
    /// of the event; -1 for a process outside it.
    pub pid: i32,
    /// Thread that was running.
    pub tid: i32,
    /// Whether the CPU was in user mode or in a guest.
    pub user: bool,
    /// Instruction pointers in the kernel, innermost first. Empty in user mode.
    pub stack: &'a [u64],
}

/// One record of the ring.
///
/// # References
/// [perf_event_open(2)]
///
/// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    /// A sample.
    Sample(Sample<'a>),
    /// Number of records that did not fit into the ring (PERF_RECORD_LOST,
    /// PERF_RECORD_LOST_SAMPLES).
    Lost(u64),
    /// The kernel stopped sampling until its next tick, because there were too many samples
    /// (PERF_RECORD_THROTTLE).
    Throttled,
}

const PERF_RECORD_LOST: u32 = 2;
const PERF_RECORD_THROTTLE: u32 = 5;
const PERF_RECORD_SAMPLE: u32 = 9;
const PERF_RECORD_LOST_SAMPLES: u32 = 13;

const PERF_RECORD_MISC_CPUMODE_MASK: u16 = 7;
const PERF_RECORD_MISC_KERNEL: u16 = 1;

/// First of the values that mark a context in a call chain and are not addresses
/// (PERF_CONTEXT_MAX).
const PERF_CONTEXT_MAX: u64 = -4095_i64 as u64;

/// Decodes records, and keeps its buffers for the next ones.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The record that is decoded, which may wrap around the end of the ring.
    record: Vec<u8>,
    stack: Vec<u64>,
}

impl Decoder {
    /// Passes the records between two positions of a ring to `take`, oldest first, and returns the
    /// position up to which the ring is free. `copy` copies bytes from a position of the ring, at
    /// most 64 KiB. Positions only grow (modulo 2^64), and nothing is copied from beyond `head`.
    ///
    /// An incomplete record at the end stays in the ring. One that is shorter than its own header,
    /// or longer than what the ring has, the kernel does not write: all up to `head` is dropped
    /// then, because the next record cannot be found.
    ///
    /// # References
    /// [perf_event_open(2)], "MMAP layout"
    ///
    /// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
    pub fn records(
        &mut self,
        tail: u64,
        head: u64,
        copy: impl Fn(u64, &mut [u8]),
        mut take: impl FnMut(Record<'_>),
    ) -> u64 {
        let mut at = tail;
        while head.wrapping_sub(at) >= HEADER_BYTES as u64 {
            let mut header = [0; HEADER_BYTES];
            copy(at, &mut header);
            let header = Header::from_bytes(header);
            let bytes = usize::from(header.size);
            if bytes < HEADER_BYTES || head.wrapping_sub(at) < bytes as u64 {
                return head;
            }
            self.record.resize(bytes, 0);
            copy(at, &mut self.record);
            if let Some(record) = parse(header, &self.record[HEADER_BYTES..], &mut self.stack) {
                take(record);
            }
            at = at.wrapping_add(bytes as u64);
        }
        at
    }
}

/// `struct perf_event_header`.
#[derive(Debug, Clone, Copy)]
struct Header {
    kind: u32,
    misc: u16,
    /// Size of the record including the header.
    size: u16,
}

const HEADER_BYTES: usize = 8;

impl Header {
    fn from_bytes(bytes: [u8; HEADER_BYTES]) -> Self {
        let [a, b, c, d, e, f, g, h] = bytes;
        Self {
            kind: u32::from_ne_bytes([a, b, c, d]),
            misc: u16::from_ne_bytes([e, f]),
            size: u16::from_ne_bytes([g, h]),
        }
    }
}

/// Decodes a record. `None` for an unknown kind, or for a record shorter than its kind requires.
fn parse<'a>(header: Header, body: &[u8], stack: &'a mut Vec<u64>) -> Option<Record<'a>> {
    let mut words =
        body.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
    match header.kind {
        PERF_RECORD_SAMPLE => {
            let ids = words.next()?.to_ne_bytes();
            let [a, b, c, d, e, f, g, h] = ids;
            let at_ns = words.next()?;
            let entries = words.next()?;
            stack.clear();
            stack.extend(
                words
                    .take(usize::try_from(entries).ok()?)
                    .filter(|address| *address < PERF_CONTEXT_MAX),
            );
            Some(Record::Sample(Sample {
                at_ns,
                pid: i32::from_ne_bytes([a, b, c, d]),
                tid: i32::from_ne_bytes([e, f, g, h]),
                user: header.misc & PERF_RECORD_MISC_CPUMODE_MASK != PERF_RECORD_MISC_KERNEL,
                stack,
            }))
        }
        PERF_RECORD_LOST => words.nth(1).map(Record::Lost),
        PERF_RECORD_LOST_SAMPLES => words.next().map(Record::Lost),
        PERF_RECORD_THROTTLE => Some(Record::Throttled),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of these words.
    fn record(kind: u32, words: &[u64]) -> Vec<u8> {
        let size = (HEADER_BYTES + words.len() * 8) as u16;
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(PERF_RECORD_MISC_KERNEL.to_ne_bytes());
        bytes.extend(size.to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    /// Records decoded from a ring of 64 bytes, as readable text, and the position up to which the
    /// ring is free.
    fn decoded(ring: &[u8; 64], tail: u64, head: u64) -> (Vec<String>, u64) {
        let copy = |at: u64, into: &mut [u8]| {
            for (at, byte) in (at..).zip(into) {
                *byte = ring[(at % 64) as usize];
            }
        };
        let mut found = Vec::new();
        let take = |record: Record<'_>| found.push(format!("{record:?}"));
        let at = Decoder::default().records(tail, head, copy, take);
        (found, at)
    }

    #[test]
    fn records_are_decoded_around_the_end_of_the_ring() {
        let mut bytes = record(PERF_RECORD_LOST, &[7, 3]);
        bytes.extend(record(99, &[]));
        bytes.extend(record(PERF_RECORD_THROTTLE, &[]));
        // From the middle of the ring, long after positions have exceeded it.
        let tail = 64 * 1000 + 48;
        let mut ring = [0; 64];
        for (at, byte) in (tail..).zip(&bytes) {
            ring[(at % 64) as usize] = *byte;
        }
        let head = tail + bytes.len() as u64;
        assert_eq!(decoded(&ring, tail, head), (vec!["Lost(3)".into(), "Throttled".into()], head));
        // A header that is not whole yet stays.
        assert_eq!(decoded(&ring, tail, tail + 31), (vec!["Lost(3)".into()], tail + 24));
        assert_eq!(decoded(&ring, tail, tail), (Vec::new(), tail));
    }

    #[test]
    fn a_record_of_an_impossible_length_ends_the_ring() {
        for size in [0_u16, 7, 65, u16::MAX] {
            let mut ring = [0; 64];
            ring[6..8].copy_from_slice(&size.to_ne_bytes());
            assert_eq!(decoded(&ring, 0, 64), (Vec::new(), 64), "{size}");
        }
    }

    #[test]
    fn records_that_are_not_whole_are_nothing() {
        let mut stack = Vec::new();
        let header = |kind| Header { kind, misc: PERF_RECORD_MISC_KERNEL, size: 0 };
        let words =
            |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        for kind in [PERF_RECORD_SAMPLE, PERF_RECORD_LOST, PERF_RECORD_LOST_SAMPLES] {
            assert_eq!(parse(header(kind), &[1, 2, 3], &mut stack), None);
        }
        assert_eq!(parse(header(99), &words(&[1, 2, 3]), &mut stack), None);
        assert_eq!(
            parse(header(PERF_RECORD_LOST), &words(&[7, 3]), &mut stack),
            Some(Record::Lost(3))
        );
        // It claims more entries than it has. The first one is a context marker.
        let ids = u64::from_ne_bytes([1, 0, 0, 0, 2, 0, 0, 0]);
        let body = words(&[ids, 99, u64::MAX, -128_i64 as u64, 0xffff_ffff_8100_0000]);
        let Some(Record::Sample(sample)) = parse(header(PERF_RECORD_SAMPLE), &body, &mut stack)
        else {
            panic!("not a sample");
        };
        assert_eq!((sample.pid, sample.tid, sample.at_ns, sample.user), (1, 2, 99, false));
        assert_eq!(sample.stack, [0xffff_ffff_8100_0000]);
    }
}
