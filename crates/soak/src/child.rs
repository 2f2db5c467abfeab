//! A command as a child of zc: in its session and process group, with the signals that zc is sent.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};

use super::fault::{CommandFault, Outcome};
use super::printed::Printed;
use zc_kernel::clock;
use zc_kernel::spawn::{Ended, HeldSignals, kill, pidfd, wait_readable, wait_with_usage};
use zc_run::{CommandEnd, Error, Result};

/// Signals that are passed on to the command. SIGTSTP and SIGCONT stop and continue zc too.
const PASSED_ON: [i32; 8] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT];

/// Signals among them after which the command is not executed again.
const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// The signals that are passed on, held back from zc.
#[derive(Debug)]
pub(super) struct Signals {
    held: HeldSignals,
    /// One of them asked for the end.
    pub(super) asked_to_end: bool,
}

impl Signals {
    /// Call it before there are threads, so that no other thread handles them.
    pub(super) fn hold() -> Result<Self> {
        let held =
            HeldSignals::hold(&PASSED_ON).map_err(|error| Error::os("block signals", error))?;
        Ok(Self { held, asked_to_end: false })
    }

    /// Sleeps until `at_ns`; returns whether a signal asked zc to end before.
    pub(super) fn end_before(&mut self, at_ns: u64) -> bool {
        loop {
            while let Some(received) = self.held.next() {
                match received.signal {
                    SIGTSTP => drop(self.held.let_through(received.signal)),
                    SIGCONT => {}
                    _ => self.asked_to_end = true,
                }
            }
            let left = at_ns.saturating_sub(clock::monotonic_ns());
            if left == 0 || self.asked_to_end {
                return self.asked_to_end;
            }
            let patience = Some(Duration::from_nanos(left));
            if wait_readable(&[self.held.as_fd()], patience).is_err() {
                clock::sleep_until(at_ns);
            }
        }
    }

    /// Runs a command to its end.
    pub(super) fn execute(&mut self, command: Command) -> Outcome<Ended> {
        let child = self.start(command)?;
        self.wait(child)
    }

    /// The same; returns what it printed, too.
    pub(super) fn execute_and_read(&mut self, mut command: Command) -> Outcome<(Ended, Printed)> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.start(command)?;
        let printed = Printed::by(&mut child);
        // Where that failed its pipes are closed, and it gets SIGPIPE when it prints.
        let ended = self.wait(child)?;
        Ok((ended, printed?))
    }

    fn start(&self, mut command: Command) -> Outcome<Child> {
        self.held.release_in_child(&mut command);
        command.spawn().map_err(|error| not_run(command.get_program(), error))
    }

    fn wait(&mut self, child: Child) -> Outcome<Ended> {
        self.pass_on(child.id() as i32);
        wait_with_usage(child)
            .map_err(|error| CommandFault::NotStarted(Error::os("wait for the command", error)))
    }

    /// Passes signals on until the process ends.
    fn pass_on(&mut self, pid: i32) {
        // Without a pidfd (before Linux 5.3) signals wait until the command has ended.
        let Ok(process) = pidfd(pid) else { return };
        loop {
            match wait_readable(&[process.as_fd(), self.held.as_fd()], None).as_deref() {
                Ok([false, _]) => {}
                _ => return,
            }
            while let Some(received) = self.held.next() {
                self.asked_to_end |= ENDING.contains(&received.signal);
                // The kernel sent it to the whole process group, the command included.
                if !received.by_kernel {
                    // It fails if it has just ended, or has another user.
                    drop(kill(pid, received.signal));
                }
                if received.signal == SIGTSTP {
                    drop(self.held.let_through(received.signal));
                }
            }
        }
    }
}

pub(super) fn end_of(status: ExitStatus) -> CommandEnd {
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
        Error::os(format!("run \"{name}\""), error).id("cannot-run-command")
    } else {
        Error::usage("command-not-found", format!("there is no command \"{name}\""))
            .help("a shell's own words need a shell: sh -c '...'")
    };
    CommandFault::NotRun { found, error }
}

/// Whether a folder of the PATH that can be searched has a file of this name.
fn is_in_path(program: &std::ffi::OsStr) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}
