//! Groups of options that several experiments of `zc run` take: files, how long and how well to
//! measure, blocks, states that commands make, output.

use std::path::{Path, PathBuf};

use clap::{Arg, Args, ValueHint};

use super::format::FormatArgs;
use super::known::{count, duration, named, typed};
use super::quiet::QuietArgs;
use super::run_out;
use zc_measure::session::{BlockOptions, CpuPair, SOAKER, TARGET};
use zc_run::{Error, HostStates, Result, SoakerKind, StateCommand, units};

pub(super) const MS: u64 = 1_000_000;
pub(super) const S: u64 = 1_000 * MS;

/// The wait after a command that puts the host into a state, for its effects.
const SETTLE_NS: u64 = 100 * MS;
/// The limit of such a command: one that takes longer than a service's restart hangs.
const LIMIT_NS: u64 = 30 * S;

/// The files that are sent or served.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct FilesArgs {
    /// Files whose bytes are sent [default: 63 generated files of 350 kB on average]
    #[arg(
        id = "files",
        long = "files",
        value_name = "PATH",
        num_args = 1..,
        value_hint = ValueHint::FilePath,
        help_heading = "What is sent",
    )]
    pub(super) paths: Vec<PathBuf>,
}

/// How long an experiment takes, and when it begins.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct LengthArgs {
    /// Time for the whole run, everything included [default: the plan's]
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        help_heading = "How long, how well",
        value_parser = duration(S..=24 * 3600 * S),
    )]
    pub(super) budget: Option<u64>,
    #[command(flatten)]
    pub(super) quiet: QuietArgs,
}

impl LengthArgs {
    /// The budget of an experiment that has a default one.
    pub(super) fn budget_ns(&self) -> u64 {
        self.budget.unwrap_or_default()
    }
}

/// `--budget` of an experiment that has a default one.
pub(super) fn budget_of(default: &'static str) -> impl FnOnce(Arg) -> Arg {
    move |arg| arg.help("Time for the whole run, everything included").default_value(default)
}

/// How blocks are measured, where, and in which order.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct BlockArgs {
    /// The CPUs of sender and receiver, as in 0,1 [default: chosen]
    #[arg(long, value_name = "S,R", allow_hyphen_values = true, help_heading = "Where it is sent",
          value_parser = typed(cpus))]
    pub(super) cpus: Option<CpuPair>,
    /// Half-width of the intervals at which the run may end early [default: 2.5%]
    #[arg(
        long,
        value_name = "PERCENT",
        allow_hyphen_values = true,
        help_heading = "How long, how well",
        value_parser = typed(units::percent),
    )]
    pub(super) target: Option<f64>,
    #[command(flatten)]
    pub(super) seed: SeedArgs,
    /// What the soakers use: alu measures CPU time, cache also memory bandwidth [default: alu]
    #[arg(long, value_name = "KIND", allow_hyphen_values = true,
          value_parser = named::<SoakerKind>(SoakerKind::NAMES), hide_possible_values = true,
          help_heading = "How long, how well")]
    pub(super) soaker: Option<SoakerKind>,
    /// The measured part of each trial
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        hide_short_help = true,
        help_heading = "Expert",
        value_parser = duration(MS..=60 * S),
    )]
    pub(super) window: Option<u64>,
    /// The idle window between trials
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        hide_short_help = true,
        help_heading = "Expert",
        value_parser = duration(MS..=60 * S),
    )]
    pub(super) idle: Option<u64>,
    /// The time before each window that does not count
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        hide_short_help = true,
        help_heading = "Expert",
        value_parser = duration(0..=60 * S),
    )]
    pub(super) warmup: Option<u64>,
}

/// The seed.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct SeedArgs {
    /// Seed of the random order [default: a fresh one, saved in the run]
    #[arg(long = "seed", value_name = "N", allow_hyphen_values = true,
          value_parser = count("seed", 0..=u64::MAX), help_heading = "How long, how well")]
    pub(super) number: Option<u64>,
}

/// Further commands about states of this host.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Two states of the host")]
pub(super) struct StateCommandArgs {
    /// A command that puts the host back as it was, however the run ends
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    ab_restore: Option<String>,
    /// Wait after each of these commands before measuring [default: 100ms]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true,
          value_parser = duration(0..=3600 * S))]
    ab_settle: Option<u64>,
    /// How long each of these commands may take [default: 30s]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true,
          value_parser = duration(MS..=3600 * S))]
    ab_limit: Option<u64>,
    /// A command that has to print something else in each state, and the same whenever a state is
    /// entered again: a check that the commands do what they are to do
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub(super) verify_state: Option<String>,
}

