//! The command that builds and installs a commit.

use std::ffi::OsString;
use std::io::{self, ErrorKind as IoKind, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::tell;
use zc_kernel::spawn::{kill, kill_group, pidfd, wait_readable};
use zc_kernel::stop::Stop;
use zc_run::{Error, Result, in_words};

/// Interval at which signals are checked.
const STEP: Duration = Duration::from_millis(100);

/// Time to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(3);

const SIGTERM: i32 = signal_hook::consts::SIGTERM;
const SIGKILL: i32 = signal_hook::consts::SIGKILL;

/// Runs the command. Its output goes to stderr. Returns why the commit cannot be told if it failed.
///
/// # Errors
/// Ctrl-C, after the command was ended; or there is no such program on this machine, so that no
/// commit could be built.
pub(super) fn run(words: &[OsString], stop: &Stop) -> Result<Option<String>> {
    let Some((program, arguments)) = words.split_first() else { return Ok(None) };
    let name = tell::path(Path::new(program));
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    let stdout = io::stderr().as_fd().try_clone_to_owned();
    command.stdout(stdout.map_err(|error| Error::os("copy stderr", error))?);
    // At a terminal Ctrl-C reaches the whole group, and a password may be asked for.
    let has_group = !io::stdin().is_terminal();
    if has_group {
        command.process_group(0);
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == IoKind::NotFound && !name.contains('/') => {
            let message = format!("the command \"{name}\" behind -- is not on this machine");
            return Err(Error::unsupported("command-not-found", message)
                .help("is it spelled right, and on the PATH?"));
        }
        Err(error) => {
            return Ok(Some(format!("\"{name}\" cannot be run: {}", in_words(&error))));
        }
    };
    let ended = pidfd(child.id() as i32).map_err(|error| Error::os("watch a command", error))?;
    let within =
        |time| matches!(wait_readable(&[ended.as_fd()], Some(time)).as_deref(), Ok([true]));
    while !within(STEP) {
        if stop.is_set() {
            end(&mut child, has_group, within);
            return Err(Error::interrupted("interrupted while the commit was built"));
        }
    }
    let status = child.wait().map_err(|error| Error::os("wait for a command", error))?;
    // Its exit, at a terminal, may be that of the same Ctrl-C.
    if stop.is_set() {
        return Err(Error::interrupted("interrupted while the commit was built"));
    }
    Ok((!status.success()).then(|| format!("\"{name}\" ended with {status}")))
}

/// Ends the command, and what it started where that is in a group of its own.
fn end(child: &mut Child, has_group: bool, within: impl Fn(Duration) -> bool) {
    let send = |signal| {
        let pid = child.id() as i32;
        // ESRCH: it has ended.
        let _ = if has_group { kill_group(pid, signal) } else { kill(pid, signal) };
    };
    send(SIGTERM);
    within(PATIENCE);
    send(SIGKILL);
    let _ = child.wait();
}
