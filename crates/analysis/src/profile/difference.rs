//! The difference between two paths by class: of one run, where both were sampled in the same
//! blocks, or of two runs.

use schemars::JsonSchema;
use serde::Serialize;
use zc_stats::{Bootstrap, DEFAULT_RESAMPLES, expanded_confidence, quantile};

use super::class::Class;
use super::contexts::Context;
use super::shares::{CellSamples, Drawn, Frames, class_at, context_at};
use crate::figures::{bounds, finite, with_interval};
use crate::kept::KeptBlocks;
use crate::model::figure::{Bounds, Figure};
use crate::unit::from_ns_per_kib;
use zc_run::{Profile, Run, SampledEvent};

/// The difference between two cells.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Whether both were sampled in the same blocks of one run, so that the common factor of a
    /// block cancels.
    pub paired: bool,
    /// The sampled event; a timer if either was. A timer does not resolve all classes
    /// ([`Class::is_resolved_by`]).
    pub event: SampledEvent,
    /// Difference of the costs: the second minus the first.
    #[serde(rename = "all_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub all: Option<Figure>,
    /// All classes, the largest difference first.
    pub classes: Vec<PartDifference<Class>>,
    /// All contexts, in the order of [`Context::ALL`].
    pub contexts: Vec<PartDifference<Context>>,
}

/// The costs of a class or a context in two cells.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PartDifference<T> {
    /// Class or context.
    pub what: T,
    /// Cost in the first cell.
    #[serde(rename = "first_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub first_ns_per_kib: f64,
    /// Cost in the second cell.
    #[serde(rename = "second_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub second_ns_per_kib: f64,
    /// The second minus the first, with BCa intervals over blocks where they are paired, otherwise
    /// percentile intervals over independent resamples of both runs' blocks.
    #[serde(rename = "difference_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub difference: Figure,
}

/// The second cell minus the first one. `None` if one of them does not exist or has no samples in a
/// kept block.
pub fn difference(first: (&Run, &str), second: (&Run, &str)) -> Option<Difference> {
    let paired = std::ptr::eq(first.0, second.0);
    let (mut one, level, seed) = sampled(first)?;
    let (mut other, other_level, other_seed) = sampled(second)?;
    if paired {
        let both: Vec<usize> =
            one.places().into_iter().filter(|place| other.places().contains(place)).collect();
        one.blocks.retain(|block| both.contains(&block.place));
        other.blocks.retain(|block| both.contains(&block.place));
    }
    let (blocks, other_blocks) = (one.blocks.len(), other.blocks.len());
    if blocks == 0 || other_blocks == 0 {
        return None;
    }
    let draws = Bootstrap::new(blocks, DEFAULT_RESAMPLES, seed);
    // Independent resamples, unless both cells are in the same blocks.
    let other_seed = if paired { seed } else { other_seed.wrapping_add(1) };
    let other_draws = Bootstrap::new(other_blocks, DEFAULT_RESAMPLES, other_seed);
    let (ones, others) = (drawn(&one, draws.as_ref()), drawn(&other, other_draws.as_ref()));
    let interval = |values: &[f64]| -> Option<Bounds> {
        let fewer = blocks.min(other_blocks);
        let level = expanded_confidence(level.max(other_level), fewer)?;
        let (draws, _) = (draws.as_ref()?, other_draws.as_ref()?);
        if paired {
            draws.bca_interval(values, level).and_then(bounds)
        } else {
            percentiles(values, level)
        }
    };
    let figure = |of: &dyn Fn(&Drawn) -> f64| -> Option<Figure> {
        let longest = 1 + DEFAULT_RESAMPLES + if paired { blocks } else { 0 };
        let values: Vec<f64> = ones
            .iter()
            .zip(&others)
            .take(longest)
            .map(|(one, other)| of(other) - of(one))
            .collect();
        let value = finite(*values.first()?)?;
        Some(with_interval(value, interval(&values), blocks.min(other_blocks)))
    };
    let cost = |place: usize| move |draw: &Drawn| draw.shares[place] * draw.cost_ns_per_kib;
    let part = |place: usize| {
        Some((cost(place)(ones.first()?), cost(place)(others.first()?), figure(&cost(place))?))
    };
    let mut classes: Vec<PartDifference<Class>> = Class::ALL
        .into_iter()
        .filter_map(|class| Some(part_difference(class, part(class_at(class))?)))
        .collect();
    classes.sort_by(|a, b| b.difference.value.abs().total_cmp(&a.difference.value.abs()));
    let contexts = Context::ALL
        .into_iter()
        .filter_map(|context| Some(part_difference(context, part(context_at(context))?)))
        .collect();
    let is_timer = |run: &Run| {
        run.header.sampling.as_ref().is_some_and(|it| it.event == SampledEvent::CpuClock)
    };
    let event = match is_timer(first.0) || is_timer(second.0) {
        true => SampledEvent::CpuClock,
        false => SampledEvent::Cycles,
    };
    Some(Difference { paired, event, all: figure(&|draw| draw.cost_ns_per_kib), classes, contexts })
}

fn part_difference<T>(
    what: T,
    (first_ns_per_kib, second_ns_per_kib, difference): (f64, f64, Figure),
) -> PartDifference<T> {
    PartDifference { what, first_ns_per_kib, second_ns_per_kib, difference }
}

fn sampled((run, label): (&Run, &str)) -> Option<(CellSamples, f64, u64)> {
    let profile = Profile::from_run(run)?;
    let kept = KeptBlocks::from_run(run);
    let place = run.header.plan.cells.iter().position(|cell| cell.label == label)?;
    let sampled = CellSamples::count(run, &kept, &profile, &Frames::classify(&profile, run), place);
    Some((sampled, kept.level, run.header.plan.seed))
}

impl CellSamples {
    fn places(&self) -> Vec<usize> {
        self.blocks.iter().map(|block| block.place).collect()
    }
}

fn drawn(sampled: &CellSamples, draws: Option<&Bootstrap>) -> Vec<Drawn> {
    let by_cost = sampled.by_cost();
    match draws {
        Some(draws) => draws.map(|times| sampled.drawn(times, &by_cost)),
        None => vec![sampled.drawn(&vec![1; sampled.blocks.len()], &by_cost)],
    }
}

/// The percentile interval of the values of all resamples, of which the first is the observed one.
fn percentiles(values: &[f64], level: f64) -> Option<Bounds> {
    let resampled = values.get(1..)?;
    let tail = (1.0 - level) / 2.0;
    let (low, high) = (quantile(resampled, tail)?, quantile(resampled, 1.0 - tail)?);
    Some(Bounds { low: finite(low)?, high: finite(high), confidence: level })
}
