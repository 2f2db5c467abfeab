//! `zc plan`: lists the built-in plans, and prints each as a file to start an own plan from.

use clap::Args;

use super::known::known;
use super::{planned, tell};
use zc_measure::plan::Spec;
use zc_report::plans::{PlanRow, plans};
use zc_run::experiment::Definition;
use zc_run::nearest::unknown;
use zc_run::units::duration_text;
use zc_run::{Experiment, Result};

/// Arguments of `zc plan`.
#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    /// The plan to print; none lists them all
    #[arg(value_name = "NAME", value_parser = known(Experiment::NAMES.iter().copied()),
          hide_possible_values = true)]
    pub(super) name: Option<String>,
}

/// Lists the plans, or prints one.
///
/// # Errors
/// There is no plan of that name, or stdout is closed.
pub(super) fn plan(args: &PlanArgs) -> Result<()> {
    let Some(name) = &args.name else { return list() };
    let experiment: Experiment = name.parse().map_err(unknown)?;
    match experiment.definition().plan_file() {
        Ok(text) => tell::result(&text),
        Err(_) => planned::of_experiment(experiment).map(drop),
    }
}

fn list() -> Result<()> {
    let rows: Result<Vec<PlanRow>> = Experiment::ALL.iter().map(|each| row(*each)).collect();
    tell::result(&plans(&rows?))
}

/// An experiment's line in the list.
///
/// # Errors
/// Its plan is not valid.
pub(super) fn row(experiment: Experiment) -> Result<PlanRow> {
    let Definition { name, question, budget, plan, .. } = experiment.definition();
    let spec = plan.ok().map(|_| planned::of_experiment(experiment)).transpose()?;
    Ok(PlanRow {
        name: (*name).to_owned(),
        cells: spec.as_ref().map(Spec::product),
        budget: spec.and_then(|spec| spec.budget_ns).map_or((*budget).to_owned(), duration_text),
        question: (*question).to_owned(),
    })
}
