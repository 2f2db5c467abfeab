//! `zc plan`: lists the built-in plans, and prints each as a file to start an own plan from.

use clap::{Args, Command};

use super::known::known;
use super::run_args::RunArgs;
use super::{memory, nfs_args, planned, server_args, tell};
use zc_measure::plan;
use zc_report::plans::{PlanRow, plans};
use zc_run::nearest::unknown;
use zc_run::units::duration_text;
use zc_run::{Error, Experiment, Result};

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
    match plan::text(experiment) {
        Some(text) => tell::result(text),
        None => planned::of_experiment(experiment).map(drop),
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
    let Some(spec) = plan::builtin(experiment) else {
        let budget = match experiment {
            Experiment::Server => server_args::BUDGET,
            Experiment::Nfs => nfs_args::BUDGET,
            _ => memory::BUDGET,
        };
        return Ok(PlanRow {
            name: experiment.name().to_owned(),
            cells: None,
            budget: budget.to_owned(),
            question: question(experiment).unwrap_or_default(),
        });
    };
    let spec = spec?;
    let budget_ns =
        spec.budget_ns.ok_or_else(|| Error::failed(format!("\"{experiment}\" has no budget")))?;
    Ok(PlanRow {
        cells: Some(spec.product()),
        name: spec.name,
        budget: duration_text(budget_ns),
        question: spec.question,
    })
}

/// The question of an experiment that is a command of its own.
fn question(experiment: Experiment) -> Option<String> {
    let run = RunArgs::augment_args(Command::new("run"));
    Some(run.find_subcommand(experiment.name())?.get_about()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_with_a_plan_and_a_command_has_one_question() {
        let both = |each: &&Experiment| plan::builtin(**each).is_some();
        let asked = Experiment::ALL.iter().filter(both).filter_map(|each| {
            let question = question(*each)?;
            assert_eq!(question, row(*each).unwrap().question);
            Some(each)
        });
        assert_eq!(asked.count(), 2);
    }
}
