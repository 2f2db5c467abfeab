//! `zc fleet status DIR`.

use clap::Args;
use serde_json::json;

use super::counts::in_words;
use super::folder_args::FolderArgs;
use super::states_now::states_now;
use crate::tell;
use zc_fleet::state::Cause;
use zc_fleet::{CellState, FleetPlan};
use zc_run::Result;

/// Arguments of `zc fleet status`.
#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// Print every measurement, also those that are done
    #[arg(short, long)]
    verbose: bool,
    /// Print one JSON document
    #[arg(long, conflicts_with = "verbose")]
    json: bool,
}

/// Prints what has come of each measurement.
///
/// # Errors
/// It is no folder of a fleet.
pub(super) fn run(args: &StatusArgs) -> Result<()> {
    let (folder, plan) = args.folder.open()?;
    let states = states_now(&folder, &plan)?;
    tell::result(&match args.json {
        true => document(&plan, &states),
        false => text(&plan, &states, args.verbose),
    })
}

/// A line for each that is not done, and how many are.
fn text(plan: &FleetPlan, states: &[CellState], verbose: bool) -> String {
    let mut lines = String::new();
    let width = plan.cells().map(|cell| cell.id.len()).max().unwrap_or(0);
    for (cell, state) in plan.cells().zip(states) {
        if verbose || !matches!(state, CellState::Done(_) | CellState::Missing) {
            let why = state.why().map(Cause::to_string).unwrap_or_default();
            lines += format!("{:<width$}  {:<8} {why}", cell.id, state.name()).trim_end();
            lines += "\n";
        }
    }
    format!("{lines}{}: {}\n", plan.name, in_words(states))
}

fn document(plan: &FleetPlan, states: &[CellState]) -> String {
    let cells: Vec<_> = plan
        .cells()
        .zip(states)
        .map(|(cell, state)| {
            let [near, far] = plan.ends(cell);
            json!({
                "id": cell.id, "near": near, "far": far, "plan": plan.plans[cell.plan].name,
                "state": state.name(), "why": state.why().map(Cause::to_string), "run": state.run(),
            })
        })
        .collect();
    let document = json!({ "name": plan.name, "job_name": plan.job_name, "measurements": cells });
    format!("{document:#}\n")
}
