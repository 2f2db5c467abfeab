//! What can be typed, as it is typed. Values stay text here: `resolve` gives them their meaning, so that every wrong
//! value is told in the same way, by a sentence and a hint.

use std::path::PathBuf;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueHint};

use super::factor_args::FactorArgs;
use zc_run::{Experiment, IpVersion, LinkKind, SoakerKind};

/// What sending bytes over TCP costs on this machine, by every way there is to send them.
#[derive(Debug, Parser)]
#[command(name = "zc", version, arg_required_else_help = true, max_term_width = 100)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // there is one
pub(super) enum Command {
    /// Measure what each send path costs here, or what another plan asks, and print the table
    ///
    /// Sends a set of files over a link inside this machine by every send path in turn, and measures the CPU time
    /// that each takes from the whole machine, by what it leaves to the soakers. The run is saved after every block
    /// of measurements, so that Ctrl-C loses nothing and prints what is known so far.
    Run(RunArgs),
    /// Sample what the CPUs are doing while each path sends, and print what its cost goes to
    ///
    /// A run of a few paths in which all CPUs are sampled: data copy, checksum, TCP, locks and so on in ns per KiB that add up to the
    /// soaked cost, and in whose context, which is why getrusage says something else. Needs root, or kernel.perf_event_paranoid=-1.
    Profile(super::profile::ProfileArgs),
    /// List the plans that `zc run` knows, or print one as a file to make your own from
    Plan(PlanArgs),
    /// Be the far end of a `zc run --remote` on another machine
    ///
    /// Receives what the other machine sends, and measures what that costs here, one session after the other, until
    /// Ctrl-C. What a caller that does not know the token can make it do is: be refused.
    Serve(super::serve::ServeArgs),
    /// Print a saved run again
    Show(ShowArgs),
    /// Make a page of one or several saved runs, or a text for other programs
    Report(ReportArgs),
    /// Hold saved runs, or cells of runs, against one another: better, worse, the same, undecided
    ///
    /// Two cells of one run are compared within its blocks; two runs as independent samples, relative to the reference that both
    /// have. What else differs between them (kernel, sysctls, CPU, link ...) stands on top. With --fail-if-worse the exit code is
    /// the answer: 0 no cell is worse by more than that, 1 some cell is, 10 undecided, 12 withheld, 13 or 14 not comparable.
    Compare(super::compare::CompareArgs),
    /// Watch the load of this machine, or tell what a command costs all of it, by the soakers alone
    ///
    /// Without a command: a line of load for each period, until Ctrl-C. With one, after `--`: the CPU seconds that
    /// the whole machine spent on it, beside what getrusage and /proc/stat say; its streams, signals and exit code
    /// are its own (125: zc failed, 126: it cannot be run, 127: there is none), and the result goes to stderr.
    Soak(super::soak::SoakArgs),
    /// Print the JSON Schema of a saved run, or of the JSON that other commands print
    ///
    /// docs/format.md describes the saved run for programs in other languages; this is the same for programs that validate, or that
    /// generate code.
    Schema(SchemaArgs),
    /// Tell whether this machine is fit to measure, and what this user can have on it
    Doctor,
    /// The server of 2001: swallows what zcc sends, and says how fast it comes
    Zcs(super::classic::ClassicArgs),
    /// The client of 2001: sends files to zcs, over and over
    Zcc(super::classic::ClassicArgs),
    /// The load monitor of 2001: calibrated once, then a line of load a second
    Cyclesoak(super::classic::ClassicArgs),
    /// Run a command, or a shell, SCHED_RR
    #[command(alias = "run_rr")]
    RunRr(super::classic::ClassicArgs),
    /// ttcp, with sendfile
    Ttcp(super::classic::ClassicArgs),
    /// Make links by which zc has the names zcs, zcc, cyclesoak, run_rr and ttcp
    InstallClassic(super::classic::InstallArgs),
    /// Write man pages or shell completions into a folder
    Generate(GenerateArgs),
}

