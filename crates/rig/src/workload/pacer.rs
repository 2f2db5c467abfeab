//! The pacer: holds a sender at a fixed rate, in bursts, by sleeping until the next burst is due.
//!
//! It runs on the sender's thread. Bursts are due at `start + k x period`. A late sender goes on
//! without sleeping until it has caught up, by at most `CATCH_UP` periods: what is further behind
//! is written off, so that a stall does not become a burst at top speed. A piece may be larger than
//! a burst: it is sent when any bytes are due, and is charged to the following bursts. So the bytes
//! sent never differ from the bytes due by more than a piece and `CATCH_UP` bursts, and the rate in
//! the long run is exact unless something was written off.

use std::sync::atomic::{AtomicBool, Ordering};

use zc_kernel::clock;

/// Periods that a late sender may catch up.
const CATCH_UP: u64 = 8;

/// The shortest period. Below it the sleeps would cost more than the bursts.
const MIN_PERIOD_NS: u64 = 1_000;

/// The time source of a pacer.
pub trait Clock {
    /// Now, in nanoseconds.
    fn now_ns(&self) -> u64;

    /// Sleeps until the clock reads at least `at_ns`.
    fn sleep_until(&self, at_ns: u64);
}

/// CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, Default)]
pub struct Monotonic;

impl Clock for Monotonic {
    fn now_ns(&self) -> u64 {
        clock::monotonic_ns()
    }

    fn sleep_until(&self, at_ns: u64) {
        clock::sleep_until(at_ns);
    }
}

/// Paces one sender.
#[derive(Debug)]
pub struct Pacer<C = Monotonic> {
    clock: C,
    /// `None` when unpaced.
    burst_bytes: Option<f64>,
    period_ns: u64,
    start_ns: u64,
    /// Number of bursts that have been due, including those written off.
    due: u64,
    written_off: u64,
    sent_bytes: u64,
}

impl Pacer {
    /// A pacer on CLOCK_MONOTONIC: `rate_bytes_per_s` (`None`: unpaced) in bursts that are
    /// `period_ns` apart (at least 1 us), the first of them due at `start_ns`.
    pub fn new(rate_bytes_per_s: Option<f64>, period_ns: u64, start_ns: u64) -> Self {
        Self::with_clock(Monotonic, rate_bytes_per_s, period_ns, start_ns)
    }
}

impl<C: Clock> Pacer<C> {
    /// Same as [`Pacer::new`], on another clock.
    pub fn with_clock(
        clock: C,
        rate_bytes_per_s: Option<f64>,
        period_ns: u64,
        start_ns: u64,
    ) -> Self {
        let period_ns = period_ns.max(MIN_PERIOD_NS);
        let burst_bytes = rate_bytes_per_s.map(|rate| rate * period_ns as f64 / 1e9);
        Self { clock, burst_bytes, period_ns, start_ns, due: 0, written_off: 0, sent_bytes: 0 }
    }

    /// Returns when the next piece, of `about_to_send` bytes, is due: at once if the rate allows it
    /// or the sender is unpaced.
    pub fn wait(&mut self, about_to_send: usize) {
        static NEVER: AtomicBool = AtomicBool::new(false);
        self.wait_unless(about_to_send, &NEVER);
    }

    /// Same as [`wait`](Self::wait), but returns false once `stop` is set: within one period,
    /// however low the rate is. The piece is not counted then.
    pub fn wait_unless(&mut self, about_to_send: usize, stop: &AtomicBool) -> bool {
        let Some(burst_bytes) = self.burst_bytes else {
            return !stop.load(Ordering::Relaxed);
        };
        loop {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            // Up to 2^53 bytes this is exact: 24 days at 4 GB/s.
            if (self.due - self.written_off) as f64 * burst_bytes > self.sent_bytes as f64 {
                self.sent_bytes += about_to_send as u64;
                return true;
            }
            self.wait_for_burst();
        }
    }

