//! A known cost: the soakers' own units of work, done by a sender.
//!
//! A unit that the sender does on its CPU is a unit that the soaker of that CPU does not do,
//! whatever the clock frequency is. So the cost added to a path is known without another clock, and
//! soaking must find it.

use std::time::Duration;

use super::counter::UNITS_PER_ENTRY;
use super::unit::unit;
use zc_kernel::clock;

/// Units whose time is taken at once, some 60 us.
const TIMED: u64 = 32;

/// Number of timings, of which the shortest counts.
const TIMINGS: usize = 8;

/// Does units as they become due.
#[derive(Debug)]
pub struct Units {
    done: u64,
    state: u64,
}

impl Units {
    /// None is done.
    pub fn none() -> Self {
        Self { done: 0, state: 1 }
    }

    /// Does units until so many are done in all, and calls `then` after each. Less than a unit is
    /// left for the next time.
    pub fn up_to(&mut self, due: f64, then: impl Fn()) {
        while (self.done + 1) as f64 <= due {
            self.do_one();
            then();
        }
    }

    /// Does one unit like a soaker, with its share of the readings of the clocks. That of the thread
    /// is a system call: without it a unit took 4 % less time than a soaker's, and so much too
    /// little was found of what was added.
    fn do_one(&mut self) {
        self.state = unit(self.state);
        self.done += 1;
        if self.done.is_multiple_of(UNITS_PER_ENTRY) {
            std::hint::black_box((clock::monotonic_ns(), clock::own_cpu_ns()));
        }
    }
}

/// Burns units in proportion to the bytes sent.
#[derive(Debug)]
pub(crate) struct Burner {
    units_per_byte: f64,
    /// Units that are due in all, with a fraction.
    due: f64,
    burst: u64,
    units: Units,
}

impl Burner {
    /// A burner of so many units per MB (10^6 bytes).
    pub(crate) fn new(units_per_mb: f64) -> Self {
        Self { units_per_byte: units_per_mb / 1e6, due: 0.0, burst: 0, units: Units::none() }
    }

    /// Call it before each piece of so many bytes, with the number of its burst. What is due for
    /// earlier bursts is burned before a burst, when all of the last one has long been
    /// acknowledged: in the middle of a burst, the time that it takes would make room for more
    /// acknowledgements. Without pacing there are no bursts, and nothing is burned.
    pub(crate) fn before_piece(&mut self, bytes: usize, burst: u64) {
        if burst != self.burst {
            self.burst = burst;
            self.units.up_to(self.due, || {});
        }
        self.due += bytes as f64 * self.units_per_byte;
    }
}

/// About how long a unit takes on the calling thread's CPU.
pub fn unit_time() -> Duration {
    let mut units = Units::none();
    let mut timed = || {
        let began_ns = clock::monotonic_ns();
        (0..TIMED).for_each(|_| units.do_one());
        (clock::monotonic_ns() - began_ns) / TIMED
    };
    Duration::from_nanos((0..TIMINGS).map(|_| timed()).min().unwrap_or_default().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_the_bytes_and_fractions_are_not_lost() {
        let mut burner = Burner::new(2.5);
        burner.before_piece(300_000, 1);
        burner.before_piece(1_000_000, 2);
        assert_eq!(burner.units.done, 0, "three quarters of a unit were due");
        burner.before_piece(0, 3);
        assert_eq!(burner.units.done, 3, "3.25 were due");
        assert_eq!(burner.units.state, unit(unit(unit(1))));
        burner.before_piece(300_000, 3);
        burner.before_piece(0, 4);
        assert_eq!(burner.units.done, 4);
    }

    #[test]
    fn nothing_is_burned_within_a_burst_and_nothing_without_bursts() {
        let mut burner = Burner::new(1.0);
        for _ in 0..3 {
            burner.before_piece(1_000_000, 1);
        }
        assert_eq!(burner.units.done, 0);
        burner.before_piece(1_000_000, 2);
        assert_eq!(burner.units.done, 3);
        let mut unpaced = Burner::new(1.0);
        (0..9).for_each(|_| unpaced.before_piece(1_000_000, 0));
        assert_eq!(unpaced.units.done, 0);
    }
}
