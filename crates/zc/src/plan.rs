//! `zc plan`: the plans that `zc run` knows, and each as the file that a user's own begins with.

use super::args::PlanArgs;
use super::{planned, tell};
use zc_measure::plan;
use zc_report::plans::{PlanRow, plans};
use zc_run::nearest::unknown;
use zc_run::units::duration_text;
use zc_run::{Error, Experiment, Result};

/// Lists them, or prints one.
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
    let mut rows = Vec::new();
    for &experiment in Experiment::ALL {
        let Some(spec) = plan::builtin(experiment) else {
            rows.push(PlanRow {
                name: experiment.name().to_owned(),
                cells: None,
                budget: super::memory::BUDGET.to_owned(),
                question: "How fast is this machine's memory, the limit of every path that copies?"
                    .to_owned(),
            });
            continue;
        };
        let spec = spec?;
        let budget_ns = spec
            .budget_ns
            .ok_or_else(|| Error::failed(format!("\"{experiment}\" has no budget")))?;
        rows.push(PlanRow {
            cells: Some(spec.product()),
            name: spec.name,
            budget: duration_text(budget_ns),
            question: spec.question,
        });
    }
    tell::result(&plans(&rows))
}