/// Arguments of `zc run`.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct RunArgs {
    /// What is to be found out, one after the other: `zc plan` lists the names [default: paths]
    #[arg(value_name = "NAME", value_parser = known(Experiment::ALL.iter().map(|each| each.name())),
          hide_possible_values = true)]
    pub(super) names: Vec<String>,
    /// A plan of your own, in the form that `zc plan NAME` prints
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "names",
          help_heading = "What is sent")]
    pub(super) plan: Option<PathBuf>,
    /// Files whose bytes are sent [default: 63 generated files of 350 kB on average]
    #[arg(long, value_name = "PATH", num_args = 1.., value_hint = ValueHint::FilePath, help_heading = "What is sent")]
    pub(super) files: Vec<PathBuf>,

    /// Where the bytes travel; auto takes null if this user can have it, else veth, else loopback [default: auto]
    #[arg(long, value_name = "LINK", allow_hyphen_values = true,
          value_parser = known(std::iter::once("auto").chain(LinkKind::ALL.iter().map(|each| each.name()))),
          hide_possible_values = true, help_heading = "Where it is sent")]
    pub(super) link: Option<String>,
    /// Version of the Internet Protocol: 4 or 6 [default: 4]
    #[arg(long, value_name = "VERSION", allow_hyphen_values = true,
          value_parser = known(IpVersion::ALL.iter().map(|each| each.name())), hide_possible_values = true,
          help_heading = "Where it is sent")]
    pub(super) ip: Option<String>,
    /// Bytes after which the far end of the null link acknowledges [default: 64k]
    #[arg(
        long,
        value_name = "SIZE",
        allow_hyphen_values = true,
        help_heading = "Where it is sent"
    )]
    pub(super) ack_every: Option<String>,
    /// Round-trip time that the far end of the null link makes up [default: 0s]
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        help_heading = "Where it is sent"
    )]
    pub(super) rtt: Option<String>,
    /// Receive buffer of the sockets (SO_RCVBUF) [default: as the kernel tunes it]
    #[arg(
        long,
        value_name = "SIZE",
        allow_hyphen_values = true,
        help_heading = "Where it is sent"
    )]
    pub(super) rcvbuf: Option<String>,
    /// The CPUs of sender and receiver, as in 0,1 [default: chosen]
    #[arg(long, value_name = "S,R", allow_hyphen_values = true, help_heading = "Where it is sent")]
    pub(super) cpus: Option<String>,
    /// The measured part of each trial
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        hide_short_help = true,
        help_heading = "Expert"
    )]
    pub(super) window: Option<String>,
    /// The idle window beside each trial
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        hide_short_help = true,
        help_heading = "Expert"
    )]
    pub(super) idle: Option<String>,
    /// What is thrown away before each window
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        hide_short_help = true,
        help_heading = "Expert"
    )]
    pub(super) warmup: Option<String>,

    /// A command (sh -c) that puts the host into a state; given twice, every cell is measured in both states in turns, and compared
    #[arg(
        long,
        value_name = "COMMAND",
        allow_hyphen_values = true,
        help_heading = "Two states of the host"
    )]
    pub(super) ab: Vec<String>,
    /// A command that puts the host back as it was, however the run ends
    #[arg(
        long,
        value_name = "COMMAND",
        allow_hyphen_values = true,
        requires = "ab",
        help_heading = "Two states of the host"
    )]
    pub(super) ab_restore: Option<String>,
    /// Waited after each of these commands before anything is measured [default: 100ms]
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        requires = "ab",
        help_heading = "Two states of the host"
    )]
    pub(super) ab_settle: Option<String>,
    /// How long each of these commands may take [default: 30s]
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        requires = "ab",
        help_heading = "Two states of the host"
    )]
    pub(super) ab_limit: Option<String>,

    /// Whether windows are sampled; `zc profile` says so
    #[arg(skip)]
    pub(super) sample: bool,

    #[command(flatten)]
    pub(super) remote: super::remote::RemoteArgs,

    /// Time for the whole run, everything included [default: the plan's]
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        help_heading = "How long, how well"
    )]
    pub(super) budget: Option<String>,
    /// Half-width of the intervals at which the run may end early [default: 2.5%]
    #[arg(
        long,
        value_name = "PERCENT",
        allow_hyphen_values = true,
        help_heading = "How long, how well"
    )]
    pub(super) target: Option<String>,
    /// Seed of the random order [default: a fresh one, saved in the run]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "How long, how well")]
    pub(super) seed: Option<String>,
    /// What the soakers do: alu prices CPU time, cache prices memory bandwidth too [default: alu]
    #[arg(long, value_name = "KIND", allow_hyphen_values = true,
          value_parser = known(SoakerKind::ALL.iter().map(|each| each.name())), hide_possible_values = true,
          help_heading = "How long, how well")]
    pub(super) soaker: Option<String>,

    /// A saved run whose top speeds are set beside memcpy (memory alone)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "What is sent")]
    pub(super) with: Option<PathBuf>,
    /// Where the run is saved; the file must not exist [default: zc-DATE.json in this folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) format: FormatArgs,
    /// Behind all others, which it puts its own among.
    #[command(flatten)]
    pub(super) factors: FactorArgs,
}

