//! The counter of one soaker: two cache lines in a shared mapping, so that the reader may be
//! another process. It is written without a lock and without a read-modify-write.
//!
//! The writer is a thread of the lowest class, and may be preempted for long between any two of its
//! stores. The reader must never wait for it. So the stamp of unit `n` goes to one of two places by
//! the parity of `n`, and only then is the count set to `n`. While the count still reads `n`, only
//! the other place can be in the middle of a change.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

use zc_kernel::words::SharedWords;

/// Words of a counter: 128 bytes, because CPUs fetch lines of 64 bytes in pairs.
const WORDS: usize = 16;
const COUNT: usize = 0;
const STAMP: usize = 1; // and the word after it

/// Words for the counters of `soakers` soakers.
pub(super) fn words_for(soakers: usize) -> usize {
    soakers * WORDS
}

pub(super) struct Counter<'a> {
    words: &'a [AtomicU64],
}

impl<'a> Counter<'a> {
    /// The counter of soaker `index`; `None` when the mapping is too short.
    pub(super) fn of(words: &'a SharedWords, index: usize) -> Option<Self> {
        Some(Self { words: words.get(index * WORDS..(index + 1) * WORDS)? })
    }

    /// Records that unit `count` was finished at `stamp_ns`. Counts must be consecutive, and only
    /// one thread writes.
    pub(super) fn set(&self, count: u64, stamp_ns: u64) {
        self.words[STAMP + (count & 1) as usize].store(stamp_ns, Relaxed);
        self.words[COUNT].store(count, Release);
    }

    /// Units finished, and the time of the last of them.
    pub(super) fn get(&self) -> (u64, u64) {
        loop {
            let count = self.words[COUNT].load(Acquire);
            let stamp_ns = self.words[STAMP + (count & 1) as usize].load(Relaxed);
            fence(Acquire);
            // A change means that the writer finished a unit meanwhile, which takes microseconds:
            // the next try succeeds.
            if self.words[COUNT].load(Relaxed) == count {
                return (count, stamp_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_and_stamp_always_belong_together() {
        let (words, _fd) = SharedWords::create(words_for(2)).unwrap();
        let done = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let counter = Counter::of(&words, 1).unwrap();
                for count in 1..200_000 {
                    counter.set(count, count * 3);
                }
                done.store(1, Release);
            });
            let counter = Counter::of(&words, 1).unwrap();
            loop {
                let all_are_set = done.load(Acquire) == 1;
                let (count, stamp) = counter.get();
                assert_eq!(stamp, count * 3);
                if all_are_set {
                    break assert_eq!(count, 199_999);
                }
            }
        });
        assert_eq!(Counter::of(&words, 0).unwrap().get(), (0, 0));
        assert!(Counter::of(&words, words.len() / WORDS).is_none());
    }
}
