//! `zc run memory`: every loop over every working set, block after block, on one CPU, until the
//! budget is spent.
//!
//! In a block the sets come in random order, and the loops within a set too. So each loop is close
//! in time to memcpy, with which it is compared; the noise of a shared machine is slow. A loop
//! warms its set before it is timed. So it is not charged for what the previous loop left in the
//! caches, which has yet to be written back. All sets lie in one arena, from its beginning.

use std::path::PathBuf;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::seed;
use zc_kernel::pages::Pages;
use zc_kernel::stop::Stop;
use zc_kernel::{clock, sched};
use zc_rig::memory::{
    Bench, Tried, WARM_NS, Walker, available_below, caches, choose, fit, huge_pages, unavailable,
};
use zc_rig::meter::{cannot_pin, host};
use zc_run::{Error, ErrorKind, MemoryBlock, MemoryLoop, MemoryRun, MemoryVisit, Result};

/// Memory is touched in steps of this size; the time is checked after each.
const TOUCH_BYTES: usize = 1 << 20;
/// The most bytes on which a loop is tried.
const TRY_BYTES: usize = 2 << 20;
/// Tries of each loop: the fastest counts, which is one during which nothing else had the CPU.
const TRIES: usize = 2;

/// Options of [`memory`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryOptions {
    /// Time for everything, set-up included.
    pub budget_ns: u64,
    /// Seed of the random order; `None` draws one.
    pub seed: Option<u64>,
    /// The folder of `proc` and `sys`, which list the caches and the memory that is available: `/`,
    /// or in tests a folder with the files of another machine.
    pub root: PathBuf,
}

/// Observations, and why the run ended if not because its budget was spent.
#[derive(Debug)]
pub struct MemoryOutcome {
    /// All observations.
    pub seen: MemoryRun,
    /// [`ErrorKind::Interrupted`] if the run was interrupted.
    pub error: Option<Error>,
}

/// Runs the loops until the budget is spent or `stop` is set; a block that is unfinished then
/// counts as far as it got. `begin` is called with the sets and the CPU before the first block.
///
/// # Errors
/// There is no memory or no CPU to run on, or nothing was measured before it ended.
pub fn memory(
    options: &MemoryOptions,
    stop: &Stop,
    begin: &mut dyn FnMut(&MemoryRun),
) -> Result<MemoryOutcome> {
    let until = clock::monotonic_ns().saturating_add(options.budget_ns);
    let host = host();
    let allowed =
        sched::allowed_cpus().map_err(|error| Error::os("ask which CPUs may be used", error))?;
    // The last one: on most machines the first has more of the interrupts.
    let cpu = allowed
        .last()
        .copied()
        .ok_or_else(|| Error::failed("no-usable-cpu", "there is no CPU that may be used"))?;
    let bench = Bench::new();
    let found = caches(&options.root, cpu);
    let last = found.each.last().map_or(0, |cache| cache.bytes);
    let chosen =
        choose(&found.each, available_below(&options.root), bench.has(MemoryLoop::FoldedAvx2));
    let mut seen = MemoryRun {
        zc_version: env!("CARGO_PKG_VERSION").to_owned(),
        host,
        cpu,
        caches: found.each,
        caches_known: found.known,
        huge_pages: huge_pages(&options.root),
        seed: seed::or_fresh(options.seed)?,
        budget_ns: options.budget_ns,
        sets: chosen.sets,
        left_out: chosen.left_out,
        unavailable: unavailable(),
        blocks: Vec::new(),
    };
    let largest = seen.sets.last().map(|set| set.bytes).ok_or_else(|| {
        Error::failed("too-little-memory", "there is not enough memory for any working set")
            .help("free some: zc takes a quarter of it")
    })?;
    let doing = format!("run on CPU {cpu} alone");
    sched::pin(&[cpu]).map_err(|error| cannot_pin(doing, &[cpu], error, ErrorKind::Failed))?;
    let pages = usize::try_from(largest)
        .map_err(|_| std::io::ErrorKind::OutOfMemory.into())
        .and_then(Pages::new);
    let walked = pages
        .map_err(|error| Error::os(format!("get {} MiB of memory", largest >> 20), error))
        .map(|mut pages| {
            let mut arena = Arena::new(bench, pages.as_mut_slice(), stop);
            let plan = fit(&seen.sets, arena.loops.len(), last, until, &mut arena);
            seen.sets = plan.sets;
            seen.left_out.extend(plan.left_out);
            begin(&seen);
            arena.walk(&mut seen, plan.visit_ns, until)
        });
    // The kernel granted these CPUs before.
    drop(sched::pin(&allowed));
    let interrupted = walked?;
    if seen.blocks.is_empty() {
        return Err(if interrupted {
            Error::interrupted("interrupted before anything was measured")
        } else {
            Error::failed("budget-spent", "the budget was spent before anything was measured")
                .help("give more time with --budget")
        });
    }
    let error =
        interrupted.then(|| Error::interrupted("interrupted: this is what was measured by then"));
    Ok(MemoryOutcome { seen, error })
}

/// The memory that the loops run over.
struct Arena<'a> {
    bench: Bench,
    /// Loops that this CPU can run.
    loops: Vec<MemoryLoop>,
    memory: &'a mut [u8],
    /// Bytes whose pages have been touched, from the beginning.
    touched: usize,
    /// State of the generator of words.
    word: u64,
    /// When the arena was created, and the CPU time of this thread then.
    began: (u64, u64),
    stop: &'a Stop,
}

