//! Whether a line moves p99 by more than chance does.
//!
//! A p99 has no interval: requests of a window wait for one another, so they are no independent
//! sample. But a run has many states, most of which do nothing to latency. The scatter of their
//! logarithms, by the median absolute deviation, is that of a state's p99 in one run; lines that do
//! move it hardly count. With few states it comes from the present state, which every run has
//! twice. A p99 has moved where the mean of its logarithms, less those of the present state, is
//! farther from 0 than two and a half standard errors.

use super::model::Latency;
use super::phase::{Phase, Phases};
use zc_stats::median;

/// A p99 that is above this multiple of the present one has risen.
const RISEN: f64 = 1.1;

/// A p99 that is below this share of the present one has fallen.
const FALLEN: f64 = 0.75;

/// Standard errors beyond which a p99 has moved. Twice would be right if the scatter were known; by
/// a dozen states it is known to a fifth.
const STANDARD_ERRORS: f64 = 2.5;

/// With fewer requests a p99 hangs on the slowest few.
const LEAST_REQUESTS: u64 = 1000;

/// With fewer states their scatter says little, and lines that move p99 say too much.
const LEAST_STATES: usize = 6;

/// A normal distribution's standard deviation by its median absolute deviation.
const BY_DEVIATION: f64 = 1.4826;

/// A p99 of a line and that of the present state in the same run.
pub(super) type Pair = (Latency, Latency);

/// Standard deviation of the logarithm of a state's p99 from run to run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scatter(f64);

impl Scatter {
    pub(super) fn of(phases: &Phases<'_>) -> Self {
        let logs: Vec<f64> = phases.screening.p99_ns().map(|ns| (ns as f64).ln()).collect();
        let by_states = || {
            let middle = median(&logs)?;
            let away: Vec<f64> = logs.iter().map(|log| (log - middle).abs()).collect();
            Some(BY_DEVIATION * median(&away)?)
        };
        if logs.len() >= LEAST_STATES
            && let Some(deviation) = by_states()
        {
            return Self(deviation);
        }
        // The difference of two has twice the variance of one.
        let twice = |phase: Phase<'_>| {
            let present = phase.present_latency()?;
            let log = (present.p99_ns as f64 / present.again_p99_ns? as f64).ln();
            Some(log * log / 2.0)
        };
        let each: Vec<f64> = phases.made().filter_map(|(_, phase)| twice(phase)).collect();
        let variance = each.iter().sum::<f64>() / each.len().max(1) as f64;
        Self(if variance.is_finite() { variance.sqrt() } else { 0.0 })
    }

    /// The mean of the logarithms of a line's p99 by the present one, and its standard error.
    fn moved(self, runs: &[Pair]) -> Option<(f64, f64)> {
        let logs: Option<Vec<f64>> = runs.iter().map(log_ratio).collect();
        let logs = logs.filter(|logs| !logs.is_empty())?;
        let count = logs.len() as f64;
        // The present state is the mean of two.
        Some((logs.iter().sum::<f64>() / count, self.0 * (1.5 / count).sqrt()))
    }

    /// The share by which p99 is above the present one: more than a tenth, and more than chance.
    pub(super) fn risen(self, runs: &[Pair]) -> Option<f64> {
        let (log, error) = self.moved(runs)?;
        (log > RISEN.ln().max(STANDARD_ERRORS * error)).then(|| log.exp() - 1.0)
    }

    /// The share by which p99 is below the present one: more than a quarter, and more than chance.
    pub(super) fn fallen(self, runs: &[Pair]) -> Option<f64> {
        let (log, error) = self.moved(runs)?;
        (log < FALLEN.ln().min(-STANDARD_ERRORS * error)).then(|| 1.0 - log.exp())
    }
}

/// The logarithm of a line's p99 by the present one, the mean of its two.
fn log_ratio((line, present): &Pair) -> Option<f64> {
    if line.requests < LEAST_REQUESTS || present.requests < LEAST_REQUESTS {
        return None;
    }
    let again = present.again_p99_ns.unwrap_or(present.p99_ns);
    let log =
        (line.p99_ns as f64).ln() - ((present.p99_ns as f64).ln() + (again as f64).ln()) / 2.0;
    log.is_finite().then_some(log)
}

/// The share by which p99 seems to fall: more than a quarter, whatever chance does.
pub(super) fn seems_fallen(run: &Pair) -> Option<f64> {
    Scatter(0.0).fallen(&[*run])
}

/// Whether p99 may fall by more than a quarter, and by more than a tenth of the present one: it
/// seems to, or there are too few requests to tell. Of a p99 that is a twentieth of the present one
/// a quarter is hardly anything, and scatters by more.
pub(super) fn may_fall(run: &Pair, present: &Latency) -> bool {
    let (less, more) = run;
    let is_much = more.p99_ns as f64 - less.p99_ns as f64 > (RISEN - 1.0) * present.p99_ns as f64;
    log_ratio(run).is_none_or(|log| is_much && log < FALLEN.ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(p99_ns: u64) -> Latency {
        Latency { p50_ns: 1, p99_ns, again_p99_ns: None, requests: 10_000 }
    }

    #[test]
    fn a_p99_has_moved_only_beyond_its_scatter() {
        let present = Latency { again_p99_ns: Some(1_000), ..latency(1_000) };
        let at = |ns| [(latency(ns), present)];
        let still = Scatter(0.0);
        assert_eq!((still.risen(&at(1_090)), still.fallen(&at(760))), (None, None));
        assert!((still.risen(&at(1_110)).unwrap() - 0.11).abs() < 1e-9);
        assert!((still.fallen(&at(740)).unwrap() - 0.26).abs() < 1e-9);
        // 2.5 times 0.1 times the root of 1.5: a factor of 1.358.
        let moving = Scatter(0.1);
        assert_eq!(moving.risen(&at(1_350)), None);
        assert!(moving.risen(&at(1_370)).is_some());
        // Two runs are more certain than one.
        let two = |ns| [(latency(ns), present), (latency(ns), present)];
        assert!(moving.risen(&two(1_300)).is_some() && moving.risen(&at(1_300)).is_none());
    }

    #[test]
    fn the_present_state_is_the_mean_of_its_two() {
        let present = Latency { again_p99_ns: Some(2_000), ..latency(500) };
        assert!((log_ratio(&(latency(1_000), present)).unwrap()).abs() < 1e-12);
    }

    #[test]
    fn a_few_requests_have_no_p99() {
        let few = Latency { requests: 999, ..latency(10) };
        assert_eq!(seems_fallen(&(few, latency(1_000))), None);
        assert!(may_fall(&(few, latency(1_000)), &latency(1_000)));
        assert_eq!(Scatter(0.0).risen(&[(latency(1_000), few)]), None);
        assert_eq!(Scatter(0.0).risen(&[(latency(1_000), latency(0))]), None);
        assert_eq!(Scatter(0.0).risen(&[]), None);
    }

    #[test]
    fn p99_may_fall_by_a_quarter_that_is_a_tenth_of_the_present_one() {
        let falls = |from, to, present| may_fall(&(latency(to), latency(from)), &latency(present));
        assert!(falls(1_000, 700, 1_000) && falls(1_000, 700, 2_900));
        assert!(!falls(1_000, 800, 1_000), "it is a fifth");
        assert!(!falls(1_000, 700, 3_100), "it is less than a tenth of the present one");
    }
}
