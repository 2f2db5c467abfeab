//! Counts samples into parts of a cost, and computes their intervals.

use std::collections::{BTreeSet, HashMap};

use zc_stats::{Bootstrap, DEFAULT_RESAMPLES, expanded_confidence};

use super::class::Class;
use super::classes::{classes_of_frames, function_name};
use super::contexts::{Context, StackMarks, context, is_of_path, marks_of_frames};
use super::model::Part;
use crate::costs::cpus_of_both;
use crate::figures::{bounds, per, with_interval};
use crate::kept::KeptBlocks;
use crate::model::figure::Figure;
use zc_run::{Profile, Run, SampledTask, TaskSamples, WindowSamples};

/// Number of functions counted by name, the largest first.
const FUNCTIONS: usize = 12;

/// Number of functions without a class counted by name.
const UNKNOWN: usize = 8;

/// Class and context marks of every frame of a profile.
pub(super) struct Frames {
    classes: Vec<Class>,
    through: Vec<StackMarks>,
}

impl Frames {
    pub(super) fn classify(profile: &Profile, run: &Run) -> Self {
        let virtual_machine = run.header.host.hypervisor.is_some();
        Self {
            classes: classes_of_frames(profile, virtual_machine),
            through: marks_of_frames(profile),
        }
    }

    /// The class of a sample, in user mode too.
    pub(super) fn class(&self, task: SampledTask, frame: u32) -> Class {
        match (frame as usize).checked_sub(1) {
            Some(place) => self.classes.get(place).copied().unwrap_or(Class::Unknown),
            None if is_of_path(task) => Class::Program,
            None => Class::Others,
        }
    }

    fn context(&self, task: SampledTask, frame: u32) -> Context {
        let stack = (frame as usize)
            .checked_sub(1)
            .map(|place| self.through.get(place).copied().unwrap_or_default());
        context(task, stack)
    }
}

/// Whether samples of a task are part of the cost: neither a soaker in user mode, nor zc's own work
/// other than the traffic.
pub(super) fn is_cost(task: SampledTask, frame: u32) -> bool {
    match task {
        SampledTask::Instrument => false,
        SampledTask::Soaker => frame > 0,
        _ => true,
    }
}

/// The samples of one cell by block.
pub(super) struct CellSamples {
    /// Blocks with samples and a cost.
    pub(super) blocks: Vec<SampledBlock>,
    /// Functions counted by name, with their class.
    pub(super) functions: Vec<(String, Class)>,
    pub(super) samples: u64,
    pub(super) samples_of_all: u64,
    pub(super) lost: u64,
}

/// The samples of a cell in one block.
pub(super) struct SampledBlock {
    /// Index among the blocks of the run.
    pub(super) place: usize,
    /// Samples of each part, minus those of idle windows scaled to the same time: classes,
    /// contexts, the path's own threads, functions.
    parts: Vec<f64>,
    /// Samples of the whole cost, likewise.
    cost: f64,
    cost_ns_per_kib: f64,
    /// Soaked CPU time of its window.
    soaked_ns: f64,
    /// CPU time of the cost by its samples.
    found_ns: f64,
}

/// Indices of the parts.
const CONTEXTS_AT: usize = Class::ALL.len();
const OWN_AT: usize = CONTEXTS_AT + Context::ALL.len();
const FUNCTIONS_AT: usize = OWN_AT + 1;

struct Counter<'a> {
    profile: &'a Profile,
    frames: &'a Frames,
    cpus: Vec<usize>,
    /// Index of a function counted by name, by index of its symbol.
    functions: HashMap<usize, usize>,
    parts: usize,
}

impl Counter<'_> {
    fn tasks<'w>(&'w self, window: &'w WindowSamples) -> impl Iterator<Item = &'w TaskSamples> {
        window.tasks.iter().filter(|task| self.cpus.contains(&task.cpu))
    }

    /// Samples of each part in a window, and of the whole cost.
    fn count(&self, window: &WindowSamples) -> (Vec<f64>, f64) {
        let (mut parts, mut cost) = (vec![0.0; self.parts], 0.0);
        for task in self.tasks(window) {
            for &(frame, count) in
                task.counts.iter().filter(|(frame, _)| is_cost(task.task, *frame))
            {
                let count = f64::from(count);
                cost += count;
                parts[self.frames.class(task.task, frame).place()] += count;
                parts[CONTEXTS_AT + self.frames.context(task.task, frame).place()] += count;
                if is_of_path(task.task) {
                    parts[OWN_AT] += count;
                }
                if let Some(function) =
                    symbol(self.profile, frame).and_then(|symbol| self.functions.get(&symbol))
                {
                    parts[function_at(*function)] += count;
                }
            }
        }
        (parts, cost)
    }
}

/// Index of a frame's function among the symbols.
fn symbol(profile: &Profile, frame: u32) -> Option<usize> {
    let place = (frame as usize).checked_sub(1)?;
    profile.frames.get(place).map(|(_, symbol)| *symbol as usize)
}

