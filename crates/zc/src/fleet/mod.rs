//! `zc fleet`: measurements on many hosts, as jobs for the scheduler that is there, and what they say
//! together (docs/fleet.md).

mod collect;
mod host_features;
mod plan;
mod report;
mod status;
mod submit;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueHint};

use zc_fleet::fleet_file::Engine;
use zc_fleet::{CellState, FleetPlan, Folder, slurm, state};
use zc_run::Result;

pub(super) use host_features::HostFeatures;
pub(super) use report::{FleetForm, Form, archive_found};

/// Arguments of `zc fleet`.
#[derive(Debug, Args)]
pub(super) struct FleetArgs {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Debug, Subcommand)]
enum FleetCommand {
    /// Draw which pairs of hosts measure what, and write the jobs into a folder
    Plan(plan::PlanArgs),
    /// Submit the measurements that are missing: all at first, and what failed when it is run again
    ///
    /// With Slurm an array of jobs for each pair of hosts, and one job after all of them that writes the
    /// report. With ssh they are made here and now, one after the other, until all are done.
    Submit(submit::SubmitArgs),
    /// Print what has come of each measurement
    Status(status::StatusArgs),
    /// Take all jobs from the scheduler; a measurement that runs saves what it has
    Cancel(FolderArgs),
    /// Check what has come back, and copy it into an archive of saved runs, by day
    ///
    /// Exits with 1 if a measurement is missing, and says which and why.
    Collect(collect::CollectArgs),
    /// Print what all runs say together: costs by path and group of hosts, odd hosts and pairs, and what
    /// conditions explain
    Report(report::ReportArgs),
}

/// The folder of a fleet.
#[derive(Debug, Args)]
struct FolderArgs {
    /// The folder that zc fleet plan has made
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

/// Does what was asked for, and returns the exit code.
///
/// # Errors
/// As documented for each command in docs/exit-codes.md.
pub(super) fn run(args: &FleetArgs) -> Result<u8> {
    match &args.command {
        FleetCommand::Plan(args) => plan::run(args).map(|()| 0),
        FleetCommand::Submit(args) => submit::run(args),
        FleetCommand::Status(args) => status::run(args).map(|()| 0),
        FleetCommand::Cancel(args) => cancel(&args.folder).map(|()| 0),
        FleetCommand::Collect(args) => collect::run(args),
        FleetCommand::Report(args) => report::run(args),
    }
}

fn cancel(folder: &Path) -> Result<()> {
    let (_, plan) = Folder::open(folder)?;
    match plan.engine {
        Engine::Slurm => slurm::cancel(&plan),
        Engine::Ssh => {
            super::tell::note(
                "nothing waits: zc fleet submit runs the measurements itself, and Ctrl-C ends it",
            );
            Ok(())
        }
    }
}

/// What has come of each measurement by now; where the scheduler cannot be asked, by the folder alone.
fn states_now(folder: &Folder, plan: &FleetPlan) -> Result<Vec<CellState>> {
    if plan.engine == Engine::Ssh {
        return state::states(folder, plan);
    }
    match slurm::states_now(folder, plan) {
        Ok((states, _)) => Ok(states),
        Err(error) => {
            super::tell::warning(
                &format!("{}: what follows is by what lies in the folder", error.message),
                error.help.as_deref(),
            );
            state::states(folder, plan)
        }
    }
}
