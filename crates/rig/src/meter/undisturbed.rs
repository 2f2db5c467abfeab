//! Speed of a soaker while nothing interrupts it, measured by the soaker itself.
//!
//! An entry of units always takes as long by the soaker's own clock, but for an interrupt that is
//! charged to it. So entries that are about as short as the shortest of the last milliseconds were
//! not interrupted. Their speed is that of the CPU at that time: it changes by a percent when a
//! sibling or a neighbour on the same host is at work, as much as all interrupts of a quiet machine
//! take.

use zc_run::SoakerPace;

/// Entries among which the shortest is looked for, some 0.5 ms.
const ENTRIES: u32 = 32;

/// An entry that is longer than the shortest by more than this part of it was interrupted. That is
/// 2 us, less than a device's interrupt takes with its softirq. Entries that nothing interrupts
/// scatter by 5 %, and with half or twice of this part the interrupts found differ by a fiftieth.
const TOLERATED: u64 = 8;

/// The undisturbed entries of a soaker so far.
#[derive(Debug)]
pub(super) struct Undisturbed {
    /// Its clock at the last entry.
    cpu_ns: u64,
    /// The shortest of the entries now and of those before.
    shortest_ns: [u64; 2],
    seen: u32,
    all: SoakerPace,
}

impl Undisturbed {
    /// Begins with the soaker's clock as it is.
    pub(super) fn from(cpu_ns: u64) -> Self {
        Self { cpu_ns, shortest_ns: [u64::MAX; 2], seen: 0, all: SoakerPace::default() }
    }

    /// Sees an entry of `units` that ended when the soaker's clock was `cpu_ns`. Returns all
    /// entries so far that nothing interrupted.
    pub(super) fn see(&mut self, units: u64, cpu_ns: u64) -> SoakerPace {
        let took_ns = cpu_ns.saturating_sub(self.cpu_ns);
        self.cpu_ns = cpu_ns;
        let [now, before] = &mut self.shortest_ns;
        *now = took_ns.min(*now);
        let shortest_ns = *now.min(before);
        // Of the first ones nobody knows.
        let is_known = *before != u64::MAX;
        if is_known && took_ns <= shortest_ns + shortest_ns / TOLERATED {
            self.all.units += units;
            self.all.cpu_ns += took_ns;
        }
        self.seen += 1;
        if self.seen == ENTRIES {
            self.seen = 0;
            self.shortest_ns = [u64::MAX, self.shortest_ns[0]];
        }
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sees entries of 8 units that take so long, and returns the speed of those from number
    /// `from`.
    fn units_per_us(took_ns: impl Iterator<Item = u64>, from: usize) -> f64 {
        let (mut at_ns, mut undisturbed) = (5_000, Undisturbed::from(5_000));
        let mut begun = SoakerPace::default();
        let mut all = SoakerPace::default();
        for (index, took_ns) in took_ns.enumerate() {
            at_ns += took_ns;
            if index == from {
                begun = all;
            }
            all = undisturbed.see(8, at_ns);
        }
        let since = all.since(begun);
        1e3 * since.units as f64 / since.cpu_ns as f64
    }

    #[test]
    fn interrupted_entries_do_not_count() {
        // Every third is interrupted, once for long; others scatter by a little.
        let took = (0..1000).map(|i| match i % 3 {
            0 => 16_000 + if i % 60 == 0 { 80_000 } else { 4_000 },
            _ => 16_000 + i % 7 * 200,
        });
        let speed = units_per_us(took, 0);
        assert!((speed - 8.0 / 16.6).abs() < 0.003, "{speed}");
    }

    #[test]
    fn a_cpu_that_becomes_slower_or_faster_is_followed_within_milliseconds() {
        for (first_ns, then_ns) in [(16_000, 20_000), (20_000, 16_000)] {
            let took = (0..400).map(|i| if i < 200 { first_ns } else { then_ns });
            let speed = units_per_us(took, 300);
            assert!((speed - 8e3 / then_ns as f64).abs() < 1e-9, "{speed}");
        }
    }
}
