//! Costs of wake-ups, calls and bytes: cost = a x wake-ups + b x calls + c x bytes.
//!
//! A cost per byte holds for the rate at which it was measured, because what is paid for each
//! wake-up is shared by more bytes at a higher rate. Where `rate` is a factor of the plan, cells
//! that differ only in rate and message size form a series, and the three coefficients are fitted
//! to it. How far they can be trusted at another rate is not assumed: each rate is left out once,
//! and its cells are compared with what the others predict.

use zc_stats::{DEFAULT_RESAMPLES, nonnegative_fit};

use crate::block_costs::BlockCosts;
use crate::bootstrap::Bootstrap;
use crate::costs::{Side, sender_alone, sides_apart};
use crate::figures::{bounds, per, with_interval};
use crate::kept::KeptBlocks;
use crate::model::cell::CellEstimate;
use crate::model::components::{Components, Prediction};
use crate::model::figure::Sides;
use crate::parallel;
use zc_run::{Factor, Header, Level};

/// The components of both sides together, and of the sender where the sides have separate costs.
/// Empty for a plan without rates. `cells` are the estimates of the plan's cells.
pub(super) fn components(kept: &KeptBlocks, cells: &[CellEstimate]) -> Sides<Vec<Components>> {
    let groups = series(kept.header);
    if groups.is_empty() {
        return Sides::default();
    }
    let on_side = |side| components_of_side(kept, side, cells, &groups, DEFAULT_RESAMPLES);
    Sides {
        sender: (sides_apart(kept.header) && !sender_alone(kept.header))
            .then(|| on_side(Side::Sender)),
        receiver: None,
        both: Some(on_side(Side::Both)),
    }
}

/// Cells that differ only in rate and message size.
struct Series {
    name: String,
    /// Levels of the other factors.
    levels: Vec<Level>,
    /// Indices in the plan.
    cells: Vec<usize>,
}

/// The series of a plan, in the order of their first cells; none if `rate` is not a factor.
fn series(header: &Header) -> Vec<Series> {
    let plan = &header.plan;
    if !plan.factors.contains(&Factor::Rate) {
        return Vec::new();
    }
    let others = || {
        let varied = [Factor::Rate, Factor::Message];
        plan.factors.iter().filter(move |factor| !varied.contains(factor))
    };
    let mut found: Vec<Series> = Vec::new();
    for (place, cell) in plan.cells.iter().enumerate().filter(|(_, cell)| !cell.control) {
        let levels: Vec<Level> = others()
            .map(|factor| Level::for_cell(*factor, cell, &plan.fixed, &header.link))
            .collect();
        if let Some(known) = found.iter_mut().find(|series| series.levels == levels) {
            known.cells.push(place);
            continue;
        }
        let name: Vec<String> = levels.iter().map(Level::to_string).collect();
        let name = if name.is_empty() { cell.transfer.sender() } else { name.join(" ") };
        found.push(Series { name, levels, cells: vec![place] });
    }
    found
}

/// A cell of a series, with the components of its cost.
struct Point {
    /// Index in the plan.
    place: usize,
    rate_bytes_per_s: f64,
    wake_ups_per_kib: f64,
    calls_per_kib: f64,
    /// Its cost in the observed sample, which weights it. Weights are not drawn again, so that
    /// chance in one resample does not decide which points count.
    ns_per_kib: f64,
}

/// Fitted coefficients.
#[derive(Clone, Copy)]
struct Fit {
    wake_up_ns: f64,
    call_ns: Option<f64>,
    ns_per_kib: f64,
}

impl Fit {
    /// The fit to points and their costs in ns per KiB; with `calls`, these have a coefficient of
    /// their own.
    fn least_squares<'p>(
        points: impl Iterator<Item = (&'p Point, f64)>,
        calls: bool,
    ) -> Option<Self> {
        let weight = |point: &Point| point.ns_per_kib.powi(-2);
        if calls {
            let row = |(point, cost): (&Point, f64)| {
                ([point.wake_ups_per_kib, point.calls_per_kib, 1.0], cost, weight(point))
            };
            let [wake_up_ns, call_ns, ns_per_kib] =
                nonnegative_fit(&points.map(row).collect::<Vec<_>>())?;
            return Some(Self { wake_up_ns, call_ns: Some(call_ns), ns_per_kib });
        }
        let row =
            |(point, cost): (&Point, f64)| ([point.wake_ups_per_kib, 1.0], cost, weight(point));
        let [wake_up_ns, ns_per_kib] = nonnegative_fit(&points.map(row).collect::<Vec<_>>())?;
        Some(Self { wake_up_ns, call_ns: None, ns_per_kib })
    }

    /// The cost of a KiB at a point.
    fn at(&self, point: &Point) -> f64 {
        self.wake_up_ns * point.wake_ups_per_kib
            + self.call_ns.unwrap_or(0.0) * point.calls_per_kib
            + self.ns_per_kib
    }
}

