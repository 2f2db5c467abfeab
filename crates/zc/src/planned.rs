//! The plan of a run: a built-in one or the user's own, merged with the typed options.
//!
//! A plan's fixed parameters have the names of options of `zc run` and are parsed like these. A
//! typed option takes precedence: over a fixed parameter, over a default, and over the levels of a
//! factor of the plan.

use std::path::{Path, PathBuf};

use super::run_args::RunArgs;
use super::{read, resolve, tell};
use zc_measure::plan::{Spec, parse};
use zc_run::experiment::NoPlan;
use zc_run::{Error, Experiment, Factor, Level, Result};

/// The largest plan that is read; a plan is a page of text.
const LARGEST_BYTES: u64 = 1 << 20;

/// The plan of an experiment.
///
/// # Errors
/// The experiment has no plan.
pub(super) fn of_experiment(experiment: Experiment) -> Result<Spec> {
    let text = experiment.definition().plan_file().map_err(|NoPlan { why, arguments }| {
        Error::usage(format!("the experiment \"{experiment}\" {why}, so it has no plan"))
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
        Error::input(format!("cannot read the plan \"{name}\": {what}"))
            .help("zc plan NAME prints a plan that is right; docs/plans.md describes them")
    };
    read::text(path, LARGEST_BYTES, wrong)?.ok_or_else(|| wrong("it is larger than any plan"))
}

/// Merges typed options into the plan, and the plan's fixed parameters into the options.
///
/// # Errors
/// A value is not valid. For a fixed parameter the message names its place in the plan.
pub(super) fn merge_options(mut spec: Spec, mut args: RunArgs) -> Result<(Spec, RunArgs)> {
    let typed = args.factors.levels()?;
    for factor in Factor::ALL {
        let levels: Vec<Level> =
            typed.iter().filter(|level| level.factor == *factor).cloned().collect();
        if !levels.is_empty() {
            spec.restrict(*factor, levels);
        }
    }
    if !args.ab.is_empty() {
        spec.in_both_states();
    }
    for fixed in &spec.fixed {
        let in_place = |mut error: Error| {
            let what = error.message.trim_start_matches(&format!("--{}: ", fixed.key));
            error.message = format!("{}, \"{}\": {what}", fixed.place, fixed.key);
            error
        };
        // Checked alone, so that an error is this parameter's.
        let mut alone = RunArgs::default();
        let slot = Slot::of(&fixed.key).ok_or_else(|| {
            in_place(
                Error::usage("this cannot be held fixed")
                    .help(format!("what can: {}", keys().join(", "))),
            )
        })?;
        slot.put(&mut alone, fixed.value.clone());
        resolve::run(&alone, Spec::default(), Vec::new(), PathBuf::new).map_err(in_place)?;
        if slot.is_free(&mut args) {
            slot.put(&mut args, fixed.value.clone());
        }
    }
    Ok((spec, args))
}

/// The field of an option in the arguments.
type OptionOf = fn(&mut RunArgs) -> &mut Option<String>;

/// The options of `zc run`, other than those of factors, that a plan may hold fixed.
const OTHERS: [(&str, OptionOf); 15] = [
    ("link", |args| &mut args.link),
    ("ip", |args| &mut args.ip),
    ("ack-every", |args| &mut args.ack_every),
    ("ack-interval", |args| &mut args.ack_interval),
    ("rtt", |args| &mut args.rtt),
    ("rcvbuf", |args| &mut args.rcvbuf),
    ("responses", |args| &mut args.responses),
    ("cpus", |args| &mut args.cpus),
    ("target", |args| &mut args.target),
    ("sessions", |args| &mut args.sessions),
    ("soaker", |args| &mut args.soaker),
    ("window", |args| &mut args.window),
    ("idle", |args| &mut args.idle),
    ("warmup", |args| &mut args.warmup),
    ("seed", |args| &mut args.seed),
];

/// All keys that a plan may hold fixed.
fn keys() -> Vec<&'static str> {
    let factors = Factor::ALL.iter().filter_map(|factor| factor.definition().option());
    factors.map(|option| option.long).chain(OTHERS.map(|(key, _)| key)).collect()
}

/// Destination of an option's value.
#[derive(Clone, Copy)]
enum Slot {
    Factor(Factor),
    Other(fn(&mut RunArgs) -> &mut Option<String>),
}

