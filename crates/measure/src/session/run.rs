//! The session of `zc run`: it prepares, then measures blocks until the intervals are narrow enough
//! or the budget is spent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use zc_run::{Dropped, End, EndReason, Error, ErrorKind, Result, Run};

use super::blocks::{BlockEnd, Blocks};
use super::budget::Budget;
use super::interim::{Interim, InterimResult};
use super::options::RunOptions;
use super::prepare::prepare;
use super::progress::Progress;
use super::saving::Saving;
use super::sessions::Sessions;
use super::states::States;

/// Consecutive failed blocks after which the run ends.
const FAILURES: usize = 5;

/// Part of the budget that is kept for printing and the last save.
const RESERVE: Duration = Duration::from_millis(300);

/// A run, and the error if it is not what was asked for. The run is worth printing in either case.
#[derive(Debug)]
pub struct Outcome {
    /// All observations.
    pub run: Run,
    /// Interrupted, a file became shorter, the result could not be saved ...
    pub error: Option<Error>,
}

/// Runs the plan; `interim` decides which blocks count and when the intervals are narrow enough.
/// Call it while the process has one thread (see [`crate::link::bring_up`]). `stop` is checked
/// between trials.
///
/// # Errors
/// Nothing could be measured: bad input, no link, no soakers, no file to write to.
pub fn run(
    options: &RunOptions,
    interim: &mut dyn Interim,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Outcome> {
    let budget = Budget { began: Instant::now(), length: Duration::from_nanos(options.budget_ns) };
    let mut saving = Saving::create(&options.out)?;
    let mut states =
        options.states.as_ref().map(States::start).transpose().inspect_err(|_| saving.discard())?;
    let outcome = run_in(options, &budget, &mut saving, states.as_mut(), interim, stop, progress);
    let restored = states.as_mut().map_or(Ok(()), States::restore);
    match (outcome, restored) {
        (Ok(outcome), restored) => {
            Ok(Outcome { error: outcome.error.or(restored.err()), ..outcome })
        }
        (Err(error), Ok(())) => Err(error),
        (Err(mut error), Err(left)) => {
            error.message = format!("{}; and {}", error.message, left.message);
            Err(Error { help: left.help, ..error })
        }
    }
}

fn run_in(
    options: &RunOptions,
    budget: &Budget,
    saving: &mut Saving,
    mut states: Option<&mut States>,
    interim: &mut dyn Interim,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Outcome> {
    let prepared = prepare(options, budget, states.as_deref_mut(), stop, progress)
        .inspect_err(|_| saving.discard())?;
    let _alone = prepared.instance_lock;
    let mut run = Run { header: prepared.header, blocks: Vec::new(), end: None };
    saving.open(&run.header);
    progress.started(&run.header);
    let sessions = Sessions::new(options.sessions, budget.left());
    let mut blocks = Blocks::new(prepared.rig, sessions, &run.header, states);
    let mut interim_analyses_at_blocks = Vec::new();
    let (reason, error) = measure(
        &mut run,
        &mut blocks,
        &mut interim_analyses_at_blocks,
        saving,
        budget,
        interim,
        stop,
        progress,
    );
    let warnings = blocks.new_warnings();
    let end = End {
        ended_at: jiff::Timestamp::now().to_string(),
        elapsed_ns: u64::try_from(budget.began.elapsed().as_nanos()).unwrap_or(u64::MAX),
        reason,
        interim_analyses_at_blocks,
        warnings,
    };
    run.end = Some(end);
    let saved = saving.close(&run);
    Ok(Outcome { run, error: error.or(saved.err()) })
}

/// Measures blocks until there is a reason to stop.
#[expect(
    clippy::too_many_arguments,
    reason = "the parts of one run's state, so that each is borrowed separately"
)]
fn measure(
    run: &mut Run,
    blocks: &mut Blocks<'_>,
    interim_analyses_at_blocks: &mut Vec<usize>,
    saving: &mut Saving,
    budget: &Budget,
    interim: &mut dyn Interim,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> (EndReason, Option<Error>) {
    let mut longest = Duration::ZERO;
    let mut failures = 0;
    let mut saving_failed = false;
    loop {
        if budget.left() < longest + RESERVE && !run.blocks.is_empty() {
            return (EndReason::BudgetSpent, None);
        }
        blocks.begin_session(progress);
        let began = Instant::now();
        let (block, ended) = blocks.measure(run.blocks.len(), budget, interim, stop, progress);
        longest = longest.max(began.elapsed());
        let dropped = block.dropped.clone();
        run.blocks.push(block);
        if let Err(error) = saving.append(run)
            && !std::mem::replace(&mut saving_failed, true)
        {
            progress.warning(&zc_run::Warning::new(
                "not-saved",
                zc_run::Severity::Note,
                format!("the run could not be saved after this block and goes on: {error}"),
            ));
        }
        progress.block_done(run);
        match ended {
            BlockEnd::Whole => {}
            BlockEnd::Stopped => {
                let error = Error::new(
                    ErrorKind::Interrupted,
                    "interrupted: what was measured so far is saved",
                );
                return (EndReason::Interrupted, Some(error));
            }
            BlockEnd::OutOfTime => return (EndReason::BudgetSpent, None),
            BlockEnd::Broken(error) => {
                return (EndReason::Failed { reason: error.message.clone() }, Some(error));
            }
        }
        if let Some(error) = blocks.reference_failure() {
            return (EndReason::Failed { reason: error.message.clone() }, Some(error));
        }
        failures =
            if matches!(dropped, Some(Dropped::TrialFailed { .. })) { failures + 1 } else { 0 };
        if let Some(Dropped::TrialFailed { cell, reason }) = dropped
            && failures == FAILURES
        {
            let reason =
                format!("{FAILURES} blocks in a row failed, the last one in \"{cell}\": {reason}");
            let error = blocks.failure(reason.clone());
            return (EndReason::Failed { reason }, Some(error));
        }
        if let Some(reason) = interim.hopeless(run, budget.spent_share()) {
            return (EndReason::Failed { reason }, None);
        }
        let look = interim.look(run, budget.spent_share());
        if look != InterimResult::NotDue {
            interim_analyses_at_blocks.push(run.blocks.len());
        }
        if look == InterimResult::Stop {
            return (EndReason::TargetReached, None);
        }
        if stop.load(Ordering::Relaxed) {
            let error = Error::new(
                ErrorKind::Interrupted,
                "interrupted: what was measured so far is saved",
            );
            return (EndReason::Interrupted, Some(error));
        }
    }
}
