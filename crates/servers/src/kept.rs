//! A command that zc starts on one side of a link and ends again, and the process that keeps it:
//! the server of `zc run server --serve`, and the load generator that may ask it.
//!
//! The *keeper* is a second zc between the two. Servers become daemons and start workers; the
//! keeper is the reaper of all that descends from it, so it finds them, and ends them all when the
//! zc that measures closes its pipe or is gone for any reason, SIGKILL included.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM};

use super::own_state;
use zc_kernel::spawn::{HeldSignals, kill, pidfd, wait_readable};
use zc_kernel::{clock, process, sched};
use zc_rig::internal::{INTERNAL, KEEPER};
use zc_rig::meter::descendants;
use zc_rig::stderr_tail::StderrTail;
use zc_run::{Error, Result, escape, in_words};

/// This program.
pub(super) const OWN_PROGRAM: &str = "/proc/self/exe";

/// Time for the keeper to end beyond that.
const GRACE: Duration = Duration::from_secs(5);

/// Time between two looks at whether processes have ended.
const LOOK: Duration = Duration::from_millis(20);

/// Largest part of a command's last words in an error, in characters.
const MOST_WORDS: usize = 500;

/// The command to keep running. The keeper gets it as a line of JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wanted {
    /// Its name in errors: `the server`.
    pub what: String,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The CPUs that it is pinned to.
    pub cpus: Vec<usize>,
    /// Time allowed for ending after SIGTERM, before it is killed.
    pub patience: Duration,
    /// Whether what it writes to the host's state folders is kept from the host.
    pub has_own_state: bool,
}

/// The keeper's only message: a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    /// The command could not be started.
    NotStarted { why: String },
    /// Every process of the command has ended.
    Ended { how: String, last_words: Option<String> },
}

/// A command that runs. It ends when this is dropped.
#[derive(Debug)]
pub struct Kept {
    keeper: Child,
    orders: Option<ChildStdin>,
    news: BufReader<ChildStdout>,
    wanted: Wanted,
    pids: Vec<i32>,
}

impl Kept {
    /// Starts what is `wanted`, on the side of a link that `enter` goes to.
    ///
    /// # Errors
    /// The processes cannot be started.
    pub fn start(wanted: Wanted, enter: impl FnOnce() -> Result<()> + Send) -> Result<Self> {
        // A thread cannot leave a namespace that it has entered, so this has a thread of its own.
        let mut keeper = std::thread::scope(|scope| {
            std::thread::Builder::new()
                .spawn_scoped(scope, || enter().and_then(|()| start_keeper(&wanted.what)))
                .map_err(|error| {
                    Error::os(format!("start a thread that starts {}", wanted.what), error)
                })?
                .join()
                .map_err(|_| {
                    Error::failed(
                        "thread-panicked",
                        format!("a thread that starts {} panicked", wanted.what),
                    )
                })?
        })?;
        let gone = || gone(&wanted.what);
        let (Some(mut orders), Some(news)) = (keeper.stdin.take(), keeper.stdout.take()) else {
            return Err(gone());
        };
        let mut line = serde_json::to_string(&wanted).map_err(|_| gone())?;
        line.push('\n');
        orders.write_all(line.as_bytes()).map_err(|_| gone())?;
        let news = BufReader::new(news);
        Ok(Self { keeper, orders: Some(orders), news, wanted, pids: Vec::new() })
    }

    /// Fails if it has ended.
    ///
    /// # Errors
    /// It has: how, and its last words.
    pub fn check(&mut self) -> Result<()> {
        self.check_within(Duration::ZERO)
    }

    /// Fails if it has ended, or does within this time.
    ///
    /// # Errors
    /// It has: how, and its last words.
    pub fn check_within(&mut self, patience: Duration) -> Result<()> {
        let ready = wait_readable(&[self.news.get_ref().as_fd()], Some(patience));
        if !matches!(ready.as_deref(), Ok([true])) {
            return Ok(());
        }
        let mut line = String::new();
        let said =
            self.news.read_line(&mut line).ok().and_then(|_| serde_json::from_str(&line).ok());
        let what = &self.wanted.what;
        let (id, message) = match said {
            Some(Said::NotStarted { why }) => {
                ("program-not-started", format!("{what} could not be started: {why}"))
            }
            Some(Said::Ended { how, last_words: Some(words) }) => (
                "program-ended",
                format!("{what} ended with {how} and said: {}", escape(&words, MOST_WORDS)),
            ),
            Some(Said::Ended { how, last_words: None }) => {
                ("program-ended", format!("{what} ended with {how} and said nothing"))
            }
            None => ("keeper-gone", format!("the process that keeps {what} is gone")),
        };
        Err(Error::remote(id, message).help(format!("it is: {}", self.command())))
    }

