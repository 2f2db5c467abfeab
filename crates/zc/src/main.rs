//! The command line: it parses arguments, writes the result to stdout and progress and warnings to
//! stderr, and exits with a code (docs/exit-codes.md). No other crate prints; only `report` also
//! makes text for people.

mod access_log;
mod advise;
mod advise_costs;
mod advise_tls;
mod anonymise;
mod apart;
mod archive;
mod args;
mod bisect;
mod busy;
mod calibrate;
mod classic;
mod command_groups;
mod compare;
mod convert;
mod decompress;
mod doctor;
mod earlier;
mod examples;
mod experiment;
mod export;
mod factor_args;
mod fleet;
mod folder;
mod format;
mod generate;
mod grouping;
mod guest;
mod http;
mod interim;
mod internal;
mod interrupt;
mod kernel_args;
mod kernels;
mod known;
mod like;
mod log_format;
mod log_input;
mod man;
mod memory;
mod nfs;
mod nfs_args;
mod option_groups;
mod plan;
mod planned;
mod price;
mod profile;
mod progress;
mod quiet;
mod read;
mod remote;
mod render;
mod replace;
mod replay_args;
mod report;
mod request_args;
mod resolve;
mod result_file;
mod rights;
mod run;
mod run_args;
mod run_help;
mod run_line;
mod run_out;
mod saved_here;
mod schema;
mod serve;
mod server;
mod server_args;
mod show;
mod soak;
mod soak_command;
mod soak_meter;
mod soak_service;
mod tell;
mod trend;
mod tune;
mod version;
mod wrong_arguments;
mod zstd_frames;

use std::ffi::OsString;
use std::process::ExitCode;

use args::{Cli, Command};
use clap::{CommandFactory as _, FromArgMatches as _};

use zc_classic::Tool;
use zc_kernel::names::without_modules_of_the_host;
use zc_run::Result;

/// The stack that parsing arguments needs is 128 KiB, and 512 KiB in a build for debugging.
const STACK_BYTES: usize = 2 << 20;

fn main() -> ExitCode {
    // Before there is a second thread. Without memory for two words, names are looked up as the
    // host's settings say.
    let _ = without_modules_of_the_host();
    zc_kernel::stack::at_least(STACK_BYTES, run_program)
}

/// Runs the program, and prints the error that ends it.
fn run_program() -> ExitCode {
    let ready =
        rights::refuse_those_of_the_file().and_then(|()| interrupt::survive_file_size_limit());
    match ready.and_then(|()| perform()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            tell::error(&error);
            // git would take it for an answer about the commit.
            ExitCode::from(match bisect::is_asked_for() {
                true => bisect::exit_code(error.kind),
                false => error.kind.exit_code(),
            })
        }
    }
}

/// Does what was asked for, and returns the exit code.
fn perform() -> Result<u8> {
    // The tools of 2001 parse their own arguments.
    match (internal::asked_for(), classic::asked_for()) {
        (Some(done), _) => done,
        (None, Some((tool, words))) => classic::run(tool, &words),
        (None, None) => parse().and_then(dispatch),
    }
}

/// Parses the arguments: one command line, or one for each experiment that is named; none if they
/// asked for help or the version, which has been printed.
fn parse() -> Result<Vec<Command>> {
    let mut words = std::env::args_os();
    let program: Vec<OsString> = words.next().into_iter().collect();
    let mut commands = Vec::new();
    for line in run_line::one_each(words.collect()) {
        let texts: Vec<String> =
            line.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let command = command_groups::with(examples::with(Cli::command(), "zc"));
        let command = kernel_args::with(command, &texts);
        let matches = run_help::with(command, &texts)
            .try_get_matches_from(program.iter().cloned().chain(line));
        let error = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
            Ok(cli) => {
                commands.push(cli.command);
                continue;
            }
            Err(error) => error,
        };
        return match error.kind() {
            clap::error::ErrorKind::DisplayVersion if version::is_verbose(std::env::args_os()) => {
                tell::result(&version::verbose())?;
                Ok(Vec::new())
            }
            // `zc` without arguments asks for help and is not an error.
            clap::error::ErrorKind::DisplayHelp
            | clap::error::ErrorKind::DisplayVersion
            | clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                tell::help(&error.render())?;
                Ok(Vec::new())
            }
            _ => Err(wrong_arguments::refused(&error, &texts)),
        };
    }
    Ok(commands)
}

/// Runs the command, or the experiments that are named, and returns the exit code.
fn dispatch(commands: Vec<Command>) -> Result<u8> {
    if !commands.iter().any(Command::starts_commands) {
        rights::refuse_new_ones();
    }
    let mut commands = commands.into_iter();
    let Some(command) = commands.next() else { return Ok(0) };
    match command {
        Command::Run(args) => {
            let others = commands.filter_map(|command| match command {
                Command::Run(args) => Some(args),
                _ => None,
            });
            return run::run([args].into_iter().chain(others).collect());
        }
        Command::Profile(args) => profile::profile(args),
        Command::Plan(args) => plan::plan(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Show(args) => show::show(&args),
        Command::Report(args) => report::report(&args),
        Command::Export(args) => export::run(&args),
        Command::Compare(args) => return compare::run(&args),
        Command::Fleet(args) => return fleet::run(&args),
        Command::Bisect(args) => return bisect::run(&args),
        Command::Trend(args) => return trend::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Convert(args) => convert::convert(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Soak(args) => return soak::run(&args),
        Command::Http(args) => http::run(&args),
        Command::Advise(args) => advise::run(&args),
        Command::Schema(args) => schema::schema(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Zcs(args) => return classic::run(Tool::Zcs, &args.words),
        Command::Zcc(args) => return classic::run(Tool::Zcc, &args.words),
        Command::Cyclesoak(args) => return classic::run(Tool::Cyclesoak, &args.words),
        Command::RunRr(args) => return classic::run(Tool::RunRr, &args.words),
        Command::Ttcp(args) => return classic::run(Tool::Ttcp, &args.words),
        Command::InstallClassic(args) => classic::install(&args),
        Command::Generate(args) => generate::generate(&args),
    }
    .map(|()| 0)
}
