//! The two states of the host in a session with `--ab`: who runs their commands, and who restores
//! the host.
//!
//! The commands are run by the *watchdog* ([`watchdog`]), a second zc that is started before
//! anything else. It stays in the namespaces and with the rights that zc was started with, while zc
//! may have entered a user namespace for its link. It also notices when zc is gone for any reason,
//! SIGKILL included, and then runs the command that restores the host.
//!
//! Commands find the link's own namespaces by environment variables: docs/compare.md.

pub mod watchdog;

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use zc_kernel::spawn::wait_readable;

use self::watchdog::{Reply, Request};
use crate::internal::{INTERNAL, WATCHDOG};
use zc_run::{Error, HostState, HostStates, Result};

/// Time for the watchdog's answer beyond the time limit of a command.
const PATIENCE: Duration = Duration::from_secs(5);

/// Largest part of a command's stderr in an error, in characters.
const MOST_STDERR: usize = 1000;

/// The host states and the current one. Restores the host when dropped.
#[derive(Debug)]
pub(super) struct States {
    commands: HostStates,
    watchdog: Watchdog,
    environment: Vec<(String, String)>,
    current: Option<HostState>,
    /// A command has been run since the host was last restored.
    touched: bool,
}

impl States {
    /// Starts the watchdog. Call it before the link is brought up: it must be in the host's own
    /// namespaces.
    ///
    /// # Errors
    /// The process cannot be started.
    pub(super) fn start(commands: &HostStates) -> Result<Self> {
        let environment = vec![("ZC_PID".to_owned(), std::process::id().to_string())];
        Ok(Self {
            commands: commands.clone(),
            watchdog: Watchdog::start()?,
            environment,
            current: None,
            touched: false,
        })
    }

    /// Adds the paths of the link's namespaces to the environment of the commands: (sender's,
    /// receiver's) of each link, the link of most cells first.
    pub(super) fn set_namespaces(&mut self, namespaces: &[[PathBuf; 2]]) {
        let text = |path: &PathBuf| path.display().to_string();
        let mut all: Vec<String> = namespaces.iter().flatten().map(text).collect();
        all.dedup();
        if let Some([sender, receiver]) = namespaces.first() {
            self.environment.push(("ZC_SENDER_NETNS".to_owned(), text(sender)));
            self.environment.push(("ZC_RECEIVER_NETNS".to_owned(), text(receiver)));
        }
        self.environment.push(("ZC_NETNS".to_owned(), all.join(" ")));
        self.environment
            .push(("ZC_USERNS".to_owned(), format!("/proc/{}/ns/user", std::process::id())));
    }

    /// Puts the host into a state. Returns the time for which it is to settle; `None` if it was in
    /// that state.
    ///
    /// # Errors
    /// The command failed, or took too long.
    pub(super) fn enter(&mut self, state: &HostState) -> Result<Option<Duration>> {
        if self.current.as_ref() == Some(state) {
            return Ok(None);
        }
        let Some(command) = self.commands.command(state).map(str::to_owned) else {
            return Ok(None); // the state of a server that needs no command
        };
        self.current = None;
        self.touched = true;
        self.run(
            &command,
            state.name(),
            self.restore_request(),
            &format!("the command of state \"{state}\""),
        )?;
        self.current = Some(state.clone());
        Ok(Some(Duration::from_nanos(self.commands.settle_ns)))
    }

    /// Restores the host, if there is a command for it and something to undo.
    ///
    /// # Errors
    /// The command failed, or took too long: the hint is the command.
    pub(super) fn restore(&mut self) -> Result<()> {
        let Some(command) = self.commands.restore.clone().filter(|_| self.touched) else {
            return Ok(());
        };
        self.touched = false;
        self.current = None;
        self.run(&command, "restore", None, "the command of --ab-restore").map_err(|error| {
            Error { help: None, ..error }
                .help(format!("the host is not as it was; what would restore it: {command}"))
        })
    }

    /// The command for the watchdog to run when zc is gone.
    fn restore_request(&self) -> Option<Box<Request>> {
        self.commands
            .restore
            .as_ref()
            .map(|command| Box::new(self.request(command, "restore", None)))
    }

    fn request(&self, command: &str, state: &str, if_lost: Option<Box<Request>>) -> Request {
        let mut environment = self.environment.clone();
        environment.push(("ZC_STATE".to_owned(), state.to_owned()));
        Request {
            command: command.to_owned(),
            environment,
            limit_ns: self.commands.limit_ns,
            if_lost,
        }
    }

    fn run(
        &mut self,
        command: &str,
        state: &str,
        if_lost: Option<Box<Request>>,
        what: &str,
    ) -> Result<()> {
        let request = self.request(command, state, if_lost);
        let patience = Duration::from_nanos(self.commands.limit_ns) + PATIENCE;
        match self.watchdog.ask(&request, patience)? {
            Reply::Succeeded => Ok(()),
            Reply::Failed { how, stderr } => {
                let said = zc_run::escape(stderr.trim(), MOST_STDERR);
                let said = if said.is_empty() {
                    "and said nothing".to_owned()
                } else {
                    format!("and said: {said}")
                };
                Err(Error::failed(format!("{what} ended with {how} {said}"))
                    .help(format!("it is: {command}")))
            }
            Reply::TimedOut => {
                let limit = zc_run::units::duration_text(self.commands.limit_ns);
                Err(Error::failed(format!("{what} had not ended after {limit}, and was killed"))
                    .help("--ab-limit gives commands longer"))
            }
        }
    }
}

impl Drop for States {
    fn drop(&mut self) {
        // A failure here cannot be reported; `restore` is called before where it can.
        drop(self.restore());
    }
}

/// The watchdog process and its pipes.
#[derive(Debug)]
struct Watchdog {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Watchdog {
    fn start() -> Result<Self> {
        let mut child = Command::new("/proc/self/exe")
            .args([INTERNAL, WATCHDOG])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Error::os("start the watchdog of the host's state", error))?;
        let requests = child.stdin.take();
        let answers = child.stdout.take().ok_or_else(gone)?;
        Ok(Self { child, requests, answers: BufReader::new(answers) })
    }

    fn ask(&mut self, request: &Request, patience: Duration) -> Result<Reply> {
        let mut line = serde_json::to_string(request).map_err(|_| gone())?;
        line.push('\n');
        let requests = self.requests.as_mut().ok_or_else(gone)?;
        requests.write_all(line.as_bytes()).map_err(|_| gone())?;
        let until = std::time::Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(std::time::Instant::now());
            // A signal ends the wait early.
            match wait_readable(&[self.answers.get_ref().as_fd()], Some(left)).as_deref() {
                Ok([true]) => break,
                Ok(_) if !left.is_zero() => {}
                _ => return Err(Error::failed("the watchdog of the host's state does not answer")),
            }
        }
        let mut answer = String::new();
        self.answers.read_line(&mut answer).map_err(|_| gone())?;
        serde_json::from_str(&answer).map_err(|_| gone())
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.requests.take()); // it ends when its stdin does
        drop(self.child.wait());
    }
}

fn gone() -> Error {
    Error::failed("the watchdog of the host's state is gone")
}
