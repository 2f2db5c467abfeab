//! Counts of a flow's thread, read by another thread while it runs.
//!
//! There is no lock: of a thousand threads one has always lost its CPU while holding it. The reader
//! of all counts would wait for that thread's next turn, and then for another's.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use zc_run::{RecvCounts, SendCounts};

/// The most numbers that the counts of a side have.
const WORDS: usize = 7;

/// Counts that can be published: numbers that only grow.
pub(super) trait Counts: Copy + Default + Send + 'static {
    fn to_words(self) -> [u64; WORDS];
    fn of_words(words: [u64; WORDS]) -> Self;
}

impl Counts for SendCounts {
    fn to_words(self) -> [u64; WORDS] {
        let Self { bytes, calls, completions, copied, enobufs, short, framing_bytes } = self;
        [bytes, calls, completions, copied, enobufs, short, framing_bytes]
    }

    fn of_words(words: [u64; WORDS]) -> Self {
        let [bytes, calls, completions, copied, enobufs, short, framing_bytes] = words;
        Self { bytes, calls, completions, copied, enobufs, short, framing_bytes }
    }
}

impl Counts for RecvCounts {
    fn to_words(self) -> [u64; WORDS] {
        let Self { bytes, calls, mapped_bytes } = self;
        [bytes, calls, mapped_bytes, 0, 0, 0, 0]
    }

    fn of_words([bytes, calls, mapped_bytes, ..]: [u64; WORDS]) -> Self {
        Self { bytes, calls, mapped_bytes }
    }
}

/// Counts with one writer. What is read was published together.
///
/// Publication number n is in `slots[n % 2]`: while the writer, which may lose its CPU at any time,
/// fills one slot, the other is whole. A reader tries again only if a publication was completed
/// meanwhile.
#[derive(Debug)]
pub(super) struct Counting<C> {
    published: AtomicU64,
    slots: [[AtomicU64; WORDS]; 2],
    of: PhantomData<fn() -> C>,
}

impl<C> Default for Counting<C> {
    fn default() -> Self {
        Self { published: AtomicU64::new(0), slots: Default::default(), of: PhantomData }
    }
}

impl<C: Counts> Counting<C> {
    /// Publishes the counts. Only the one thread that counts calls this.
    pub(super) fn set(&self, counts: C) {
        let next = self.published.load(Ordering::Relaxed) + 1;
        // Pairs with the fence in `get`: who reads one of the words below finds the publication
        // before this one completed, and so the slot reused.
        fence(Ordering::Release);
        for (word, value) in self.slot(next).iter().zip(counts.to_words()) {
            word.store(value, Ordering::Relaxed);
        }
        self.published.store(next, Ordering::Release);
    }

    /// The counts that were published last. They are final once the thread has been joined, or has
    /// reported its end.
    pub(super) fn get(&self) -> C {
        loop {
            let last = self.published.load(Ordering::Acquire);
            let slot = self.slot(last);
            let words = std::array::from_fn(|place| slot[place].load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            if self.published.load(Ordering::Relaxed) == last {
                return C::of_words(words);
            }
        }
    }

    fn slot(&self, publication: u64) -> &[AtomicU64; WORDS] {
        &self.slots[usize::from(!publication.is_multiple_of(2))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_is_what_is_read() {
        let sent = SendCounts::of_words([1, 2, 3, 4, 5, 6, 7]);
        let counting = Counting::default();
        assert_eq!(counting.get(), SendCounts::default());
        counting.set(sent);
        assert_eq!(counting.get(), sent);
        let received = RecvCounts { bytes: 8, calls: 9, mapped_bytes: 10 };
        let counting = Counting::default();
        counting.set(received);
        assert_eq!(counting.get(), received);
    }

    #[test]
    fn what_is_read_while_it_is_counted_was_published_together() {
        const LAST: u64 = 300_000;
        let counting = Counting::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 1..=LAST {
                    let counts = [n; WORDS];
                    counting.set(SendCounts::of_words(counts));
                }
            });
            let mut before = 0;
            while before < LAST {
                let words = counting.get().to_words();
                assert_eq!(words, [words[0]; WORDS]);
                assert!(words[0] >= before);
                before = words[0];
            }
        });
    }
}