fn components_of_side(
    kept: &KeptBlocks,
    side: Side,
    cells: &[CellEstimate],
    groups: &[Series],
    resamples: usize,
) -> Vec<Components> {
    let boot = Bootstrap::new(kept, resamples);
    let costs = BlockCosts::normalize(kept, side, &boot);
    let in_group = |group: usize| components_of_series(kept, cells, &groups[group], &costs, &boot);
    parallel::each(groups.len(), in_group).into_iter().flatten().collect()
}

fn components_of_series(
    kept: &KeptBlocks,
    cells: &[CellEstimate],
    series: &Series,
    costs: &BlockCosts,
    boot: &Bootstrap,
) -> Option<Components> {
    let plan = &kept.header.plan;
    let observed = vec![1; boot.blocks];
    let points: Vec<Point> = series
        .cells
        .iter()
        // At saturation a cost is not that of the nominal rate.
        .filter(|place| !cells[**place].perturbation.saturated)
        .filter_map(|place| {
            let (traffic, levels) = (&cells[*place].traffic, &plan.cells[*place].levels);
            Some(Point {
                place: *place,
                rate_bytes_per_s: plan.fixed.at(levels).rate_bytes_per_s,
                wake_ups_per_kib: traffic.wake_ups_per_mb? * 1024e-6,
                calls_per_kib: traffic.send_calls_per_mb? * 1024e-6,
                ns_per_kib: costs.drawn(*place, &observed).filter(|cost| *cost > 0.0)?,
            })
        })
        .collect();
    let rates = rates(&points);
    let calls = plan.factors.contains(&Factor::Message);
    if rates.len() < 2 {
        return None;
    }

    // By resample: the fit, and by point its cost divided by what other rates predict.
    type Drawn = (Option<Fit>, Vec<Option<f64>>);
    let drawn: Vec<Drawn> = boot.map(|times| {
        let costs: Option<Vec<f64>> =
            points.iter().map(|point| costs.drawn(point.place, times)).collect();
        let Some(costs) = costs else { return (None, Vec::new()) };
        let but = |left_out: Option<f64>| {
            let all = std::iter::zip(&points, costs.iter().copied());
            Fit::least_squares(
                all.filter(|(point, _)| Some(point.rate_bytes_per_s) != left_out),
                calls,
            )
        };
        let by_others: Vec<(f64, Option<Fit>)> = if rates.len() < 3 {
            Vec::new()
        } else {
            rates.iter().map(|rate| (*rate, but(Some(*rate)))).collect()
        };
        let ratio = |(point, cost): (&Point, &f64)| {
            let of_rate = |(rate, _): &&(f64, _)| *rate == point.rate_bytes_per_s;
            per(*cost, by_others.iter().find(of_rate)?.1?.at(point))
        };
        (but(None), std::iter::zip(&points, &costs).map(ratio).collect())
    });

    let coefficient = |part: fn(&Fit) -> Option<f64>| {
        costs.coefficient(drawn.iter().map(|(fit, _)| part(fit.as_ref()?)), boot)
    };
    let prediction = |(place, point): (usize, &Point)| {
        let ratios = || drawn.iter().map(|(_, ratios)| *ratios.get(place)?);
        let interval = boot.interval(ratios()).and_then(bounds);
        Some(Prediction {
            cell: plan.cells[point.place].label.clone(),
            rate_bytes_per_s: point.rate_bytes_per_s,
            measured_by_predicted: with_interval(ratios().next()??, interval, boot.blocks),
        })
    };
    Some(Components {
        name: series.name.clone(),
        wake_up_ns: coefficient(|fit| Some(fit.wake_up_ns))?,
        call_ns: coefficient(|fit| fit.call_ns),
        ns_per_kib: coefficient(|fit| Some(fit.ns_per_kib))?,
        predictions: points.iter().enumerate().filter_map(prediction).collect(),
    })
}

