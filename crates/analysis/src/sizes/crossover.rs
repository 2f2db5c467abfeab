//! The size from which one series costs less than another one.
//!
//! Two questions, in this order. **In which direction?** is answered by the measured cells alone:
//! the ratio at each common size, with its signed-rank interval. A claim needs two sizes, one at
//! which the series is shown to be cheaper and one at which it is shown to be dearer. At both ends
//! of the measured range the intervals are used as they are. Between them there are many sizes to
//! choose from, so Bonferroni's correction applies. **At which size?** is answered by the
//! intersection of the two lines if both fit near it, otherwise by the size at which the measured
//! ratio passes 1, with a bootstrap over blocks. The answer never contradicts what the cells
//! themselves have shown.

use zc_stats::{Interval, Midmean, antitonic_regression};

use super::line::{Fitted, FittedLine};
use crate::bootstrap::Bootstrap;
use crate::costs::Side;
use crate::kept::KeptBlocks;
use crate::model::sizes::{CrossoverMethod, Outcome, Undecided};
use crate::model::verdict::{Comparison, EQUIVALENCE_MARGIN};
use crate::ratios::{Ratio, pair, pairs, ratio};

/// Number of sizes around a crossover at which lines are tested: two on either side. The test has
/// Bonferroni's correction. Without it, lines that fit would be rejected by chance too often, in
/// favour of the measured ratio near the crossover.
const NEAR: usize = 4;

/// Result of the comparison at one size.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shown {
    Cheaper,
    Dearer,
    Nothing,
}

/// The ratio at a size at which both series were measured.
struct Measured {
    size: f64,
    ratio: Ratio,
    shown: Shown,
    /// Interval of the ratio that a line must pass through.
    bounds: Option<Interval>,
    /// Logarithms of the ratio by block.
    logs: Midmean,
}

/// A crossover that was shown to exist: the ratio falls or rises through 1 between two sizes.
struct Crossing {
    falls: bool,
    /// Last size before it with a shown difference; `None` without one.
    after: Option<f64>,
    /// First size after it with a shown difference; `None` without one.
    before: Option<f64>,
}

/// The crossover of the first series with the second, and the method that found its size.
pub(super) fn crossover(
    kept: &KeptBlocks,
    side: Side,
    (of, against): (&Fitted, &Fitted),
    told: &[Option<Comparison>],
    boot: &Bootstrap,
) -> (Outcome, Option<CrossoverMethod>) {
    let measured = measured(kept, side, of, against, told);
    let crossing = match direction(&measured) {
        Ok(crossing) => crossing,
        Err(outcome) => return (outcome, None),
    };
    let (place, interval, method) = place(&measured, &crossing, (of, against), boot);
    // A shown difference is a bound of the crossover in any case, also where the bootstrap interval
    // is missing or open.
    let (least, most) = (measured[0].size, measured[measured.len() - 1].size);
    let within =
        |size: f64| size.clamp(crossing.after.unwrap_or(least), crossing.before.unwrap_or(most));
    let size = within(place.exp());
    let low = crossing
        .after
        .map(|after| interval.map_or(after, |interval| within(interval.low.exp())).min(size));
    let high = crossing
        .before
        .map(|before| interval.map_or(before, |interval| within(interval.high.exp())).max(size));
    let outcome = match (crossing.falls, low, high) {
        (true, low, Some(high)) => Outcome::From { size, low, high },
        (false, Some(low), high) => Outcome::UpTo { size, low, high },
        _ => Outcome::Undecided { why: Undecided::NowhereCheaper },
    };
    (outcome, Some(method))
}