    /// The command as it was typed, for messages.
    pub fn command(&self) -> String {
        match &self.wanted.words[..] {
            [_, option, command] if option == "-c" => escape(command, MOST_WORDS),
            // What follows is a document.
            [own, internal, job, ..] if own == OWN_PROGRAM => format!("zc {internal} {job}"),
            words => escape(&words.join(" "), MOST_WORDS),
        }
    }

    /// The mount namespace that it is in, if that is not the host's. The command is started once it
    /// is made, and that is waited for: in the host's, `nginx -s reload` would reach another
    /// server.
    ///
    /// # Errors
    /// It has ended, or is not started in time.
    pub fn own_mounts(&mut self) -> Result<Option<PathBuf>> {
        if !self.wanted.has_own_state {
            return Ok(None);
        }
        let until = Instant::now() + GRACE;
        loop {
            self.check()?;
            if let Some(pid) = descendants(self.keeper.id() as i32).first() {
                return Ok(Some(PathBuf::from(format!("/proc/{pid}/ns/mnt"))));
            }
            if Instant::now() >= until {
                let what = &self.wanted.what;
                return Err(Error::failed(
                    "not-started-in-time",
                    format!("{what} was not started within {GRACE:?}"),
                ));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Finds its processes, whose CPU time [`cpu_ns`](Self::cpu_ns) adds up. Reads
    /// all of /proc: some 10 us for each process of the machine.
    pub fn find_processes(&mut self) {
        self.pids = descendants(self.keeper.id() as i32);
    }

    /// The processes that were found; the first is the one that was started.
    pub fn pids(&self) -> &[i32] {
        &self.pids
    }

    /// CPU time of its processes so far: one system call for each. Those that have ended
    /// since they were found count nothing.
    pub fn cpu_ns(&self) -> u64 {
        self.pids.iter().filter_map(|pid| clock::cpu_ns_of_process(*pid).ok()).sum()
    }

    /// Bytes that its processes have got from read(2) and its like, and given to write(2) and its
    /// like so far: `rchar` and `wchar` of [proc_pid_io(5)]. What they receive from sockets by
    /// recv(2) and send by send(2) is not among them. `None` where the kernel does not count them,
    /// or does not say.
    ///
    /// [proc_pid_io(5)]: https://man7.org/linux/man-pages/man5/proc_pid_io.5.html
    pub fn io_bytes(&self) -> Option<IoBytes> {
        let mut all = IoBytes::default();
        for pid in &self.pids {
            let counts = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
            let of = |name| counts.lines().find_map(|line| line.strip_prefix(name)?.parse().ok());
            let (read, written): (Option<u64>, Option<u64>) = (of("rchar: "), of("wchar: "));
            all.read += read?;
            all.written += written?;
        }
        (!self.pids.is_empty()).then_some(all)
    }
}

/// Bytes that were read from files and written to them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoBytes {
    /// Read.
    pub read: u64,
    /// Written.
    pub written: u64,
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.orders.take()); // it ends when its stdin does
        let until = Instant::now() + self.wanted.patience + GRACE;
        while matches!(self.keeper.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        drop(self.keeper.kill()); // fails if it has ended
        drop(self.keeper.wait());
    }
}

fn start_keeper(what: &str) -> Result<Child> {
    Command::new(OWN_PROGRAM)
        .args([INTERNAL, KEEPER])
        // SIGKILL to the group of this process, as timeout(1) sends it, is not for the one that
        // cleans up. Its session stays this one's: soakers rank below it within its autogroup.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| Error::os(format!("start the process that keeps {what}"), error))
}

fn gone(what: &str) -> Error {
    Error::failed("keeper-gone", format!("the process that keeps {what} is gone"))
}

/// The keeper's whole life: starts the command that the first line of stdin names, waits until
/// stdin ends or the command does, and ends what is left of it.
///
/// # Errors
/// Signals cannot be blocked, or it cannot be the reaper of the command's processes.
pub fn keep() -> Result<()> {
    // A closed terminal and a service manager's SIGTERM reach it too: zc hears them, and ends the
    // server in order.
    let signals = HeldSignals::hold(&[SIGINT, SIGTERM, SIGHUP, SIGQUIT])
        .map_err(|error| Error::os("block signals", error))?;
    process::set_child_subreaper()
        .map_err(|error| Error::os("become the reaper of a command's processes", error))?;
    let mut line = String::new();
    let mut stdin = io::stdin().lock();
    let wanted = stdin.read_line(&mut line).ok().and_then(|_| serde_json::from_str(&line).ok());
    let Some(wanted): Option<Wanted> = wanted else { return Ok(()) };
    let said = run(&wanted, &signals);
    let mut text = serde_json::to_string(&said).unwrap_or_default();
    text.push('\n');
    drop(io::stdout().write_all(text.as_bytes())); // nobody may listen any more
    Ok(())
}

/// Runs the command until it ends or stdin does, and ends what is left of it.
fn run(wanted: &Wanted, signals: &HeldSignals) -> Said {
    let not_started = |why: String| Said::NotStarted { why };
    let everywhere = sched::allowed_cpus().unwrap_or_default();
    if let Err(error) = sched::pin(&wanted.cpus) {
        return not_started(format!("it cannot be pinned to its CPU: {error}"));
    }
    let Some((program, arguments)) = wanted.words.split_first() else {
        return not_started("no program is named".to_owned());
    };
    if wanted.has_own_state
        && let Err(error) = own_state::enter()
    {
        return not_started(error.to_string());
    }
    let mut command = Command::new(program);
    command.args(arguments).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    signals.release_in_child(&mut command);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return not_started(in_words(&error)),
    };
    // What the keeper does itself is not the command's.
    drop(sched::pin(&everywhere));
    let tail = child.stderr.take().and_then(|stderr| StderrTail::start(stderr).ok());
    let mut status = None;
    let mut of_command = vec![child.id() as i32];
    while !of_command.is_empty() && wait_for_any(&of_command) {
        status = status.or_else(|| child.try_wait().ok().flatten());
        if status.is_some() {
            of_command = alive(); // what it left behind, as daemons do
        }
    }
    // Its stderr is read meanwhile: a shell that tells of a child's end would die of SIGPIPE there,
    // and not clean up.
    end_all(wanted.patience);
    ended(status, tail.and_then(StderrTail::last_of_all))
}

