//! Which plan a run follows: a built-in one or the user's own, with what it holds fixed and what was typed worked into it.
//!
//! A plan's fixed parameters are options of `zc run` under their own names, so they are read as those are. What was typed wins: over a
//! fixed parameter as over a default, and where it names a factor of the plan, in place of the factor's levels.

use std::path::{Path, PathBuf};

use super::args::RunArgs;
use super::{read, resolve, tell};
use zc_measure::plan::{Spec, builtin, parse};
use zc_run::{Error, Experiment, Factor, Level, Result};

/// A plan is a page of text.
const LARGEST_BYTES: u64 = 1 << 20;

/// The plan of an experiment.
///
/// # Errors
/// It sends nothing, so it has none.
pub(super) fn of_experiment(experiment: Experiment) -> Result<Spec> {
    builtin(experiment).unwrap_or_else(|| {
        Err(Error::usage(format!("the experiment \"{experiment}\" sends nothing, so it has no plan"))
            .help(format!("zc run {experiment} runs it")))
    })
}

/// The plan in a file.
///
/// # Errors
/// It cannot be read, or is no plan: the sentence names file, line and key.
pub(super) fn of_file(path: &Path) -> Result<Spec> {
    let name = tell::path(path);
    let wrong = |what: &str| {
        Error::input(format!("cannot read the plan \"{name}\": {what}"))
            .help("zc plan NAME prints a plan that is right; docs/plans.md describes them")
    };
    let bytes = read::bytes(path, LARGEST_BYTES, wrong)?.ok_or_else(|| wrong("it is larger than any plan"))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is no text in UTF-8"))?;
    parse(&text, &name)
}

/// Works what was typed into the plan, and what the plan holds fixed into what was typed.
///
/// # Errors
/// Either has no meaning; a fixed parameter is told with its place in the plan.
pub(super) fn worked_in(mut spec: Spec, mut args: RunArgs) -> Result<(Spec, RunArgs)> {
    for (factor, levels) in typed_levels(&args)? {
        spec.restrict(factor, levels);
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
        // By itself, so that what is wrong with it is told of it.
        let mut alone = RunArgs::default();
        let slot = slot(&mut alone, &fixed.key).ok_or_else(|| {
            in_place(Error::usage("this cannot be held fixed").help(format!("what can: {}", KEYS.join(", "))))
        })?;
        slot.put(fixed.value.clone());
        resolve::run(&alone, Spec::default(), Vec::new(), PathBuf::new).map_err(in_place)?;
        if let Some(slot) = self::slot(&mut args, &fixed.key)
            && slot.is_free()
        {
            slot.put(fixed.value.clone());
        }
    }
    Ok((spec, args))
}

/// What may be held fixed.
const KEYS: [&str; 25] = [
    "paths",
    "recv",
    "buffer",
    "rate",
    "link",
    "ip",
    "mtu",
    "offloads",
    "ack-every",
    "rtt",
    "flows",
    "congestion",
    "sndbuf",
    "rcvbuf",
    "cpus",
    "push",
    "align",
    "pages",
    "placement",
    "target",
    "soaker",
    "window",
    "idle",
    "warmup",
    "seed",
];

/// Where the value of an option goes.
enum Slot<'a> {
    One(&'a mut Option<String>),
    List(&'a mut Option<Vec<String>>),
}

impl Slot<'_> {
    fn is_free(&self) -> bool {
        match self {
            Self::One(slot) => slot.is_none(),
            Self::List(slot) => slot.is_none(),
        }
    }

    fn put(self, value: String) {
        match self {
            Self::One(slot) => *slot = Some(value),
            Self::List(slot) => *slot = Some(value.split(',').map(str::to_owned).collect()),
        }
    }
}

fn slot<'a>(args: &'a mut RunArgs, key: &str) -> Option<Slot<'a>> {
    Some(Slot::One(match key {
        "paths" => return Some(Slot::List(&mut args.paths)),
        "offloads" => return Some(Slot::List(&mut args.offloads)),
        "recv" => &mut args.recv,
        "buffer" => &mut args.buffer,
        "rate" => &mut args.rate,
        "link" => &mut args.link,
        "ip" => &mut args.ip,
        "mtu" => &mut args.mtu,
        "ack-every" => &mut args.ack_every,
        "rtt" => &mut args.rtt,
        "flows" => &mut args.flows,
        "congestion" => &mut args.congestion,
        "sndbuf" => &mut args.sndbuf,
        "rcvbuf" => &mut args.rcvbuf,
        "cpus" => &mut args.cpus,
        "push" => &mut args.push,
        "align" => &mut args.align,
        "pages" => &mut args.pages,
        "placement" => &mut args.placement,
        "target" => &mut args.target,
        "soaker" => &mut args.soaker,
        "window" => &mut args.window,
        "idle" => &mut args.idle,
        "warmup" => &mut args.warmup,
        "seed" => &mut args.seed,
        _ => return None,
    }))
}

