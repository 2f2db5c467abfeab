//! Samples of the machine that does not exist (see [`synthetic`](super::synthetic)), for tests of
//! profiles.

use std::collections::HashMap;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use zc_run::{
    BlockSamples, Run, SampledEvent, SampledTask, Sampling, Slot, TaskSamples, TrialKind,
    WindowSamples,
};

/// Samples of a CPU in a window; the rest of its time is a soaker's in user mode.
pub const SAMPLES: f64 = 2000.0;

/// A task that a CPU spends a share of its time on.
#[derive(Debug, Clone, Copy)]
pub struct CpuShare {
    /// The CPU's number.
    pub cpu: usize,
    /// The kind of the current task.
    pub task: SampledTask,
    /// The kernel's functions, the outermost first; empty in user mode.
    pub stack: &'static [&'static str],
    /// The share of the CPU's time, 0 to 1.
    pub share: f64,
}

/// The run as `zc profile` would have saved it, with cycles. `spent` returns what CPUs do while the
/// cell of this label is measured, and for `None` in idle windows. Shares differ from block to
/// block by up to a tenth.
pub fn with_samples(mut run: Run, spent: impl Fn(Option<&str>) -> Vec<CpuShare>) -> Run {
    let cpus = run.header.plan.fixed.soaked_cpus.clone();
    let mut rng = Pcg64::seed_from_u64(run.header.plan.seed);
    let (mut symbols, mut frames) = (HashMap::new(), HashMap::new());
    for block in &mut run.blocks {
        let mut samples = BlockSamples::default();
        let mut of_window = |cell: Option<&str>, elapsed_ns: u64| {
            let mut tasks = Vec::new();
            let mut left: HashMap<usize, f64> = cpus.iter().map(|cpu| (*cpu, SAMPLES)).collect();
            for CpuShare { cpu, task, stack, share } in spent(cell) {
                let mut frame = 0;
                for name in stack {
                    let next = symbols.len() as u32;
                    let symbol = *symbols.entry(*name).or_insert_with(|| {
                        samples.symbols.push((*name).to_owned());
                        next
                    });
                    let next = frames.len() as u32 + 1;
                    frame = *frames.entry((frame, symbol)).or_insert_with(|| {
                        samples.frames.push((frame, symbol));
                        next
                    });
                }
                let wobble = 0.9 + 0.2 * f64::from(rng.next_u32()) / f64::from(u32::MAX);
                let count = (SAMPLES * share * wobble).round();
                *left.entry(cpu).or_default() -= count;
                tasks.push(TaskSamples { cpu, task, counts: vec![(frame, count as u32)] });
            }
            for &cpu in &cpus {
                let count = left.get(&cpu).copied().unwrap_or_default().max(0.0) as u32;
                tasks.push(TaskSamples {
                    cpu,
                    task: SampledTask::Soaker,
                    counts: vec![(0, count)],
                });
            }
            WindowSamples { cell: cell.map(str::to_owned), elapsed_ns, lost: 0, tasks }
        };
        let trials = block.slots.iter().filter_map(|slot| match slot {
            Slot::Trial(trial) if trial.kind == TrialKind::Soaked => Some(trial),
            _ => None,
        });
        let mut windows: Vec<WindowSamples> = trials
            .map(|trial| {
                of_window(Some(&trial.cell), trial.closed.soak.at_ns - trial.opened.soak.at_ns)
            })
            .collect();
        // The window is as long as a trial's, so that a share of the time is the same there.
        windows.push(of_window(None, windows.first().map_or(1, |window| window.elapsed_ns)));
        samples.windows = windows;
        block.samples = Some(samples);
    }
    run.header.sampling = Some(Sampling {
        event: SampledEvent::Cycles,
        no_cycles: None,
        frequency_hz: 2618,
        cpus,
        kernel_functions: symbols.len(),
    });
    run
}