    /// Sleeps until the next burst is due, at most a period, and counts what is due by then.
    fn wait_for_burst(&mut self) {
        let mut now_ns = self.clock.now_ns();
        let next_ns = self.start_ns.saturating_add(self.due.saturating_mul(self.period_ns));
        if now_ns < next_ns {
            // A distant start is waited for in steps, to check the stop flag.
            self.clock.sleep_until(next_ns.min(now_ns + self.period_ns));
            now_ns = self.clock.now_ns();
        }
        let Some(since_start_ns) = now_ns.checked_sub(self.start_ns) else { return };
        let due = (since_start_ns / self.period_ns + 1).max(self.due);
        let behind = due - self.due;
        self.written_off += behind.saturating_sub(CATCH_UP);
        self.due = due;
    }

    /// Number of bursts that have been due so far.
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Nanoseconds between bursts.
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// Time of the first burst.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Bursts that were written off because the sender was more than `CATCH_UP` periods late. If it
    /// is not 0, the rate was not held.
    pub fn written_off_bursts(&self) -> u64 {
        self.written_off
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use proptest::prelude::*;

    use super::*;

    /// A clock that advances only by sleeping on it or by moving it. Every sleep is `late_ns` too
    /// long.
    #[derive(Debug, Clone, Default)]
    struct Hand {
        now_ns: Rc<Cell<u64>>,
        longest_sleep_ns: Rc<Cell<u64>>,
        late_ns: u64,
    }

    impl Hand {
        fn advance(&self, ns: u64) {
            self.now_ns.set(self.now_ns.get() + ns);
        }
    }

    impl Clock for Hand {
        fn now_ns(&self) -> u64 {
            self.now_ns.get()
        }

        fn sleep_until(&self, at_ns: u64) {
            let now_ns = self.now_ns.get();
            self.longest_sleep_ns
                .set(self.longest_sleep_ns.get().max(at_ns.saturating_sub(now_ns)));
            self.now_ns.set(now_ns.max(at_ns) + self.late_ns);
        }
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn an_unpaced_sender_never_sleeps() {
        let clock = Hand::default();
        let mut pacer = Pacer::with_clock(clock.clone(), None, MS, u64::MAX);
        for _ in 0..1000 {
            pacer.wait(1 << 30);
        }
        assert_eq!(clock.now_ns(), 0);
    }

    #[test]
    fn nothing_is_sent_before_the_start() {
        let clock = Hand::default();
        let mut pacer = Pacer::with_clock(clock.clone(), Some(1e9), MS, 10 * MS);
        pacer.wait(1);
        assert_eq!(clock.now_ns(), 10 * MS);
    }

    #[test]
    fn a_burst_is_sent_without_sleeping_and_then_the_next_one_is_waited_for() {
        let clock = Hand::default();
        let mut pacer = Pacer::with_clock(clock.clone(), Some(1e9), MS, 0);
        let mut at = Vec::new();
        for _ in 0..20 {
            pacer.wait(100_000);
            at.push(clock.now_ns());
        }
        assert_eq!(at, [vec![0; 10], vec![MS; 10]].concat());
    }

    proptest! {
        #[test]
        fn the_rate_in_the_long_run_is_exact(
            rate in 1e6..1e10f64,
            period_ns in 100_000..10_000_000u64,
            pieces in prop::collection::vec(1..3_000_000usize, 1..50),
            late_ns in 0..200_000u64,
        ) {
            let clock = Hand { late_ns, ..Hand::default() };
            let mut pacer = Pacer::with_clock(clock.clone(), Some(rate), period_ns, 5 * MS);
            let largest = pieces.iter().copied().max().unwrap() as f64;
            let burst = rate * period_ns as f64 / 1e9;
            let mut sent = 0.0;
            for &piece in pieces.iter().cycle().take(5_000) {
                pacer.wait(piece);
                sent += piece as f64;
            }
            let due = ((clock.now_ns() - 5 * MS) / period_ns + 1) as f64 * burst;
            let late = burst * (1.0 + late_ns as f64 / period_ns as f64);
            prop_assert!((sent - due).abs() <= largest + late, "{sent} {due}");
            prop_assert_eq!(pacer.written_off_bursts(), 0);
        }
    }

    #[test]
    fn a_short_stall_is_caught_up() {
        let clock = Hand::default();
        let mut pacer = Pacer::with_clock(clock.clone(), Some(1e9), MS, 0);
        pacer.wait(1_000_000);
        clock.advance(7 * MS);
        for _ in 0..7 {
            pacer.wait(1_000_000);
        }
        assert_eq!(clock.now_ns(), 7 * MS);
        pacer.wait(1_000_000);
        assert_eq!(clock.now_ns(), 8 * MS);
        assert_eq!(pacer.written_off_bursts(), 0);
    }

    #[test]
    fn a_long_stall_is_written_off_except_for_a_few_periods() {
        let clock = Hand::default();
        let mut pacer = Pacer::with_clock(clock.clone(), Some(1e9), MS, 0);
        pacer.wait(1_000_000);
        clock.advance(1_000 * MS);
        let mut at_once = 0;
        while clock.now_ns() == 1_000 * MS {
            pacer.wait(1_000_000);
            at_once += 1;
        }
        assert_eq!(at_once, CATCH_UP + 1); // the last of them waited
        assert_eq!(clock.now_ns(), 1_001 * MS);
        assert_eq!(pacer.written_off_bursts(), 1_000 - CATCH_UP);
    }

    #[test]
    fn a_stop_is_seen_within_a_period_at_any_rate() {
        for rate in [0.0, 1.0, f64::NAN, -1.0] {
            let clock = Hand::default();
            let stop = AtomicBool::new(false);
            let mut pacer = Pacer::with_clock(clock.clone(), Some(rate), MS, 0);
            if rate == 1.0 {
                assert!(pacer.wait_unless(1 << 20, &stop)); // twelve days' worth
            }
            stop.store(true, Ordering::Relaxed);
            assert!(!pacer.wait_unless(1, &stop));
            assert!(clock.longest_sleep_ns.get() <= MS);
        }
    }

    #[test]
    fn a_stop_that_comes_while_it_sleeps_is_seen() {
        struct StopsAt<'a>(Hand, &'a AtomicBool, u64);
        impl Clock for StopsAt<'_> {
            fn now_ns(&self) -> u64 {
                self.0.now_ns()
            }

            fn sleep_until(&self, at_ns: u64) {
                self.0.sleep_until(at_ns);
                self.1.store(self.0.now_ns() >= self.2, Ordering::Relaxed);
            }
        }
        let hand = Hand::default();
        let stop = AtomicBool::new(false);
        let start_in_an_hour = 3_600_000 * MS;
        let mut pacer = Pacer::with_clock(
            StopsAt(hand.clone(), &stop, 20 * MS),
            Some(1e9),
            MS,
            start_in_an_hour,
        );
        assert!(!pacer.wait_unless(1, &stop));
        assert_eq!(hand.now_ns(), 20 * MS);
        assert!(hand.longest_sleep_ns.get() <= MS);
    }

    #[test]
    fn an_unpaced_sender_stops_too() {
        let mut pacer = Pacer::new(None, MS, 0);
        assert!(pacer.wait_unless(1, &AtomicBool::new(false)));
        assert!(!pacer.wait_unless(1, &AtomicBool::new(true)));
    }

    #[test]
    fn a_period_has_a_least_length_and_the_first_burst_its_time() {
        let pacer = Pacer::with_clock(Hand::default(), Some(1e9), 10, 100);
        assert_eq!((pacer.period_ns(), pacer.start_ns()), (MIN_PERIOD_NS, 100));
    }
}
