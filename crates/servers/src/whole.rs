//! A window over whole responses: from before the first request until after the last response. In a
//! window of a fixed length the server sends what the load has not received yet, and the other way
//! round, at both of its ends. With few long responses that is much of it; and of a log, most of
//! whose bytes can be in a few responses, it would measure whichever of these it meets.

use std::collections::HashSet;
use std::time::Duration;

use super::asked_for::AskedFor;
use super::asker::Asker;
use zc_kernel::clock::monotonic_ns;
use zc_load::{HttpCounts, Pace};
use zc_run::{Error, Result};

/// Interval at which it is checked whether all have come.
const GLANCE: Duration = Duration::from_millis(1);

/// Beyond the time that the schedule takes, how long nothing may come.
const PATIENCE_NS: u64 = 10_000_000_000;

/// With fewer responses than this in a window of the usual length, it is over whole ones.
const FEW: f64 = 30.0;

/// The fewest whole responses of a window.
const LEAST: u64 = 4;

/// The log that some cells replay, and these cells.
#[derive(Debug, Clone, Default)]
pub struct Replayed {
    /// The cells, by their labels.
    pub cells: HashSet<String>,
    /// All responses of it that are sent.
    pub whole: Whole,
    /// At which rate they are asked for; `None` until it is chosen.
    pub requests_per_s: Option<f64>,
}

/// Responses that a window has all of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Whole {
    /// Number of responses.
    pub responses: u64,
    /// Bytes of their bodies.
    pub body_bytes: u64,
}

impl Whole {
    /// Whole responses of one length; `None` where so many come in a window that a part of one does
    /// not matter.
    pub(super) fn of_length(body_bytes: usize, per_s: f64, window_ns: u64) -> Option<Self> {
        let in_window = per_s * window_ns as f64 / 1e9;
        let responses = (in_window.ceil() as u64).max(LEAST);
        (in_window < FEW)
            .then(|| Self { responses, body_bytes: responses.saturating_mul(body_bytes as u64) })
    }

    /// Waits until all responses have come and the next request would be due, and says when.
    /// `before` is what had been counted before the first request, which was due at `begin_ns`.
    ///
    /// # Errors
    /// They do not come in time.
    pub(super) fn wait(
        &self,
        load: &Asker,
        before: &HttpCounts,
        pace: Pace,
        begin_ns: u64,
    ) -> Result<u64> {
        let schedule_ns = match pace {
            Pace::At { per_s } => (self.responses as f64 / per_s * 1e9) as u64,
            Pace::Unpaced => 0,
        };
        let ends_ns = begin_ns.saturating_add(schedule_ns);
        let mut silence = Silence { since_ns: ends_ns, came: (0, 0) };
        loop {
            let counts = load.counts().unwrap_or_default().since(before);
            let now_ns = monotonic_ns();
            let is_silent = silence.is_too_long(now_ns, (counts.responses, counts.body_bytes));
            if counts.responses >= self.responses && now_ns >= ends_ns {
                return Ok(now_ns);
            }
            // What a request got instead is said when the phase ends.
            if is_silent || counts.unanswered() > 0 {
                return Err(Error::failed(
                    "server-silent",
                    format!(
                        "{} of {} responses were not whole in time",
                        self.responses.saturating_sub(counts.responses),
                        self.responses
                    ),
                ));
            }
            std::thread::sleep(GLANCE);
        }
    }

    /// Checks that a phase had all of them, whole.
    ///
    /// # Errors
    /// It had not.
    pub(super) fn check(&self, phase: &AskedFor) -> Result<()> {
        if (phase.responses, phase.body_bytes) == (self.responses, self.body_bytes) {
            return Ok(());
        }
        Err(Error::failed(
            "wrong-bytes",
            format!(
                "{} responses with {} bytes came, and {} with {} were asked for",
                phase.responses, phase.body_bytes, self.responses, self.body_bytes
            ),
        ))
    }
}

/// Time for which nothing has come.
struct Silence {
    /// The end of the schedule, or when something came after it.
    since_ns: u64,
    /// Responses and bytes of bodies by then.
    came: (u64, u64),
}

impl Silence {
    /// Whether it has lasted for too long, where so much has come until now.
    fn is_too_long(&mut self, now_ns: u64, came: (u64, u64)) -> bool {
        if came != self.came {
            *self = Self { since_ns: self.since_ns.max(now_ns), came };
        }
        now_ns >= self.since_ns.saturating_add(PATIENCE_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_responses_may_take_their_time_as_long_as_something_comes() {
        let second = 1_000_000_000;
        let mut silence = Silence { since_ns: 100 * second, came: (0, 0) };
        // Before the end of the schedule nothing is late.
        assert!(!silence.is_too_long(50 * second, (0, 0)));
        assert!(!silence.is_too_long(90 * second, (3, 300)));
        assert!(!silence.is_too_long(109 * second, (3, 300)));
        // A part of a response is something.
        assert!(!silence.is_too_long(109 * second, (3, 301)));
        assert!(!silence.is_too_long(118 * second, (3, 301)));
        assert!(silence.is_too_long(119 * second, (3, 301)));
        let mut mute = Silence { since_ns: 100 * second, came: (0, 0) };
        assert!(mute.is_too_long(110 * second, (0, 0)));
    }

    #[test]
    fn few_responses_are_whole_and_of_many_parts_do_not_matter() {
        let of = |per_s| Whole::of_length(100, per_s, 100_000_000).map(|whole| whole.responses);
        assert_eq!([of(8.0), of(61.0), of(299.0), of(300.0)], [Some(4), Some(7), Some(30), None]);
        assert_eq!(Whole::of_length(100, 8.0, 100_000_000).unwrap().body_bytes, 400);
    }
}
