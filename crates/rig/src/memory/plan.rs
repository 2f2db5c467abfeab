//! Fits the working sets to the budget: [`BLOCKS`] whole blocks have to fit, for any caches and any
//! speed. A set that is too large for that is made smaller as long as it still serves its purpose,
//! and otherwise left out; each case is reported in a sentence.
//!
//! Sets are taken from the smallest to the largest, and each is touched and tried before it is
//! taken. A byte of a larger set takes at least as long as one of the previous set, so a set that
//! cannot fit by that measure is not touched: the first touch of its pages may take longer than
//! everything else.

use super::sets::{grain, least, mib};
use zc_run::MemorySet;

/// Minimum time of the passes before a visit: they bring caches, branch predictors and the clock of
/// the CPU into their steady state.
pub const WARM_NS: u64 = 150_000;
/// Length of a visit; a single pass may take longer.
const VISIT_NS: u64 = 1_000_000;
/// Length of a visit with a small budget.
const SHORT_VISIT_NS: u64 = 250_000;
/// Whole blocks that have to fit into the budget.
const BLOCKS: u64 = 3;
/// Sets up to this size are not tried: a pass over them takes much less than a visit.
const SMALL: u64 = 1 << 20;

/// Result of trying a set.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// Time of each loop per byte of the set (both buffers counted if there are two), alone on the
    /// CPU.
    pub ns_per_byte: Vec<f64>,
}

/// The memory, and the clock of the budget.
pub trait Walker {
    /// Time by the clock of the budget.
    fn now_ns(&self) -> u64;
    /// Touches the pages of the first `bytes`, from the first untouched one on, until it is
    /// `until_ns`. Returns the bytes touched so far, in all calls.
    fn touch(&mut self, bytes: u64, until_ns: u64) -> u64;
    /// Tries each loop on parts of the first `bytes`, which have been touched.
    fn try_out(&mut self, bytes: u64) -> Tried;
    /// Ratio of the time that everything took so far to the time it would take alone on this CPU: 1
    /// or more.
    fn stretch(&self) -> f64;
}

/// The sets and visits that fit into the budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Smallest first; the smallest of the wanted sets is always included.
    pub sets: Vec<MemorySet>,
    /// Length of a visit; a single pass may take longer.
    pub visit_ns: u64,
    /// Sets left out or made smaller: a lower-case sentence each.
    pub left_out: Vec<String>,
}

/// Takes as many of the `wanted` sets (smallest first) for `loops` loops as there is time for until
/// `until_ns`, on a machine whose last cache has `last` bytes.
pub fn fit(
    wanted: &[MemorySet],
    loops: usize,
    last: u64,
    until_ns: u64,
    walker: &mut dyn Walker,
) -> Plan {
    let budget_ns = until_ns.saturating_sub(walker.now_ns()) as f64;
    let untried = Tried { ns_per_byte: vec![0.0; loops] };
    let mut plan = Plan { sets: Vec::new(), visit_ns: VISIT_NS, left_out: Vec::new() };
    // Half of the time is for sets whose size matters.
    if BLOCKS as f64 * untried.walk_ns(0, VISIT_NS) * wanted.len() as f64 > budget_ns / 2.0 {
        plan.visit_ns = SHORT_VISIT_NS;
        plan.left_out.push(format!(
            "a visit takes {} us instead of {} us: the budget is {}",
            SHORT_VISIT_NS / 1000,
            VISIT_NS / 1000,
            seconds(budget_ns)
        ));
    }
    let mut fitting = Fitting {
        walker,
        until_ns,
        visit_ns: plan.visit_ns,
        tried: untried,
        block_ns: 0.0,
        touch: (0, 0),
    };
    for (place, set) in wanted.iter().enumerate() {
        let before_ns = fitting.block_ns;
        let least = least(wanted, place, last);
        let halves = std::iter::successors(Some(set.bytes), |bytes| {
            Some(grain(bytes / 2)).filter(|half| *half >= least && half < bytes)
        });
        // There has to be one set, even for a part of a block.
        let taken = halves
            .into_iter()
            .find(|bytes| fitting.takes(*bytes))
            .or((place == 0).then_some(set.bytes));
        if taken != Some(set.bytes) {
            let what =
                taken.map_or_else(|| "left out".to_owned(), |bytes| format!("made {}", mib(bytes)));
            plan.left_out.push(format!(
                "a set of {} is {what}: {BLOCKS} blocks with all of it take {} or more, and the \
                 budget is {} (--budget)",
                mib(set.bytes),
                seconds(fitting.needed_ns(before_ns, set.bytes)),
                seconds(budget_ns)
            ));
        }
        plan.sets.extend(taken.map(|bytes| MemorySet { bytes, ..set.clone() }));
    }
    plan
}

