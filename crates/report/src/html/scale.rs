//! Axes: the position of a value, and the values that get a tick. Positions are shares of the axis,
//! 0 at its lower end and 1 at its upper one, so that the same chart fits a phone and a sheet of
//! paper.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    log: bool,
    low: f64,
    high: f64,
}

/// A tick: its value and position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) place: f64,
}

/// Values with a larger quotient of largest and smallest are shown on a logarithmic axis.
const LINEAR_UP_TO: f64 = 20.0;

impl Scale {
    /// Chooses a linear axis from 0, so that lengths compare as values do, or a logarithmic one
    /// where small values would be indistinguishable. `None` where there is nothing to show.
    pub(crate) fn for_values(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> =
            values.into_iter().filter(|value| value.is_finite() && *value > 0.0).collect();
        let (least, most) = ends(&values)?;
        if most / least > LINEAR_UP_TO { Self::log(values) } else { Self::linear(most) }
    }

    /// A linear axis from 0 to the largest value. `None` where that is not positive.
    pub(crate) fn linear(most: f64) -> Option<Self> {
        (most.is_finite() && most > 0.0).then_some(Self { log: false, low: 0.0, high: most * 1.04 })
    }

    /// A logarithmic axis with a margin at both ends.
    pub(crate) fn log(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> =
            values.into_iter().filter(|value| value.is_finite() && *value > 0.0).collect();
        let (least, most) = ends(&values)?;
        let room = (most / least).max(2.0).powf(0.04);
        Some(Self { log: true, low: least / room, high: most * room })
    }

    /// A logarithmic axis between two ends.
    pub(crate) fn log_between(low: f64, high: f64) -> Self {
        Self { log: true, low, high }
    }

    pub(crate) fn is_log(&self) -> bool {
        self.log
    }

    /// The position of a value, clamped to the axis.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let place = if self.log {
            if value <= 0.0 {
                return 0.0;
            }
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        if place.is_finite() { place.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The value at a position.
    pub(crate) fn value(&self, place: f64) -> f64 {
        if self.log {
            self.low * (self.high / self.low).powf(place)
        } else {
            self.low + (self.high - self.low) * place
        }
    }

    /// The ticks in a unit that is `by` units of the scale: about `wanted` round numbers of that
    /// unit.
    pub(crate) fn ticks(&self, by: f64, wanted: usize) -> Vec<Tick> {
        let (low, high) = (self.low * by, self.high * by);
        if !(low.is_finite() && high.is_finite() && low < high && by > 0.0) {
            return Vec::new();
        }
        let values = if self.log { decades(low, high, wanted) } else { steps(low, high, wanted) };
        values.into_iter().map(|value| Tick { value, place: self.at(value / by) }).collect()
    }

    /// Powers of 4 in bytes, or of 2 where there are few: the usual message sizes.
    pub(crate) fn binary_ticks(&self) -> Vec<Tick> {
        let octaves = (self.high / self.low).log2();
        let step = if octaves > 22.0 {
            3
        } else if octaves > 7.0 {
            2
        } else {
            1
        };
        (0..63)
            .step_by(step)
            .map(|power| (1_u64 << power) as f64)
            .filter(|value| (self.low..=self.high).contains(value))
            .map(|value| Tick { value, place: self.at(value) })
            .collect()
    }
}

fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    Some((least, most))
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn steps(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let rough = (high - low) / wanted.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|step| step * power)
        .find(|step| *step >= rough)
        .unwrap_or(power);
    let first = (low / step).ceil() as i64;
    (first..)
        .map(|count| count as f64 * step)
        .take_while(|value| *value <= high * (1.0 + 1e-12))
        .take(100)
        .collect()
}

