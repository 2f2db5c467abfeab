//! The session of `zc run`: it prepares, then measures blocks until the intervals are narrow enough
//! or the budget is spent.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use super::anonymous::Anonymous;
use super::blocks::{BlockEnd, Blocks};
use super::budget::Budget;
use super::interim::{Hopeless, Interim, InterimResult};
use super::options::{BlockOptions, RunOptions};
use super::prepare::prepare;
use super::prepared::Prepared;
use super::progress::Progress;
use super::saving::Saving;
use super::server::{self, NfsOptions, ServerOptions};
use super::sessions::Sessions;
use super::states::States;
use zc_kernel::stop::Stop;
use zc_rig::meter::checks;
use zc_run::{Dropped, End, EndReason, Error, HostStates, Result, Run};

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

/// The kind of a measurement, with its options.
#[derive(Debug, Clone, Copy)]
pub enum Kind<'a> {
    /// Sending by a plan.
    Plan(&'a RunOptions),
    /// The cost of requests to a server.
    Server(&'a ServerOptions),
    /// The cost of READs and WRITEs of NFS to server and client.
    Nfs(&'a NfsOptions),
}

impl<'a> Kind<'a> {
    /// How its blocks are measured, and where they are saved.
    pub fn blocks(self) -> &'a BlockOptions {
        match self {
            Self::Plan(options) => &options.blocks,
            Self::Server(options) => &options.blocks,
            Self::Nfs(options) => &options.blocks,
        }
    }

    /// The commands that put the host into its states.
    fn commands(self) -> Option<&'a HostStates> {
        match self {
            Self::Plan(options) => options.states.as_ref(),
            Self::Server(options) => options.commands.as_ref(),
            Self::Nfs(_) => None,
        }
    }

    /// Number of sessions that was asked for.
    fn sessions(self) -> Option<NonZeroUsize> {
        match self {
            Self::Plan(options) => options.sessions,
            Self::Server(_) | Self::Nfs(_) => None,
        }
    }

    /// Removes what identifies hosts, if that was asked for.
    fn anonymous(self) -> Result<Option<Anonymous>> {
        match self {
            Self::Plan(options) if options.anonymise => {
                Anonymous::new(options, Path::new("/")).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn prepare(
        self,
        budget: &Budget,
        states: Option<&mut States>,
        stop: &Stop,
        progress: &mut dyn Progress,
    ) -> Result<Prepared> {
        match self {
            Self::Plan(options) => match options.responses {
                Some(reuse) => server::prepare_responses(options, reuse, budget, stop, progress),
                None => prepare(options, budget, states, stop, progress),
            },
            Self::Server(options) => server::prepare(options, budget, states, stop, progress),
            Self::Nfs(options) => server::prepare_nfs(options, budget, stop, progress),
        }
    }
}

/// Measures, from the claimed file to the restored host; `interim` decides which blocks count and
/// when the intervals are narrow enough. Call it while the process has one thread (see
/// [`zc_rig::link::bring_up`]). `stop`, and the end of the budget, end a trial in its middle.
///
/// # Errors
/// Nothing could be measured: bad input, no link, no soakers, no file to write to, no time; or a
/// server cannot be started, or does not answer.
pub fn run(
    kind: Kind<'_>,
    interim: &mut dyn Interim,
    stop: &Stop,
    progress: &mut dyn Progress,
) -> Result<Outcome> {
    let mut anonymous = kind.anonymous()?;
    let budget =
        Budget { began: Instant::now(), length: Duration::from_nanos(kind.blocks().budget_ns) };
    let mut saving = Saving::create(&kind.blocks().out)?;
    let mut states =
        kind.commands().map(States::start).transpose().inspect_err(|_| saving.discard())?;
    let outcome = kind
        .prepare(&budget, states.as_mut(), stop, progress)
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
            let sessions = Sessions::new(kind.sessions(), budget.left());
            let measurement = Measurement {
                blocks: Blocks::new(bench, sessions, &header, states.as_mut()),
                run: Run { header, blocks: Vec::new(), end: None },
                interim_analyses_at_blocks: Vec::new(),
                budget: &budget,
                saving: &mut saving,
                anonymous: anonymous.as_ref(),
                interim,
                stop,
                progress,
            };
            measurement.complete()
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

/// A prepared run, while its blocks are measured.
struct Measurement<'a> {
    run: Run,
    blocks: Blocks<'a>,
    interim_analyses_at_blocks: Vec<usize>,
    budget: &'a Budget,
    saving: &'a mut Saving,
    anonymous: Option<&'a Anonymous>,
    interim: &'a mut dyn Interim,
    stop: &'a Stop,
    progress: &'a mut dyn Progress,
}

impl Measurement<'_> {
    /// Measures all blocks, and completes the saved run.
    fn complete(mut self) -> Outcome {
        let (reason, error) = self.measure();
        let Self { mut run, blocks, interim_analyses_at_blocks, budget, saving, anonymous, .. } =
            self;
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
    fn measure(&mut self) -> (EndReason, Option<Error>) {
        let Self { run, blocks, budget, interim, stop, progress, anonymous, .. } = self;
        let mut longest = Duration::ZERO;
        let mut failures = 0;
        let mut saving_failed = false;
        loop {
            if budget.left() < longest + RESERVE && !run.blocks.is_empty() {
                return (EndReason::BudgetSpent, None);
            }
            blocks.begin_session(&mut **progress);
            let began = Instant::now();
            let (mut block, ended) =
                blocks.measure(run.blocks.len(), budget, &**interim, stop, &mut **progress);
            longest = longest.max(began.elapsed());
            if let Some(anonymous) = anonymous {
                anonymous.block(&mut block);
            }
            let dropped = block.dropped.clone();
            run.blocks.push(block);
            if let Err(error) = self.saving.append(run)
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
                    let error =
                        Error::interrupted("interrupted: what was measured so far is saved");
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
                let reason = format!(
                    "{FAILURES} blocks in a row failed, the last one in \"{cell}\": {reason}"
                );
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
                self.interim_analyses_at_blocks.push(run.blocks.len());
            }
            match look {
                InterimResult::Stop => return (EndReason::TargetReached, None),
                InterimResult::Decided => return (EndReason::Decided, None),
                InterimResult::NotDue | InterimResult::GoOn => {}
            }
            if stop.is_set() {
                let error = Error::interrupted("interrupted: what was measured so far is saved");
                return (EndReason::Interrupted, Some(error));
            }
        }
    }
}
