//! Submits to Slurm: an array for each pair that has open measurements, and the report after them.

use std::time::Duration;

use super::waiting::answered;
use crate::fleet::counts::in_words;
use crate::fleet::judge::judge;
use crate::{interrupt, tell};
use zc_fleet::{Count, FleetPlan, Folder, Lock, slurm, state};
use zc_run::{ErrorKind, Result};

/// Interval at which the queue is polled.
const LOOK: Duration = Duration::from_secs(10);

/// Submits what is missing, and returns the exit code. Without a lock it says what it would do.
///
/// # Errors
/// There is no Slurm here, or it refuses.
pub(super) fn submit(
    folder: &Folder,
    plan: &FleetPlan,
    wait: bool,
    lock: Option<Lock>,
) -> Result<u8> {
    let dry_run = lock.is_none();
    let judged = |runs: &[_]| judge(folder, runs);
    let (states, reports) = match slurm::states_now(folder, plan, &judged) {
        // What would be submitted can be said without a scheduler.
        Err(_) if dry_run => (state::states(folder, plan, &judged)?, Vec::new()),
        now => now?,
    };
    let submissions = slurm::submissions(folder, plan, &states);
    if dry_run && !submissions.is_empty() {
        let lines: Vec<String> =
            submissions.iter().map(|submission| submission.words.join(" ") + "\n").collect();
        return tell::result(&lines.concat()).map(|()| 0);
    }
    if submissions.is_empty() {
        tell::note(&format!("nothing is missing: {}", in_words(&states)));
    } else {
        if !plan.shared {
            slurm::check_exclusive(plan)?;
        }
        // A report that waits for the jobs of before would not wait for these.
        slurm::cancel_jobs(&reports)?;
        // Where one is refused, those before it stay, and the next call goes on from there.
        for submission in &submissions {
            slurm::submit(folder, submission)?;
        }
        let cells: usize = submissions.iter().map(|submission| submission.cells).sum();
        tell::note(&format!(
            "submitted: {cells} measurements in {} arrays, and a report after them",
            submissions.iter().filter(|submission| submission.pair.is_some()).count()
        ));
    }
    // What is in the queue is not submitted again by another one.
    drop(lock);
    if wait && !dry_run {
        return until_all_have_ended(folder, plan);
    }
    if !submissions.is_empty() {
        tell::note(&format!("next: zc fleet status {}", tell::path(folder.path())));
    }
    Ok(0)
}

/// Waits until nothing waits or runs.
fn until_all_have_ended(folder: &Folder, plan: &FleetPlan) -> Result<u8> {
    let stop = interrupt::flag()?;
    loop {
        let Some((states, _)) =
            answered(LOOK, &stop, || slurm::states_now(folder, plan, &|runs| judge(folder, runs)))?
        else {
            tell::note("what was submitted goes on; the same command takes it up again");
            return Ok(ErrorKind::Interrupted.exit_code());
        };
        let count = Count::from_states(&states);
        if count.running + count.waiting == 0 {
            tell::note(&in_words(&states));
            return Ok(u8::from(!count.is_complete()));
        }
    }
}
