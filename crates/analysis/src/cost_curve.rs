//! The cost of a response of any length, from the lengths that were measured.
//!
//! Costs rise from a floor, the request, to a straight line, the bytes; lengths are a factor of
//! four apart. On logarithmic axes such a curve bends little between two of them, and a factor that
//! is common to all costs does not change its shape.

use zc_stats::MonotoneCubic;

/// CPU time of a response by the length of its body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CostCurve {
    /// Logarithms of ns over logarithms of bytes.
    curve: MonotoneCubic,
    smallest: Measured,
    largest: Measured,
    /// Cost of a byte beyond the largest length: as much as between the two largest ones, and not
    /// below 0.
    beyond_ns_per_byte: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Measured {
    bytes: f64,
    ns: f64,
}

impl CostCurve {
    /// The curve through costs in ns by length in bytes, by rising length. `None` with fewer than
    /// two, and where a length or a cost is not above 0.
    pub(crate) fn new(points: &[(f64, f64)]) -> Option<Self> {
        let logs: Vec<(f64, f64)> =
            points.iter().map(|(bytes, ns)| (bytes.ln(), ns.ln())).collect();
        let curve = MonotoneCubic::new(&logs)?;
        let measured = |(bytes, ns): &(f64, f64)| Measured { bytes: *bytes, ns: *ns };
        let [.., before, _] = points else { return None };
        let (smallest, largest) = (measured(points.first()?), measured(points.last()?));
        let slope = (largest.ns - before.1) / (largest.bytes - before.0);
        Some(Self { curve, smallest, largest, beyond_ns_per_byte: slope.max(0.0) })
    }

    /// Whether a response of so many bytes is no longer than the longest that was measured.
    pub(crate) fn covers(&self, bytes: f64) -> bool {
        bytes <= self.largest.bytes
    }

    /// The cost of a response of so many bytes, in ns; above 0. Below the smallest length that was
    /// measured it is that one's: what is left of it is the request.
    pub(crate) fn at(&self, bytes: f64) -> f64 {
        let Self { smallest, largest, .. } = self;
        if bytes <= smallest.bytes {
            smallest.ns
        } else if bytes >= largest.bytes {
            largest.ns + (bytes - largest.bytes) * self.beyond_ns_per_byte
        } else {
            self.curve.at(bytes.ln()).exp()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_is_flat_below_and_goes_on_above() {
        let curve = CostCurve::new(&[(64.0, 10.0), (1024.0, 12.0), (2048.0, 16.0)]).unwrap();
        assert_eq!((curve.at(0.0), curve.at(64.0)), (10.0, 10.0));
        assert_eq!(curve.at(2048.0), 16.0);
        assert_eq!(curve.at(2048.0 + 1024.0), 20.0);
        let falling = CostCurve::new(&[(64.0, 10.0), (1024.0, 8.0)]).unwrap();
        assert_eq!(falling.at(1e9), 8.0);
    }

    #[test]
    fn without_two_costs_above_0_there_is_none() {
        for points in [&[(64.0, 10.0)][..], &[(64.0, 0.0), (128.0, 1.0)], &[(0.0, 1.0), (2.0, 2.0)]]
        {
            assert_eq!(CostCurve::new(points), None, "{points:?}");
        }
    }

    /// The cost of a request and of a byte, as in a real run: at most so far from the truth.
    #[test]
    fn between_lengths_that_are_a_factor_of_four_apart_it_misses_a_line_by_little() {
        let lengths = [64.0, 1024.0, 4096.0, 16384.0, 65536.0, 262_144.0, 1_048_576.0];
        let truth = |bytes: f64| 14_000.0 + 0.13 * bytes;
        let points: Vec<_> = lengths.iter().map(|bytes| (*bytes, truth(*bytes))).collect();
        let curve = CostCurve::new(&points).unwrap();
        let off = |bytes: f64| (curve.at(bytes) / truth(bytes) - 1.0).abs();
        let worst = (6 * 8..20 * 8).map(|at| off((f64::from(at) / 8.0).exp2())).fold(0.0, f64::max);
        assert!(worst < 0.03, "{worst}");
    }

    fn points() -> impl Strategy<Value = Vec<(f64, f64)>> {
        prop::collection::vec((1.01..20.0_f64, 0.5..1e6_f64), 2..9).prop_map(|steps| {
            let mut bytes = 8.0;
            let point = |(factor, ns): (f64, f64)| {
                bytes *= factor;
                (bytes, ns)
            };
            steps.into_iter().map(point).collect()
        })
    }

    proptest! {
        #[test]
        fn it_passes_through_what_was_measured(points in points()) {
            let curve = CostCurve::new(&points).unwrap();
            for (bytes, ns) in points {
                prop_assert!((curve.at(bytes) / ns - 1.0).abs() < 1e-9);
            }
        }

        #[test]
        fn it_is_above_0_everywhere(points in points(), bytes in 0.0..1e19_f64) {
            let ns = CostCurve::new(&points).unwrap().at(bytes);
            prop_assert!(ns.is_finite() && ns > 0.0);
        }

        #[test]
        fn where_costs_rise_a_longer_response_costs_no_less(
            mut points in points(), one in 0.0..1e9_f64, more in 1.0..100.0_f64,
        ) {
            let mut costs: Vec<f64> = points.iter().map(|(_, ns)| *ns).collect();
            costs.sort_by(f64::total_cmp);
            points.iter_mut().zip(costs).for_each(|(point, ns)| point.1 = ns);
            let curve = CostCurve::new(&points).unwrap();
            prop_assert!(curve.at(one * more) >= curve.at(one) * (1.0 - 1e-9));
        }
    }
}
