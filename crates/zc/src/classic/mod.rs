//! The tools of 2001 on the command line. Their arguments go to `zc-classic` unparsed, and its
//! events get their texts here. The output of 2001 goes to stdout, everything else to stderr.

mod load;
mod output;
mod transfer;
mod ttcp;
mod usage;

use std::ffi::OsString;

use super::{rights, soak_command, tell};
use zc_classic::{Guard, NotRun, RunRrOptions, Tool};
use zc_run::Result;

/// Arguments of a tool of 2001, which parses them itself.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(super) struct ClassicArgs {
    /// As in 2001; -h lists them
    #[arg(value_name = "ARGUMENTS", allow_hyphen_values = true, trailing_var_arg = true)]
    pub(super) words: Vec<OsString>,
}

/// Arguments of `zc install-classic`.
#[derive(Debug, clap::Args)]
pub(super) struct InstallArgs {
    /// The folder of the links, which must exist
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: std::path::PathBuf,
}

/// The tool that the program's name or the first word asks for, and its arguments.
pub(super) fn asked_for() -> Option<(Tool, Vec<OsString>)> {
    zc_classic::invoked(std::env::args_os())
}

/// Runs a tool, and returns the exit code.
///
/// # Errors
/// An argument is not valid, or the tool failed.
pub(super) fn run(tool: Tool, words: &[OsString]) -> Result<u8> {
    if words.first().is_some_and(|word| word == "--help") {
        return usage::print(tool).map(|()| 0);
    }
    if tool != Tool::RunRr {
        rights::refuse_new_ones();
    }
    match tool {
        Tool::Zcs => transfer::zcs(words),
        Tool::Zcc => transfer::zcc(words),
        Tool::Cyclesoak => load::cyclesoak(words),
        Tool::Ttcp => ttcp::ttcp(words),
        Tool::RunRr => return run_rr(words),
    }
    .map(|()| 0)
}

/// `zc install-classic`
///
/// # Errors
/// A name is taken, or the folder cannot be written.
pub(super) fn install(args: &InstallArgs) -> Result<()> {
    for one in zc_classic::install(&args.dir)? {
        let link = tell::path(&one.link);
        tell::note(&match one.was_there {
            true => format!("\"{link}\" was there already"),
            false => format!("\"{link}\" leads to \"{}\"", tell::path(&one.program)),
        });
    }
    Ok(())
}

/// Becomes the command. If that fails, the exit code is one that commands rarely have.
fn run_rr(words: &[OsString]) -> Result<u8> {
    let options = RunRrOptions::read(words)?;
    if options.help {
        return usage::print(Tool::RunRr).map(|()| 0);
    }
    if let Err(error) = zc_classic::take_policy() {
        tell::error(&error);
        return Ok(soak_command::OWN_FAILURE);
    }
    tell::note(&format!("run_rr: SCHED_RR; {}", guard_text(zc_classic::guard())));
    let (error, code) = match zc_classic::run_rr(&options) {
        NotRun::NotFound(error) => (error, soak_command::NOT_FOUND),
        NotRun::NotRunnable(error) => (error, soak_command::NOT_EXECUTABLE),
    };
    tell::error(&error);
    Ok(code)
}

fn guard_text(guard: Guard) -> String {
    let ms = |us: u64| us as f64 / 1000.0;
    match guard {
        Guard::FairServer { runtime_us, period_us } => format!(
            "a command that wants a whole CPU loses up to {} ms of every {} ms to whatever else is \
             to run there, soakers too \
             (the fair server, since Linux 6.12)",
            ms(runtime_us),
            ms(period_us)
        ),
        Guard::Throttling { runtime_us, period_us } => format!(
            "a command that wants a whole CPU is stopped for {} ms of every {} ms \
             (kernel.sched_rt_runtime_us)",
            ms(period_us.saturating_sub(runtime_us)),
            ms(period_us)
        ),
        Guard::None => {
            "nothing holds it back here: a command that wants a whole CPU and does not end takes \
             that CPU for good"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_against_real_time_commands_is_one_line_with_figures() {
        let text = guard_text(Guard::FairServer { runtime_us: 50_000, period_us: 1_000_000 });
        assert!(
            text.contains("loses up to 50 ms of every 1000 ms") && !text.contains('\n'),
            "{text}"
        );
        let text = guard_text(Guard::Throttling { runtime_us: 950_000, period_us: 1_000_000 });
        assert!(text.contains("is stopped for 50 ms of every 1000 ms"), "{text}");
        assert!(guard_text(Guard::None).contains("nothing holds it back"));
    }
}
