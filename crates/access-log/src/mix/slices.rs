//! Responses by slice of time. Their number is bounded: when there are too many, each two
//! neighbours become one of twice the length. So memory does not depend on how long the log is, and
//! whoever resamples slices (a bootstrap) has some hundreds of them for any log.

use schemars::JsonSchema;
use serde::Serialize;

use super::classes::Classes;
use super::sizes::Sizes;
use super::tally::Tally;
use super::tls::Tls;
use crate::entry::Class;

/// The most slices that are kept.
pub const MOST_SLICES: usize = 512;

/// A slice of time in which there were requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Slice {
    /// Its beginning, in s since 1970: a multiple of the length of slices.
    pub begin_unix_s: i64,
    /// All of its responses.
    pub all: Tally,
    /// Its responses by kind and size; not in JSON.
    #[serde(skip)]
    pub sizes: Classes<Sizes>,
    /// Its responses over TLS and without it, where the log says it; not in JSON.
    #[serde(skip)]
    pub tls: Tls,
}

/// Slices while they are being filled.
#[derive(Debug)]
pub(super) struct Slices {
    /// The length of a slice is 2^this, in s.
    length_log2: u32,
    /// The slices, by time.
    slices: Vec<Slice>,
    /// The slice of the last request.
    at: usize,
}

impl Slices {
    pub(super) fn new() -> Self {
        Self { length_log2: 0, slices: Vec::new(), at: 0 }
    }

    pub(super) fn add(&mut self, unix_s: i64, class: Class, is_tls: Option<bool>, size_bytes: u64) {
        let begin_unix_s = self.begin(unix_s);
        if self.slices.get(self.at).is_none_or(|slice| slice.begin_unix_s != begin_unix_s) {
            self.at = self.place(unix_s);
        }
        let slice = &mut self.slices[self.at];
        slice.all.add(size_bytes);
        slice.sizes.get_mut(class).add(size_bytes);
        slice.tls.add(is_tls, size_bytes);
    }

    /// The slices by time, and the length of each in s.
    pub(super) fn finish(self) -> (Vec<Slice>, u64) {
        (self.slices, 1 << self.length_log2)
    }

    /// The beginning of the slice that this second is in.
    fn begin(&self, unix_s: i64) -> i64 {
        unix_s >> self.length_log2 << self.length_log2
    }

    /// The place of this second's slice, which is made if there is none.
    fn place(&mut self, unix_s: i64) -> usize {
        loop {
            let begin_unix_s = self.begin(unix_s);
            match self.slices.binary_search_by_key(&begin_unix_s, |slice| slice.begin_unix_s) {
                Ok(place) => return place,
                Err(place) if self.slices.len() < MOST_SLICES => {
                    let slice = Slice {
                        begin_unix_s,
                        all: Tally::default(),
                        sizes: Classes::default(),
                        tls: Tls::default(),
                    };
                    self.slices.insert(place, slice);
                    return place;
                }
                Err(_) => self.double(),
            }
        }
    }

    /// Makes slices twice as long.
    fn double(&mut self) {
        self.length_log2 += 1;
        let length_log2 = self.length_log2;
        self.slices.iter_mut().for_each(|slice| {
            slice.begin_unix_s = slice.begin_unix_s >> length_log2 << length_log2;
        });
        self.slices.dedup_by(|later, earlier| {
            let is_same = later.begin_unix_s == earlier.begin_unix_s;
            if is_same {
                earlier.all.merge(later.all);
                earlier.sizes.merge(&later.sizes);
                earlier.tls.merge(later.tls);
            }
            is_same
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn however_times_come_the_slices_are_the_same(
            mut seconds in prop::collection::vec(0..200_000_i64, 1..3000),
            years in prop::collection::vec(0..253_402_207_200_i64, 0..20),
        ) {
            seconds.extend(years);
            let fill = |seconds: &[i64]| {
                let mut slices = Slices::new();
                for (place, second) in seconds.iter().enumerate() {
                    let is_tls = [Some(true), Some(false), None][(*second % 3) as usize];
                    slices.add(*second, Class::ALL[place % Class::ALL.len()], is_tls, 1);
                    assert!(slices.slices.len() <= MOST_SLICES);
                }
                let (slices, length_s) = slices.finish();
                let tallies =
                    slices.iter().map(|slice| (slice.begin_unix_s, slice.all, slice.tls));
                (tallies.collect::<Vec<_>>(), length_s)
            };
            let as_they_came = fill(&seconds);
            seconds.sort_unstable();
            prop_assert_eq!(&fill(&seconds), &as_they_came);
            let (slices, length_s) = as_they_came;
            for (begin, tally, tls) in &slices {
                let within = *begin..*begin + length_s as i64;
                let seconds = seconds.iter().filter(|second| within.contains(second));
                let count = seconds.clone().count() as u64;
                let told = seconds.filter(|second| *second % 3 < 2).count() as u64;
                prop_assert_eq!(tls.told(), told);
                prop_assert_eq!(*tally, Tally { requests: count, bytes: count });
            }
            let sum: u64 = slices.iter().map(|(_, all, _)| all.requests).sum();
            prop_assert_eq!(sum, seconds.len() as u64);
        }
    }
}