/// The options of experiments that measure blocks and save a run.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct MeasuringArgs {
    #[command(flatten)]
    pub(super) length: LengthArgs,
    /// Count only what was measured while the machine was quiet: drop blocks beside other programs,
    /// which costs leave out anyway
    #[arg(long, help_heading = "How long, how well")]
    pub(super) strict: bool,
    /// Where the run is saved; the file must not exist; - is stdout, and no table is printed then
    /// [default: zc-DATE.jsonl.gz in this folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) format: FormatArgs,
}

impl MeasuringArgs {
    /// The file of the saved run.
    pub(super) fn out(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| run_out::default_out(&jiff::Zoned::now()))
    }

    /// Checks that a run can be saved at `out`, before anything is measured.
    ///
    /// # Errors
    /// Same as for [`run_out::check`].
    pub(super) fn check(&self, out: &Path) -> Result<()> {
        run_out::check(out, self.out.is_some(), self.format)
    }
}

impl BlockArgs {
    /// How blocks are measured, and where they are saved: `out`. The caller knows earlier rates.
    ///
    /// # Errors
    /// Both sides are to be on one CPU.
    pub(super) fn options(
        &self,
        measuring: &MeasuringArgs,
        command: Vec<String>,
        out: PathBuf,
        two_machines: bool,
    ) -> Result<BlockOptions> {
        Ok(BlockOptions {
            command,
            budget_ns: measuring.length.budget_ns(),
            target: self.target.unwrap_or(TARGET),
            strict: measuring.strict,
            seed: self.seed.number,
            cpus: self.cpus(two_machines)?,
            soaker: self.soaker.unwrap_or(SOAKER),
            window_ns: self.window,
            idle_ns: self.idle,
            warmup_ns: self.warmup,
            earlier: Vec::new(),
            out,
        })
    }

    /// The two CPUs, which differ unless they are of two machines.
    ///
    /// # Errors
    /// They are one.
    fn cpus(&self, two_machines: bool) -> Result<Option<CpuPair>> {
        match self.cpus {
            Some(CpuPair { sender, receiver }) if sender == receiver && !two_machines => {
                let text = format!("--cpus: \"{sender},{receiver}\" puts both sides on one CPU");
                Err(Error::usage("cpus-are-one", text).help(CPUS_HINT))
            }
            cpus => Ok(cpus),
        }
    }
}

impl StateCommandArgs {
    /// Whether any of them was typed.
    pub(super) fn is_given(&self) -> bool {
        let Self { ab_restore, ab_settle, ab_limit, verify_state } = self;
        ab_restore.is_some() || ab_settle.or(*ab_limit).is_some() || verify_state.is_some()
    }

    /// Checks that no command is empty.
    ///
    /// # Errors
    /// One is, with this help.
    pub(super) fn check(&self, help: &str) -> Result<()> {
        let is_empty = |text: &Option<String>| text.as_ref().is_some_and(|it| it.trim().is_empty());
        match self {
            _ if is_empty(&self.ab_restore) => Err("a command of \"--ab\" is empty"),
            _ if is_empty(&self.verify_state) => Err("the command of \"--verify-state\" is empty"),
            _ => Ok(()),
        }
        .map_err(|message| Error::usage("command-missing", message).help(help))
    }

    /// The states of the host that these commands make.
    pub(super) fn states(&self, commands: Vec<StateCommand>) -> HostStates {
        HostStates {
            commands,
            restore: self.ab_restore.clone(),
            settle_ns: self.ab_settle.unwrap_or(SETTLE_NS),
            limit_ns: self.ab_limit.unwrap_or(LIMIT_NS),
            verify: self.verify_state.clone(),
        }
    }
}

/// Moves the arguments with these names in front of all headings.
pub(super) fn in_front(ids: &'static [&'static str]) -> impl FnMut(Arg) -> Arg {
    move |arg| match ids.contains(&arg.get_id().as_str()) {
        true => arg.help_heading(None::<&str>),
        false => arg,
    }
}

const CPUS_HINT: &str =
    "two CPU numbers and a comma: 0,1 puts the sender on CPU 0 and the receiver on CPU 1";

/// Parses `S,R`. The session checks that the CPUs exist.
pub(super) fn cpus(text: &str) -> Result<CpuPair> {
    let mut parts = text.split(',');
    let (Some(sender), Some(receiver), None) = (parts.next(), parts.next(), parts.next()) else {
        let shown = zc_run::escape(text, 40);
        return Err(
            Error::usage("invalid-cpus", format!("\"{shown}\" is not two CPUs")).help(CPUS_HINT)
        );
    };
    let number = |part: &str| {
        let cpu = units::count("CPU", part, 0..=65_535).map_err(|error| error.help(CPUS_HINT))?;
        Ok(cpu as usize)
    };
    Ok(CpuPair { sender: number(sender)?, receiver: number(receiver)? })
}
