//! `zc profile`: what each path spends its CPU time on. A run of the plan `paths` with its soaked
//! windows sampled.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueHint};

use super::factor_args::FactorArgs;
use super::format::FormatArgs;
use super::known::known;
use super::quiet::QuietArgs;
use super::run_args::RunArgs;
use super::{planned, replace, run};
use zc_measure::plan::Spec;
use zc_run::factor::FactorOption;
use zc_run::{Experiment, Factor, Level, LinkKind, Result, SendPath};

/// The default paths: one that copies, one that does not, and one that pins pages.
const PATHS: [SendPath; 3] = [SendPath::ReadSend, SendPath::Sendfile, SendPath::MsgZerocopy];

/// The default budget.
const BUDGET_NS: u64 = 30_000_000_000;

/// The help of `zc run` adds "over all flows", as its flows are more often several.
const RATE_HELP: &str = "Rate at which cost is measured: 400MB/s, 10Gbit/s, or auto for one that \
    every path can hold [default: auto]";

/// Arguments of `zc profile`.
#[derive(Debug, Args)]
pub(super) struct ProfileArgs {
    /// Send paths; two are shown side by side [default: read+send sendfile msg-zerocopy]
    #[arg(value_name = "PATH", value_parser = known(SendPath::NAMES.iter().copied()),
          hide_possible_values = true)]
    paths: Vec<String>,
    /// Files whose bytes are sent [default: 63 generated files of 350 kB on average]
    #[arg(
        long,
        value_name = "PATH",
        num_args = 1..,
        value_hint = ValueHint::FilePath,
        help_heading = "What is sent",
    )]
    files: Vec<PathBuf>,
    /// Where the bytes travel; auto chooses null if this user may use it, else veth, else
    /// loopback [default: auto]
    #[arg(
        long,
        value_name = "LINK",
        allow_hyphen_values = true,
        value_parser = known(links().into_iter()),
        hide_possible_values = true,
        help_heading = "Where it is sent",
    )]
    link: Option<String>,
    /// The CPUs of sender and receiver, as in 0,1 [default: chosen]
    #[arg(long, value_name = "S,R", allow_hyphen_values = true, help_heading = "Where it is sent")]
    cpus: Option<String>,
    /// Give the threads of flows the policy SCHED_RR, so that they keep their rate beside other
    /// programs (root, or a limit of real-time priorities)
    #[arg(long, help_heading = "Where it is sent")]
    realtime: bool,
    /// Time for the whole run, everything included [default: 30s]
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        help_heading = "How long, how well"
    )]
    budget: Option<String>,
    #[command(flatten)]
    quiet: QuietArgs,
    /// Count only what was measured while the machine was quiet: drop blocks beside other programs,
    /// which costs leave out anyway
    #[arg(long, help_heading = "How long, how well")]
    strict: bool,
    /// Seed of the random order [default: a fresh one, saved in the run]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "How long, how well")]
    seed: Option<String>,
    /// The measured part of each trial [default: 50ms]
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        hide_short_help = true,
        help_heading = "Expert"
    )]
    window: Option<String>,
    /// Where the run is saved; the file must not exist [default: zc-DATE.jsonl.gz in this folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    out: Option<PathBuf>,
    /// Write folded stacks too, as flame graph tools read them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    folded: Option<PathBuf>,
    /// Leave names and addresses of hosts, kernel command lines, commands and paths out of the
    /// saved run
    #[arg(long, help_heading = "Output")]
    anonymise: bool,
    #[command(flatten)]
    format: FormatArgs,
    /// Last, as it inserts its options among the others.
    #[command(flatten)]
    factors: SampledFactors,
}

/// The links inside this machine.
fn links() -> [&'static str; 4] {
    ["auto", LinkKind::Loopback.name(), LinkKind::Veth.name(), LinkKind::Null.name()]
}

/// The options of factors that `zc profile` takes.
#[derive(Debug)]
struct SampledFactors(FactorArgs);

impl SampledFactors {
    /// The factors, and the option that each follows in the help.
    const LISTED: [(Factor, &str); 8] = [
        (Factor::Recv, "files"),
        (Factor::Message, "recv"),
        (Factor::Pages, "buffer"),
        (Factor::Rate, "pages"),
        (Factor::Mtu, "link"),
        (Factor::Offloads, "mtu"),
        (Factor::Flows, "offloads"),
        (Factor::Congestion, "flows"),
    ];

    fn options() -> impl Iterator<Item = FactorOption> {
        Self::LISTED.into_iter().filter_map(|(factor, after)| {
            let option = factor.definition().option()?;
            Some(match factor {
                Factor::Pages => FactorOption { after, heading: "What is sent", ..option },
                Factor::Rate => FactorOption { after, help: RATE_HELP, ..option },
                _ => FactorOption { after, ..option },
            })
        })
    }
}

impl Args for SampledFactors {
    fn augment_args(command: Command) -> Command {
        FactorArgs::add(command, Self::options())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SampledFactors {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        Ok(Self(FactorArgs::typed(matches, Self::options())))
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Samples, saves, prints.
///
/// # Errors
/// Same as for [`run::run`], or this user may not sample the CPUs.
pub(super) fn profile(args: ProfileArgs) -> Result<()> {
    if let Some(folded) = &args.folded {
        replace::check(folded)?;
    }
    let spec = spec(&args.paths)?;
    let ProfileArgs {
        files,
        link,
        cpus,
        realtime,
        budget,
        quiet,
        strict,
        seed,
        window,
        out,
        folded,
        anonymise,
        format,
        factors,
        ..
    } = args;
    let typed = RunArgs {
        files,
        factors: factors.0,
        link,
        cpus,
        realtime,
        budget,
        quiet,
        strict,
        seed,
        window,
        out,
        anonymise,
        format,
        // It ends with its budget: more blocks improve the shares, to which the target does not
        // apply.
        target: Some("0.1%".to_owned()),
        sample: true,
        ..RunArgs::default()
    };
    run::one(spec, typed, |run| match &folded {
        Some(path) => replace::file(path, &zc_report::folded(run)),
        None => Ok(()),
    })
}

/// The plan: the named paths, the first of which is the reference.
fn spec(names: &[String]) -> Result<Spec> {
    let levels = match names {
        [] => PATHS.iter().map(|path| Level::named(Factor::Send, path.name())).collect(),
        names => Level::typed(Factor::Send, &names.join(","))?,
    };
    let mut spec = planned::of_experiment(Experiment::Paths)?;
    spec.reference = levels.first().cloned().into_iter().collect();
    spec.restrict(Factor::Send, levels);
    spec.name = "profile".to_owned();
    spec.question = "What do the paths spend their CPU time on?".to_owned();
    spec.budget_ns = Some(BUDGET_NS);
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::RecvPath;

    fn labels(names: &[&str]) -> (Vec<String>, String) {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let cells = spec(&names).unwrap().cells(SendPath::ReadSend, RecvPath::Recv).unwrap();
        (cells.cells.into_iter().map(|cell| cell.label).collect(), cells.reference)
    }

    #[test]
    fn the_first_path_is_the_reference() {
        let (cells, reference) = labels(&["sendfile", "splice", "sendfile"]);
        assert_eq!(cells, ["sendfile", "splice", "sendfile (A/A)"]);
        assert_eq!(reference, "sendfile");
        assert_eq!(labels(&[]).0, ["read+send", "sendfile", "msg-zerocopy", "read+send (A/A)"]);
        assert_eq!(
            spec(&["sendfiel".to_owned()]).unwrap_err().message,
            "unknown send path \"sendfiel\""
        );
    }
}
