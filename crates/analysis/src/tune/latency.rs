//! Whether a line moves p99 by more than the present state moves by itself.

use super::model::Latency;

/// A p99 that is above this multiple of the present one has risen.
const RISEN: f64 = 1.1;

/// A p99 that is below this share of the present one has fallen.
const FALLEN: f64 = 0.75;

/// With fewer requests a p99 hangs on the slowest few.
const LEAST_REQUESTS: u64 = 1000;

/// The ends of the present state's p99 under its two names.
fn present_ns(present: &Latency) -> (f64, f64) {
    let (one, other) = (present.p99_ns, present.again_p99_ns.unwrap_or(present.p99_ns));
    (one.min(other) as f64, one.max(other) as f64)
}

fn are_enough(line: &Latency, present: &Latency) -> bool {
    line.requests >= LEAST_REQUESTS && present.requests >= LEAST_REQUESTS && present.p99_ns > 0
}

/// The share by which p99 is above the present one, where it is by more than a tenth and above both
/// of its values.
pub(super) fn risen(line: &Latency, present: &Latency) -> Option<f64> {
    let (_, most) = present_ns(present);
    let own = line.p99_ns as f64;
    let is_risen = are_enough(line, present) && own > RISEN * most;
    is_risen.then(|| own / present.p99_ns as f64 - 1.0)
}

/// The share by which p99 is below the present one, where it is by more than a quarter and below
/// both of its values.
pub(super) fn fallen(line: &Latency, present: &Latency) -> Option<f64> {
    let (least, _) = present_ns(present);
    let own = line.p99_ns as f64;
    let is_fallen = are_enough(line, present) && own < FALLEN * least;
    is_fallen.then(|| 1.0 - own / present.p99_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(p99_ns: u64) -> Latency {
        Latency { p50_ns: 1, p99_ns, again_p99_ns: None, requests: 10_000 }
    }

    #[test]
    fn a_p99_has_moved_only_beyond_what_the_present_state_moves_by_itself() {
        let present = Latency { again_p99_ns: Some(1_300), ..latency(1_000) };
        assert_eq!(risen(&latency(1_400), &present), None);
        assert!((risen(&latency(1_500), &present).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(fallen(&latency(760), &present), None);
        assert!((fallen(&latency(700), &present).unwrap() - 0.3).abs() < 1e-12);
        // Where the other name had the lower one.
        let present = Latency { again_p99_ns: Some(900), ..latency(1_000) };
        assert_eq!(fallen(&latency(700), &present), None);
        assert_eq!(risen(&latency(1_050), &present), None);
    }

    #[test]
    fn a_few_requests_have_no_p99() {
        let few = Latency { requests: 999, ..latency(10) };
        assert_eq!(fallen(&few, &latency(1_000)), None);
        assert_eq!(risen(&latency(1_000), &few), None);
        assert_eq!(risen(&latency(1_000), &latency(0)), None);
    }
}