/// 1, 2 and 5 times powers of ten; over many decades only powers of ten, or every second, third ...
/// of them.
fn decades(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let span = (high / low).log10();
    let wanted = wanted.max(2) as f64;
    let (within, every): (&[f64], i32) = if span * 9.0 <= wanted {
        return steps(low, high, wanted as usize);
    } else if span * 3.0 <= wanted * 1.3 {
        (&[1.0, 2.0, 5.0], 1)
    } else if span * 2.0 <= wanted * 1.3 {
        (&[1.0, 3.0], 1)
    } else {
        (&[1.0], (span / wanted).round().max(1.0) as i32)
    };
    let first = low.log10().floor() as i32;
    let last = high.log10().ceil() as i32;
    (first..=last)
        .filter(|power| power.rem_euclid(every) == 0)
        .flat_map(|power| within.iter().map(move |step| step * 10f64.powi(power)))
        .filter(|value| (low..=high).contains(value))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values(ticks: &[Tick]) -> Vec<f64> {
        ticks.iter().map(|tick| (tick.value * 1e9).round() / 1e9).collect()
    }

    #[test]
    fn a_linear_axis_begins_at_zero_and_has_round_numbers() {
        let scale = Scale::for_values([161.0, 305.0]).unwrap();
        assert_eq!(scale.at(0.0), 0.0);
        assert!((scale.at(305.0) - 1.0 / 1.04).abs() < 1e-9);
        assert_eq!(values(&scale.ticks(1.0, 6)), [0.0, 100.0, 200.0, 300.0]);
        assert_eq!(values(&scale.ticks(0.001, 6)), [0.0, 0.1, 0.2, 0.3]);
        // A tick is at the position of its value in every unit.
        let tick = scale.ticks(0.976_562_5, 6)[1];
        assert!((tick.place - scale.at(tick.value / 0.976_562_5)).abs() < 1e-12);
    }

    #[test]
    fn values_that_are_far_apart_have_a_logarithmic_axis() {
        let scale = Scale::for_values([139.0, 11274.0]).unwrap();
        assert!(scale.is_log());
        assert_eq!(values(&scale.ticks(1.0, 6)), [200.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0]);
        let wide = Scale::log([1.0, 1e6]).unwrap();
        assert_eq!(
            values(&wide.ticks(1.0, 6)),
            [1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0, 1e6]
        );
        let narrow = Scale::log([100.0, 250.0]).unwrap();
        assert_eq!(
            values(&narrow.ticks(1.0, 6)),
            [100.0, 150.0, 200.0, 250.0].map(|v: f64| v),
            "{narrow:?}"
        );
        assert!((scale.value(scale.at(500.0)) - 500.0).abs() < 1e-6);
    }

    #[test]
    fn sizes_are_named_by_powers_of_two() {
        let scale = Scale::log([256.0, 4_194_304.0]).unwrap();
        assert_eq!(
            values(&scale.binary_ticks()),
            [256.0, 1024.0, 4096.0, 16_384.0, 65_536.0, 262_144.0, 1_048_576.0, 4_194_304.0]
        );
        let few = Scale::log([1000.0, 5000.0]).unwrap();
        assert_eq!(values(&few.binary_ticks()), [1024.0, 2048.0, 4096.0]);
    }

    #[test]
    fn no_values_have_no_axis() {
        assert_eq!(Scale::for_values([]), None);
        assert_eq!(Scale::for_values([0.0, -3.0, f64::NAN, f64::INFINITY]), None);
    }

    proptest! {
        #[test]
        fn every_tick_lies_on_its_axis_and_there_are_some_but_not_many(
            low in 1e-6..1e9_f64, times in 1.0..1e9_f64, by in 1e-6..1e6_f64, log in any::<bool>()
        ) {
            let values = [low, low * times];
            let scale = if log { Scale::log(values) } else { Scale::for_values(values) }.unwrap();
            let ticks = scale.ticks(by, 6);
            prop_assert!((1..=14).contains(&ticks.len()), "{scale:?} {ticks:?}");
            for pair in ticks.windows(2) {
                prop_assert!(pair[0].place < pair[1].place);
            }
            prop_assert!(ticks.iter().all(|tick| (0.0..=1.0).contains(&tick.place)));
            for value in values {
                prop_assert!((0.0..=1.0).contains(&scale.at(value)));
            }
        }
    }
}
