//! What a command costs the whole machine, from before its process is created until it has been
//! waited for.
//!
//! The command is in zc's own session and process group, as it would be without zc. Signals from
//! the terminal reach it directly; signals sent to zc alone are passed on. The soakers are in a
//! helper process that ranks below it.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use zc_kernel::clock;
use zc_kernel::spawn::{HeldSignals, kill, pidfd, wait_readable, wait_with_usage};

use super::setup::{Soaked, idle, interrupted, set_up, start};
use zc_run::{CommandEnd, Error, SoakCommand, SoakWindow};

/// Signals that are passed on to the command. SIGTSTP and SIGCONT stop and continue zc too.
const PASSED_ON: [i32; 8] = [
    signal_hook::consts::SIGINT,
    signal_hook::consts::SIGTERM,
    signal_hook::consts::SIGHUP,
    signal_hook::consts::SIGQUIT,
    signal_hook::consts::SIGUSR1,
    signal_hook::consts::SIGUSR2,
    signal_hook::consts::SIGTSTP,
    signal_hook::consts::SIGCONT,
];

/// Options of [`command`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOptions {
    /// CPUs and kind of the soakers.
    pub soaked: Soaked,
    /// The command and its arguments; not empty.
    pub command: Vec<std::ffi::OsString>,
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandFault {
    /// There is no such command (`found` is false), or it cannot be run.
    NotRun {
        /// Whether it exists.
        found: bool,
        /// The error of starting it.
        error: Error,
    },
    /// The command has not been started, because of a failure of zc.
    NotStarted(Error),
    /// The command has ended, but its cost is unknown.
    NotMeasured {
        /// How it ended.
        end: CommandEnd,
        /// Why it was not measured.
        error: Error,
    },
}

/// Runs the command and measures it.
///
/// # Errors
/// It could not be run or measured.
pub fn command(options: &CommandOptions) -> Result<SoakCommand, CommandFault> {
    let own = CommandFault::NotStarted;
    let (program, arguments) = options
        .command
        .split_first()
        .ok_or_else(|| own(Error::usage("a command is missing after \"--\"")))?;
    // Before there are threads, so that no other thread handles them.
    let signals =
        HeldSignals::hold(&PASSED_ON).map_err(|error| own(Error::os("block signals", error)))?;
    let mut meter = set_up(&options.soaked).map_err(own)?;
    let mut ended_early = |at_ns| signal_before(at_ns, &signals);
    let start = start(&mut meter, &mut ended_early).map_err(own)?;
    let start = start.ok_or_else(|| own(interrupted()))?;

    let mut command = Command::new(program);
    command.args(arguments);
    signals.release_in_child(&mut command);
    let opened = meter.open().map_err(own)?;
    let child = command.spawn().map_err(|error| not_run(program, error))?;
    let pid = child.id() as i32;
    pass_signals_on(&signals, pid);
    let ended = wait_with_usage(child);
    let closed = meter.close();

    let ended = ended.map_err(|error| own(Error::os("wait for the command", error)))?;
    let end = end_of(ended.status);
    let lost = |error| CommandFault::NotMeasured { end, error };
    let window = SoakWindow { opened, closed: closed.map_err(lost)? };
    let idle_after = idle(&mut meter, &mut ended_early).map_err(lost)?;
    Ok(SoakCommand {
        command: options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        start,
        window,
        end,
        user_ns: ended.user_ns,
        system_ns: ended.system_ns,
        idle_after,
    })
}

/// Sleeps until `at_ns`; returns whether a signal asked zc to end before.
fn signal_before(at_ns: u64, signals: &HeldSignals) -> bool {
    loop {
        while let Some(received) = signals.next() {
            match received.signal {
                signal_hook::consts::SIGTSTP => drop(signals.let_through(received.signal)),
                signal_hook::consts::SIGCONT => {}
                _ => return true,
            }
        }
        let left = at_ns.saturating_sub(clock::monotonic_ns());
        if left == 0 {
            return false;
        }
        if wait_readable(&[signals.as_fd()], Some(Duration::from_nanos(left))).is_err() {
            clock::sleep_until(at_ns);
        }
    }
}

/// Passes signals on until the process ends.
fn pass_signals_on(signals: &HeldSignals, pid: i32) {
    // Without a pidfd (before Linux 5.3) signals wait until the command has ended.
    let Ok(process) = pidfd(pid) else { return };
    loop {
        match wait_readable(&[process.as_fd(), signals.as_fd()], None).as_deref() {
            Ok([false, _]) => {}
            _ => return,
        }
        while let Some(received) = signals.next() {
            // The kernel sent it to the whole process group, the command included.
            if !received.by_kernel {
                drop(kill(pid, received.signal)); // fails if it has just ended, or has another user
            }
            if received.signal == signal_hook::consts::SIGTSTP {
                drop(signals.let_through(received.signal));
            }
        }
    }
}

fn end_of(status: ExitStatus) -> CommandEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => CommandEnd::Exited { code },
        (None, signal) => CommandEnd::Killed { signal: signal.unwrap_or(0) },
    }
}

fn not_run(program: &std::ffi::OsStr, error: io::Error) -> CommandFault {
    let name = program.to_string_lossy();
    let found = match error.kind() {
        io::ErrorKind::NotFound => false,
        // execvp(3) fails with EACCES also when a folder of the PATH may not be searched and no
        // other one has the command.
        io::ErrorKind::PermissionDenied => name.contains('/') || is_in_path(program),
        _ => true,
    };
    let error = if found {
        Error::os(format!("run \"{name}\""), error)
    } else {
        Error::usage(format!("there is no command \"{name}\""))
            .help("a shell's own words need a shell: sh -c '...'")
    };
    CommandFault::NotRun { found, error }
}

/// Whether a folder of the PATH that can be searched has a file of this name.
fn is_in_path(program: &std::ffi::OsStr) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}
