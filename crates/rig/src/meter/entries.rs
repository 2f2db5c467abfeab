//! What a soaker sees of its own entries: how fast it is while nothing interrupts it, and what the
//! timer's ticks take from it.
//!
//! An entry of units always takes as long by the soaker's own clock, but for an interrupt that is
//! charged to it. So entries that are about as short as the shortest of the last milliseconds were
//! not interrupted. Their speed is that of the CPU at that time: it changes by a percent when a
//! sibling or a neighbour on the same host is at work, as much as all interrupts of a quiet machine
//! take.
//!
//! Entries in which another task had the CPU tell nothing. They can even be too short: a task that
//! is woken from another CPU is charged from then on, while the soaker works until the interrupt
//! arrives that tells its CPU (`rq_clock_skip_update` in kernel/sched/core.c). Between virtual CPUs
//! that is 2 us, a sixth of an entry. Taken for the shortest, they made of the interrupts beside
//! 5,000 wake-ups a second twice as many, or none.
//!
//! A CPU that is idle has no tick (CONFIG_NO_HZ_IDLE); one whose soaker works has. So ticks on the
//! soaker's time are the soaker's doing, and nobody else's cost.

use zc_run::SoakerPace;

/// Entries among which the shortest is looked for, some 0.5 ms.
const ENTRIES: u32 = 32;

/// An entry that is longer than the shortest by more than this part of it was interrupted. That is
/// 2 us, less than a device's interrupt takes with its softirq. Entries that nothing interrupts
/// scatter by 5 %, and with half or twice of this part the interrupts found differ by a fiftieth.
/// In one that lasted longer than the soaker's clock ran by more than this part, another task ran.
const TOLERATED: u64 = 8;

/// The end of an entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    /// By CLOCK_MONOTONIC.
    pub(super) stamp_ns: u64,
    /// By the soaker's own clock.
    pub(super) cpu_ns: u64,
    /// The timer's last tick before it ([`zc_kernel::clock::last_tick_ns`]).
    pub(super) tick_ns: u64,
}

/// Entries of a soaker so far in which no other task ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Those that nothing interrupted.
    pub(super) undisturbed: SoakerPace,
    /// Those in which the timer ticked.
    pub(super) ticked: SoakerPace,
}

/// The entries of a soaker.
#[derive(Debug)]
pub(super) struct Entries {
    last: Ended,
    /// The shortest of the entries now and of those before.
    shortest_ns: [u64; 2],
    seen: u32,
    all: Seen,
}

impl Entries {
    /// Those after `now`.
    pub(super) fn after(now: Ended) -> Self {
        Self { last: now, shortest_ns: [u64::MAX; 2], seen: 0, all: Seen::default() }
    }

    /// Sees the end of an entry of `units`. Returns what was seen so far.
    pub(super) fn see(&mut self, units: u64, end: Ended) -> Seen {
        let took_ns = end.cpu_ns.saturating_sub(self.last.cpu_ns);
        let elapsed_ns = end.stamp_ns.saturating_sub(self.last.stamp_ns);
        let has_ticked = end.tick_ns != self.last.tick_ns;
        self.last = end;
        if elapsed_ns > took_ns + took_ns / TOLERATED {
            return self.all;
        }
        if has_ticked {
            add(&mut self.all.ticked, units, took_ns);
        }
        let [now, before] = &mut self.shortest_ns;
        *now = took_ns.min(*now);
        let shortest_ns = *now.min(before);
        // Of the first ones nobody knows.
        let is_known = *before != u64::MAX;
        if is_known && took_ns <= shortest_ns + shortest_ns / TOLERATED {
            add(&mut self.all.undisturbed, units, took_ns);
        }
        self.seen += 1;
        if self.seen == ENTRIES {
            self.seen = 0;
            self.shortest_ns = [u64::MAX, self.shortest_ns[0]];
        }
        self.all
    }
}

fn add(to: &mut SoakerPace, units: u64, took_ns: u64) {
    to.units += units;
    to.cpu_ns += took_ns;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The timer ticks in every 250th entry, which is after 4 ms if they take 16 us.
    const ENTRIES_TO_A_TICK: usize = 250;

    /// Sees entries of 8 units that take so long by the soaker's clock, in each of which another
    /// task has the CPU for so long, and returns what was seen of those from number `from`.
    fn seen(entries: impl Iterator<Item = (u64, u64)>, from: usize) -> Seen {
        let mut end = Ended { stamp_ns: 9_000, cpu_ns: 5_000, tick_ns: 0 };
        let mut seen = Entries::after(end);
        let (mut before, mut all) = (Seen::default(), Seen::default());
        for (index, (took_ns, another_ns)) in entries.enumerate() {
            end.stamp_ns += took_ns + another_ns;
            end.cpu_ns += took_ns;
            if index % ENTRIES_TO_A_TICK == ENTRIES_TO_A_TICK - 1 {
                end.tick_ns = end.stamp_ns;
            }
            if index == from {
                before = all;
            }
            all = seen.see(8, end);
        }
        Seen {
            undisturbed: all.undisturbed.since(before.undisturbed),
            ticked: all.ticked.since(before.ticked),
        }
    }

    fn units_per_us(entries: impl Iterator<Item = (u64, u64)>, from: usize) -> f64 {
        let pace = seen(entries, from).undisturbed;
        1e3 * pace.units as f64 / pace.cpu_ns as f64
    }

    fn alone(took_ns: u64) -> (u64, u64) {
        (took_ns, 0)
    }

    #[test]
    fn interrupted_entries_do_not_count() {
        // Every third is interrupted, once for long; others scatter by a little.
        let took = (0..1000).map(|i| match i % 3 {
            0 => 16_000 + if i % 60 == 0 { 80_000 } else { 4_000 },
            _ => 16_000 + i % 7 * 200,
        });
        let speed = units_per_us(took.map(alone), 0);
        assert!((speed - 8.0 / 16.6).abs() < 0.003, "{speed}");
    }

    #[test]
    fn a_cpu_that_becomes_slower_or_faster_is_followed_within_milliseconds() {
        for (first_ns, then_ns) in [(16_000, 20_000), (20_000, 16_000)] {
            let took = (0..400).map(|i| if i < 200 { first_ns } else { then_ns });
            let speed = units_per_us(took.map(alone), 300);
            assert!((speed - 8e3 / then_ns as f64).abs() < 1e-9, "{speed}");
        }
    }

    #[test]
    fn entries_in_which_another_task_ran_do_not_count_however_short_they_are() {
        // Another task works for 60 us of every 200. In every second of these entries it is charged
        // with 2 us of the soaker's.
        let entries = (0..1000).map(|i| match i % 12 {
            0 if i % 24 == 0 => (14_000, 62_000),
            0 => (18_000, 60_000),
            _ => alone(16_000),
        });
        let speed = units_per_us(entries, 0);
        assert!((speed - 8.0 / 16.0).abs() < 1e-9, "{speed}");
    }

    #[test]
    fn entries_with_a_tick_are_known_where_no_other_task_ran() {
        // In every second of those with a tick another task runs.
        let entries = (0..2_500).map(|i| match i % 500 {
            249 => alone(36_000),
            499 => (15_000, 21_000),
            _ => alone(16_000),
        });
        let Seen { ticked, undisturbed } = seen(entries, 500);
        assert_eq!((ticked.units, ticked.cpu_ns), (4 * 8, 4 * 36_000));
        assert_eq!(undisturbed.cpu_ns / undisturbed.units, 2_000);
    }
}
