//! The arguments of `zc bisect`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};

use crate::known::{count, duration, one_of, typed};
use crate::option_groups::{S, StateCommandArgs};
use crate::run_args::LinkChoice;
use zc_run::units;

/// Arguments of `zc bisect`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("measured-now").args(["ab", "kernel"]))]
pub(crate) struct BisectArgs {
    /// A saved run of a good commit: each commit is measured in the same way, and compared with it;
    /// with --kernel, the good kernel
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath,
          required_unless_present_any = ["ab", "report"],
          conflicts_with_all = ["ab", "like"])]
    pub(super) good: Option<PathBuf>,
    /// The kernel of each commit, a bzImage or its source tree: it is booted in guests (KVM), in
    /// turns with the good one
    #[arg(long, value_name = "KERNEL", value_hint = ValueHint::AnyPath, requires = "good",
          conflicts_with_all = ["ab", "report"])]
    pub(super) kernel: Option<PathBuf>,
    /// A command (sh -c) that puts the host into a state; given twice: first the good one, then
    /// that of the commit, which are measured in turns
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub(super) ab: Vec<String>,
    /// The path whose cost is looked at, or another cell of the run
    #[arg(long, value_name = "NAME", required_unless_present = "report")]
    pub(super) path: Option<String>,
    /// How much dearer a commit is that is bad
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true,
          required_unless_present = "report", value_parser = typed(units::percent))]
    pub(super) worse: Option<f64>,
    /// Time for measuring a commit, after which git skips it [default: 10min; with --kernel 1h]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true,
          value_parser = duration(S..=24 * 3600 * S))]
    pub(super) budget: Option<u64>,
    /// Probability that the whole bisection goes wrong
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, default_value = "5%",
          value_parser = typed(units::percent))]
    pub(super) error: f64,
    /// Answers among which the error is divided [default: by the commits that are left]
    #[arg(long, value_name = "N", allow_hyphen_values = true,
          value_parser = count("number of steps", 1..=10_000))]
    pub(super) steps: Option<u64>,
    /// The log, one line of JSON for each commit [default: zc-bisect.jsonl in the git directory]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) log: Option<PathBuf>,
    /// Print the commits that were seen, and the suspect; nothing is measured
    #[arg(long, conflicts_with_all = ["good", "ab", "path", "worse", "steps", "command"])]
    pub(super) report: bool,
    /// A saved run whose plan, options and rate are used with --ab
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "ab",
          help_heading = "Two states of the host")]
    pub(super) like: Option<PathBuf>,
    /// The link, as of zc run [default: auto]
    #[arg(long, value_name = "LINK", allow_hyphen_values = true, requires = "measured-now",
          value_parser = one_of(LinkChoice::names(), LinkChoice::parse),
          hide_possible_values = true, help_heading = "Two states of the host")]
    pub(super) link: Option<LinkChoice>,
    #[command(flatten)]
    pub(super) state_commands: StateCommandArgs,
    /// A command that builds and installs the commit, before it is measured; if it fails, git skips
    /// the commit
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(super) command: Vec<OsString>,
}
