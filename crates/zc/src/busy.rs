//! A machine that something else uses: why the blocks of a run do not count, in words, while it
//! goes on and when it ends without a result.

use std::fmt;
use std::time::Duration;

use zc_analysis::machine::Machine;
use zc_analysis::rules::{self, FOREIGN_LIMIT};
use zc_analysis::starved::starved_cpus;
use zc_measure::plan;
use zc_measure::plan::time::{BLOCKS, rough};
use zc_run::{
    Block, CPU_QUOTA, Dropped, EndReason, Error, ErrorKind, OtherProgram, Run, Slot, Warning,
};

/// Number of blocks, some seconds, from which the present use by other programs is computed.
const LAST: usize = 10;

/// The blocks of a run of which fewer than half are kept, and what dropped the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Busy {
    /// Number of blocks kept.
    pub(super) kept: usize,
    /// Number of blocks that the rules have judged: those that were measured to their end.
    pub(super) judged: usize,
    why: String,
    /// Whether it was other programs.
    by_programs: bool,
}

impl Busy {
    /// `None` while half of the blocks are kept.
    pub(super) fn detect(run: &Run) -> Option<Self> {
        let judged: Vec<&Block> = judged(run).collect();
        let kept = judged.iter().filter(|block| block.dropped.is_none()).count();
        if kept * 2 >= judged.len() {
            return None;
        }
        let cpus = run.header.plan.fixed.soaked_cpus.len();
        let why = |block: &&Block| {
            let dropped = block.dropped.as_ref()?;
            let by_programs = matches!(dropped, Dropped::Foreign { .. });
            dropped.disturbance(cpus).map(|why| (why, by_programs))
        };
        let (why, by_programs) = judged.iter().rev().find_map(why)?;
        Some(Self { kept, judged: judged.len(), why, by_programs })
    }
}

/// The blocks that the rules have judged: those that were measured to their end.
pub(super) fn judged(run: &Run) -> impl Iterator<Item = &Block> {
    let is_judged = |block: &&Block| {
        !matches!(block.dropped, Some(Dropped::Unfinished | Dropped::TrialFailed { .. }))
    };
    run.blocks.iter().filter(is_judged)
}

/// The share of the CPUs that other programs used in the last blocks, where costs leave it out:
/// `others 1.3 of 2 CPUs`. `None` where they use hardly anything, or blocks are dropped for it.
pub(super) fn others_left_out(run: &Run) -> Option<String> {
    if !rules::leaves_others_out(&run.header) {
        return None;
    }
    let machine = Machine::local(&run.header);
    let last = &run.blocks[run.blocks.len().saturating_sub(LAST)..];
    let foreign = last.iter().filter_map(|block| rules::foreign(block, &run.header, &machine));
    let shares: Vec<f64> = foreign.collect();
    let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    let cpus = machine.cpus.len();
    (mean > FOREIGN_LIMIT).then(|| format!("others {:.1} of {cpus} CPUs", mean * cpus as f64))
}

/// `0 of 3 blocks kept: other programs use 97 % of 2 CPUs`.
impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} blocks kept: {}", self.kept, self.judged, self.why)
    }
}

/// The error of a run that kept no block, or in which no cell has a cost as another program had a
/// CPU all the time; `None` for any other.
pub(super) fn nothing_kept(run: &Run) -> Option<Error> {
    let error = |message: String| Error::new(ErrorKind::NothingKept, "nothing-kept", message);
    if run.blocks.iter().any(|block| block.dropped.is_none()) {
        let cpu = *starved_cpus(run).first()?;
        let message = match run.end.as_ref().map(|end| &end.reason) {
            Some(EndReason::Failed { reason }) => reason.clone(),
            _ => format!(
                "other programs had CPU {cpu} all the time, so no cost was measured{}",
                named(run)
            ),
        };
        return Some(error(message).help("choose other CPUs with --cpus, or lower their priority"));
    }
    Some(match Busy::detect(run) {
        Some(busy) => known_cause(run, &busy).unwrap_or_else(|| {
            error(busy.to_string())
                .help("find what it is with top, or let zc wait for it: --wait-until-quiet 10min")
        }),
        None => error("no block was measured to its end".to_owned()).help(more_time(run)),
    })
}

/// The known cause of a disturbed run, which need not be looked for: zc's own limit, its own far
/// end, or programs that were seen.
fn known_cause(run: &Run, busy: &Busy) -> Option<Error> {
    let Busy { kept, judged, .. } = busy;
    let error = |why: &str| {
        let message = format!("{kept} of {judged} blocks kept: {why}");
        Error::new(ErrorKind::NothingKept, "nothing-kept", message)
    };
    let warned = |name: &str| {
        let end = run.end.iter().flat_map(|end| &end.warnings);
        run.header.warnings.iter().chain(end).find(|warning| warning.name == name)
    };
    if let Some(Warning { text, remedy, .. }) = warned(CPU_QUOTA) {
        return Some(Error { help: remedy.clone(), ..error(text) });
    }
    let others = named(run);
    if !busy.by_programs || others.is_empty() {
        return None;
    }
    Some(error(&format!("{}{others}", busy.why)).help(
        "end them, or keep them off these CPUs; what ends by itself is waited for with \
         --wait-until-quiet 10min",
    ))
}

