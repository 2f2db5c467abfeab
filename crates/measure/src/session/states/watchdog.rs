//! The watchdog of the host's state: a process that runs commands one after another for a zc that
//! measures, and the last one when that zc is gone.
//!
//! It has a session of its own and blocks the signals that end a process. So Ctrl-C, a closed
//! terminal and a service manager's SIGTERM end zc, and the watchdog notices that. Only SIGKILL to
//! the watchdog itself prevents it from restoring the host.

use std::fs::File;
use std::io::{BufRead as _, Read as _, Seek as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM};

use zc_kernel::netns::enter_mounts;
use zc_kernel::spawn::{HeldSignals, kill_group, new_session, pidfd, wait_readable};
use zc_run::{Error, Result};

/// Largest part of a command's stderr that is passed on, in bytes.
const MOST_STDERR: u64 = 4096;

/// Largest part of its stdout, in bytes.
const MOST_STDOUT: u64 = 1 << 16;

/// A request to the watchdog: a line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    /// Passed to `sh -c`.
    pub(super) command: String,
    /// Added to the watchdog's own environment.
    pub(super) environment: Vec<(String, String)>,
    /// Time limit of the command.
    pub(super) limit_ns: u64,
    /// Whether its stdout is wanted.
    pub(super) reads_stdout: bool,
    /// The mount namespace in which it is run, unless that is this one's.
    pub(super) mounts: Option<PathBuf>,
    /// From now on, to be run when zc is gone.
    pub(super) if_lost: Option<Box<Request>>,
}

/// Result of a command: a line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Reply {
    /// Exit code 0.
    Succeeded {
        /// The first bytes of what it wrote to stdout, where that is wanted.
        stdout: String,
    },
    /// Any other exit code, a signal, or no process.
    Failed {
        /// `exit code 1`, `signal 9`.
        how: String,
        /// The first bytes of what it wrote to stderr.
        stderr: String,
    },
    /// It exceeded its time limit, and was killed with its process group.
    TimedOut,
}

/// Runs the commands that come on stdin until it ends.
///
/// # Errors
/// Signals cannot be blocked.
pub fn keep() -> Result<()> {
    // It fails if this process leads a group, which then is its own.
    drop(new_session());
    let signals = HeldSignals::hold(&[SIGINT, SIGTERM, SIGHUP, SIGQUIT])
        .map_err(|error| Error::os("block signals", error))?;
    let mut if_lost = None;
    // Held, so that what is left to be done there can be done after the server has ended.
    let mut mounts = None;
    for line in std::io::stdin().lock().lines() {
        let Some(request) = line.ok().and_then(|line| serde_json::from_str::<Request>(&line).ok())
        else {
            break;
        };
        if_lost.clone_from(&request.if_lost);
        if mounts.is_none() {
            mounts = request.mounts.as_deref().and_then(|path| File::open(path).ok());
        }
        let mut answer =
            serde_json::to_string(&run(&request, mounts.as_ref(), &signals)).unwrap_or_default();
        answer.push('\n');
        let mut stdout = std::io::stdout().lock();
        if stdout.write_all(answer.as_bytes()).and_then(|()| stdout.flush()).is_err() {
            break;
        }
    }
    if let Some(request) = if_lost {
        run(&request, mounts.as_ref(), &signals);
    }
    Ok(())
}

fn run(request: &Request, mounts: Option<&File>, signals: &HeldSignals) -> Reply {
    let failed = |how: String| Reply::Failed { how, stderr: String::new() };
    // Processes that the command leaves behind would keep a pipe open; a file has no such end to
    // wait for.
    let file = |name| {
        let file = File::from(memfd_create(name, MemfdFlags::CLOEXEC)?);
        Ok((file.try_clone()?, file))
    };
    let no_file = |error: std::io::Error| failed(format!("no file for what it writes ({error})"));
    let (stderr, to_stderr) = match file("stderr") {
        Ok(files) => files,
        Err(error) => return no_file(error),
    };
    let (stdout, to_stdout) = match request.reads_stdout.then(|| file("stdout")).transpose() {
        Ok(Some((stdout, to_stdout))) => (Some(stdout), Stdio::from(to_stdout)),
        Ok(None) => (None, Stdio::null()),
        Err(error) => return no_file(error),
    };
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(&request.command)
        .envs(request.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(to_stdout).stderr(to_stderr).process_group(0);
    signals.release_in_child(&mut command);
    let mut child = match spawn(&mut command, mounts) {
        Ok(child) => child,
        Err(error) => return failed(format!("no process ({error})")),
    };
    let ended = ends_within(child.id() as i32, Duration::from_nanos(request.limit_ns));
    if !ended {
        drop(kill_group(child.id() as i32, SIGKILL));
    }
    match child.wait() {
        _ if !ended => Reply::TimedOut,
        Ok(status) if status.success() => {
            let stdout = stdout.map_or_else(String::new, |file| beginning(file, MOST_STDOUT));
            Reply::Succeeded { stdout }
        }
        Ok(status) => {
            Reply::Failed { how: exit_text(status), stderr: beginning(stderr, MOST_STDERR) }
        }
        Err(error) => failed(format!("an unknown exit status ({error})")),
    }
}

/// Starts a command, in a mount namespace if there is one, in this process's working directory.
fn spawn(command: &mut Command, mounts: Option<&File>) -> std::io::Result<Child> {
    let Some(mounts) = mounts else { return command.spawn() };
    command.current_dir(std::env::current_dir()?);
    // A thread cannot leave a namespace that it has entered.
    std::thread::scope(|scope| {
        let there = || enter_mounts(mounts).and_then(|()| command.spawn());
        let thread = std::thread::Builder::new().spawn_scoped(scope, there)?;
        thread.join().unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked")))
    })
}

/// Whether a child ends in time. Before Linux 5.3 that cannot be watched, and it has no limit.
fn ends_within(pid: i32, limit: Duration) -> bool {
    let Ok(process) = pidfd(pid) else { return true };
    let until = std::time::Instant::now() + limit;
    loop {
        let left = until.saturating_duration_since(std::time::Instant::now());
        match wait_readable(&[process.as_fd()], Some(left)).as_deref() {
            Ok([true]) => return true,
            Ok(_) if left.is_zero() => return false,
            Ok(_) => {}
            Err(_) => return true,
        }
    }
}

fn exit_text(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    }
}

fn beginning(mut file: File, most: u64) -> String {
    let mut bytes = Vec::new();
    if file.rewind().is_ok() {
        drop(file.take(most).read_to_end(&mut bytes)); // an error ends the text
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