/// Arguments of `zc plan`.
#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    /// The plan to print; none lists them all
    #[arg(value_name = "NAME", value_parser = known(Experiment::ALL.iter().map(|each| each.name())),
          hide_possible_values = true)]
    pub(super) name: Option<String>,
}

/// Arguments of `zc show`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// A run that `zc run` has saved
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) file: PathBuf,
    /// Print the folded stacks of a run of `zc profile`, as flame graph tools read them
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "csv", "markdown"])]
    pub(super) folded: bool,
    #[command(flatten)]
    pub(super) format: FormatArgs,
}

/// Arguments of `zc report`.
#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// Runs that `zc run` has saved
    #[arg(value_name = "RUN", value_hint = ValueHint::FilePath, required = true, num_args = 1..)]
    pub(super) runs: Vec<PathBuf>,
    /// Where it is written, in place of what is there; only when it is whole [default: stdout]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) format: ReportFormatArgs,
}

/// The form of a report. At most one; none is HTML.
#[derive(Debug, Clone, Copy, Default, Args)]
#[group(multiple = false)]
pub(super) struct ReportFormatArgs {
    /// Write a page that needs nothing beside itself; the default
    #[arg(long, help_heading = "Output")]
    pub(super) html: bool,
    /// Write Markdown in 80 columns, for a pull request or a mailing list
    #[arg(long, help_heading = "Output")]
    pub(super) markdown: bool,
    /// Write CSV, a line to a path
    #[arg(long, help_heading = "Output")]
    pub(super) csv: bool,
    /// Write one JSON document
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    /// Write OpenMetrics text, for what collects metrics
    #[arg(long, help_heading = "Output")]
    pub(super) openmetrics: bool,
    /// Write a Vega-Lite specification with the data in it, to draw charts from
    #[arg(long, help_heading = "Output")]
    pub(super) vega_lite: bool,
}

/// How the result is written to stdout. At most one form; none is the table.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(super) struct FormatArgs {
    /// Print every table and note, not the deciding ones alone
    #[arg(short, long, help_heading = "Output")]
    pub(super) verbose: bool,
    /// Print one JSON document instead of the table
    #[arg(long, help_heading = "Output", conflicts_with_all = ["csv", "markdown"])]
    pub(super) json: bool,
    /// Print CSV instead of the table, a line to a path
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "markdown"])]
    pub(super) csv: bool,
    /// Print Markdown instead of the table
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "csv"])]
    pub(super) markdown: bool,
}

/// Arguments of `zc schema`.
#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// `run`: a saved run; `show`: the output of zc show --json, and of zc report --json for one run; `compare`: that of zc compare
    /// --json [default: run]
    #[arg(value_name = "NAME", value_parser = known(super::schema::NAMES.into_iter()), hide_possible_values = true)]
    pub(super) name: Option<String>,
}

/// Arguments of `zc generate`.
#[derive(Debug, Args)]
pub(super) struct GenerateArgs {
    /// `man` or `completions`
    #[arg(value_name = "WHAT", value_parser = known(["man", "completions"].into_iter()), hide_possible_values = true)]
    pub(super) what: String,
    /// The folder, which must exist
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) dir: PathBuf,
}

/// Takes any text, and tells shell completion which names are known.
pub(super) fn known(names: impl Iterator<Item = &'static str>) -> Known {
    Known(names.collect())
}

#[derive(Debug, Clone)]
pub(super) struct Known(Vec<&'static str>);

impl TypedValueParser for Known {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|name| PossibleValue::new(*name))))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_option_has_a_help_text_that_fits_its_line() {
        for command in Cli::command().get_subcommands() {
            for arg in command.get_arguments() {
                let help = arg
                    .get_help()
                    .unwrap_or_else(|| panic!("{}: {}", command.get_name(), arg.get_id()));
                assert!(!help.to_string().ends_with('.'), "{help}");
            }
        }
    }
}
