//! `zc profile`: what each path spends its CPU time on. A run of the plan `paths` with its soaked
//! windows sampled.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::factor_args::{FactorArgs, Takes};
use super::known::{duration, known, one_of, typed};
use super::option_groups::{BlockArgs, FilesArgs, MS, MeasuringArgs, S, SeedArgs, budget_of, cpus};
use super::run_args::{LinkChoice, SessionArgs, StreamArgs, TransferArgs};
use super::{planned, replace, run};
use zc_measure::plan::Spec;
use zc_measure::session::CpuPair;
use zc_run::factor::FactorOption;
use zc_run::{Experiment, Factor, Level, LinkKind, Result, SendPath};

/// The default paths: one that copies, one that does not, and one that pins pages.
const PATHS: [SendPath; 3] = [SendPath::ReadSend, SendPath::Sendfile, SendPath::MsgZerocopy];

/// The default budget.
const BUDGET: &str = "30s";

/// The help of `zc run` adds "over all flows", as its flows are more often several.
const RATE_HELP: &str = "Rate at which cost is measured: 400MB/s, 10Gbit/s, or auto for one that \
    every path can hold [default: auto]";

/// Arguments of `zc profile`.
#[derive(Debug, Args)]
#[command(mut_arg("budget", budget_of(BUDGET)))]
pub(super) struct ProfileArgs {
    /// Send paths; two are shown side by side [default: read+send sendfile msg-zerocopy]
    #[arg(value_name = "PATH", value_parser = known(SendPath::NAMES.iter().copied()),
          hide_possible_values = true)]
    paths: Vec<String>,
    #[command(flatten)]
    files: FilesArgs,
    /// Where the bytes travel; auto chooses null if this user may use it, else veth, else
    /// loopback [default: auto]
    #[arg(
        long,
        value_name = "LINK",
        allow_hyphen_values = true,
        value_parser = one_of(links().into_iter(), LinkChoice::parse),
        hide_possible_values = true,
        help_heading = "Where it is sent",
    )]
    link: Option<LinkChoice>,
    /// The CPUs of sender and receiver, as in 0,1 [default: chosen]
    #[arg(long, value_name = "S,R", allow_hyphen_values = true, help_heading = "Where it is sent",
          value_parser = typed(cpus))]
    cpus: Option<CpuPair>,
    /// Give the threads of flows the policy SCHED_RR, so that they keep their rate beside other
    /// programs (root, or a limit of real-time priorities)
    #[arg(long, help_heading = "Where it is sent")]
    realtime: bool,
    #[command(flatten)]
    measuring: MeasuringArgs,
    #[command(flatten)]
    seed: SeedArgs,
    /// The measured part of each trial [default: 50ms]
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        hide_short_help = true,
        help_heading = "Expert",
        value_parser = duration(MS..=60 * S),
    )]
    window: Option<u64>,
    /// Write folded stacks too, as flame graph tools read them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    folded: Option<PathBuf>,
    /// Leave names and addresses of hosts, kernel command lines, commands and paths out of the
    /// saved run
    #[arg(long, help_heading = "Output")]
    anonymise: bool,
    /// Last, as it inserts its options among the others.
    #[command(flatten)]
    factors: FactorArgs<Sampled>,
}

/// The links inside this machine.
fn links() -> [&'static str; 4] {
    ["auto", LinkKind::Loopback.name(), LinkKind::Veth.name(), LinkKind::Null.name()]
}

/// The options of factors that `zc profile` takes.
#[derive(Debug, Default)]
struct Sampled;

impl Sampled {
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
}

impl Takes for Sampled {
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

/// Samples, saves, prints.
///
/// # Errors
/// Same as for [`run::run`], or this user may not sample the CPUs.
pub(super) fn profile(args: ProfileArgs) -> Result<()> {
    if let Some(folded) = &args.folded {
        replace::check(folded)?;
    }
    let spec = spec(&args.paths)?;
    let ProfileArgs { files, link, cpus, realtime, measuring, seed, window, folded, .. } = args;
    let block = BlockArgs {
        cpus,
        // It ends with its budget: more blocks improve the shares, to which the target does not
        // apply.
        target: Some(0.001),
        seed,
        window,
        ..BlockArgs::default()
    };
    let typed = StreamArgs {
        files,
        transfer: TransferArgs { link, ..TransferArgs::default() },
        realtime,
        measuring,
        order: SessionArgs { block, sessions: None },
        anonymise: args.anonymise,
        factors: args.factors.among_all(),
        sample: true,
        ..StreamArgs::default()
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
        assert_eq!(spec(&["sendfiel".to_owned()]).unwrap_err().id, "unknown-send-path");
    }
}
