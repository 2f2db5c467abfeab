//! Two states of the host in one session: who has them made, and by whom they are undone.
//!
//! The commands are not run by this process but by a *keeper*, a second zc ([`watchdog`]) that is started before anything else. It stays in
//! the namespaces and with the rights that zc was started with, while zc may have gone into a user namespace for its link. And it notices when zc
//! is gone, however that came about, SIGKILL included: then it runs the command that restores.
//!
//! What a command needs to reach the link's own namespaces is in its environment: docs/compare.md.

pub mod watchdog;

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use zc_kernel::spawn::wait_readable;

use self::watchdog::{Asked, Done};
use zc_run::{Error, HostState, HostStates, Result};

/// How much longer than a command may take its keeper is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// What of a command's stderr goes into the failure.
const MOST_STDERR: usize = 1000;

/// The states of the host, one of which it is in. Dropped, it puts the host back.
#[derive(Debug)]
pub(super) struct States {
    commands: HostStates,
    watchdog: Watchdog,
    environment: Vec<(String, String)>,
    current: Option<HostState>,
    /// A command was run since the host was last as it was.
    touched: bool,
}

impl States {
    /// Starts the keeper. Before the link is brought up: it is to be in the host's own namespaces.
    ///
    /// # Errors
    /// No process can be made.
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

    /// Tells the commands where the link's own namespaces are: (sender's, receiver's) of each link, the one of most cells first.
    pub(super) fn know_namespaces(&mut self, namespaces: &[[PathBuf; 2]]) {
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

    /// Puts the host into a state, unless it is in it; says whether anything was done.
    ///
    /// # Errors
    /// The command failed, or took too long.
    pub(super) fn enter(&mut self, state: HostState) -> Result<bool> {
        if self.current == Some(state) {
            return Ok(false);
        }
        self.current = None;
        self.touched = true;
        let command = self.commands.command(state).to_owned();
        self.run(
            &command,
            state.name(),
            self.asked_if_lost(),
            &format!("the command of state \"{state}\""),
        )?;
        std::thread::sleep(Duration::from_nanos(self.commands.settle_ns));
        self.current = Some(state);
        Ok(true)
    }

    /// Puts the host back as it was, where there is a command for it and something to undo.
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

    /// What the keeper is to run if zc is gone.
    fn asked_if_lost(&self) -> Option<Box<Asked>> {
        self.commands.restore.as_ref().map(|command| Box::new(self.asked(command, "restore", None)))
    }

    fn asked(&self, command: &str, state: &str, if_lost: Option<Box<Asked>>) -> Asked {
        let mut environment = self.environment.clone();
        environment.push(("ZC_STATE".to_owned(), state.to_owned()));
        Asked {
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
        if_lost: Option<Box<Asked>>,
        what: &str,
    ) -> Result<()> {
        let asked = self.asked(command, state, if_lost);
        let patience = Duration::from_nanos(self.commands.limit_ns) + PATIENCE;
        match self.watchdog.ask(&asked, patience)? {
            Done::Well => Ok(()),
            Done::Badly { how, stderr } => {
                let said = zc_run::escape(stderr.trim(), MOST_STDERR);
                let said = if said.is_empty() {
                    "and said nothing".to_owned()
                } else {
                    format!("and said: {said}")
                };
                Err(Error::failed(format!("{what} ended with {how} {said}"))
                    .help(format!("it is: {command}")))
            }
            Done::Late => {
                let limit = zc_run::units::duration_text(self.commands.limit_ns);
                Err(Error::failed(format!("{what} had not ended after {limit}, and was killed"))
                    .help("--ab-limit gives commands longer"))
            }
        }
    }
}

impl Drop for States {
    fn drop(&mut self) {
        // Where this fails nobody is left to tell: whoever could, has called `restore`.
        drop(self.restore());
    }
}

/// The other process.
#[derive(Debug)]
struct Watchdog {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Watchdog {
    fn start() -> Result<Self> {
        let mut child = Command::new("/proc/self/exe")
            .args([crate::INTERNAL, crate::WATCHDOG])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Error::os("start the keeper of the host's state", error))?;
        let requests = child.stdin.take();
        let answers = child.stdout.take().ok_or_else(gone)?;
        Ok(Self { child, requests, answers: BufReader::new(answers) })
    }

    fn ask(&mut self, asked: &Asked, patience: Duration) -> Result<Done> {
        let mut line = serde_json::to_string(asked).map_err(|_| gone())?;
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
                _ => return Err(Error::failed("the keeper of the host's state does not answer")),
            }
        }
        let mut answer = String::new();
        self.answers.read_line(&mut answer).map_err(|_| gone())?;
        serde_json::from_str(&answer).map_err(|_| gone())
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.requests.take()); // it ends when nobody can ask any more
        drop(self.child.wait());
    }
}

fn gone() -> Error {
    Error::failed("the keeper of the host's state is gone")
}