struct Fitting<'a> {
    walker: &'a mut dyn Walker,
    until_ns: u64,
    visit_ns: u64,
    /// Result for the largest set that was tried.
    tried: Tried,
    /// Time of a block of all sets that were taken.
    block_ns: f64,
    /// Bytes that were touched, and the time that took.
    touch: (u64, u64),
}

impl Fitting<'_> {
    /// Takes a set of this size after those that were taken, if there is time for it; returns
    /// whether there is.
    fn takes(&mut self, bytes: u64) -> bool {
        let untouched = bytes.saturating_sub(self.touch.0);
        if !self.has_room_for(self.block_with(bytes), self.touch_ns(untouched)) {
            return false;
        }
        let began = self.walker.now_ns();
        let until_ns = self.until_ns.saturating_sub(self.blocks(self.block_with(bytes)) as u64);
        self.touch.0 = self.walker.touch(bytes, until_ns);
        self.touch.1 += self.walker.now_ns().saturating_sub(began);
        if self.touch.0 < bytes {
            return false;
        }
        if bytes > SMALL {
            self.tried = self.walker.try_out(bytes);
        }
        let block_ns = self.block_with(bytes);
        let takes = self.has_room_for(block_ns, 0.0);
        if takes {
            self.block_ns = block_ns;
        }
        takes
    }

    fn has_room_for(&self, block_ns: f64, more_ns: f64) -> bool {
        self.walker.now_ns() as f64 + self.blocks(block_ns) + more_ns <= self.until_ns as f64
    }

    /// Time of the blocks that have to fit, given what else uses this CPU.
    fn blocks(&self, block_ns: f64) -> f64 {
        BLOCKS as f64 * block_ns * self.walker.stretch()
    }

    /// Time of a block of the sets taken and a set of this size.
    fn block_with(&self, bytes: u64) -> f64 {
        self.block_ns + self.tried.walk_ns(bytes, self.visit_ns)
    }

    fn touch_ns(&self, bytes: u64) -> f64 {
        if self.touch.0 == 0 {
            0.0
        } else {
            bytes as f64 / self.touch.0 as f64 * self.touch.1 as f64
        }
    }

    /// The time needed for a set of this size in addition to sets of which a block takes
    /// `block_ns`, as far as it is known.
    fn needed_ns(&self, block_ns: f64, bytes: u64) -> f64 {
        self.blocks(block_ns + self.tried.walk_ns(bytes, self.visit_ns)) + self.touch_ns(bytes)
    }
}

impl Tried {
    /// Time of one visit of each loop to a set of this size, with the passes that warm it.
    fn walk_ns(&self, bytes: u64, visit_ns: u64) -> f64 {
        let visit = |ns_per_byte: &f64| {
            let pass_ns = bytes as f64 * ns_per_byte;
            // Passes are doubled until they take that long: together they take two to four times
            // that.
            let warm_ns = if pass_ns < WARM_NS as f64 { 3.0 * WARM_NS as f64 } else { pass_ns };
            warm_ns + pass_ns.max(visit_ns as f64)
        };
        self.ns_per_byte.iter().map(visit).sum()
    }
}

