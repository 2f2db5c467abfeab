//! The unit of fixed work that soakers count.

use std::hint::black_box;

/// Steps of the chain in a unit. Each is three shifts and three exclusive-ors that depend on one
/// another, some 6 cycles. A unit takes 2.0 us at 3 GHz: short compared with a window of tens of
/// milliseconds, long compared with the clock reading and the two stores that follow it.
const STEPS: u32 = 1024;

/// Units between two dirtied cache lines: at 2 us a unit this makes 10,000 lines per second and
/// CPU, as in the `cyclesoak` of 2001.
const UNITS_PER_DIRTY_LINE: u64 = 50;

/// Size of the buffer whose lines are dirtied: larger than the second-level cache of any CPU so far
/// (4 MiB), so that a line has been evicted when its turn comes again.
const DIRT_BYTES: usize = 8 << 20;

/// Words in a cache line of 64 bytes.
const LINE_WORDS: usize = 8;

/// Lines from one dirtied line to the next: odd, so that all are reached, and farther than
/// prefetchers look.
const STRIDE_LINES: usize = 4097;

/// One unit: a chain of shifts and exclusive-ors (xorshift64) in a register. It touches no memory,
/// so its speed depends on the CPU alone. The compiler can neither shorten it nor run steps in
/// parallel, as each needs the one before.
#[inline(never)]
pub(super) fn unit(state: u64) -> u64 {
    let mut x = state;
    for _ in 0..STEPS {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x)
}

/// The memory that a soaker of the kind `cache` dirties.
pub(super) struct Dirt {
    words: Vec<u64>,
    line: usize,
}

impl Dirt {
    /// Allocates the buffer and writes it, so that its pages are allocated near the calling CPU.
    pub(super) fn new() -> Self {
        Self { words: (0..DIRT_BYTES as u64 / 8).collect(), line: 0 }
    }

    /// Dirties a line after every 50 units.
    pub(super) fn after_unit(&mut self, count: u64) {
        if count.is_multiple_of(UNITS_PER_DIRTY_LINE) {
            self.line = (self.line + STRIDE_LINES) % (DIRT_BYTES / 8 / LINE_WORDS);
            let word = &mut self.words[self.line * LINE_WORDS];
            *word = black_box(*word + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_the_chain_and_not_a_shortcut() {
        let mut x = 1_u64;
        for _ in 0..STEPS {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        assert_eq!(unit(1), x);
        assert_ne!(unit(x), x);
    }

    #[test]
    fn every_line_is_dirtied_in_turn() {
        let mut dirt = Dirt::new();
        let lines = (DIRT_BYTES / 8 / LINE_WORDS) as u64;
        let before = dirt.words.clone();
        for count in 1..=lines * UNITS_PER_DIRTY_LINE {
            dirt.after_unit(count);
        }
        let touched =
            dirt.words.iter().zip(&before).filter(|(now, then)| now != then).count() as u64;
        assert_eq!(touched, lines);
    }
}