impl CellSamples {
    /// Counts the samples of the cell at `place` of the plan. The functions with these names are
    /// counted, too, whatever their size.
    pub(super) fn count(
        run: &Run,
        kept: &KeptBlocks,
        profile: &Profile,
        frames: &Frames,
        place: usize,
        wanted: &BTreeSet<String>,
    ) -> Self {
        let cell = &kept.header.plan.cells[place];
        let cpus = cpus_of_both(kept.header, &cell.levels);
        // In the order of `kept`.
        let places: Vec<usize> =
            (0..run.blocks.len()).filter(|&at| run.blocks[at].dropped.is_none()).collect();
        let window = |at: &usize, label: Option<&str>| {
            profile
                .blocks
                .get(*at)?
                .iter()
                .find(|window| window.cell.as_deref() == label && window.elapsed_ns > 0)
        };
        let windows: Vec<(usize, usize, &WindowSamples)> = places
            .iter()
            .enumerate()
            .filter_map(|(in_kept, at)| {
                Some((in_kept, *at, window(at, Some(cell.label.as_str()))?))
            })
            .collect();
        let mut counter =
            Counter { profile, frames, cpus, functions: HashMap::new(), parts: FUNCTIONS_AT };
        let functions =
            counter.name_functions(windows.iter().map(|(_, _, window)| *window), wanted);

        let (mut idle, mut idle_ns) = ((vec![0.0; counter.parts], 0.0), 0.0);
        for window in places.iter().filter_map(|at| window(at, None)) {
            let (parts, cost) = counter.count(window);
            idle.0.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
            idle.1 += cost;
            idle_ns += window.elapsed_ns as f64;
        }

        let mut sampled =
            Self { blocks: Vec::new(), functions, samples: 0, samples_of_all: 0, lost: 0 };
        for (in_kept, at, window) in windows {
            let Some(cost) = kept.costs.get(in_kept).and_then(|block| block.get(place)?.as_ref())
            else {
                continue;
            };
            let Some(cost_ns_per_kib) = cost.ns_per_kib(crate::costs::Side::Both) else { continue };
            let (mut parts, mut found) = counter.count(window);
            let all: u64 = counter
                .tasks(window)
                .flat_map(|task| &task.counts)
                .map(|(_, count)| u64::from(*count))
                .sum();
            sampled.samples += found as u64;
            sampled.samples_of_all += all;
            sampled.lost = sampled.lost.saturating_add(window.lost);
            if let Some(of_idle) = per(window.elapsed_ns as f64, idle_ns) {
                parts.iter_mut().zip(&idle.0).for_each(|(part, idle)| *part -= idle * of_idle);
                found -= idle.1 * of_idle;
            }
            let sampled_ns = window.elapsed_ns as f64 * counter.cpus.len() as f64;
            sampled.blocks.push(SampledBlock {
                place: at,
                parts,
                cost: found,
                cost_ns_per_kib,
                soaked_ns: cost.gross.both_ns,
                found_ns: per(found * sampled_ns, all as f64).unwrap_or(0.0),
            });
        }
        sampled
    }

    /// CPU time by the samples divided by that lost by the soakers.
    pub(super) fn seen(&self) -> Option<f64> {
        let sum = |of: fn(&SampledBlock) -> f64| self.blocks.iter().map(of).sum::<f64>();
        per(sum(|block| block.found_ns), sum(|block| block.soaked_ns)).filter(|seen| *seen >= 0.0)
    }

    /// The parts in a resample that contains block n `times[n]` times: shares, and the median cost
    /// in ns per KiB.
    pub(super) fn drawn(&self, times: &[u32], by_cost: &[usize]) -> Drawn {
        let mut shares = vec![0.0; self.blocks.first().map_or(0, |block| block.parts.len())];
        let mut cost = 0.0;
        for (block, times) in self.blocks.iter().zip(times).filter(|(_, times)| **times > 0) {
            let times = f64::from(*times);
            shares.iter_mut().zip(&block.parts).for_each(|(sum, part)| *sum += times * part);
            cost += times * block.cost;
        }
        shares.iter_mut().for_each(|share| *share /= cost);
        Drawn { shares, cost_ns_per_kib: self.median(times, by_cost) }
    }

    /// Indices of the blocks by rising cost.
    pub(super) fn by_cost(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.blocks.len()).collect();
        order.sort_by(|a, b| {
            self.blocks[*a].cost_ns_per_kib.total_cmp(&self.blocks[*b].cost_ns_per_kib)
        });
        order
    }

    fn median(&self, times: &[u32], by_cost: &[usize]) -> f64 {
        let all: u64 = times.iter().map(|times| u64::from(*times)).sum();
        let nth = |nth: u64| {
            let mut before = 0;
            by_cost.iter().find(|block| {
                before += u64::from(times.get(**block).copied().unwrap_or(0));
                before > nth
            })
        };
        let value = |at: u64| nth(at).map_or(f64::NAN, |block| self.blocks[*block].cost_ns_per_kib);
        if all == 0 { f64::NAN } else { (value((all - 1) / 2) + value(all / 2)) / 2.0 }
    }
}