fn seconds(ns: f64) -> String {
    format!("{:.1} s", ns / 1e9)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memory::choose;
    use zc_run::Cache;

    const LOOPS: usize = 18;
    const SECOND: u64 = 1_000_000_000;

    /// A simulated machine whose time passes only in the calls of its methods.
    struct Machine {
        caches: Vec<Cache>,
        /// Time of a byte from the last cache, and of one from memory.
        ns_per_byte: [f64; 2],
        touch_ns_per_byte: f64,
        now_ns: f64,
        touched: u64,
        stretch: f64,
    }

    impl Machine {
        fn new(caches: &[u64]) -> Self {
            let each = caches.iter().zip(1..).map(|(&bytes, level)| Cache {
                level,
                bytes,
                shared_by: None,
            });
            // 30 GB/s, 12 GB/s, and 2 us for a page of 4 KiB.
            Self {
                caches: each.collect(),
                ns_per_byte: [1.0 / 30.0, 1.0 / 12.0],
                touch_ns_per_byte: 0.5,
                now_ns: 7e9,
                touched: 0,
                stretch: 1.0,
            }
        }

        fn last(&self) -> u64 {
            self.caches.last().unwrap().bytes
        }

        fn wanted(&self) -> Vec<MemorySet> {
            choose(&self.caches, Some(64 << 30), true).sets
        }

        fn fit(&mut self, budget_ns: u64) -> Plan {
            let until_ns = self.now_ns as u64 + budget_ns;
            fit(&self.wanted(), LOOPS, self.last(), until_ns, self)
        }

        fn speed_of(&self, bytes: u64) -> Tried {
            Tried { ns_per_byte: vec![self.ns_per_byte[usize::from(bytes > self.last())]; LOOPS] }
        }

        /// Time of the blocks that have to fit.
        fn blocks_ns(&self, plan: &Plan) -> f64 {
            let visits = plan
                .sets
                .iter()
                .map(|set| self.speed_of(set.bytes).walk_ns(set.bytes, plan.visit_ns));
            BLOCKS as f64 * visits.sum::<f64>() * self.stretch
        }
    }

    impl Walker for Machine {
        fn now_ns(&self) -> u64 {
            self.now_ns as u64
        }

        fn touch(&mut self, bytes: u64, until_ns: u64) -> u64 {
            while self.touched < bytes && self.now_ns < until_ns as f64 {
                let chunk = (bytes - self.touched).min(1 << 20);
                self.touched += chunk;
                self.now_ns += chunk as f64 * self.touch_ns_per_byte;
            }
            self.touched
        }

        fn try_out(&mut self, bytes: u64) -> Tried {
            assert!(bytes <= self.touched, "{bytes} of {}", self.touched);
            let tried = self.speed_of(bytes);
            self.now_ns += (32 << 20) as f64 * tried.ns_per_byte[0] * self.stretch;
            tried
        }

        fn stretch(&self) -> f64 {
            self.stretch
        }
    }

    fn sizes(plan: &Plan) -> Vec<(u64, Option<u8>)> {
        plan.sets.iter().map(|set| (set.bytes, set.level)).collect()
    }

    #[test]
    fn with_usual_caches_everything_fits_into_two_seconds() {
        for caches in [
            &[48 << 10, 1 << 20, 16 << 20][..],
            &[48 << 10, 1 << 20, 32 << 20],
            &[32 << 10, 1 << 20],
            &[32 << 10],
        ] {
            let mut machine = Machine::new(caches);
            let plan = machine.fit(2 * SECOND);
            assert_eq!(
                plan,
                Plan { sets: machine.wanted(), visit_ns: VISIT_NS, left_out: Vec::new() },
                "{caches:?}"
            );
        }
    }

    #[test]
    fn with_a_last_cache_of_260_mb_what_does_not_fit_is_reported() {
        let caches = [48 << 10, 2 << 20, 260 << 20];
        let small =
            [(24 << 10, Some(1)), (192 << 10, Some(2)), (1 << 20, Some(2)), (8 << 20, Some(3))];
        let with = |large: &[(u64, Option<u8>)]| [&small, large].concat();

        let two = Machine::new(&caches).fit(2 * SECOND);
        assert_eq!(sizes(&two), with(&[(130 << 20, Some(3))]));
        assert_eq!(
            two.left_out,
            ["a set of 1040 MiB is left out: 3 blocks with all of it take 5.3 s or more, and \
                 the budget is 2.0 s (--budget)"]
        );
        let default = Machine::new(&caches).fit(20 * SECOND);
        assert_eq!(sizes(&default), with(&[(130 << 20, Some(3)), (1040 << 20, None)]));
        assert!(default.left_out.is_empty());

        let between = Machine::new(&caches).fit(9 * SECOND);
        assert_eq!(sizes(&between), with(&[(130 << 20, Some(3)), (520 << 20, None)]));
        assert!(
            between.left_out[0].starts_with("a set of 1040 MiB is made 520 MiB: "),
            "{:?}",
            between.left_out
        );
    }

    #[test]
    fn a_set_of_a_cache_is_halved_while_it_differs_enough_from_the_one_below() {
        let mut slow = Machine::new(&[48 << 10, 2 << 20, 260 << 20]);
        slow.ns_per_byte = [0.15, 0.3];
        let plan = slow.fit(2 * SECOND);
        assert_eq!(sizes(&plan).last(), Some(&(65 << 20, Some(3))));
        assert!(
            plan.left_out[0].starts_with("a set of 130 MiB is made 65 MiB: "),
            "{:?}",
            plan.left_out
        );
        assert!(
            plan.left_out[1].starts_with("a set of 1040 MiB is left out: "),
            "{:?}",
            plan.left_out
        );
    }

    #[test]
    fn a_set_that_cannot_fit_is_not_touched() {
        let mut machine = Machine::new(&[48 << 10, 2 << 20, 260 << 20]);
        machine.fit(2 * SECOND);
        assert_eq!(machine.touched, 130 << 20);
    }

    #[test]
    fn touching_ends_in_time_where_the_hypervisor_allocates_slowly() {
        let mut machine = Machine::new(&[48 << 10, 2 << 20, 260 << 20]);
        machine.touch_ns_per_byte = 25.0; // 100 us for a page
        let plan = machine.fit(2 * SECOND);
        assert!(machine.now_ns + machine.blocks_ns(&plan) <= 9e9, "{plan:?}");
        assert!(plan.sets.iter().any(|set| set.level == Some(3)), "{plan:?}");
    }

    #[test]
    fn fewer_sets_fit_on_a_cpu_that_others_use() {
        let mut machine = Machine::new(&[48 << 10, 1 << 20, 32 << 20]);
        machine.stretch = 3.0;
        let plan = machine.fit(2 * SECOND);
        assert!(machine.now_ns + machine.blocks_ns(&plan) <= 9e9, "{plan:?}");
        assert!(!plan.left_out.is_empty() && plan.sets.len() > 3, "{plan:?}");
    }

    #[test]
    fn with_a_small_budget_visits_become_short_before_sets_are_left_out() {
        let plan = Machine::new(&[48 << 10, 1 << 20, 32 << 20]).fit(SECOND / 2);
        assert_eq!(plan.visit_ns, SHORT_VISIT_NS);
        assert_eq!(plan.sets.len(), 5);
        assert_eq!(
            plan.left_out[0],
            "a visit takes 250 us instead of 1000 us: the budget is 0.5 s"
        );
        let least = Machine::new(&[48 << 10, 1 << 20, 32 << 20]).fit(0);
        assert_eq!(sizes(&least), [(24 << 10, Some(1))]);
        assert_eq!(least.left_out.len(), 6);
    }

    proptest! {
        #[test]
        fn for_any_caches_and_speed_whole_blocks_fit_and_every_change_is_reported(
            sizes in prop::collection::vec(10_u32..31, 1..5),
            budget_ms in 0_u64..30_000,
            speeds in (1.0..60.0, 1.0..4.0),
            touch_ns_per_byte in 0.01..30.0,
            stretch in 1.0..5.0,
        ) {
            let mut sizes: Vec<u64> = sizes.iter().map(|bits| 3 << bits).collect();
            sizes.sort_unstable();
            let mut machine = Machine::new(&sizes);
            machine.ns_per_byte = [1.0 / speeds.0, speeds.1 / speeds.0];
            machine.touch_ns_per_byte = touch_ns_per_byte;
            machine.stretch = stretch;
            let until_ns = machine.now_ns + budget_ms as f64 * 1e6;
            let plan = machine.fit(budget_ms * 1_000_000);
            let wanted = machine.wanted();
            // A chunk may be touched, and a set tried, beyond the time, but no longer than the
            // slowest of them takes.
            let slack_ns = (1 << 20) as f64 * touch_ns_per_byte
                + (64 << 20) as f64 * machine.ns_per_byte[1] * stretch;
            let end_ns = machine.now_ns + machine.blocks_ns(&plan);
            prop_assert!(plan.sets.len() == 1 || end_ns <= until_ns + slack_ns, "{} s late: \
                {plan:?}", (end_ns - until_ns) / 1e9);
            prop_assert_eq!(&plan.sets[0], &wanted[0]);
            prop_assert!(plan.sets.is_sorted_by_key(|set| set.bytes));
            let whole = plan.sets.iter().filter(|set| wanted.contains(set)).count();
            let is_of_set = |sentence: &&String| sentence.starts_with("a set of ");
            let reported = plan.left_out.iter().filter(is_of_set).count();
            prop_assert_eq!(wanted.len() - whole, reported);
            for set in plan.sets.iter().filter(|set| set.level.is_none()) {
                prop_assert!(set.bytes >= 2 * machine.last());
            }
        }
    }
}
