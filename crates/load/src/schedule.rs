//! When requests are due: an open loop of constant spacing, or as soon as a connection is free.

use super::options::Pace;

const NS_PER_S: f64 = 1e9;

/// The requests of a phase, one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule {
    begin_ns: u64,
    /// Between two requests; `None`: unpaced.
    spacing_ns: Option<f64>,
    at_most: u64,
    taken: u64,
}

impl Schedule {
    /// Requests from `begin_ns` on, `at_most` of them. A rate that is no positive number is no
    /// load.
    pub(super) fn new(pace: Pace, begin_ns: u64, at_most: u64) -> Self {
        match pace {
            Pace::Unpaced => Self { begin_ns, spacing_ns: None, at_most, taken: 0 },
            Pace::At { per_s } if per_s > 0.0 => {
                Self { begin_ns, spacing_ns: Some(NS_PER_S / per_s), at_most, taken: 0 }
            }
            Pace::At { .. } => Self { begin_ns, spacing_ns: None, at_most: 0, taken: 0 },
        }
    }

    /// When the next request is due: now, if it is unpaced and has begun. `None` after the last
    /// one.
    pub(super) fn next_ns(&self, now_ns: u64) -> Option<u64> {
        (!self.is_over()).then(|| match self.spacing_ns {
            None => self.begin_ns.max(now_ns),
            // Exact for 2^53 ns, which are 104 days.
            Some(spacing_ns) => {
                self.begin_ns.saturating_add((self.taken as f64 * spacing_ns) as u64)
            }
        })
    }

    /// Takes the next request if it is due at `now_ns`, and returns when it was due.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<u64> {
        let due_ns = self.next_ns(now_ns).filter(|due_ns| *due_ns <= now_ns)?;
        self.taken += 1;
        Some(due_ns)
    }

    /// Whether the last request has been taken.
    pub(super) fn is_over(&self) -> bool {
        self.taken >= self.at_most
    }

    /// Number of requests taken.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Number of requests due by `now_ns`. If it is unpaced, the number taken.
    pub(super) fn due(&self, now_ns: u64) -> u64 {
        let Some(spacing_ns) = self.spacing_ns else { return self.taken };
        let Some(since_ns) = now_ns.checked_sub(self.begin_ns) else { return 0 };
        // What was taken was due: rounding must not say otherwise.
        ((since_ns as f64 / spacing_ns) as u64 + 1).min(self.at_most).max(self.taken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn requests_are_due_at_constant_spacing_from_the_beginning_on() {
        let mut schedule = Schedule::new(Pace::At { per_s: 1000.0 }, 5_000_000, u64::MAX);
        assert_eq!(schedule.take(4_999_999), None);
        assert_eq!(schedule.next_ns(0), Some(5_000_000));
        assert_eq!(schedule.take(5_000_000), Some(5_000_000));
        assert_eq!(schedule.take(5_999_999), None);
        // Late ones keep their times.
        let late: Vec<_> = std::iter::from_fn(|| schedule.take(8_500_000)).collect();
        assert_eq!(late, [6_000_000, 7_000_000, 8_000_000]);
        assert_eq!((schedule.taken(), schedule.due(8_500_000), schedule.due(4_000_000)), (4, 4, 0));
        assert_eq!(schedule.due(10_000_000), 6);
    }

    #[test]
    fn unpaced_requests_are_due_at_once_after_the_beginning() {
        let mut schedule = Schedule::new(Pace::Unpaced, 100, 3);
        assert_eq!(schedule.take(99), None);
        assert_eq!(
            [schedule.take(100), schedule.take(100), schedule.take(250)],
            [Some(100), Some(100), Some(250)]
        );
        assert_eq!((schedule.take(300), schedule.next_ns(300), schedule.due(300)), (None, None, 3));
    }

    #[test]
    fn no_rate_is_no_load() {
        for per_s in [0.0, -1.0, f64::NAN] {
            let mut schedule = Schedule::new(Pace::At { per_s }, 0, u64::MAX);
            assert_eq!((schedule.take(u64::MAX), schedule.due(u64::MAX)), (None, 0));
        }
    }

    proptest! {
        #[test]
        fn no_request_is_lost_or_early(
            per_s in 0.1..1e6f64,
            steps in prop::collection::vec(0..5_000_000u64, 1..200),
        ) {
            let mut schedule = Schedule::new(Pace::At { per_s }, 1_000, u64::MAX);
            let mut now_ns = 0;
            let mut last_ns = 0;
            for step in steps {
                now_ns += step;
                while let Some(due_ns) = schedule.take(now_ns) {
                    prop_assert!(due_ns <= now_ns && due_ns >= last_ns);
                    last_ns = due_ns;
                }
                let due = |ns| ns as f64 * per_s / 1e9 + 1.0;
                let expected = now_ns.checked_sub(1_000).map_or(0.0, due);
                let taken = schedule.taken();
                prop_assert!((taken as f64 - expected).abs() <= 1.01, "{taken} {expected}");
                prop_assert_eq!(schedule.due(now_ns), schedule.taken());
            }
        }
    }
}