/// What was typed, as levels of factors.
fn typed_levels(args: &RunArgs) -> Result<Vec<(Factor, Vec<Level>)>> {
    let options: [(Factor, &str, Option<&String>); 10] = [
        (Factor::Message, "buffer", args.buffer.as_ref()),
        (Factor::Mtu, "mtu", args.mtu.as_ref()),
        (Factor::Flows, "flows", args.flows.as_ref()),
        (Factor::Congestion, "congestion", args.congestion.as_ref()),
        (Factor::Sockbuf, "sndbuf", args.sndbuf.as_ref()),
        (Factor::Push, "push", args.push.as_ref()),
        (Factor::Align, "align", args.align.as_ref()),
        (Factor::Pages, "pages", args.pages.as_ref()),
        (Factor::Placement, "placement", args.placement.as_ref()),
        (Factor::Rate, "rate", args.rate.as_ref().filter(|rate| rate.trim() != "auto")),
    ];
    let mut typed = Vec::new();
    for (factor, option, text) in options {
        if let Some(text) = text {
            let level = Level::parse(factor, text).map_err(|error| resolve::of(&format!("--{option}"), error))?;
            typed.push((factor, vec![level]));
        }
    }
    if let Some(paths) = &args.paths {
        typed.push((Factor::Send, resolve::paths(paths)?.into_iter().map(Level::Send).collect()));
    }
    if let Some(offloads) = &args.offloads {
        typed.push((Factor::Offloads, vec![Level::parse(Factor::Offloads, &offloads.join(","))?]));
    }
    if let Some(text) = &args.recv {
        let (path, bytes) = resolve::recv(text)?;
        typed.push((Factor::Recv, vec![Level::Recv(path)]));
        if text.contains(':') {
            typed.push((Factor::RecvBuffer, vec![Level::RecvBuffer(bytes)]));
        }
    }
    Ok(typed)
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
            args.paths = Some(vec!["sendfile".to_owned()]);
            args.buffer = Some("4k".to_owned());
        });
        let (spec, args) = worked_in(of_experiment(Experiment::Sizes).unwrap(), typed).unwrap();
        assert_eq!(cells(&spec, &args), ["read+send", "sendfile", "read+send (A/A)"]);
    }

    #[test]
    fn what_a_plan_holds_fixed_holds_unless_something_else_is_typed() {
        let spec = || of_experiment(Experiment::Cork).unwrap();
        let link = |typed: RunArgs| {
            let (spec, args) = worked_in(spec(), typed).unwrap();
            resolve::run(&args, spec, Vec::new(), PathBuf::new).unwrap().link
        };
        assert_eq!(link(RunArgs::default()), Some(LinkKind::Veth));
        assert_eq!(link(args(|args| args.link = Some("loopback".to_owned()))), Some(LinkKind::Loopback));
    }

    #[test]
    fn every_key_that_may_be_fixed_has_its_place() {
        for key in KEYS {
            assert!(slot(&mut RunArgs::default(), key).is_some(), "{key}");
        }
        assert!(slot(&mut RunArgs::default(), "budget").is_none());
    }

    #[test]
    fn a_fixed_parameter_without_a_meaning_is_told_with_its_place() {
        let plan = |line: &str| {
            let text = format!("name = \"my\"\n[fixed]\n{line}\n[[factor]]\nname = \"flows\"\nlevels = [1]\n");
            worked_in(parse(&text, "my.toml").unwrap(), RunArgs::default()).unwrap_err().message
        };
        assert_eq!(plan("link = \"ether\""), "plan \"my.toml\", line 3, \"link\": unknown link \"ether\"");
        assert_eq!(
            plan("rate = \"10G\""),
            "plan \"my.toml\", line 3, \"rate\": rate \"10G\" could be bits or bytes a second: \"G\" does not say"
        );
        assert_eq!(plan("colour = \"red\""), "plan \"my.toml\", line 3, \"colour\": this cannot be held fixed");
    }
}
