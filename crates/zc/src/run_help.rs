//! The help of an experiment that has no options of its own, `zc run NAME --help`: what it answers,
//! and nothing that another name or a plan is for. Those that have some are commands.

use clap::Command;

use super::plan;
use zc_run::Experiment;

/// The command line, whose `run` has the help of the experiment that is named first in `words`.
pub(super) fn with(command: Command, words: &[String]) -> Command {
    let asks = words.iter().any(|word| ["--help", "-h"].contains(&word.as_str()));
    let experiment = match words {
        [run, name, ..] if asks && run == "run" => name.parse::<Experiment>().ok(),
        _ => None,
    };
    match experiment.and_then(|experiment| plan::row(experiment).ok()) {
        Some(row) => command.mut_subcommand("run", |run| {
            run.about(row.question.clone())
                .long_about(row.question)
                .override_usage(format!("zc run {} [OPTIONS]", row.name))
                .mut_args(|arg| {
                    let chooses = ["names", "plan", "like"].contains(&arg.get_id().as_str());
                    arg.hide(chooses)
                })
                .mut_subcommands(|own| own.hide(true))
        }),
        None => command,
    }
}