fn measured(
    kept: &KeptBlocks,
    side: Side,
    of: &Fitted,
    against: &Fitted,
    told: &[Option<Comparison>],
) -> Vec<Measured> {
    let common: Vec<(usize, usize, usize)> = of
        .points
        .iter()
        .filter_map(|point| Some((point.size, point.place, against.point(point.size)?.place)))
        .collect();
    let corrected = 1.0 - (1.0 - kept.level) / common.len().max(1) as f64;
    let last = common.len().saturating_sub(1);
    let at = |(index, &(size, of, against)): (usize, &(usize, usize, usize))| {
        // The same ratio as in the table, with the control as a divisor where the table has it, and
        // the same verdict.
        let is_of_table = kept.index.baseline(of) == Some(against);
        let by = if is_of_table { kept.index.divisors(of) } else { vec![against] };
        let verdict = told.get(of).copied().flatten().filter(|_| is_of_table);
        let pairs = pairs(&kept.costs, of, &by, side);
        let wander = kept.wanders.ratios(side);
        let at_level = ratio(&pairs, kept.level, wander)?;
        let is_end = index == 0 || index == last;
        let telling = if is_end { Some(at_level) } else { ratio(&pairs, corrected, wander) };
        let shown = match (verdict, telling.and_then(|ratio| ratio.interval)) {
            (Some(Comparison::Cheaper { .. }), _) => Shown::Cheaper,
            (Some(Comparison::Dearer { .. }), _) => Shown::Dearer,
            (Some(_), _) => Shown::Nothing,
            (None, Some(interval)) if interval.high < 1.0 => Shown::Cheaper,
            (None, Some(interval)) if interval.low > 1.0 => Shown::Dearer,
            (None, _) => Shown::Nothing,
        };
        let bounds = ratio(&pairs, 1.0 - (1.0 - kept.level) / NEAR as f64, wander)
            .and_then(|ratio| ratio.interval);
        let logs = Midmean::new(kept.costs.iter().map(|block| pair(block, of, &by, side)?.log()));
        Some(Measured { size: size as f64, ratio: at_level, shown, bounds, logs })
    };
    common.iter().enumerate().filter_map(at).collect()
}

/// The direction in which the ratio passes 1, or the outcome if it does not.
fn direction(measured: &[Measured]) -> Result<Crossing, Outcome> {
    let undecided = |why| Err(Outcome::Undecided { why });
    let [first, .., last] = measured else { return undecided(Undecided::TooFewSizes) };
    if measured.iter().all(|each| each.ratio.interval.is_none()) {
        return undecided(Undecided::TooFewBlocks);
    }
    let ends = |what: Shown| {
        let size = |each: &Measured| (each.shown == what).then_some(each.size);
        Some((measured.iter().find_map(size)?, measured.iter().rev().find_map(size)?))
    };
    let at_both_ends = |what: Shown, outcome| {
        (first.shown == what && last.shown == what).then(|| {
            let throughout = measured.iter().all(|each| each.shown == what);
            if throughout { Err(outcome) } else { undecided(Undecided::InBetween) }
        })
    };
    let crossing = match (ends(Shown::Cheaper), ends(Shown::Dearer)) {
        (Some((cheaper, _)), Some((_, dearer))) if dearer < cheaper => {
            Ok(Crossing { falls: true, after: Some(dearer), before: Some(cheaper) })
        }
        (Some((_, cheaper)), Some((dearer, _))) if cheaper < dearer => {
            Ok(Crossing { falls: false, after: Some(cheaper), before: Some(dearer) })
        }
        (Some(_), Some(_)) => undecided(Undecided::SeveralCrossings),
        (Some((from, to)), None) => {
            at_both_ends(Shown::Cheaper, Outcome::Always).unwrap_or_else(|| {
                match (first.shown, last.shown) {
                    (_, Shown::Cheaper) => {
                        Ok(Crossing { falls: true, after: None, before: Some(from) })
                    }
                    (Shown::Cheaper, _) => {
                        Ok(Crossing { falls: false, after: Some(to), before: None })
                    }
                    _ => undecided(Undecided::OpenEnds),
                }
            })
        }
        (None, Some(_)) => at_both_ends(Shown::Dearer, Outcome::Never)
            .unwrap_or_else(|| undecided(Undecided::NowhereCheaper)),
        (None, None) => {
            let off = |each: &Measured| {
                each.ratio.interval.map(|ends| (ends.high - 1.0).max(1.0 - ends.low))
            };
            let within =
                measured.iter().map(|each| off(each).unwrap_or(f64::INFINITY)).fold(0.0, f64::max);
            undecided(if within <= EQUIVALENCE_MARGIN {
                Undecided::Same { within }
            } else {
                Undecided::Noise
            })
        }
    }?;
    // Beyond the crossing every size must show it.
    let is_beyond = |size: f64| match (crossing.falls, crossing.before, crossing.after) {
        (true, Some(before), _) => size >= before,
        (false, _, Some(after)) => size <= after,
        _ => false,
    };
    let is_open = |each: &Measured| is_beyond(each.size) && each.shown != Shown::Cheaper;
    if measured.iter().any(is_open) { undecided(Undecided::InBetween) } else { Ok(crossing) }
}

