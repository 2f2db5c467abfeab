//! The difference between two paths by class: of one run, where both were sampled in the same
//! blocks, or of two runs.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use zc_stats::{Bootstrap, DEFAULT_RESAMPLES, expanded_confidence, quantile};

use super::class::Class;
use super::contexts::Context;
use super::shares::{CellSamples, Drawn, Frames, class_at, context_at, function_at};
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
    /// The largest functions of either cell by their own time, without their callees: those that
    /// differ most come first.
    pub functions: Vec<PartDifference<String>>,
}

/// The costs of a class, a context or a function in two cells.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PartDifference<T> {
    /// Class, context, or name of the function.
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
    let (first, second) = (Source::of(first)?, Source::of(second)?);
    // What is large in one of them is counted in both.
    let none = BTreeSet::new();
    let largest = [first.count(&none).functions, second.count(&none).functions].concat();
    let names: BTreeSet<String> = largest.into_iter().map(|(name, _)| name).collect();
    let (mut one, mut other) = (first.count(&names), second.count(&names));
    let (seed, other_seed) = (first.seed(), second.seed());
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
        let level = expanded_confidence(first.kept.level.max(second.kept.level), fewer)?;
        let (draws, _) = (draws.as_ref()?, other_draws.as_ref()?);
        if paired {
            draws.bca_interval(values, level).and_then(bounds)
        } else {
            percentiles(values, level)
        }
    };
    let figure_of =
        |one_of: &dyn Fn(&Drawn) -> f64, other_of: &dyn Fn(&Drawn) -> f64| -> Option<Figure> {
            let longest = 1 + DEFAULT_RESAMPLES + if paired { blocks } else { 0 };
            let values: Vec<f64> = ones
                .iter()
                .zip(&others)
                .take(longest)
                .map(|(one, other)| other_of(other) - one_of(one))
                .collect();
            let value = finite(*values.first()?)?;
            Some(with_interval(value, interval(&values), blocks.min(other_blocks)))
        };
    let figure = |of: &dyn Fn(&Drawn) -> f64| figure_of(of, of);
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
    let function = |name: &String| {
        let (one, other) = (places(&one, name), places(&other, name));
        let (one_of, other_of) = (cost_of(&one), cost_of(&other));
        let costs = (one_of(ones.first()?), other_of(others.first()?));
        Some(part_difference(name.clone(), (costs.0, costs.1, figure_of(&one_of, &other_of)?)))
    };
    let mut functions: Vec<PartDifference<String>> = names.iter().filter_map(function).collect();
    functions.sort_by(|a, b| b.difference.value.abs().total_cmp(&a.difference.value.abs()));
    let is_timer = |run: &Run| {
        run.header.sampling.as_ref().is_some_and(|it| it.event == SampledEvent::CpuClock)
    };
    let event = match is_timer(first.run) || is_timer(second.run) {
        true => SampledEvent::CpuClock,
        false => SampledEvent::Cycles,
    };
    let all = figure(&|draw| draw.cost_ns_per_kib);
    Some(Difference { paired, event, all, classes, contexts, functions })
}

/// The indices of a function's parts. Its name stands for several symbols where the compiler has
/// made several of it.
fn places(sampled: &CellSamples, name: &str) -> Vec<usize> {
    let named = sampled.functions.iter().enumerate().filter(|(_, (own, _))| own == name);
    named.map(|(at, _)| function_at(at)).collect()
}

/// The cost of these parts together.
fn cost_of(places: &[usize]) -> impl Fn(&Drawn) -> f64 {
    move |draw: &Drawn| places.iter().map(|at| draw.shares[*at]).sum::<f64>() * draw.cost_ns_per_kib
}

fn part_difference<T>(
    what: T,
    (first_ns_per_kib, second_ns_per_kib, difference): (f64, f64, Figure),
) -> PartDifference<T> {
    PartDifference { what, first_ns_per_kib, second_ns_per_kib, difference }
}

/// A cell of a sampled run.
struct Source<'a> {
    run: &'a Run,
    profile: Profile,
    frames: Frames,
    kept: KeptBlocks<'a>,
    place: usize,
}

impl<'a> Source<'a> {
    fn of((run, label): (&'a Run, &str)) -> Option<Self> {
        let profile = Profile::from_run(run)?;
        let place = run.header.plan.cells.iter().position(|cell| cell.label == label)?;
        let (frames, kept) = (Frames::classify(&profile, run), KeptBlocks::from_run(run));
        Some(Self { run, profile, frames, kept, place })
    }

    fn count(&self, names: &BTreeSet<String>) -> CellSamples {
        CellSamples::count(self.run, &self.kept, &self.profile, &self.frames, self.place, names)
    }

    fn seed(&self) -> u64 {
        self.run.header.plan.seed
    }
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