/// The other programs of a run, after a colon: `: iperf3 0.45 CPUs`. Empty where none was seen.
fn named(run: &Run) -> String {
    let seen = run.end.as_ref().map(|end| OtherProgram::in_words(&end.other_programs));
    seen.filter(|named| !named.is_empty()).map(|named| format!(": {named}")).unwrap_or_default()
}

/// A budget that has room for blocks, by how long the first one took as far as it came.
fn more_time(run: &Run) -> String {
    let usual = || "give it more time with --budget".to_owned();
    let (Some(block), Some(end)) = (run.blocks.last(), &run.end) else { return usual() };
    let closed_ns = |slot: &Slot| match slot {
        Slot::Trial(trial) => trial.closed.soak.at_ns,
        Slot::Idle(idle) => idle.closed.soak.at_ns,
    };
    let done = block.slots.iter().filter(|slot| matches!(slot, Slot::Trial(_))).count();
    let trials = plan::schedule(&run.header.plan, block.index).len();
    let Some(until_ns) = block.slots.last().map(closed_ns).filter(|_| done > 0) else {
        return usual();
    };
    let took = Duration::from_nanos(until_ns.saturating_sub(block.began_ns));
    let whole = took.mul_f64(trials as f64 / done as f64);
    let before = Duration::from_nanos(end.elapsed_ns).saturating_sub(took);
    format!(
        "a block takes about {}: --budget {} has room for {BLOCKS}",
        rough(whole),
        rough(before + whole.saturating_mul(BLOCKS))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::Severity;
    use zc_testkit::synthetic::Synthetic;

    fn said(run: &Run) -> Option<String> {
        Busy::detect(run).map(|busy| busy.to_string())
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
    fn what_others_use_is_told_where_costs_leave_it_out() {
        let beside = |foreign_share, strict| {
            let world = Synthetic { blocks: 4, foreign_share, strict, ..Synthetic::default() };
            others_left_out(&world.run())
        };
        assert_eq!(beside(0.25, false).as_deref(), Some("others 0.5 of 2 CPUs"));
        assert_eq!(beside(0.25, true), None, "blocks are dropped for it");
        assert_eq!(beside(0.01, false), None);
    }

    #[test]
    fn a_run_without_a_block_that_counts_is_an_error_that_says_why() {
        let mut run = Synthetic { blocks: 2, ..Synthetic::default() }.run();
        run.blocks[0].dropped = Some(Dropped::IdleDrift { share: 0.05 });
        assert_eq!(nothing_kept(&run), None);
        run.blocks[1].dropped = Some(Dropped::Steal { share: 0.5 });
        let error = nothing_kept(&run).unwrap();
        assert_eq!(error.kind, ErrorKind::NothingKept);
        assert!(error.message.contains("hypervisor") && error.message.contains("50 %"), "{error}");
        run.blocks.truncate(1);
        run.blocks[0].dropped = Some(Dropped::Unfinished);
        assert!(nothing_kept(&run).unwrap().help.unwrap().contains("--budget"));
    }

    #[test]
    fn a_block_cut_in_the_middle_says_which_budget_has_room_for_blocks() {
        let mut run = Synthetic { blocks: 1, ..Synthetic::default() }.run();
        let block = &mut run.blocks[0];
        block.dropped = Some(Dropped::Unfinished);
        block.slots.retain(|slot| matches!(slot, Slot::Trial(_)));
        let trials = plan::schedule(&run.header.plan, block.index).len();
        block.slots.truncate(1);
        let Slot::Trial(trial) = &mut block.slots[0] else { panic!("{block:?}") };
        trial.closed.soak.at_ns = block.began_ns + 2_000_000_000;
        run.end.as_mut().unwrap().elapsed_ns = 10_000_000_000;
        let whole = 2 * trials;
        let help = nothing_kept(&run).unwrap().help.unwrap();
        assert!(help.starts_with(&format!("a block takes about {whole}s: --budget ")), "{help}");
        assert!(help.ends_with("has room for 20"), "{help}");
        run.blocks[0].slots.clear();
        let help = nothing_kept(&run).unwrap().help.unwrap();
        assert_eq!(help, "give it more time with --budget");
    }

    #[test]
    fn known_causes_come_before_what_is_to_be_looked_for() {
        let mut run = Synthetic { blocks: 2, ..Synthetic::default() }.run();
        for block in &mut run.blocks {
            block.dropped = Some(Dropped::Foreign { share: 0.8 });
        }
        assert!(nothing_kept(&run).unwrap().help.unwrap().contains("top"));
        let iperf3 = OtherProgram { name: "iperf3".to_owned(), cpus: 0.45 };
        run.end.as_mut().unwrap().other_programs.push(iperf3);
        let error = nothing_kept(&run).unwrap();
        assert_eq!(error.id, "nothing-kept");
        assert!(error.message.contains("iperf3 0.45 CPUs"), "{error}");
        let quota = Warning::new(CPU_QUOTA, Severity::Withhold, "this cgroup may use 0.50 CPUs");
        run.header.warnings.push(quota.remedy("run outside of the container"));
        let error = nothing_kept(&run).unwrap();
        assert!(error.message.contains("this cgroup may use 0.50 CPUs"), "{error}");
        assert_eq!(error.help.as_deref(), Some("run outside of the container"));
    }
}