/// Logarithm of the size of a crossing, its interval, and the method. A crossing outside of the
/// measured sizes is placed one octave beyond them.
fn place(
    measured: &[Measured],
    crossing: &Crossing,
    (of, against): (&Fitted, &Fitted),
    boot: &Bootstrap,
) -> (f64, Option<Interval>, CrossoverMethod) {
    let scale = SizeAxis::from_measured(measured, crossing.falls);
    let lines = || {
        std::iter::zip(&of.lines, &against.lines).map(|(of, against)| Some(((*of)?, (*against)?)))
    };
    let crossings = || lines().map(|lines| scale.lines_crossing(&lines?));
    if let (Some(lines), Some(place)) = (lines().next().flatten(), crossings().next().flatten())
        && lines_hold(measured, &lines, place)
    {
        return (place, boot.interval(crossings()), CrossoverMethod::Lines);
    }
    let ratio_crossings = boot.map(|times| {
        let logs =
            measured.iter().map(|each| each.logs.resampled(times)).collect::<Option<Vec<f64>>>()?;
        Some(scale.ratio_crossing(&logs))
    });
    // A ratio without a logarithm, because a cost is at or below 0, passes 1 somewhere between the
    // sizes that show a difference.
    let (least, most) = (scale.sizes[0], scale.sizes[scale.sizes.len() - 1]);
    let between =
        f64::midpoint(crossing.after.map_or(least, f64::ln), crossing.before.map_or(most, f64::ln));
    let place = ratio_crossings[0].unwrap_or(between);
    (place, boot.interval(ratio_crossings.into_iter()), CrossoverMethod::Interpolation)
}

/// Two lines; the first is divided by the second.
type Lines = (FittedLine, FittedLine);

/// Whether the ratio of two lines is within the measured interval at the sizes around the
/// crossover, and on the correct side of 1 wherever a difference was shown.
fn lines_hold(measured: &[Measured], lines: &Lines, place: f64) -> bool {
    let behind = measured.partition_point(|each| each.size.ln() <= place);
    let near = behind.saturating_sub(NEAR / 2)..behind + NEAR / 2;
    measured.iter().enumerate().all(|(index, each)| {
        let predicted = lines.0.at(each.size) / lines.1.at(each.size);
        let fits = each.bounds.is_some_and(|bounds| bounds.contains(predicted));
        let agrees = match each.shown {
            Shown::Cheaper => predicted < 1.0,
            Shown::Dearer => predicted > 1.0,
            Shown::Nothing => true,
        };
        agrees && (fits || !near.contains(&index))
    })
}

/// Logarithms of the measured sizes, and the direction of the ratio.
struct SizeAxis {
    sizes: Vec<f64>,
    /// 1 for a falling ratio, -1 for a rising one: the sign that makes it fall.
    turn: f64,
    below: f64,
    above: f64,
}

impl SizeAxis {
    fn from_measured(measured: &[Measured], falls: bool) -> Self {
        let sizes: Vec<f64> = measured.iter().map(|each| each.size.ln()).collect();
        let (least, most) = (sizes[0], sizes[sizes.len() - 1]);
        let octave = std::f64::consts::LN_2;
        Self {
            sizes,
            turn: if falls { 1.0 } else { -1.0 },
            below: least - octave,
            above: most + octave,
        }
    }

    fn lines_crossing(&self, (of, against): &Lines) -> Option<f64> {
        let (least, most) = (self.sizes[0], self.sizes[self.sizes.len() - 1]);
        let log_at = |size: f64| self.turn * (of.at(size.exp()) / against.at(size.exp())).ln();
        let (first, last) = (log_at(least), log_at(most));
        if first > 0.0 && last < 0.0 {
            let kib = (of.call_ns - against.call_ns) / (against.ns_per_kib - of.ns_per_kib);
            return Some((kib * 1024.0).ln().clamp(least, most));
        }
        let middle = first + last;
        middle.is_finite().then_some(if middle <= 0.0 { self.below } else { self.above })
    }

    fn ratio_crossing(&self, logs: &[f64]) -> f64 {
        let curve =
            antitonic_regression(&logs.iter().map(|log| log * self.turn).collect::<Vec<_>>());
        let next = curve.partition_point(|log| *log > 0.0);
        if next == 0 {
            return self.below;
        }
        if next == curve.len() {
            return self.above;
        }
        let (before, behind) = (curve[next - 1], curve[next]);
        let (from, to) = (self.sizes[next - 1], self.sizes[next]);
        from + (to - from) * before / (before - behind)
    }
}
