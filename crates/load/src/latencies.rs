//! Latencies of many requests as a histogram: to three significant digits above a millisecond, to
//! half a microsecond below, up to an hour.

use hdrhistogram::Histogram;

/// The shortest that is told apart from 0, in ns. The classes of short times are as wide as the
/// largest power of two below it: 512 ns.
const LEAST_NS: u64 = 1_000;
/// The longest; what is longer counts as this.
const MOST_NS: u64 = 3_600_000_000_000;
/// From 1 ms on a value is off by less than one in a thousand.
const DIGITS: u8 = 3;

/// Times in ns, as a histogram.
#[derive(Debug, Clone)]
pub struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Self {
        let made = Histogram::new_with_bounds(LEAST_NS, MOST_NS, DIGITS);
        Self(made.expect("the bounds are constants, and a test makes one"))
    }
}

impl Latencies {
    /// Adds a time.
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// Adds those of `other`, as of another phase of the same state.
    pub fn merge(&mut self, other: &Self) {
        // Both have the same bounds, so nothing is out of range.
        let _ = self.0.add(&other.0);
    }

    /// The latencies of [`classes`](Self::classes), each at the upper end of its class.
    pub fn of_classes(classes: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut made = Self::default();
        for (up_to_ns, times) in classes {
            made.0.saturating_record_n(up_to_ns, times);
        }
        made
    }

    /// Number of latencies.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The time in ns that `percent` of them do not exceed; `None` without any.
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.0.value_at_percentile(percent))
    }

    /// The classes that are not empty, ascending: the upper end of each in ns, and how many times
    /// are in it.
    pub fn classes(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter_recorded().map(|class| (class.value_iterated_to(), class.count_at_value()))
    }

    /// The longest in ns; `None` without any.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.0.max())
    }

    /// The mean in ns; `None` without any.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.0.mean())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_its_classes_make_has_the_same_classes() {
        let mut some = Latencies::default();
        (1..=1000_u64).for_each(|n| some.record(n * n * 997));
        let made = Latencies::of_classes(some.classes());
        assert!(made.classes().eq(some.classes()));
        assert_eq!(made.count(), 1000);
    }

    #[test]
    fn percentiles_are_those_of_what_was_recorded_and_nothing_is_none() {
        let mut some = Latencies::default();
        assert_eq!((some.count(), some.percentile_ns(50.0), some.max_ns()), (0, None, None));
        (1..=1000).for_each(|us| some.record(us * 1_000));
        let close = |ns: Option<u64>, to: f64| (ns.unwrap() as f64 / to - 1.0).abs() < 2e-3;
        assert!(close(some.percentile_ns(50.0), 500e3), "{:?}", some.percentile_ns(50.0));
        assert!(close(some.percentile_ns(99.0), 990e3));
        assert!(close(some.max_ns(), 1e6));
        assert!((some.mean_ns().unwrap() / 500.5e3 - 1.0).abs() < 2e-3);
    }

    #[test]
    fn absurd_times_are_held_at_the_longest() {
        let mut some = Latencies::default();
        some.record(0);
        some.record(u64::MAX);
        assert_eq!(some.count(), 2);
        assert!(some.max_ns().unwrap() >= MOST_NS);
    }

    #[test]
    fn phases_add_up() {
        let (mut one, mut other) = (Latencies::default(), Latencies::default());
        one.record(1_000_000);
        other.record(3_000_000);
        one.merge(&other);
        assert_eq!(one.count(), 2);
        assert!((one.mean_ns().unwrap() / 2e6 - 1.0).abs() < 2e-3);
    }
}
