//! Makes the measurements by ssh, one after the other.

use std::time::Duration;

use crate::fleet::counts::in_words;
use crate::fleet::judge::judge;
use crate::{interrupt, tell};
use zc_fleet::{Count, FleetPlan, Folder, ssh, state};
use zc_run::{ErrorKind, Result};

/// Interval at which measurements are polled.
const LOOK: Duration = Duration::from_millis(100);

/// Makes what is missing, and returns the exit code.
///
/// # Errors
/// There is no ssh here, or the folder cannot be written.
pub(super) fn submit(folder: &Folder, plan: &FleetPlan, dry_run: bool) -> Result<u8> {
    let stop = interrupt::flag()?;
    let judged = |runs: &[_]| judge(folder, runs);
    let mut states = state::states(folder, plan, &judged)?;
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
            if stop.is_set() && !stopped {
                measuring.stop();
                stopped = true;
            }
            std::thread::sleep(LOOK);
        }
        states = state::states(folder, plan, &judged)?;
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
    Ok(u8::from(!Count::from_states(&states).is_complete()))
}