impl<'a> Arena<'a> {
    fn new(bench: Bench, memory: &'a mut [u8], stop: &'a Stop) -> Self {
        let loops = MemoryLoop::ALL.iter().copied().filter(|name| bench.has(*name)).collect();
        Self {
            bench,
            loops,
            memory,
            touched: 0,
            word: 0x2545_f491_4f6c_dd1d,
            began: (clock::monotonic_ns(), clock::own_cpu_ns()),
            stop,
        }
    }

    fn stopped(&self) -> bool {
        self.stop.is_set()
    }

    /// Measures block after block; returns whether it was interrupted.
    fn walk(&mut self, seen: &mut MemoryRun, visit_ns: u64, until: u64) -> bool {
        let mut random = Pcg64::seed_from_u64(seen.seed);
        // The duration of each visit when it was last made, warming included: a visit that would
        // end too late is not begun.
        let mut took_ns = vec![vec![0; MemoryLoop::ALL.len()]; seen.sets.len()];
        loop {
            let mut block =
                MemoryBlock { visits: Vec::with_capacity(seen.sets.len() * self.loops.len()) };
            let mut sets: Vec<usize> = (0..seen.sets.len()).collect();
            sets.shuffle(&mut random);
            for place in sets {
                let mut order = self.loops.clone();
                order.shuffle(&mut random);
                for name in order {
                    let interrupted = self.stopped();
                    let began = clock::monotonic_ns();
                    let took = &mut took_ns[place][name as usize];
                    if interrupted || began.saturating_add(*took) >= until {
                        if !block.visits.is_empty() {
                            seen.blocks.push(block);
                        }
                        return interrupted;
                    }
                    // Not larger than the arena, which is a slice.
                    let bytes = seen.sets[place].bytes as usize;
                    block.visits.push(visit(
                        &self.bench,
                        name,
                        place,
                        &mut self.memory[..bytes],
                        visit_ns,
                    ));
                    *took = clock::monotonic_ns() - began;
                }
            }
            seen.blocks.push(block);
        }
    }
}

impl Walker for Arena<'_> {
    fn now_ns(&self) -> u64 {
        clock::monotonic_ns()
    }

    /// Fills every page, so that none is first touched in a visit, with bytes whose sums are not
    /// trivial.
    fn touch(&mut self, bytes: u64, until_ns: u64) -> u64 {
        let wanted = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.memory.len());
        while self.touched < wanted && !self.stopped() && clock::monotonic_ns() < until_ns {
            let end = wanted.min(self.touched + TOUCH_BYTES);
            for place in self.memory[self.touched..end].as_chunks_mut::<8>().0 {
                self.word ^= self.word << 13;
                self.word ^= self.word >> 7;
                self.word ^= self.word << 17;
                *place = self.word.to_ne_bytes();
            }
            self.touched = end;
        }
        self.touched as u64
    }

    /// Each loop and each try has a part of its own, the first parts first. The set's beginning was
    /// touched earliest, so of a set larger than the caches it is least likely to be cached.
    fn try_out(&mut self, bytes: u64) -> Tried {
        let wanted = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.touched);
        let part = (wanted / (TRIES * self.loops.len()).max(1)).clamp(1, TRY_BYTES);
        let mut parts = self.memory[..wanted].chunks_exact_mut(part);
        let mut fastest = vec![f64::INFINITY; self.loops.len()];
        for _ in 0..TRIES {
            for (name, fastest) in self.loops.iter().zip(&mut fastest) {
                let Some(part) = parts.next() else { continue };
                let began = clock::monotonic_ns();
                self.bench.pass(*name, part);
                *fastest = fastest.min((clock::monotonic_ns() - began) as f64 / part.len() as f64);
            }
        }
        Tried { ns_per_byte: fastest }
    }

    fn stretch(&self) -> f64 {
        let (elapsed, cpu) =
            (clock::monotonic_ns() - self.began.0, clock::own_cpu_ns() - self.began.1);
        if cpu == 0 { 1.0 } else { (elapsed as f64 / cpu as f64).max(1.0) }
    }
}

/// Warms the set and times enough passes to fill a visit.
fn visit(
    bench: &Bench,
    name: MemoryLoop,
    set: usize,
    memory: &mut [u8],
    visit_ns: u64,
) -> MemoryVisit {
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
    let passes = (visit_ns / ns_per_pass).max(1);
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
        MemoryOptions { budget_ns, seed: Some(7), root: "/".into() }
    }

    #[test]
    fn a_visit_counts_each_byte_once_and_says_how_long_it_took() {
        let bench = Bench::new();
        let mut memory = vec![1; 16 << 10];
        for (name, bytes) in [(MemoryLoop::Read, 16 << 10), (MemoryLoop::Memcpy, 8 << 10)] {
            let visit = visit(&bench, name, 3, &mut memory, 1_000_000);
            assert_eq!((visit.set, visit.name, visit.bytes), (3, name, visit.passes * bytes));
            assert!(visit.passes >= 1 && visit.elapsed_ns > 0);
        }
    }

    #[test]
    fn a_stop_before_anything_is_measured_is_an_interrupt() {
        let stop = Stop::already();
        let error = memory(&options(1_000_000_000), &stop, &mut |_| {}).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Interrupted);
    }

    #[test]
    fn a_budget_of_zero_is_an_error_that_says_so() {
        let error = memory(&options(0), &Stop::default(), &mut |_| {}).unwrap_err();
        assert_eq!(error.id, "budget-spent");
        assert!(error.help.is_some());
    }
}
