//! The command line: its subcommands. The arguments of most are in the file of the command.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};

use super::advise::AdviseArgs;
use super::bisect::BisectArgs;
use super::calibrate::CalibrateArgs;
use super::classic::{ClassicArgs, InstallArgs};
use super::compare::CompareArgs;
use super::convert::ConvertArgs;
use super::doctor::DoctorArgs;
use super::export::ExportArgs;
use super::fleet::FleetArgs;
use super::http::HttpArgs;
use super::known::known;
use super::plan::PlanArgs;
use super::profile::ProfileArgs;
use super::report::ReportArgs;
use super::run_args::RunArgs;
use super::schema::SchemaArgs;
use super::serve::ServeArgs;
use super::show::ShowArgs;
use super::soak::SoakArgs;
use super::trend::TrendArgs;
use super::tune::TuneArgs;

/// What sending bytes over TCP costs on this machine, by every way to send them.
#[derive(Debug, Parser)]
#[command(name = "zc", version, arg_required_else_help = true, max_term_width = 100)]
pub(super) struct Cli {
    /// With --version: print commit, target, compiler and formats too
    #[arg(short, long, requires = "version")]
    verbose: bool,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // there is one
pub(super) enum Command {
    /// Measure what each send path costs, or run another plan
    ///
    /// Sends a set of files over a link inside this machine by every send path in turn, and
    /// measures the CPU time that each takes from the whole machine, by what it leaves to soakers
    /// (threads of lowest priority on every CPU, which count). The run is saved after every block
    /// of measurements, so Ctrl-C loses nothing and prints the results so far.
    Run(RunArgs),
    /// Sample the CPUs while paths send: what their costs consist of
    ///
    /// A run of a few paths in which all CPUs are sampled: data copy, checksum, TCP, locks and so
    /// on, in ns per KiB that add up to the soaked cost, and in which context, which is why
    /// getrusage differs. Needs root, or kernel.perf_event_paranoid=-1.
    Profile(ProfileArgs),
    /// List the plans of `zc run`, or print one to begin with
    Plan(PlanArgs),
    /// Receive for a `zc run --remote` on another machine
    ///
    /// Receives what the other machine sends, and measures what that costs here, one session after
    /// the other, until Ctrl-C. Clients without the token are refused.
    Serve(ServeArgs),
    /// Print a saved run again
    Show(ShowArgs),
    /// Write a page about saved runs, or text for other programs
    Report(ReportArgs),
    /// Compare saved runs, or cells: better, worse, same, undecided
    ///
    /// Two cells of one run are compared within its blocks; two runs as independent samples,
    /// relative to the reference that both have. Other differences between them (kernel, sysctls,
    /// CPU, link ...) are listed first. With --fail-if-worse the exit code is the answer: 0 no cell
    /// is worse by more than that, 1 some cell is, 10 undecided, 12 withheld, 13 or 14 not
    /// comparable.
    Compare(CompareArgs),
    /// For git bisect run: measure a commit until it is good or bad
    ///
    /// Builds the commit that is checked out, by the command after `--`, and measures it against a
    /// saved run (--good), or against a state of this host in turns (--ab, --ab), until it can be
    /// told. Exits with 0 if it costs no more, with 1 if it costs more, with 125 if it cannot be
    /// built, or told within --budget, and with 128 or above for what is wrong with all commits.
    /// The log says what was seen at each commit, and at the end how sure the suspect is.
    Bisect(BisectArgs),
    /// Print by how much costs differ between runs of one state
    ///
    /// Takes several saved runs of one plan on one machine (`zc run --like`), and prints the
    /// standard deviation between them beyond what their own intervals show, and the smallest
    /// change that zc compare would find. zc compare --calibration takes the same runs, and uses
    /// their deviation in place of what the two runs show of it.
    Calibrate(CalibrateArgs),
    /// Measure on many hosts, and print what all of them say
    ///
    /// A file says which hosts there are, which pairs of them measure, and what. zc fleet plan
    /// makes jobs for Slurm of it (or goes from pair to pair by ssh), zc fleet submit submits what
    /// is missing, and zc fleet report reads what has come back: costs by path and group of hosts,
    /// hosts and pairs that are odd, and what conditions explain. docs/fleet.md walks through it.
    Fleet(FleetArgs),
    /// Print which costs changed in which night, from an archive
    ///
    /// A line for each path and group of hosts, net of which hosts were measured, with the nights
    /// in which its level changed, each with its interval. With --fail-if-worse the exit code is
    /// the answer: 0 no line's latest level is above the one before by more than that, 1 one is, 10
    /// it cannot be told.
    Trend(TrendArgs),
    /// Write the figures of an archive of runs as one table
    ///
    /// CSV or Parquet, for DuckDB, pandas or a spreadsheet: a line for each run, path and end:
    /// when, between which hosts, of which kernel, CPU and features, and the cost with its standard
    /// error.
    Export(ExportArgs),
    /// Show this machine's load, or what a command costs all of it
    ///
    /// Load is measured by what is left to soakers, threads of lowest priority on every CPU.
    ///
    /// Without a command: a line of load for each period, until Ctrl-C. With one, after `--`: the
    /// CPU seconds that the whole machine spent on it, compared with getrusage and /proc/stat. The
    /// command has its own streams, signals and exit code (125: zc failed, 126: it cannot be run,
    /// 127: it does not exist), and the result goes to stderr.
    ///
    /// Of a service that runs, what it costs: for a while (--for), or until Ctrl-C as metrics
    /// (--openmetrics), with soakers that are awake in 2.4 % of the time and less than a hundredth
    /// of a CPU for zc itself.
    Soak(SoakArgs),
    /// Send requests to an HTTP server, by schedule or unpaced
    ///
    /// Prints requests per second, latencies, faults, and what the sending cost. With --rate,
    /// requests are due at constant spacing, whatever the server does, and latencies count from
    /// when each was due. A CPU of it made 148,000 requests per second of 4 KiB, of wrk 126,000, of
    /// h2load 115,000 and of oha 69,000, on the same server (docs/http.md).
    Http(HttpArgs),
    /// Print what access logs have, and cores that a path would save
    ///
    /// Reads the logs of web servers, caches and CDNs, in one go, compressed with gzip or zstd or
    /// not. The format is told by the first lines: combined and others of Apache and nginx, JSON
    /// lines of nginx, Caddy, Envoy and Traefik, HAProxy, Squid, IIS, Amazon S3 and CloudFront.
    /// Addresses, paths and agents are neither kept nor printed. What requests cost by each path is
    /// from a saved run of zc run requests: the one of --from-run, else the newest of this machine
    /// in this folder, else one that is measured now, in 90 s. Exits with 3 if a log cannot be
    /// read, or nothing in it.
    Advise(AdviseArgs),
    /// Print which lines of a server's configuration to change
    ///
    /// Reads the configuration, which it never writes, and measures copies of it in a network
    /// namespace of its own, each with one line changed, under the mix of requests of an access
    /// log: CPU per request with intervals, latencies, and the winners together. Prints the lines to
    /// change, what they are worth, and the change as a diff.
    Tune(TuneArgs),
    /// Write runs of older formats in today's
    ///
    /// A run of format 2 or 3 is written as JSON Lines, which other programs read; the older file
    /// stays. zc itself reads all of them.
    Convert(ConvertArgs),
    /// Print the JSON Schema of a saved run, or of a command's JSON
    ///
    /// docs/format.md describes the saved run for authors of other programs; the schema is for
    /// programs that validate it or generate code from it.
    Schema(SchemaArgs),
    /// Show whether this machine is fit to measure, and what is not
    ///
    /// Exits with 12 if it is not fit as it is: verdicts would be withheld.
    Doctor(DoctorArgs),
    /// Discard what zcc sends, and print the throughput
    Zcs(ClassicArgs),
    /// Send files to zcs, over and over
    Zcc(ClassicArgs),
    /// Show the load: calibrated once, then one line per second
    Cyclesoak(ClassicArgs),
    /// Run a command, or a shell, SCHED_RR
    #[command(alias = "run_rr")]
    RunRr(ClassicArgs),
    /// Send or receive as ttcp does, also by sendfile
    Ttcp(ClassicArgs),
    /// Make links to zc under the names of these tools
    InstallClassic(InstallArgs),
    /// Write man pages, shell completions or JSON Schemas
    Generate(GenerateArgs),
}

/// Arguments of `zc generate`.
#[derive(Debug, Args)]
pub(super) struct GenerateArgs {
    /// `man`, `completions` or `schema`
    #[arg(
        value_name = "WHAT",
        value_parser = known(super::generate::KINDS.into_iter()),
        hide_possible_values = true,
    )]
    pub(super) what: String,
    /// The folder, which must exist
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) dir: PathBuf,
}

