//! A draw of responses from logs of any length, in their order: what can be sent once more.

use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;

use super::entry::{Entry, Stamp};
use super::reader::Collect;
use super::reservoir::Reservoir;

/// A draw of so many responses at most, each of the log with the same chance, that is still going
/// on. Entries are in the order in which they are added.
#[derive(Debug)]
pub struct Draw {
    /// The place in the log, and the size in bytes.
    sample: Reservoir<(u64, u64)>,
    longest_bytes: u64,
    left_out: u64,
    random: Pcg64Mcg,
}

/// The result of a draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// The sizes of the responses that were drawn, in bytes, in the order of the logs.
    pub size_bytes: Vec<u64>,
    /// Responses of the logs that were too long to be drawn.
    pub left_out: u64,
}

impl Draw {
    /// A draw of at most `most` responses of at most `longest_bytes`. The same seed draws the same
    /// ones from the same logs.
    pub fn new(most: usize, longest_bytes: u64, seed: u64) -> Self {
        let random = Pcg64Mcg::seed_from_u64(seed);
        Self { sample: Reservoir::new(most), longest_bytes, left_out: 0, random }
    }

    /// The draw.
    pub fn finish(self) -> Drawn {
        let mut kept = self.sample.kept;
        kept.sort_unstable();
        let size_bytes = kept.into_iter().map(|(_, size_bytes)| size_bytes).collect();
        Drawn { size_bytes, left_out: self.left_out }
    }
}

impl Collect for Draw {
    /// A response without bytes is passed over, as a mix does.
    fn add(&mut self, entry: &Entry, _stamp: Stamp) {
        let Some((size_bytes, _)) = entry.bytes.size() else { return };
        if size_bytes > self.longest_bytes {
            self.left_out += 1;
            return;
        }
        self.sample.add((self.sample.seen(), size_bytes), &mut self.random);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Bytes, Method};
    use crate::time::Moment;

    fn entry(size_bytes: u64) -> Entry {
        Entry {
            time: Moment { unix_ms: 0, offset_s: None },
            method: Method::Get,
            status: Some(200),
            bytes: Bytes { body: Some(size_bytes), ..Bytes::default() },
            duration_us: None,
            protocol: None,
            is_tls: None,
            of_connection: None,
        }
    }

    fn drawn(of: u64, most: usize, seed: u64) -> Vec<u64> {
        let mut draw = Draw::new(most, u64::MAX, seed);
        (0..of).for_each(|size_bytes| draw.add(&entry(size_bytes), Stamp::End));
        draw.finish().size_bytes
    }

    #[test]
    fn a_short_log_is_taken_whole_and_of_a_long_one_as_many_as_asked_in_order() {
        assert_eq!(drawn(5, 9, 1), [0, 1, 2, 3, 4]);
        let some = drawn(10_000, 100, 1);
        assert_eq!(some.len(), 100);
        assert!(some.is_sorted() && some.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(some, drawn(10_000, 100, 1));
        assert_ne!(some, drawn(10_000, 100, 2));
        assert!(drawn(3, 0, 1).is_empty());
    }

    #[test]
    fn what_is_too_long_is_left_out_and_counted() {
        let mut draw = Draw::new(9, 2, 1);
        (0..5).for_each(|size_bytes| draw.add(&entry(size_bytes), Stamp::End));
        assert_eq!(draw.finish(), Drawn { size_bytes: vec![0, 1, 2], left_out: 2 });
    }

    #[test]
    fn every_part_of_a_log_has_the_same_chance() {
        let mut tenths = [0_u32; 10];
        for seed in 0..200 {
            for size in drawn(1000, 50, seed) {
                tenths[size as usize / 100] += 1;
            }
        }
        // 1000 each are expected, with a standard deviation of 30.
        assert!(tenths.iter().all(|times| (850..1150).contains(times)), "{tenths:?}");
    }
}
