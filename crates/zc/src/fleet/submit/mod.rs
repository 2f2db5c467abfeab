//! `zc fleet submit DIR`.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::{Args, ValueHint};

use crate::{interrupt, tell};
use zc_fleet::fleet_file::Engine;
use zc_fleet::{CellState, Count, FleetPlan, Folder, slurm, ssh, state};
use zc_run::{ErrorKind, Result};

/// How often a measurement by ssh is looked after.
const LOOK: Duration = Duration::from_millis(100);

/// Arguments of `zc fleet submit`.
#[derive(Debug, Args)]
pub(super) struct SubmitArgs {
    /// The folder that zc fleet plan has made
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    /// Print the commands, and start none
    #[arg(long)]
    dry_run: bool,
}

/// Submits what is missing, and returns the exit code.
///
/// # Errors
/// There is no such scheduler here, or it refuses.
pub(super) fn run(args: &SubmitArgs) -> Result<u8> {
    let (folder, plan) = Folder::open(&args.folder)?;
    match plan.engine {
        Engine::Slurm => by_slurm(&folder, &plan, args.dry_run).map(|()| 0),
        Engine::Ssh => by_ssh(&folder, &plan, args.dry_run),
    }
}

fn by_slurm(folder: &Folder, plan: &FleetPlan, dry_run: bool) -> Result<()> {
    let (states, reports) = match slurm::states_now(folder, plan) {
        // What would be submitted can be said without a scheduler.
        Err(_) if dry_run => (state::states(folder, plan)?, Vec::new()),
        now => now?,
    };
    let submissions = slurm::submissions(folder, plan, &states);
    if submissions.is_empty() {
        tell::note(&format!("nothing is missing: {}", in_words(&states)));
        return Ok(());
    }
    if dry_run {
        let lines: Vec<String> =
            submissions.iter().map(|submission| submission.words.join(" ") + "\n").collect();
        return tell::result(&lines.concat());
    }
    if !plan.shared {
        slurm::check_exclusive(plan)?;
    }
    // A report that waits for the jobs of before would not wait for these.
    slurm::cancel_jobs(&reports)?;
    // Where one is refused, those before it stay, and the next call goes on from there.
    for submission in &submissions {
        slurm::submit(submission)?;
    }
    let cells: usize = submissions.iter().map(|submission| submission.cells).sum();
    tell::note(&format!(
        "submitted: {cells} measurements in {} arrays, and a report after them",
        submissions.iter().filter(|submission| submission.pair.is_some()).count()
    ));
    tell::note(&format!("next: zc fleet status {}", tell::path(folder.path())));
    Ok(())
}

/// Makes what is missing, one after the other.
fn by_ssh(folder: &Folder, plan: &FleetPlan, dry_run: bool) -> Result<u8> {
    let stop = interrupt::flag()?;
    let mut states = state::states(folder, plan)?;
    let open: Vec<usize> = (0..states.len()).filter(|at| states[*at].is_open()).collect();
    let cells: Vec<_> = plan.cells().collect();
    if dry_run {
        let line = |at: &usize| {
            let [near, far] = plan.ends(cells[*at]);
            format!("{} {near} (to {far})\n", cells[*at].id)
        };
        tell::result(&open.iter().map(line).collect::<String>())?;
        return Ok(0);
    }
    for (number, at) in open.iter().enumerate() {
        let cell = cells[*at];
        let attempt = folder.next_attempt(&cell.id)?;
        let mut measuring = ssh::begin(folder, plan, cell, &attempt)?;
        let mut stopped = false;
        while measuring.ended()?.is_none() {
            if stop.load(Ordering::Relaxed) && !stopped {
                measuring.stop();
                stopped = true;
            }
            std::thread::sleep(LOOK);
        }
        states = state::states(folder, plan)?;
        let why = states[*at].why().map_or_else(String::new, |why| format!(": {why}"));
        tell::note(&format!(
            "{} of {}: {}: {}{why}",
            number + 1,
            open.len(),
            cell.id,
            states[*at].name()
        ));
        if stopped {
            return Ok(ErrorKind::Interrupted.exit_code());
        }
    }
    tell::note(&in_words(&states));
    Ok(u8::from(!Count::of(&states).is_complete()))
}

/// How many are in which state.
pub(super) fn in_words(states: &[CellState]) -> String {
    let count = Count::of(states);
    let mut parts = vec![format!("{} of {} done", count.done, count.all)];
    for (number, what) in [
        (count.running, "running"),
        (count.waiting, "waiting"),
        (count.part, "in part"),
        (count.failed, "failed"),
        (count.missing, "missing"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    }
    parts.join(", ")
}
