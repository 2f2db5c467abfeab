//! A machine that something else uses: why the blocks of a run do not count, in words, while it
//! goes on and when it ends without a result.

use std::fmt;

use zc_run::{Block, Dropped, Error, ErrorKind, Run};

/// The blocks of a run of which fewer than half are kept, and what dropped the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Busy {
    /// Number of blocks kept.
    pub(super) kept: usize,
    /// Number of blocks that the rules have judged: those that were measured to their end.
    pub(super) judged: usize,
    why: String,
}

impl Busy {
    /// `None` while half of the blocks are kept.
    pub(super) fn of(run: &Run) -> Option<Self> {
        let is_judged = |block: &&Block| {
            !matches!(block.dropped, Some(Dropped::Unfinished | Dropped::TrialFailed { .. }))
        };
        let judged: Vec<&Block> = run.blocks.iter().filter(is_judged).collect();
        let kept = judged.iter().filter(|block| block.dropped.is_none()).count();
        if kept * 2 >= judged.len() {
            return None;
        }
        let cpus = run.header.plan.fixed.soaked_cpus.len();
        let why = |block: &&Block| block.dropped.as_ref()?.disturbance(cpus);
        let why = judged.iter().rev().find_map(why)?;
        Some(Self { kept, judged: judged.len(), why })
    }
}

/// `0 of 3 blocks kept: other programs use 97 % of 2 CPUs`.
impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} blocks kept: {}", self.kept, self.judged, self.why)
    }
}

/// The error of a run that kept no block; `None` for one that kept some.
pub(super) fn nothing_kept(run: &Run) -> Option<Error> {
    if run.blocks.iter().any(|block| block.dropped.is_none()) {
        return None;
    }
    let error = |message: String| Error::new(ErrorKind::NothingKept, message);
    Some(match Busy::of(run) {
        Some(busy) => error(busy.to_string())
            .help("find what it is with top, or let zc wait for it: --wait-until-quiet 10min"),
        None => error("no block was measured to its end".to_owned())
            .help("give it more time with --budget"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_testkit::synthetic::Synthetic;

    fn said(run: &Run) -> Option<String> {
        Busy::of(run).map(|busy| busy.to_string())
    }

    #[test]
    fn a_busy_machine_is_named_once_fewer_than_half_of_the_blocks_are_kept() {
        let mut run = Synthetic { blocks: 4, ..Synthetic::default() }.run();
        assert_eq!(said(&run), None);
        run.blocks[0].dropped = Some(Dropped::Steal { share: 0.02 });
        run.blocks[1].dropped = Some(Dropped::Unfinished);
        assert_eq!(said(&run), None, "two of three are kept");
        for block in &mut run.blocks[2..] {
            block.dropped = Some(Dropped::Foreign { share: 0.974 });
        }
        let whole = "0 of 3 blocks kept: other programs use 97 % of 2 CPUs";
        assert_eq!(said(&run).as_deref(), Some(whole));
    }

    #[test]
    fn a_run_without_a_block_that_counts_is_an_error_that_says_why() {
        let mut run = Synthetic { blocks: 2, ..Synthetic::default() }.run();
        run.blocks[0].dropped = Some(Dropped::IdleDrift { share: 0.05 });
        assert_eq!(nothing_kept(&run), None);
        run.blocks[1].dropped = Some(Dropped::Steal { share: 0.5 });
        let error = nothing_kept(&run).unwrap();
        assert_eq!(error.kind, ErrorKind::NothingKept);
        assert!(error.message.contains("the hypervisor takes 50 % of 2 CPUs"), "{error}");
        run.blocks.truncate(1);
        run.blocks[0].dropped = Some(Dropped::Unfinished);
        assert!(nothing_kept(&run).unwrap().help.unwrap().contains("--budget"));
    }
}
