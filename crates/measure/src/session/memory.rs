//! `zc run memory`: every loop over every working set, block after block, on one CPU, until the budget is spent.
//!
//! In a block the sets come in random order, and within a set the loops do: what is compared with memcpy stands close to it in
//! time, because the noise of a shared machine is slow. A loop makes its own set warm before it is timed, so that what the loop
//! before it left in the caches (and has yet to be written back) is not charged to it.

use std::sync::atomic::{AtomicBool, Ordering};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use zc_kernel::pages::Pages;
use zc_kernel::{clock, sched};

use crate::memory::{Bench, available_bytes, caches, choose, huge_pages, unavailable};
use crate::meter::host;
use zc_run::{Error, ErrorKind, MemoryBlock, MemoryLoop, MemoryRun, MemoryVisit, Result};

/// What a visit is to take, where a pass takes less.
const VISIT_NS: u64 = 1_000_000;
/// What the passes before it are to take together, at least: caches, branch predictors and the clock of the CPU are then as
/// they will be.
const WARM_NS: u64 = 150_000;

/// What [`memory`] is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryOptions {
    /// Time for all of it.
    pub budget_ns: u64,
    /// Of the order; a fresh one if none.
    pub seed: Option<u64>,
}

/// What there is in the end, and why it ended if not because its time was over.
#[derive(Debug)]
pub struct MemoryOutcome {
    /// What was seen.
    pub seen: MemoryRun,
    /// [`ErrorKind::Interrupted`].
    pub error: Option<Error>,
}

/// Walks over memory until the budget is spent or `stop` comes up; the block that is not finished then counts as far as it got.
/// `begin` is told of the sets and CPU before the first block.
///
/// # Errors
/// There is no memory, no CPU to run on, or nothing was measured before it ended.
pub fn memory(options: &MemoryOptions, stop: &AtomicBool, begin: &mut dyn FnMut(&MemoryRun)) -> Result<MemoryOutcome> {
    let until = clock::monotonic_ns().saturating_add(options.budget_ns);
    let host = host();
    let allowed = sched::allowed_cpus().map_err(|error| Error::os("ask which CPUs may be used", error))?;
    // The last: on most machines the first one has more of the interrupts.
    let cpu = allowed.last().copied().ok_or_else(|| Error::failed("there is no CPU that may be used"))?;
    let bench = Bench::new();
    let found = caches(cpu);
    let chosen = choose(&found.each, available_bytes(), bench.has(MemoryLoop::FoldedAvx2));
    let mut seen = MemoryRun {
        zc_version: env!("CARGO_PKG_VERSION").to_owned(),
        host,
        cpu,
        caches: found.each,
        caches_known: found.known,
        huge_pages: huge_pages(),
        seed: options.seed.unwrap_or_else(rand::random),
        budget_ns: options.budget_ns,
        sets: chosen.sets,
        left_out: chosen.left_out,
        unavailable: unavailable(),
        blocks: Vec::new(),
    };
    let largest = seen.sets.iter().map(|set| set.bytes).max().ok_or_else(|| {
        Error::failed("there is not enough memory for any working set").help("free some: zc takes a quarter of it")
    })?;
    sched::pin(&[cpu]).map_err(|error| Error::os(format!("run on CPU {cpu} alone"), error))?;
    let arena = usize::try_from(largest).map_err(|_| std::io::ErrorKind::OutOfMemory.into()).and_then(Pages::new);
    let walked =
        arena.map_err(|error| Error::os(format!("get {} MiB of memory", largest >> 20), error)).map(|mut arena| {
            fill(arena.as_mut_slice());
            begin(&seen);
            walk(&bench, arena.as_mut_slice(), &mut seen, until, stop)
        });
    // That it may run where it could before is asked of the kernel that granted it then.
    drop(sched::pin(&allowed));
    let interrupted = walked?;
    if seen.blocks.is_empty() {
        return Err(if interrupted {
            Error::new(ErrorKind::Interrupted, "interrupted before anything was measured")
        } else {
            Error::failed("the budget was spent before anything was measured").help("give more time with --budget")
        });
    }
    let error =
        interrupted.then(|| Error::new(ErrorKind::Interrupted, "interrupted: this is what was measured by then"));
    Ok(MemoryOutcome { seen, error })
}