/// Waits until one of the processes has ended. Returns false if stdin has ended. It does not wake
/// up in between: it would be seen on the CPU that it wakes up on. (Before Linux 5.3, where a
/// process cannot be waited for in this way, the end of the command is not noticed.)
fn wait_for_any(pids: &[i32]) -> bool {
    let mut processes = Vec::with_capacity(pids.len());
    for pid in pids {
        match pidfd(*pid) {
            Ok(process) => processes.push(process),
            Err(error) if Errno::from_io_error(&error) == Some(Errno::SRCH) => return true,
            Err(_) => {}
        }
    }
    let stdin = io::stdin();
    let fds: Vec<_> = [stdin.as_fd()]
        .into_iter()
        .chain(processes.iter().map(|process| process.as_fd()))
        .collect();
    loop {
        match wait_readable(&fds, None).as_deref() {
            Ok([true, ..]) | Err(_) => return false,
            Ok(ready) if ready.contains(&true) => return true,
            Ok(_) => {} // a signal
        }
    }
}

fn ended(status: Option<ExitStatus>, last_words: Option<String>) -> Said {
    let how = match status.map(|status| (status.code(), status.signal())) {
        Some((Some(code), _)) => format!("exit code {code}"),
        Some((None, Some(signal))) => format!("signal {signal}"),
        _ => "an unknown exit status".to_owned(),
    };
    Said::Ended { how, last_words }
}

/// Ends every process that descends from this one: by SIGTERM, and after a while by SIGKILL.
fn end_all(patience: Duration) {
    let until = Instant::now() + patience;
    for signal in [SIGTERM, SIGKILL] {
        for pid in alive() {
            drop(kill(pid, signal)); // it may have ended
        }
        loop {
            let left = alive();
            if left.is_empty() {
                return;
            }
            // What was started meanwhile gets the signal too.
            if signal == SIGKILL {
                left.iter().for_each(|pid| drop(kill(*pid, signal)));
            } else if Instant::now() >= until {
                break;
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// The processes that descend from this one. Those that have ended are waited for.
fn alive() -> Vec<i32> {
    let own = std::process::id() as i32;
    process::reap(&descendants(own));
    descendants(own)
}
