//! Time limit of waiting for a trial: a while after the run's budget is spent, or the moment when a
//! signal has ended the run. A trial cut off by it belongs to a block that does not count.

use std::time::{Duration, Instant};

use super::worker::sleep;
use zc_kernel::stop::Stop;
use zc_run::{Error, ErrorKind, Result};

/// The limit of a run's trials; by default there is none.
#[derive(Debug, Clone, Default)]
pub struct Limit {
    ends: Option<Instant>,
    stop: Stop,
}

impl Limit {
    /// Trials are given up at `ends`, or once `stop` is set.
    pub fn new(ends: Instant, stop: &Stop) -> Self {
        Self { ends: Some(ends), stop: stop.clone() }
    }

    /// Whether trials are still wanted.
    ///
    /// # Errors
    /// [`ErrorKind::Interrupted`]: a signal came. [`ErrorKind::NothingKept`]: the time is over.
    pub fn check(&self) -> Result<()> {
        if self.stop.is_set() {
            return Err(Error::interrupted("interrupted in the middle of a trial"));
        }
        match self.ends {
            Some(ends) if Instant::now() >= ends => {
                let message = "the budget was spent in the middle of a trial";
                Err(Error::new(ErrorKind::NothingKept, "budget-spent", message)
                    .help("give it more time with --budget"))
            }
            _ => Ok(()),
        }
    }

    /// `patience`, or what is left if that is shorter.
    pub fn within(&self, patience: Duration) -> Duration {
        self.ends
            .map_or(patience, |ends| patience.min(ends.saturating_duration_since(Instant::now())))
    }

    /// Sleeps until `at_ns` of CLOCK_MONOTONIC, with a look at the limit now and then.
    ///
    /// # Errors
    /// Same as [`check`](Self::check).
    pub fn sleep_until(&self, at_ns: u64) -> Result<()> {
        sleep(at_ns, &|| self.check())
    }
}

#[cfg(test)]
mod tests {
    use zc_kernel::clock::monotonic_ns;

    use super::*;

    #[test]
    fn a_limit_ends_what_is_waited_for_and_says_why() {
        Limit::default().check().unwrap();
        let hour = Duration::from_secs(3600);
        let stop = Stop::default();
        let later = Limit::new(Instant::now() + hour, &stop);
        later.check().unwrap();
        assert_eq!(later.within(Duration::from_secs(1)), Duration::from_secs(1));
        stop.set();
        let in_an_hour = monotonic_ns() + 3_600_000_000_000;
        assert_eq!(later.sleep_until(in_an_hour).unwrap_err().kind, ErrorKind::Interrupted);
        let over = Limit::new(Instant::now(), &Stop::default());
        assert_eq!(over.within(hour), Duration::ZERO);
        let error = over.sleep_until(in_an_hour).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NothingKept);
        assert!(error.help.unwrap().contains("--budget"));
    }
}