impl Counter<'_> {
    /// Chooses the functions counted by name: the largest of all, the largest without a class, and
    /// those that are wanted.
    fn name_functions<'w>(
        &mut self,
        windows: impl Iterator<Item = &'w WindowSamples>,
        wanted: &BTreeSet<String>,
    ) -> Vec<(String, Class)> {
        let mut counts: HashMap<usize, HashMap<Class, u64>> = HashMap::new();
        for window in windows {
            for task in self.tasks(window) {
                for &(frame, count) in
                    task.counts.iter().filter(|(frame, _)| is_cost(task.task, *frame))
                {
                    if let Some(symbol) = symbol(self.profile, frame) {
                        let class = self.frames.class(task.task, frame);
                        *counts.entry(symbol).or_default().entry(class).or_default() +=
                            u64::from(count);
                    }
                }
            }
        }
        let mut each: Vec<(usize, Class, u64)> = counts
            .into_iter()
            .filter_map(|(symbol, by_class)| {
                let all = by_class.values().sum();
                let largest = by_class
                    .into_iter()
                    .max_by_key(|(class, count)| (*count, std::cmp::Reverse(*class)))?;
                Some((symbol, largest.0, all))
            })
            .collect();
        each.sort_by_key(|(symbol, _, count)| (std::cmp::Reverse(*count), *symbol));
        let unknown = each.iter().filter(|(_, class, _)| *class == Class::Unknown).take(UNKNOWN);
        let known = each.iter().filter(|(_, class, _)| *class != Class::Unknown).take(FUNCTIONS);
        let mut chosen: Vec<(usize, Class)> =
            known.chain(unknown).map(|(symbol, class, _)| (*symbol, *class)).collect();
        let name =
            |symbol: usize| self.profile.symbols.get(symbol).map_or("", |name| function_name(name));
        let largest: BTreeSet<usize> = chosen.iter().map(|(symbol, _)| *symbol).collect();
        let others = each.iter().map(|(symbol, class, _)| (*symbol, *class));
        chosen.extend(
            others
                .filter(|(symbol, _)| !largest.contains(symbol) && wanted.contains(name(*symbol))),
        );
        self.functions = chosen.iter().enumerate().map(|(at, (symbol, _))| (*symbol, at)).collect();
        self.parts = FUNCTIONS_AT + chosen.len();
        chosen.into_iter().map(|(symbol, class)| (name(symbol).to_owned(), class)).collect()
    }
}

/// The parts in one resample of blocks.
pub(super) struct Drawn {
    /// Indexed by part.
    pub(super) shares: Vec<f64>,
    pub(super) cost_ns_per_kib: f64,
}

pub(super) fn class_at(class: Class) -> usize {
    class.place()
}

pub(super) fn context_at(context: Context) -> usize {
    CONTEXTS_AT + context.place()
}

/// The index of a function by its place in [`CellSamples::functions`].
pub(super) fn function_at(at: usize) -> usize {
    FUNCTIONS_AT + at
}

/// Parts of a cell's cost with their intervals.
pub(super) struct Parts(Vec<Part>);

impl Parts {
    fn at(&self, place: usize) -> Part {
        self.0.get(place).copied().unwrap_or_default()
    }

    pub(super) fn class(&self, class: Class) -> Part {
        self.at(class_at(class))
    }

    pub(super) fn context(&self, context: Context) -> Part {
        self.at(context_at(context))
    }

    pub(super) fn own(&self) -> Part {
        self.at(OWN_AT)
    }

    pub(super) fn function(&self, at: usize) -> Part {
        self.at(function_at(at))
    }
}

/// Computes the parts of a cell. With fewer than three blocks they have no intervals.
pub(super) fn parts(sampled: &CellSamples, level: f64, seed: u64) -> Parts {
    let blocks = sampled.blocks.len();
    let by_cost = sampled.by_cost();
    let draws = Bootstrap::new(blocks, DEFAULT_RESAMPLES, seed);
    let drawn = match &draws {
        Some(draws) => draws.map(|times| sampled.drawn(times, &by_cost)),
        None => vec![sampled.drawn(&vec![1; blocks], &by_cost)],
    };
    let interval = |values: &[f64]| {
        let level = expanded_confidence(level, blocks)?;
        draws.as_ref()?.bca_interval(values, level).and_then(bounds)
    };
    let observed = &drawn[0];
    let part = |place: usize| {
        let share = observed.shares[place];
        if !share.is_finite() {
            return Part::default();
        }
        let shares: Vec<f64> = drawn.iter().map(|draw| draw.shares[place]).collect();
        let costs: Vec<f64> =
            drawn.iter().map(|draw| draw.shares[place] * draw.cost_ns_per_kib).collect();
        let cost: Option<Figure> =
            costs[0].is_finite().then(|| with_interval(costs[0], interval(&costs), blocks));
        Part { share, interval: interval(&shares), ns_per_kib: cost }
    };
    Parts((0..observed.shares.len()).map(part).collect())
}
