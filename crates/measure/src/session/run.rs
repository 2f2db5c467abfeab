//! The session of `zc run`: it prepares, then measures blocks until the intervals are narrow enough
//! or the budget is spent.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use zc_kernel::stop::Stop;
use zc_rig::meter::checks;
use zc_run::{Dropped, End, EndReason, Error, ErrorKind, Header, HostStates, Result, Run};

use super::anonymous::Anonymous;
use super::blocks::{BlockEnd, Blocks};
use super::budget::Budget;
use super::interim::{Hopeless, Interim, InterimResult};
use super::options::RunOptions;
use super::prepare::prepare;
use super::prepared::Prepared;
use super::progress::Progress;
use super::saving::Saving;
use super::server::{self, NfsOptions, ServerOptions};
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
/// Call it while the process has one thread (see [`zc_rig::link::bring_up`]). `stop`, and the end of
/// the budget, end a trial in its middle.
///
/// # Errors
/// Nothing could be measured: bad input, no link, no soakers, no file to write to, no time.
pub fn run(
    options: &RunOptions,
    interim: &mut dyn Interim,
    stop: &Stop,
    progress: &mut dyn Progress,
) -> Result<Outcome> {
    let asked = Asked {
        budget_ns: options.budget_ns,
        out: &options.out,
        commands: options.states.as_ref(),
        sessions: options.sessions,
        anonymous: options
            .anonymise
            .then(|| Anonymous::new(options, Path::new("/")))
            .transpose()?,
    };
    let prepare =
        |budget: &Budget, states: Option<&mut States>, progress: &mut dyn Progress| match options
            .responses
        {
            Some(reuse) => server::prepare_responses(options, reuse, budget, stop, progress),
            None => prepare(options, budget, states, stop, progress),
        };
    conduct(asked, prepare, interim, stop, progress)
}

/// Measures what a request costs a server, like [`run`].
///
/// # Errors
/// Same as [`run`]; or the server cannot be started, or does not answer.
pub fn run_server(
    options: &ServerOptions,
    interim: &mut dyn Interim,
    stop: &Stop,
    progress: &mut dyn Progress,
) -> Result<Outcome> {
    let asked = Asked {
        budget_ns: options.budget_ns,
        out: &options.out,
        commands: options.commands.as_ref(),
        sessions: None,
        anonymous: None,
    };
    let prepare = |budget: &Budget, states: Option<&mut States>, progress: &mut dyn Progress| {
        server::prepare(options, budget, states, stop, progress)
    };
    conduct(asked, prepare, interim, stop, progress)
}

/// Measures what READs of NFS cost server and client, like [`run`].
///
/// # Errors
/// Same as [`run`]; or server or client is not available.
pub fn run_nfs(
    options: &NfsOptions,
    interim: &mut dyn Interim,
    stop: &Stop,
    progress: &mut dyn Progress,
) -> Result<Outcome> {
    let asked = Asked {
        budget_ns: options.budget_ns,
        out: &options.out,
        commands: None,
        sessions: None,
        anonymous: None,
    };
    let prepare = |budget: &Budget, _: Option<&mut States>, progress: &mut dyn Progress| {
        server::prepare_nfs(options, budget, stop, progress)
    };
    conduct(asked, prepare, interim, stop, progress)
}

/// Options that all kinds of runs have in common.
struct Asked<'a> {
    budget_ns: u64,
    out: &'a Path,
    commands: Option<&'a HostStates>,
    sessions: Option<NonZeroUsize>,
    /// Removes what identifies hosts, if that was requested.
    anonymous: Option<Anonymous>,
}

/// Runs from the claimed file to the restored host.
fn conduct(
    asked: Asked<'_>,
    prepare: impl FnOnce(&Budget, Option<&mut States>, &mut dyn Progress) -> Result<Prepared>,
    interim: &mut dyn Interim,
    stop: &Stop,
    progress: &mut dyn Progress,
) -> Result<Outcome> {
    let Asked { budget_ns, out, commands, sessions, mut anonymous } = asked;
    let budget = Budget { began: Instant::now(), length: Duration::from_nanos(budget_ns) };
    let mut saving = Saving::create(out)?;
    let mut states = commands.map(States::start).transpose().inspect_err(|_| saving.discard())?;
    let outcome = prepare(&budget, states.as_mut(), progress)
        .inspect_err(|_| saving.discard())
        .map(|prepared| {
            let Prepared { mut header, bench, instance_lock: _alone } = prepared;
            if interim.leaves_others_out(&header) {
                checks::left_out_of_costs(&mut header.warnings);
            }
            if let Some(anonymous) = &mut anonymous {
                anonymous.header(&mut header);
            }
            saving.open(&header);
            // The first one begins with its first block.
            let sessions = Sessions::new(sessions, budget.left());
            let blocks = Blocks::new(bench, sessions, &header, states.as_mut());
            let anonymous = anonymous.as_ref();
            all_blocks(header, blocks, &budget, &mut saving, anonymous, interim, stop, progress)
        });
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

#[expect(clippy::too_many_arguments, reason = "as for `measure`")]
fn all_blocks(
    header: Header,
    mut blocks: Blocks<'_>,
    budget: &Budget,
    saving: &mut Saving,
    anonymous: Option<&Anonymous>,
    interim: &mut dyn Interim,
    stop: &Stop,
    progress: &mut dyn Progress,
) -> Outcome {
    let mut run = Run { header, blocks: Vec::new(), end: None };
    let mut interim_analyses_at_blocks = Vec::new();
    let (reason, error) = measure(
        &mut run,
        &mut blocks,
        &mut interim_analyses_at_blocks,
        saving,
        anonymous,
        budget,
        interim,
        stop,
        progress,
    );
    let (warnings, latencies, other_programs) = blocks.end();
    let mut end = End {
        ended_at: jiff::Timestamp::now().to_string(),
        elapsed_ns: u64::try_from(budget.began.elapsed().as_nanos()).unwrap_or(u64::MAX),
        reason,
        interim_analyses_at_blocks,
        warnings,
        latencies,
        other_programs,
    };
    if let Some(anonymous) = anonymous {
        anonymous.end(&mut end);
    }
    run.end = Some(end);
    let saved = saving.close(&run);
    Outcome { run, error: error.or(saved.err()) }
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
    anonymous: Option<&Anonymous>,
    budget: &Budget,
    interim: &mut dyn Interim,
    stop: &Stop,
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
        let (mut block, ended) = blocks.measure(run.blocks.len(), budget, interim, stop, progress);
        longest = longest.max(began.elapsed());
        if let Some(anonymous) = anonymous {
            anonymous.block(&mut block);
        }
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
        if let Some(why) = interim.hopeless(run, budget.spent_share()) {
            let reason = match why {
                Hopeless::NothingKept(reason) => reason,
                Hopeless::CpuTaken(cpu) => blocks.who_has(cpu, anonymous.is_none()),
            };
            return (EndReason::Failed { reason }, None);
        }
        let look = interim.look(run, budget.spent_share());
        if look != InterimResult::NotDue {
            interim_analyses_at_blocks.push(run.blocks.len());
        }
        match look {
            InterimResult::Stop => return (EndReason::TargetReached, None),
            InterimResult::Decided => return (EndReason::Decided, None),
            InterimResult::NotDue | InterimResult::GoOn => {}
        }
        if stop.is_set() {
            let error = Error::new(
                ErrorKind::Interrupted,
                "interrupted: what was measured so far is saved",
            );
            return (EndReason::Interrupted, Some(error));
        }
    }
}
