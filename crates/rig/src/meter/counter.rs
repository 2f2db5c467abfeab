//! The counter of one soaker: two cache lines in a shared mapping, so that the reader may be
//! another process. It is written without a lock and without a read-modify-write.
//!
//! The writer is a thread of the lowest class, and may be preempted for long between any two of its
//! stores. The reader must never wait for it. So the clocks of entry `n` go to one of two places by
//! the parity of `n`, and only then is the count set to `n`. While the count still reads `n`, only
//! the other place can be in the middle of a change.
//!
//! The soaker reads its own thread clock: another process may not, and whoever reads it from
//! another CPU reads it a moment after the count.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

use super::entries::{Ended, Seen};
use zc_kernel::words::SharedWords;
use zc_run::SoakerPace;

/// Words of a counter: 128 bytes, because CPUs fetch lines of 64 bytes in pairs.
const WORDS: usize = 16;
const COUNT: usize = 0;
const STAMP: usize = 1; // and the word after it
const CPU: usize = 3; // and the word after it
const UNDISTURBED: usize = 5; // and the word after it
const UNDISTURBED_CPU: usize = 7; // and the word after it
const TICKED: usize = 9; // and the word after it
const TICKED_CPU: usize = 11; // and the word after it

/// Units between two entries, some 16 us. Reading the thread clock is a system call, which takes a
/// tenth of a unit and more.
pub(super) const UNITS_PER_ENTRY: u64 = 8;

/// Work that a soaker has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// Units of fixed work.
    pub(super) units: u64,
    /// When the last of them was finished, by CLOCK_MONOTONIC.
    pub(super) stamp_ns: u64,
    /// CPU time of the soaker until then, by its thread clock.
    pub(super) cpu_ns: u64,
    /// What it has seen of its entries.
    pub(super) seen: Seen,
}

/// Words for the counters of `soakers` soakers.
pub(super) fn words_for(soakers: usize) -> usize {
    soakers * WORDS
}

pub(super) struct Counter<'a> {
    words: &'a [AtomicU64],
}

impl<'a> Counter<'a> {
    /// The counter of soaker `index`; `None` when the mapping is too short.
    pub(super) fn for_soaker(words: &'a SharedWords, index: usize) -> Option<Self> {
        Some(Self { words: words.get(index * WORDS..(index + 1) * WORDS)? })
    }

    /// Makes entry number `entry`. Numbers must be consecutive, and only one thread writes.
    pub(super) fn set(&self, entry: u64, end: Ended, seen: Seen) {
        let place = (entry & 1) as usize;
        let Seen { undisturbed, ticked } = seen;
        self.words[STAMP + place].store(end.stamp_ns, Relaxed);
        self.words[CPU + place].store(end.cpu_ns, Relaxed);
        self.words[UNDISTURBED + place].store(undisturbed.units, Relaxed);
        self.words[UNDISTURBED_CPU + place].store(undisturbed.cpu_ns, Relaxed);
        self.words[TICKED + place].store(ticked.units, Relaxed);
        self.words[TICKED_CPU + place].store(ticked.cpu_ns, Relaxed);
        self.words[COUNT].store(entry, Release);
    }

    /// The last entry.
    pub(super) fn get(&self) -> Done {
        loop {
            let entry = self.words[COUNT].load(Acquire);
            let place = (entry & 1) as usize;
            let stamp_ns = self.words[STAMP + place].load(Relaxed);
            let cpu_ns = self.words[CPU + place].load(Relaxed);
            let pace = |units: usize, cpu: usize| SoakerPace {
                units: self.words[units + place].load(Relaxed),
                cpu_ns: self.words[cpu + place].load(Relaxed),
            };
            let seen = Seen {
                undisturbed: pace(UNDISTURBED, UNDISTURBED_CPU),
                ticked: pace(TICKED, TICKED_CPU),
            };
            fence(Acquire);
            // A change means that the writer made an entry meanwhile, which takes microseconds: the
            // next try succeeds.
            if self.words[COUNT].load(Relaxed) == entry {
                return Done { units: entry * UNITS_PER_ENTRY, stamp_ns, cpu_ns, seen };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_clocks_always_belong_together() {
        let (words, _fd) = SharedWords::create(words_for(2)).unwrap();
        let ended = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let counter = Counter::for_soaker(&words, 1).unwrap();
                for entry in 1..200_000 {
                    let end = Ended { stamp_ns: entry * 3, cpu_ns: entry * 2, tick_ns: 0 };
                    let pace = |times| SoakerPace { units: entry * times, cpu_ns: entry * times };
                    counter.set(entry, end, Seen { undisturbed: pace(5), ticked: pace(7) });
                }
                ended.store(1, Release);
            });
            let counter = Counter::for_soaker(&words, 1).unwrap();
            loop {
                let all_are_set = ended.load(Acquire) == 1;
                let Done { units, stamp_ns, cpu_ns, seen: Seen { undisturbed, ticked } } =
                    counter.get();
                let entry = units / UNITS_PER_ENTRY;
                assert_eq!((stamp_ns, cpu_ns), (entry * 3, entry * 2));
                assert_eq!((undisturbed.units, undisturbed.cpu_ns), (entry * 5, entry * 5));
                assert_eq!((ticked.units, ticked.cpu_ns), (entry * 7, entry * 7));
                if all_are_set {
                    break assert_eq!(entry, 199_999);
                }
            }
        });
        assert_eq!(Counter::for_soaker(&words, 0).unwrap().get(), Done::default());
        assert!(Counter::for_soaker(&words, words.len() / WORDS).is_none());
    }
}
