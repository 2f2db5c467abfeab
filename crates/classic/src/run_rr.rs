//! Runs a command under SCHED_RR, and finds what keeps real-time tasks from taking a whole CPU.
//!
//! Nothing is measured here. The process takes the policy and becomes the command (execve(2)), so
//! the command has its own streams, signals and exit code, and its children inherit the policy.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use zc_kernel::sched;
use zc_rig::privileges::no_round_robin;

use super::getopt::{Known, Letter};
use super::tool::Tool;
use zc_run::{Error, Result};

/// The lowest real-time priority: above all tasks that are not real-time, below all others that
/// are.
const PRIORITY: i32 = 1;
/// The default share of the fair class on a CPU that is full of real-time work: 50 ms per second
/// (`fair_server_init` of kernel/sched/fair.c).
const FAIR_SERVER_US: (u64, u64) = (50_000, 1_000_000);

const KNOWN: Known = Known { plain: "dh", valued: "", long: &[], stops_at_operand: true };

/// The parsed command line of `run_rr`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRrOptions {
    /// `-h`
    pub help: bool,
    /// The command and its arguments; empty for a shell.
    pub command: Vec<OsString>,
}

impl RunRrOptions {
    /// Parses the arguments. Those after the command's name belong to the command.
    ///
    /// # Errors
    /// An unknown option before the command.
    pub fn read(words: &[OsString]) -> Result<Self> {
        let words = KNOWN.read(Tool::RunRr, words)?;
        let help = words.given.iter().any(|(letter, _)| *letter == Letter::Short('h'));
        Ok(Self { help, command: words.operands })
    }

    /// The program to run: the command, or the user's shell.
    pub fn program(&self) -> OsString {
        match self.command.first() {
            Some(program) => program.clone(),
            None => std::env::var_os("SHELL")
                .filter(|shell| !shell.is_empty())
                .unwrap_or_else(|| "/bin/sh".into()),
        }
    }
}

/// The mechanism that leaves other tasks some time on a CPU that is full of real-time work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Since Linux 6.12 a deadline server runs the other tasks, soakers too, when they starve.
    FairServer {
        /// The time of the other tasks in each period, in microseconds.
        runtime_us: u64,
        /// The period, in microseconds.
        period_us: u64,
    },
    /// In older kernels, real-time tasks are stopped for the rest of each period.
    Throttling {
        /// The time of real-time tasks in each period, in microseconds.
        runtime_us: u64,
        /// The period, in microseconds.
        period_us: u64,
    },
    /// It is switched off: a command that does not end takes its CPU for ever.
    None,
}

/// The mechanism of this machine.
///
/// # References
/// Documentation/scheduler/sched-rt-group.rst; sched(7), "Limiting the CPU usage of real-time and
/// deadline processes"; commit 557a6bfc662c ("sched/fair: Add trivial fair server", Linux 6.12);
/// /sys/kernel/debug/sched/fair_server.
pub fn guard() -> Guard {
    find_guard(Path::new("/"), &rustix::system::uname().release().to_string_lossy())
}

fn find_guard(root: &Path, release: &str) -> Guard {
    let number = |path: PathBuf| std::fs::read_to_string(path).ok()?.trim().parse::<i64>().ok();
    let servers = root.join("sys/kernel/debug/sched/fair_server");
    // There is one per CPU; CPU 0's is taken for all.
    let server =
        |name: &str| number(servers.join("cpu0").join(name)).and_then(|ns| u64::try_from(ns).ok());
    match (server("runtime"), server("period")) {
        (Some(0), Some(_)) => return Guard::None,
        (Some(runtime_ns), Some(period_ns)) => {
            return Guard::FairServer {
                runtime_us: runtime_ns / 1000,
                period_us: period_ns / 1000,
            };
        }
        _ => {}
    }
    // Without debugfs, or without root, only the kernel's release shows whether it has the server.
    if has_fair_server(release) {
        let (runtime_us, period_us) = FAIR_SERVER_US;
        return Guard::FairServer { runtime_us, period_us };
    }
    let sysctl = |name: &str| number(root.join("proc/sys/kernel").join(name));
    match (sysctl("sched_rt_runtime_us"), sysctl("sched_rt_period_us")) {
        (Some(runtime_us @ 0..), Some(period_us @ 1..)) if runtime_us < period_us => {
            // Neither is negative.
            Guard::Throttling { runtime_us: runtime_us as u64, period_us: period_us as u64 }
        }
        _ => Guard::None,
    }
}

/// Whether the release is 6.12 or later.
fn has_fair_server(release: &str) -> bool {
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(12))
}

/// Why the process could not become the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRun {
    /// There is no such command.
    NotFound(Error),
    /// It cannot be run.
    NotRunnable(Error),
}

/// Gives this process the policy SCHED_RR.
///
/// # Errors
/// This user may not set it.
pub fn take_policy() -> Result<()> {
    sched::set_round_robin(PRIORITY).map_err(|error| no_round_robin(&error))
}

/// Becomes the command; returns only if that fails.
pub fn run_rr(options: &RunRrOptions) -> NotRun {
    let program = options.program();
    let error = Command::new(&program).args(options.command.iter().skip(1)).exec();
    let name = program.to_string_lossy();
    match error.kind() {
        io::ErrorKind::NotFound => NotRun::NotFound(
            Error::usage("command-not-found", format!("there is no command \"{name}\""))
                .help("builtins of a shell need a shell: run_rr sh -c '...'"),
        ),
        _ => NotRun::NotRunnable(
            Error::os(format!("run \"{name}\""), error).id("cannot-run-command"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_s_letters_are_its_own() {
        let read = |words: &[&str]| {
            RunRrOptions::read(&words.iter().map(OsString::from).collect::<Vec<_>>())
        };
        let options = read(&["ls", "-h", "--", "-x"]).unwrap();
        assert!(!options.help);
        assert_eq!(options.command, ["ls", "-h", "--", "-x"]);
        assert!(read(&["-h"]).unwrap().help);
        assert!(read(&[]).unwrap().command.is_empty());
        assert_eq!(read(&["-x", "ls"]).unwrap_err().id, "unknown-option");
    }

    #[test]
    fn what_guards_other_tasks_depends_on_the_kernel() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(find_guard(root.path(), "6.1.0-amd64"), Guard::None);
        write("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
        write("proc/sys/kernel/sched_rt_period_us", "1000000\n");
        let throttled = Guard::Throttling { runtime_us: 950_000, period_us: 1_000_000 };
        assert_eq!(find_guard(root.path(), "6.11.9"), throttled);
        let served = Guard::FairServer { runtime_us: 50_000, period_us: 1_000_000 };
        for release in ["6.12.0", "6.18.44-fc", "7.0-rc1"] {
            assert_eq!(find_guard(root.path(), release), served, "{release}");
        }
        assert_eq!(find_guard(root.path(), "nonsense"), throttled);
        write("proc/sys/kernel/sched_rt_runtime_us", "-1\n");
        assert_eq!(find_guard(root.path(), "5.10.0"), Guard::None);
        write("sys/kernel/debug/sched/fair_server/cpu0/runtime", "20000000\n");
        write("sys/kernel/debug/sched/fair_server/cpu0/period", "1000000000\n");
        let served = Guard::FairServer { runtime_us: 20_000, period_us: 1_000_000 };
        assert_eq!(find_guard(root.path(), "6.12.0"), served);
    }
}