/// Touches every page, so that none is first touched in a visit, with bytes that no sum is trivial of.
fn fill(arena: &mut [u8]) {
    let mut word = 0x2545_f491_4f6c_dd1d_u64;
    for place in arena.as_chunks_mut::<8>().0 {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        *place = word.to_ne_bytes();
    }
}

/// Block after block. Whether it was interrupted.
fn walk(bench: &Bench, arena: &mut [u8], seen: &mut MemoryRun, until: u64, stop: &AtomicBool) -> bool {
    let mut random = Pcg64::seed_from_u64(seen.seed);
    let loops: Vec<MemoryLoop> = MemoryLoop::ALL.iter().copied().filter(|name| bench.has(*name)).collect();
    // What each visit took when it was made last, warming included: one that would end too late is not begun.
    let mut took_ns = vec![vec![0; MemoryLoop::ALL.len()]; seen.sets.len()];
    loop {
        let mut block = MemoryBlock { visits: Vec::with_capacity(seen.sets.len() * loops.len()) };
        let mut sets: Vec<usize> = (0..seen.sets.len()).collect();
        sets.shuffle(&mut random);
        for place in sets {
            let mut order = loops.clone();
            order.shuffle(&mut random);
            for name in order {
                let interrupted = stop.load(Ordering::Relaxed);
                let began = clock::monotonic_ns();
                let took = &mut took_ns[place][name as usize];
                if interrupted || began.saturating_add(*took) >= until {
                    if !block.visits.is_empty() {
                        seen.blocks.push(block);
                    }
                    return interrupted;
                }
                let bytes = seen.sets[place].bytes as usize; // it is no more than the arena, which is a slice
                block.visits.push(visit(bench, name, place, &mut arena[..bytes]));
                *took = clock::monotonic_ns() - began;
            }
        }
        seen.blocks.push(block);
    }
}

/// Warms the set up, and times as many passes as it takes.
fn visit(bench: &Bench, name: MemoryLoop, set: usize, memory: &mut [u8]) -> MemoryVisit {
    let mut passes = 1_u64;
    let ns_per_pass = loop {
        let began = clock::monotonic_ns();
        for _ in 0..passes {
            bench.pass(name, memory);
        }
        let elapsed = clock::monotonic_ns() - began;
        if elapsed >= WARM_NS || passes >= 1 << 20 {
            break (elapsed / passes).max(1);
        }
        passes *= 2;
    };
    let passes = (VISIT_NS / ns_per_pass).max(1);
    let began = clock::monotonic_ns();
    let cpu_began = clock::own_cpu_ns();
    for _ in 0..passes {
        bench.pass(name, memory);
    }
    let cpu_ns = clock::own_cpu_ns() - cpu_began;
    let elapsed_ns = clock::monotonic_ns() - began;
    let bytes = if name.has_two_buffers() { memory.len() / 2 } else { memory.len() };
    MemoryVisit { set, name, passes, bytes: passes * bytes as u64, elapsed_ns, cpu_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(budget_ns: u64) -> MemoryOptions {
        MemoryOptions { budget_ns, seed: Some(7) }
    }

    #[test]
    fn a_visit_counts_each_byte_once_and_says_how_long_it_took() {
        let bench = Bench::new();
        let mut memory = vec![1; 16 << 10];
        for (name, bytes) in [(MemoryLoop::Read, 16 << 10), (MemoryLoop::Memcpy, 8 << 10)] {
            let visit = visit(&bench, name, 3, &mut memory);
            assert_eq!((visit.set, visit.name, visit.bytes), (3, name, visit.passes * bytes));
            assert!(visit.passes >= 1 && visit.elapsed_ns > 0);
        }
    }

    #[test]
    fn a_stop_that_is_up_before_anything_is_measured_is_an_interrupt() {
        let stop = AtomicBool::new(true);
        let error = memory(&options(1_000_000_000), &stop, &mut |_| {}).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Interrupted);
    }

    #[test]
    fn a_budget_of_nothing_measures_nothing_and_says_so() {
        let error = memory(&options(0), &AtomicBool::new(false), &mut |_| {}).unwrap_err();
        assert_eq!(error.message, "the budget was spent before anything was measured");
        assert!(error.help.is_some());
    }
}
