//! The plan of a run: a built-in one or the user's own, merged with the typed options.
//!
//! A plan's fixed parameters have the names of options of `zc run` and are parsed like these. A
//! typed option takes precedence: over a fixed parameter, over a default, and over the levels of a
//! factor of the plan.

use std::path::Path;

use clap::{Arg, Args as _, Command, FromArgMatches as _};

use super::known::own;
use super::run_args::{HeldArgs, StreamArgs};
use super::{read, tell};
use zc_measure::plan::{Spec, parse};
use zc_run::experiment::NoPlan;
use zc_run::{Error, Experiment, Factor, Level, Result, escape};

/// The largest plan that is read; a plan is a page of text.
const LARGEST_BYTES: u64 = 1 << 20;

/// The plan of an experiment.
///
/// # Errors
/// The experiment has no plan.
pub(super) fn of_experiment(experiment: Experiment) -> Result<Spec> {
    let text = experiment.definition().plan_file().map_err(|NoPlan { why, arguments }| {
        Error::usage(
            "experiment-without-plan",
            format!("the experiment \"{experiment}\" {why}, so it has no plan"),
        )
        .help(format!("zc run {experiment}{arguments} runs it"))
    })?;
    parse(&text, experiment.name())
}

/// The plan in a file.
///
/// # Errors
/// It cannot be read, or is not a plan. The message names file, line and key.
pub(super) fn of_file(path: &Path) -> Result<Spec> {
    of_text(&text_of(path)?, path)
}

/// The plan that the text of a file is.
///
/// # Errors
/// It is none. The message names file, line and key.
pub(super) fn of_text(text: &str, path: &Path) -> Result<Spec> {
    parse(text, &tell::path(path))
}

/// The text of a file that may be a plan.
///
/// # Errors
/// It cannot be read, or is no text.
pub(super) fn text_of(path: &Path) -> Result<String> {
    let name = tell::path(path);
    let wrong = |what: &str| {
        Error::input("cannot-read-plan", format!("cannot read the plan \"{name}\": {what}"))
            .help("zc plan NAME prints a plan that is right; docs/plans.md describes them")
    };
    read::text(path, LARGEST_BYTES, wrong)?.ok_or_else(|| wrong("it is larger than any plan"))
}

/// Merges typed options into the plan, and the plan's fixed parameters into the options.
///
/// # Errors
/// A fixed parameter is not valid. The message names its place in the plan.
pub(super) fn merge_options(mut spec: Spec, mut args: StreamArgs) -> Result<(Spec, StreamArgs)> {
    for factor in Factor::ALL {
        let typed = args.factors.levels().filter(|level| level.factor == *factor);
        let levels: Vec<Level> = typed.cloned().collect();
        if !levels.is_empty() {
            spec.restrict(*factor, levels);
        }
    }
    if !args.ab.is_empty() {
        spec.in_both_states();
    }
    for fixed in &spec.fixed {
        let key = &fixed.key;
        let held = held(key, &fixed.value).map_err(|mut error| {
            let what = error.message.trim_start_matches(&format!("--{key}: "));
            error.message = format!("{}, \"{key}\": {what}", fixed.place);
            error
        })?;
        args.fill(held);
    }
    Ok((spec, args))
}

/// Parses a parameter that a plan holds fixed: the value of the option of that name.
fn held(key: &str, value: &str) -> Result<HeldArgs> {
    let command = HeldArgs::augment_args(Command::new("plan").disable_help_flag(true));
    let keys = || command.get_arguments().filter_map(Arg::get_long);
    if !keys().any(|known| known == key) {
        let help = format!("what can: {}", keys().collect::<Vec<_>>().join(", "));
        return Err(Error::usage("factor-not-fixable", "this cannot be held fixed").help(help));
    }
    let words = ["plan".to_owned(), format!("--{key}={value}")];
    let matches = command.clone().try_get_matches_from(words);
    let held = matches.and_then(|matches| HeldArgs::from_arg_matches(&matches));
    held.map_err(|error| {
        own(&error).cloned().unwrap_or_else(|| {
            Error::usage("invalid-value", format!("\"{}\" is no value", escape(value, 40)))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::resolve;
    use super::*;
    use std::path::PathBuf;

    use zc_measure::session::RunOptions;
    use zc_run::LinkKind;

    fn typed(line: &str) -> StreamArgs {
        let command = StreamArgs::augment_args(Command::new("run"));
        let matches = command.try_get_matches_from(line.split(' ')).unwrap();
        StreamArgs::from_arg_matches(&matches).unwrap()
    }

    fn merged(experiment: Experiment, line: &str) -> RunOptions {
        let (spec, args) = merge_options(of_experiment(experiment).unwrap(), typed(line)).unwrap();
        resolve::run(&args, spec, Vec::new(), PathBuf::new()).unwrap()
    }

    #[test]
    fn what_is_typed_takes_the_place_of_a_factor_s_levels() {
        let options = merged(Experiment::Sizes, "run --paths sendfile --buffer 4k");
        let cells = options.plan.cells(options.send, options.recv).unwrap().cells;
        let labels: Vec<String> = cells.into_iter().map(|cell| cell.label).collect();
        assert_eq!(labels, ["read+send", "sendfile", "read+send (A/A)"]);
    }

    #[test]
    fn what_a_plan_holds_fixed_holds_unless_something_else_is_typed() {
        let link = |line| merged(Experiment::Cork, line).link;
        assert_eq!(link("run"), Some(LinkKind::Veth));
        assert_eq!(link("run --link loopback"), Some(LinkKind::Loopback));
    }

    #[test]
    fn every_key_that_may_be_fixed_has_its_place() {
        let command = HeldArgs::augment_args(Command::new("plan"));
        let keys: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
        for key in &keys {
            let is_set = format!("{:?}", StreamArgs::default());
            let value = ["1", "4", "auto", "alu", "close", "1,0", "1s", "sendfile", "recv"]
                .into_iter()
                .chain(
                    Factor::of_option(key)
                        .into_iter()
                        .flat_map(|it| it.definition().examples().iter().copied()),
                )
                .find_map(|value| held(key, value).ok());
            let mut args = StreamArgs::default();
            args.fill(value.unwrap_or_else(|| panic!("{key}")));
            assert_ne!(format!("{args:?}"), is_set, "{key}");
        }
        assert!(keys.len() > 20 && !keys.contains(&"budget"), "{keys:?}");
    }

    #[test]
    fn the_error_of_a_fixed_parameter_names_its_place() {
        let plan = |line: &str| {
            let text = format!(
                "name = \"my\"\n[fixed]\n{line}\n[[factor]]\nname = \"flows\"\nlevels = [1]\n"
            );
            let merged = merge_options(parse(&text, "my.toml").unwrap(), StreamArgs::default());
            let error = merged.unwrap_err();
            let place =
                format!("plan \"my.toml\", line 3, \"{}\": ", &line[..line.find(' ').unwrap()]);
            assert!(error.message.starts_with(&place), "{error}");
            error.id
        };
        assert_eq!(plan("link = \"ether\""), "unknown-link");
        assert_eq!(plan("rate = \"10G\""), "invalid-rate");
        assert_eq!(plan("colour = \"red\""), "factor-not-fixable");
    }
}