impl Command {
    /// Whether it starts commands of the user, such as sudo, which may need more rights than this
    /// process has.
    pub(super) fn starts_commands(&self) -> bool {
        match self {
            Self::Run(args) => args.starts_commands(),
            Self::Soak(args) => args.starts_a_command(),
            Self::RunRr(_) | Self::Fleet(_) | Self::Tune(_) | Self::Bisect(_) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;
    use std::ffi::OsString;

    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    /// Argument that names something in a saved run. A run is JSON, so this is text.
    const TEXT: &str = "nfs_file";

    /// All commands, those of commands included.
    fn each(command: &clap::Command, check: &mut impl FnMut(&clap::Arg)) {
        command.get_arguments().for_each(&mut *check);
        command.get_subcommands().for_each(|command| each(command, check));
    }

    #[test]
    fn every_argument_that_is_a_file_takes_names_that_are_no_utf8() {
        let of_files = [
            ValueHint::FilePath,
            ValueHint::DirPath,
            ValueHint::AnyPath,
            ValueHint::ExecutablePath,
        ];
        let takes = [TypeId::of::<PathBuf>(), TypeId::of::<OsString>()];
        let mut found = 0;
        each(&Cli::command(), &mut |arg| {
            if of_files.contains(&arg.get_value_hint()) && arg.get_id() != TEXT {
                found += 1;
                let type_id = arg.get_value_parser().type_id();
                assert!(takes.iter().any(|takes| type_id == *takes), "{}", arg.get_id());
            }
        });
        assert!(found > 40, "{found}");
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
