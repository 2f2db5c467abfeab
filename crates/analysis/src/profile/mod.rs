//! Where the CPU time of each path went: samples of a profile as shares of the soaked cost, with their intervals.
//!
//! Samples say how the cost divides, the soakers say how much it is: a class costs the soaked cost of its path times the class's share of
//! the samples, so that the classes add up to what `zc run` prints for the path. What counts as cost is every sample on the CPUs that the
//! soaked cost comes from (see `plan::costs`) but those that found a soaker in user mode, which is time that nobody wanted, and those of
//! zc's own measuring. What is there without any traffic (the tick, what else the machine does) is in the rate of an idle soaker
//! already, and so it is taken off here too: as much of each class as the idle windows had, for the time of the window.
//!
//! Intervals are over blocks, drawn again whole, because what one window's samples found is not independent.

mod class;
mod classes;
mod contexts;
mod difference;
mod model;
mod shares;
mod tree;

pub use class::Class;
pub use classes::function_name;
pub use contexts::Context;
pub use difference::{Difference, PartDifference, difference};
pub use model::{CellProfile, ClassPart, ContextPart, FunctionPart, Part, ProfileEstimates};
pub use tree::{Flame, tree};

use crate::cells;
use crate::kept::KeptBlocks;
use crate::parallel;
use shares::{CellSamples, Frames, parts};
use zc_run::{Profile, Run};

/// All that can be computed from the samples of a run; `None` for one that was not sampled.
pub fn profile(run: &Run) -> Option<ProfileEstimates> {
    let profile = Profile::of(run)?;
    let frames = Frames::of(&profile, run);
    let kept = KeptBlocks::of(run);
    let cells = parallel::each(kept.header.plan.cells.len(), |place| {
        cell(run, &kept, &profile, &frames, place)
    });
    let sampling = profile.sampling;
    Some(ProfileEstimates {
        event: sampling.event,
        no_cycles: sampling.no_cycles,
        frequency_hz: sampling.frequency_hz,
        interval_level: kept.level,
        irq_time_accounting: kept.header.host.irq_time_accounting,
        cells,
    })
}

/// The labels of the cells that have samples in a block that counts, the control left out.
pub fn labels(run: &Run) -> Vec<String> {
    let sampled = |label: &str| {
        let counts = run
            .blocks
            .iter()
            .filter(|block| block.dropped.is_none())
            .filter_map(|block| block.samples.as_ref());
        counts
            .flat_map(|samples| &samples.windows)
            .any(|window| window.cell.as_deref() == Some(label))
    };
    let cells = run.header.plan.cells.iter().filter(|cell| !cell.control);
    cells.map(|cell| cell.label.clone()).filter(|label| sampled(label)).collect()
}

fn cell(
    run: &Run,
    kept: &KeptBlocks,
    profile: &Profile,
    frames: &Frames,
    place: usize,
) -> CellProfile {
    let estimate = cells::cell(kept, place);
    let sampled = CellSamples::of(run, kept, profile, frames, place);
    let parts = parts(&sampled, kept.level, kept.header.plan.seed);
    let class = |class: Class| ClassPart { class, part: parts.class(class) };
    let context = |context: Context| ContextPart { context, part: parts.context(context) };
    let functions = |known: bool| -> Vec<FunctionPart> {
        let each = sampled
            .functions
            .iter()
            .enumerate()
            .filter(|(_, (_, class))| (*class != Class::Unknown) == known);
        let each = each.map(|(at, (name, class))| FunctionPart {
            function: name.clone(),
            class: *class,
            part: parts.function(at),
        });
        let mut each: Vec<FunctionPart> =
            each.filter(|function| function.part.share > 0.0).collect();
        each.sort_by(|a, b| b.part.share.total_cmp(&a.part.share));
        each
    };
    CellProfile {
        label: estimate.label,
        send: estimate.send,
        recv: estimate.recv,
        reference: estimate.reference,
        control: estimate.control,
        blocks: sampled.blocks.len(),
        samples: sampled.samples,
        samples_of_all: sampled.samples_of_all,
        lost: sampled.lost,
        cost_ns_per_kib: estimate.cost_ns_per_kib.both,
        seen: sampled.seen(),
        classes: Class::ALL.into_iter().map(class).collect(),
        contexts: Context::ALL.into_iter().map(context).collect(),
        own: parts.own(),
        getrusage_by_soaked: estimate.others.getrusage_soaked.by_soaked.both,
        functions: functions(true),
        unknown: functions(false),
    }
}

#[cfg(test)]
mod tests;