/// The different rates of points, in their order.
fn rates(points: &[Point]) -> Vec<f64> {
    let mut rates: Vec<f64> = Vec::new();
    for point in points {
        if !rates.contains(&point.rate_bytes_per_s) {
            rates.push(point.rate_bytes_per_s);
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells;
    use zc_run::SendPath;
    use zc_testkit::synthetic::{Synthetic, TrueCell};

    const RATES: [f64; 4] = [20e6, 100e6, 400e6, 1.6e9];
    const SIZES: [usize; 3] = [16 << 10, 64 << 10, 256 << 10];
    /// Wake-up in ns, call in ns, KiB in ns.
    const TRUTH: (f64, f64, f64) = (9_000.0, 3_000.0, 160.0);

    /// A sender that is woken a thousand times a second and makes calls of `size` bytes.
    fn cell(rate: f64, size: usize) -> TrueCell {
        let (wake_up_ns, call_ns, ns_per_kib) = TRUTH;
        let cost =
            wake_up_ns * 1000.0 * 1024.0 / rate + call_ns * 1024.0 / size as f64 + ns_per_kib;
        let mut cell = TrueCell::new(SendPath::Sendfile, cost, 0.0);
        cell.cell.label = format!("{rate} {size}");
        cell.cell.levels.rate_bytes_per_s = Some(rate);
        cell.cell.levels.message_bytes = Some(size);
        cell
    }

    fn all_cells() -> Vec<TrueCell> {
        RATES.iter().flat_map(|rate| SIZES.map(|size| cell(*rate, size))).collect()
    }

    fn found(cells: Vec<TrueCell>, seed: u64) -> Vec<Components> {
        let world = Synthetic {
            cells,
            factors: vec![Factor::Rate, Factor::Message],
            seed,
            blocks: 25,
            unsoaked: false,
            // A common factor of all costs would be in all coefficients, as it should.
            block_drift: 0.0,
            idle_noise: 0.000_1,
            end: None,
            ..Synthetic::default()
        };
        let run = world.run();
        let kept = KeptBlocks::from_run(&run);
        let cells: Vec<CellEstimate> =
            (0..run.header.plan.cells.len()).map(|place| cells::cell(&kept, place)).collect();
        components_of_side(&kept, Side::Both, &cells, &series(&run.header), 400)
    }

    #[test]
    fn wake_ups_calls_and_bytes_are_told_apart_and_intervals_hold_the_truth() {
        let mut inside = [0; 3];
        let mut predicted = (0, 0);
        for seed in 0..60 {
            let found = found(all_cells(), seed);
            let [components] = &found[..] else { panic!("{found:?}") };
            assert_eq!(components.name, "sendfile");
            let figures =
                [components.wake_up_ns, components.call_ns.unwrap(), components.ns_per_kib];
            let truth = [TRUTH.0, TRUTH.1, TRUTH.2];
            for (place, (figure, truth)) in figures.iter().zip(truth).enumerate() {
                assert!((figure.value / truth - 1.0).abs() < 0.25, "{figure:?} {truth}");
                let interval = figure.interval.unwrap();
                inside[place] += u32::from(
                    interval.low <= truth && interval.high.is_some_and(|high| truth <= high),
                );
            }
            assert_eq!(components.predictions.len(), 12);
            for prediction in &components.predictions {
                let ratio = prediction.measured_by_predicted;
                predicted.1 += 1;
                predicted.0 += u32::from(ratio.interval.is_some_and(|ends| {
                    ends.low <= 1.0 && ends.high.is_none_or(|high| high >= 1.0)
                }));
            }
        }
        println!("of 60: {inside:?}; predictions {predicted:?}");
        // 57 and three standard errors of 1.7.
        assert!(inside.iter().all(|inside| *inside >= 52), "{inside:?}");
        assert!(f64::from(predicted.0) >= 0.9 * f64::from(predicted.1), "{predicted:?}");
    }

    #[test]
    fn a_rate_that_costs_more_than_the_others_predict_is_shown_with_its_share() {
        let mut cells = all_cells();
        for cell in cells.iter_mut().filter(|cell| cell.cell.levels.rate_bytes_per_s == Some(4e8)) {
            cell.sender_ns_per_kib *= 1.5;
        }
        let found = found(cells, 3);
        let odd = found[0].predictions.iter().filter(|each| each.rate_bytes_per_s == 4e8);
        let shares: Vec<f64> = odd.map(|each| each.measured_by_predicted.value).collect();
        assert_eq!(shares.len(), 3);
        assert!(shares.iter().all(|share| (1.4..1.7).contains(share)), "{shares:?}");
    }

    #[test]
    fn one_size_has_no_cost_of_a_call_and_two_rates_predict_nothing() {
        let of_one_size = |rates: &[f64]| {
            let cells = rates.iter().map(|rate| {
                let mut cell = cell(*rate, 64 << 10);
                cell.cell.levels.message_bytes = None;
                cell
            });
            let world = Synthetic {
                cells: cells.collect(),
                factors: vec![Factor::Rate, Factor::Send],
                unsoaked: false,
                block_drift: 0.0,
                idle_noise: 0.000_1,
                ..Synthetic::default()
            };
            crate::estimate(&world.run()).components.both.unwrap()
        };
        let found = of_one_size(&RATES[..2]);
        assert_eq!((found[0].call_ns, found[0].predictions.len()), (None, 0));
        let byte = TRUTH.2 + TRUTH.1 / 64.0;
        assert!((found[0].ns_per_kib.value / byte - 1.0).abs() < 0.2, "{:?}", found[0].ns_per_kib);
        assert_eq!(of_one_size(&RATES)[0].predictions.len(), 4);
        assert_eq!(of_one_size(&RATES[..1]), []);
    }

    #[test]
    fn a_plan_without_rates_has_no_components() {
        assert_eq!(crate::estimate(&Synthetic::default().run()).components, Sides::default());
    }
}
