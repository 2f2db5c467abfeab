//! The distribution of each path's CPU time: samples of a profile as shares of the soaked cost,
//! with intervals.
//!
//! Samples determine how the cost is divided, the soakers how large it is. The cost of a class is
//! the soaked cost of its path times the class's share of the samples, so the classes add up to the
//! cost that `zc run` prints. All samples count on the CPUs that the soaked cost comes from (see
//! [`crate::costs`]), except those of a soaker in user mode, which is otherwise unused time, and
//! those of zc's own measuring. Work that exists without traffic (the tick, other tasks of the
//! machine) is already in the rate of an idle soaker, so it is subtracted here too: the samples of
//! each class in the idle windows, scaled to the length of the window.
//!
//! Intervals come from a bootstrap over whole blocks, because samples within one window are not
//! independent.

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

use std::collections::BTreeSet;

use crate::cells;
use crate::kept::KeptBlocks;
use crate::parallel;
use shares::{CellSamples, Frames, parts};
use zc_run::{Profile, Run};

/// All estimates from the samples of a run; `None` for a run without samples.
pub fn profile(run: &Run) -> Option<ProfileEstimates> {
    let profile = Profile::from_run(run)?;
    let frames = Frames::classify(&profile, run);
    let kept = KeptBlocks::from_run(run);
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

/// Labels of the cells with samples in a kept block, without the control.
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
    let sampled = CellSamples::count(run, kept, profile, frames, place, &BTreeSet::new());
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
        transfer: estimate.transfer,
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
