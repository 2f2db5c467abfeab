//! Counts of a flow's thread, read by another thread while it runs.
//!
//! There is no lock: of a thousand threads one has always lost its CPU while holding it. The reader
//! of all counts would wait for that thread's next turn, and then for another's.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use zc_run::{RecvCounts, SendCounts};

/// The most numbers that the counts of a side have.
const WORDS: usize = 6;

/// Counts that can be published: numbers that only grow.
pub(super) trait Counts: Copy + Default + Send + 'static {
    fn to_words(self) -> [u64; WORDS];
    fn of_words(words: [u64; WORDS]) -> Self;
}

impl Counts for SendCounts {
    fn to_words(self) -> [u64; WORDS] {
        let Self { bytes, calls, completions, copied, enobufs, short } = self;
        [bytes, calls, completions, copied, enobufs, short]
    }

    fn of_words([bytes, calls, completions, copied, enobufs, short]: [u64; WORDS]) -> Self {
        Self { bytes, calls, completions, copied, enobufs, short }
    }
}

impl Counts for RecvCounts {
    fn to_words(self) -> [u64; WORDS] {
        let Self { bytes, calls, mapped_bytes } = self;
        [bytes, calls, mapped_bytes, 0, 0, 0]
    }

    fn of_words([bytes, calls, mapped_bytes, ..]: [u64; WORDS]) -> Self {
        Self { bytes, calls, mapped_bytes }
    }
}

/// Counts with one writer. Each number read was published; two of them may be one publication
/// apart, which is the calls of a piece.
#[derive(Debug)]
pub(super) struct Counting<C> {
    words: [AtomicU64; WORDS],
    of: PhantomData<fn() -> C>,
}

impl<C> Default for Counting<C> {
    fn default() -> Self {
        Self { words: Default::default(), of: PhantomData }
    }
}

impl<C: Counts> Counting<C> {
    /// Publishes the counts. Only the one thread that counts calls this.
    pub(super) fn set(&self, counts: C) {
        for (word, value) in self.words.iter().zip(counts.to_words()) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// The counts that were published last. They are final once the thread has been joined, or has
    /// reported its end.
    pub(super) fn get(&self) -> C {
        C::of_words(std::array::from_fn(|place| self.words[place].load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_is_what_is_read() {
        let sent =
            SendCounts { bytes: 1, calls: 2, completions: 3, copied: 4, enobufs: 5, short: 6 };
        let counting = Counting::default();
        assert_eq!(counting.get(), SendCounts::default());
        counting.set(sent);
        assert_eq!(counting.get(), sent);
        let received = RecvCounts { bytes: 7, calls: 8, mapped_bytes: 9 };
        let counting = Counting::default();
        counting.set(received);
        assert_eq!(counting.get(), received);
    }
}