/// Gives arguments the values of others where they have none of their own, for all options that a
/// plan may hold fixed.
pub(super) fn fill(args: &mut RunArgs, from: &mut RunArgs) {
    for slot in keys().into_iter().filter_map(Slot::of) {
        if slot.is_free(args)
            && let Some(value) = slot.take(from)
        {
            slot.put(args, value);
        }
    }
}

impl Slot {
    fn of(key: &str) -> Option<Self> {
        let other =
            || OTHERS.iter().find(|(other, _)| *other == key).map(|(_, slot)| Self::Other(*slot));
        Factor::of_option(key).map(Self::Factor).or_else(other)
    }

    fn is_free(self, args: &mut RunArgs) -> bool {
        match self {
            Self::Factor(factor) => args.factors.text(factor).is_none(),
            Self::Other(slot) => slot(args).is_none(),
        }
    }

    fn take(self, args: &mut RunArgs) -> Option<String> {
        match self {
            Self::Factor(factor) => args.factors.text(factor).map(str::to_owned),
            Self::Other(slot) => slot(args).take(),
        }
    }

    fn put(self, args: &mut RunArgs, value: String) {
        match self {
            Self::Factor(factor) => args.factors.set(factor, value),
            Self::Other(slot) => *slot(args) = Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::LinkKind;

    fn args(change: impl FnOnce(&mut RunArgs)) -> RunArgs {
        let mut args = RunArgs::default();
        change(&mut args);
        args
    }

    fn cells(spec: &Spec, args: &RunArgs) -> Vec<String> {
        let options = resolve::run(args, spec.clone(), Vec::new(), PathBuf::new).unwrap();
        let cells = options.plan.cells(options.send, options.recv).unwrap().cells;
        cells.into_iter().map(|cell| cell.label).collect()
    }

    #[test]
    fn what_is_typed_takes_the_place_of_a_factor_s_levels() {
        let typed = args(|args| {
            args.factors.set(Factor::Send, "sendfile".to_owned());
            args.factors.set(Factor::Message, "4k".to_owned());
        });
        let (spec, args) = merge_options(of_experiment(Experiment::Sizes).unwrap(), typed).unwrap();
        assert_eq!(cells(&spec, &args), ["read+send", "sendfile", "read+send (A/A)"]);
    }

    #[test]
    fn what_a_plan_holds_fixed_holds_unless_something_else_is_typed() {
        let spec = || of_experiment(Experiment::Cork).unwrap();
        let link = |typed: RunArgs| {
            let (spec, args) = merge_options(spec(), typed).unwrap();
            resolve::run(&args, spec, Vec::new(), PathBuf::new).unwrap().link
        };
        assert_eq!(link(RunArgs::default()), Some(LinkKind::Veth));
        assert_eq!(
            link(args(|args| args.link = Some("loopback".to_owned()))),
            Some(LinkKind::Loopback)
        );
    }

    #[test]
    fn every_key_that_may_be_fixed_has_its_place() {
        for key in keys() {
            let mut args = RunArgs::default();
            let slot = Slot::of(key).unwrap_or_else(|| panic!("{key}"));
            assert!(slot.is_free(&mut args), "{key}");
            slot.put(&mut args, "1".to_owned());
            assert!(!slot.is_free(&mut args), "{key}");
        }
        assert!(Slot::of("budget").is_none());
    }

    #[test]
    fn the_error_of_a_fixed_parameter_names_its_place() {
        let plan = |line: &str| {
            let text = format!(
                "name = \"my\"\n[fixed]\n{line}\n[[factor]]\nname = \"flows\"\nlevels = [1]\n"
            );
            merge_options(parse(&text, "my.toml").unwrap(), RunArgs::default()).unwrap_err().message
        };
        assert_eq!(
            plan("link = \"ether\""),
            "plan \"my.toml\", line 3, \"link\": unknown link \"ether\""
        );
        assert_eq!(
            plan("rate = \"10G\""),
            "plan \"my.toml\", line 3, \"rate\": rate \"10G\" could be bits or bytes a \
             second: \"G\" does not say"
        );
        assert_eq!(
            plan("colour = \"red\""),
            "plan \"my.toml\", line 3, \"colour\": this cannot be held fixed"
        );
    }
}
