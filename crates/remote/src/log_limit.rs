//! A limit on how often is reported what strangers cause: the first few events in a period, then
//! the number of the rest. A flood of connections does not become a flood of messages.

use std::time::{Duration, Instant};

/// Events reported individually per [`PERIOD`].
pub(super) const MOST_REPORTED: u32 = 5;
/// Length of a period.
pub(super) const PERIOD: Duration = Duration::from_secs(10);

/// Counts events of one kind.
#[derive(Debug, Default)]
pub struct LogLimit {
    period_began: Option<Instant>,
    reported: u32,
    untold: u64,
}

impl LogLimit {
    /// Counts an event, and returns whether it is to be reported. Call [`catch_up`](Self::catch_up)
    /// before.
    pub fn admits(&mut self, now: Instant) -> bool {
        self.period_began.get_or_insert(now);
        let admitted = self.reported < MOST_REPORTED;
        if admitted {
            self.reported += 1;
        } else {
            self.untold += 1;
        }
        admitted
    }

    /// The number of events that were not reported, once their period is over; `None` if there are
    /// none.
    pub fn catch_up(&mut self, now: Instant) -> Option<u64> {
        let is_over = self.period_began.is_some_and(|began| now.duration_since(began) >= PERIOD);
        is_over.then(|| self.end()).flatten()
    }

    /// The same at the end of all reports, whether or not the period is over.
    pub fn end(&mut self) -> Option<u64> {
        Some(std::mem::take(self).untold).filter(|untold| *untold > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_only_the_number_is_reported() {
        let (mut limit, now) = (LogLimit::default(), Instant::now());
        let admitted = (0..1000).filter(|_| limit.admits(now)).count();
        assert_eq!(admitted, MOST_REPORTED as usize);
        assert_eq!(limit.catch_up(now), None);
        assert_eq!(limit.catch_up(now + PERIOD), Some(1000 - u64::from(MOST_REPORTED)));
        assert_eq!(limit.catch_up(now + 2 * PERIOD), None);
        assert!(limit.admits(now + 2 * PERIOD));
        assert_eq!(limit.end(), None);
    }
}
