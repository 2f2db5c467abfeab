//! The time budget of a session.

use std::time::{Duration, Instant};

use crate::plan::time::{BLOCKS, rough};
use zc_kernel::stop::Stop;
use zc_rig::trial::Limit;
use zc_run::units::duration_text;
use zc_run::{Error, ErrorKind, Result};

/// Time that a run may take beyond its budget to end a step or a trial that has begun.
const GRACE: Duration = Duration::from_millis(500);

fn text(duration: Duration) -> String {
    duration_text(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// A budget that has been running since the session was called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    pub(super) began: Instant,
    pub(super) length: Duration,
}

impl Budget {
    pub(super) fn left(&self) -> Duration {
        self.length.saturating_sub(self.began.elapsed())
    }

    /// Time limit of waiting for its trials.
    pub(super) fn limit(&self, stop: &Stop) -> Limit {
        Limit::new(self.began + self.length + GRACE, stop)
    }

    /// Checks that the next step before the first block, `what`, may begin.
    ///
    /// # Errors
    /// [`ErrorKind::NothingKept`]: no time is left.
    pub(super) fn allows(&self, what: &str) -> Result<()> {
        if self.began.elapsed() < self.length + GRACE {
            return Ok(());
        }
        let length = text(self.length);
        let message =
            format!("the budget of {length} was spent before the first block, with \"{what}\"");
        Err(Error::new(ErrorKind::NothingKept, "budget-spent", message)
            .help("give it more time with --budget"))
    }

    /// Checks that it holds a block of so many trials, none of which takes less than `each`.
    ///
    /// # Errors
    /// [`ErrorKind::NothingKept`]: it does not.
    pub(super) fn holds(&self, trials: usize, each: Duration) -> Result<()> {
        let block = each.saturating_mul(u32::try_from(trials).unwrap_or(u32::MAX));
        if block <= self.length {
            return Ok(());
        }
        let message = format!(
            "a trial takes at least {:.1} s here, and a block has {trials}: the budget of {} does \
             not hold one",
            each.as_secs_f64(),
            text(self.length)
        );
        let needed = rough(block.saturating_mul(BLOCKS));
        Err(Error::new(ErrorKind::NothingKept, "budget-too-short", message).help(format!(
            "--budget {needed} has room for {BLOCKS} blocks; fewer --flows, --clients or --paths need less"
        )))
    }

    pub(super) fn spent_share(&self) -> f64 {
        self.began.elapsed().as_secs_f64() / self.length.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(seconds: u64) -> Budget {
        Budget { began: Instant::now(), length: Duration::from_secs(seconds) }
    }

    #[test]
    fn a_budget_that_holds_no_block_is_refused_with_one_that_does() {
        budget(40).holds(8, Duration::from_secs(5)).unwrap();
        let error = budget(40).holds(13, Duration::from_secs(4)).unwrap_err();
        assert_eq!((error.kind, &*error.id), (ErrorKind::NothingKept, "budget-too-short"));
        assert!(
            ["4.0 s", "13", "40s"].iter().all(|named| error.message.contains(named)),
            "{error}"
        );
        assert!(error.help.unwrap().starts_with("--budget 18m has room for 20 blocks"));
    }

    #[test]
    fn no_step_begins_once_the_budget_is_spent_and_its_grace_is_over() {
        budget(3600).allows("top speed of splice").unwrap();
        let began = Instant::now().checked_sub(Duration::from_secs(2));
        let Some(began) = began else { return eprintln!("skipped: the machine has just booted") };
        let spent = |length| Budget { began, length }.allows("top speed of splice");
        spent(Duration::from_secs(2) - GRACE / 2).unwrap();
        let error = spent(Duration::from_secs(1)).unwrap_err();
        assert_eq!(error.id, "budget-spent");
        assert!(error.message.contains("\"top speed of splice\""), "{error}");
    }
}
