//! The present state of each measurement.

use super::judge::judge;
use crate::tell;
use zc_fleet::fleet_file::Engine;
use zc_fleet::{CellState, FleetPlan, Folder, kubernetes, slurm, state};
use zc_run::{ErrorKind, Result};

/// The present state of each measurement; by the folder alone if the scheduler cannot be asked.
/// With Kubernetes, runs that have ended are first brought into the folder.
///
/// # Errors
/// The folder cannot be read, or written.
pub(super) fn states_now(folder: &Folder, plan: &FleetPlan) -> Result<Vec<CellState>> {
    let judged = |runs: &[_]| judge(folder, runs);
    let asked = match plan.engine {
        Engine::Ssh => return state::states(folder, plan, &judged),
        Engine::Slurm => slurm::states_now(folder, plan, &judged).map(|(states, _)| states),
        Engine::Kubernetes => kubernetes::now(folder, plan, &judged).map(|now| now.states),
    };
    match asked {
        Err(error) if matches!(error.kind, ErrorKind::Unsupported | ErrorKind::Remote) => {
            tell::warning(
                &format!("{}: what follows is by what lies in the folder", error.message),
                error.help.as_deref(),
            );
            state::states(folder, plan, &judged)
        }
        asked => asked,
    }
}
