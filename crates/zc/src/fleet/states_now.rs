//! What has come of each measurement by now.

use crate::tell;
use zc_fleet::fleet_file::Engine;
use zc_fleet::{CellState, FleetPlan, Folder, slurm, state};
use zc_run::Result;

/// What has come of each measurement by now; where the scheduler cannot be asked, by the folder alone.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn states_now(folder: &Folder, plan: &FleetPlan) -> Result<Vec<CellState>> {
    if plan.engine == Engine::Ssh {
        return state::states(folder, plan);
    }
    match slurm::states_now(folder, plan) {
        Ok((states, _)) => Ok(states),
        Err(error) => {
            tell::warning(
                &format!("{}: what follows is by what lies in the folder", error.message),
                error.help.as_deref(),
            );
            state::states(folder, plan)
        }
    }
}
