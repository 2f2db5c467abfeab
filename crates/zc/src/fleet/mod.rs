//! `zc fleet`: measurements on many hosts, as jobs for the scheduler that is there, and their
//! combined results (docs/fleet.md).

mod collect;
mod counts;
mod file;
mod folder_args;
mod host_features;
mod judge;
mod plan;
mod report;
mod states_now;
mod status;
mod submit;

use clap::{Args, Subcommand};

use folder_args::FolderArgs;
use zc_fleet::fleet_file::Engine;
use zc_fleet::{kubernetes, slurm};
use zc_run::Result;

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
    /// With Slurm an array of jobs for each pair of hosts, and one job after all of them that
    /// writes the report. With Kubernetes two Jobs for each measurement whose hosts are free, and
    /// with --wait the others as hosts become free. With ssh they are made here and now, one after
    /// the other, until all are done.
    Submit(submit::SubmitArgs),
    /// Print what has come of each measurement
    Status(status::StatusArgs),
    /// Take all jobs from the scheduler; a measurement that runs saves what it has, but not in
    /// Kubernetes
    Cancel(FolderArgs),
    /// Check what has come back, and copy it into an archive of saved runs, by day
    ///
    /// Exits with 1 if a measurement is missing, and says which and why.
    Collect(collect::CollectArgs),
    /// Print what all runs say together: costs by path and group of hosts, odd hosts and pairs, and
    /// what conditions explain
    Report(report::ReportArgs),
}

/// Executes the command, and returns the exit code.
///
/// # Errors
/// Documented for each command in docs/exit-codes.md.
pub(super) fn run(args: &FleetArgs) -> Result<u8> {
    match &args.command {
        FleetCommand::Plan(args) => plan::run(args).map(|()| 0),
        FleetCommand::Submit(args) => submit::run(args),
        FleetCommand::Status(args) => status::run(args).map(|()| 0),
        FleetCommand::Cancel(args) => cancel(args).map(|()| 0),
        FleetCommand::Collect(args) => collect::run(args),
        FleetCommand::Report(args) => report::run(args),
    }
}

fn cancel(args: &FolderArgs) -> Result<()> {
    let (folder, plan) = args.open()?;
    match plan.engine {
        Engine::Slurm => slurm::cancel(&plan),
        Engine::Kubernetes => kubernetes::cancel(&folder, &plan).map(|lost| {
            super::tell::note(&format!(
                "cancelled; what waited or ran is lost: {lost} measurements"
            ));
        }),
        Engine::Ssh => {
            super::tell::note(
                "nothing waits: zc fleet submit runs the measurements itself, and Ctrl-C ends it",
            );
            Ok(())
        }
    }
}
