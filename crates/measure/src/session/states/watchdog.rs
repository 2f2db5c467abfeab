//! The keeper of the host's state: a process that runs one command after the other for a zc that measures, and the last one when that zc
//! is gone.
//!
//! It has a session of its own and holds back the signals that end a process, so that Ctrl-C, a closed terminal and a service
//! manager's SIGTERM reach zc, and zc's end reaches it. Only SIGKILL to itself stops it from restoring.

use std::io::{BufRead as _, Read as _, Seek as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM};
use zc_kernel::spawn::{HeldSignals, kill_group, new_session, pidfd, wait_readable};

use zc_run::{Error, Result};

/// So much of a command's stderr is passed on.
const MOST_STDERR: u64 = 4096;

/// What the keeper is asked to do: a line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    /// For `sh -c`.
    pub(super) command: String,
    /// On top of the keeper's own.
    pub(super) environment: Vec<(String, String)>,
    /// How long it may take.
    pub(super) limit_ns: u64,
    /// What is to be run if whoever asks is gone, from now on.
    pub(super) if_lost: Option<Box<Asked>>,
}

/// What became of it: a line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Done {
    /// Exit code 0.
    Well,
    /// Another end.
    Badly {
        /// `exit code 1`, `signal 9`.
        how: String,
        /// The beginning of what it wrote to stderr.
        stderr: String,
    },
    /// It was killed, with its process group, because it took too long.
    Late,
}

/// Does what is asked on stdin until nobody is left to ask.
///
/// # Errors
/// Signals cannot be held back.
pub fn keep() -> Result<()> {
    // It fails where this already leads a group, which then is its own.
    drop(new_session());
    let signals = HeldSignals::hold(&[SIGINT, SIGTERM, SIGHUP, SIGQUIT])
        .map_err(|error| Error::os("hold signals back", error))?;
    let mut if_lost = None;
    for line in std::io::stdin().lock().lines() {
        let Some(asked) = line.ok().and_then(|line| serde_json::from_str::<Asked>(&line).ok())
        else {
            break;
        };
        if_lost.clone_from(&asked.if_lost);
        let mut answer = serde_json::to_string(&run(&asked, &signals)).unwrap_or_default();
        answer.push('\n');
        let mut stdout = std::io::stdout().lock();
        if stdout.write_all(answer.as_bytes()).and_then(|()| stdout.flush()).is_err() {
            break;
        }
    }
    if let Some(asked) = if_lost {
        run(&asked, &signals);
    }
    Ok(())
}

fn run(asked: &Asked, signals: &HeldSignals) -> Done {
    let badly = |how: String| Done::Badly { how, stderr: String::new() };
    // A pipe would be held open by what the command leaves running, a file is not waited for.
    let stderr = match memfd_create("stderr", MemfdFlags::CLOEXEC) {
        Ok(stderr) => std::fs::File::from(stderr),
        Err(error) => return badly(format!("no place for its stderr ({error})")),
    };
    let Ok(for_child) = stderr.try_clone() else {
        return badly("no place for its stderr".to_owned());
    };
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(&asked.command)
        .envs(asked.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(for_child).process_group(0);
    signals.release_in_child(&mut command);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return badly(format!("no process ({error})")),
    };
    let ended = ends_within(child.id() as i32, Duration::from_nanos(asked.limit_ns));
    if !ended {
        drop(kill_group(child.id() as i32, SIGKILL));
    }
    match child.wait() {
        _ if !ended => Done::Late,
        Ok(status) if status.success() => Done::Well,
        Ok(status) => Done::Badly { how: how(status), stderr: beginning(stderr) },
        Err(error) => badly(format!("an end that nobody saw ({error})")),
    }
}

/// Whether a child ends in time; where that cannot be watched (before Linux 5.3) it has all the time.
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

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    }
}

fn beginning(mut file: std::fs::File) -> String {
    let mut bytes = Vec::new();
    if file.rewind().is_ok() {
        drop(file.take(MOST_STDERR).read_to_end(&mut bytes)); // what could be read is what there is
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
