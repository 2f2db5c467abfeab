//! The states of the host in a session, those of `--ab` and others: who runs their commands, who
//! checks that they differ, and who restores the host.
//!
//! The commands are run by the *watchdog* ([`watchdog`]), a second zc that is started before
//! anything else. It stays in the namespaces and with the rights that zc was started with, while zc
//! may have entered a user namespace for its link. It also notices when zc is gone for any reason,
//! SIGKILL included, and then runs the command that restores the host.
//!
//! A command that only sets sysctls which the traffic's own network namespaces have for themselves
//! (`shell`, `traffic`) is not run: zc sets them there. Other commands find these namespaces by
//! environment variables: docs/compare.md.
//!
//! After each command zc reads the settings that the commands name, where the traffic runs, and
//! asks the command of `--verify-state`. States that do not differ end the run before anything is
//! measured (`differences`), and so do those that change what the run's sockets do not have
//! (`overridden`), and later a state that is not what it was.

mod differences;
mod overridden;
mod shell;
mod traffic;
pub mod watchdog;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use self::differences::{Found, Seen, all_differ, is_unchanged, readings};
use self::shell::{CONGESTION, Setting, named, sysctls_alone};
use self::traffic::Traffic;
use self::watchdog::{Reply, Request};
use zc_kernel::process::may_make_namespaces;
use zc_kernel::spawn::wait_readable;
use zc_rig::internal::{INTERNAL, WATCHDOG};
use zc_run::{Error, FixedParams, HostState, HostStates, Result, StatePlace, StateReading};

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
    /// The host has been put into a state since it was last restored.
    touched: bool,
    /// Settings that the commands name, and those that socket options replace.
    settings: BTreeSet<Setting>,
    /// The place of the traffic, once it is known.
    traffic: Option<Traffic>,
    /// Effect of each command there; commands not listed here are run.
    ways: BTreeMap<String, Way>,
    /// Each state as it was first found.
    first: BTreeMap<HostState, Found>,
    /// The mount namespace in which commands are run, unless that is the host's.
    mounts: Option<PathBuf>,
    /// Whether the link's network namespaces belong to a user namespace.
    needs_user_namespace: bool,
}

/// Effect of the command of a state, or of the one that restores.
#[derive(Debug, Clone)]
struct Way {
    /// Sysctls that zc sets in the traffic's own network namespaces.
    in_namespaces: Vec<(String, String)>,
    /// Whether the command is run.
    is_run: bool,
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
            settings: named_by(commands).chain(overridden::watched()).collect(),
            traffic: None,
            ways: BTreeMap::new(),
            first: BTreeMap::new(),
            mounts: None,
            needs_user_namespace: !may_make_namespaces(),
        })
    }

    /// Says where the traffic is: in network namespaces of its own, (sender's, receiver's) of each
    /// link, the link of most cells first; else it passes `device` in those that zc was started in.
    /// The paths of the namespaces are added to the environment of the commands.
    ///
    /// # Errors
    /// A namespace cannot be opened.
    pub(super) fn set_traffic(&mut self, namespaces: &[[PathBuf; 2]], device: &str) -> Result<()> {
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
        let traffic = Traffic::open(namespaces, device)?;
        let all = self.commands.commands.iter().map(|each| &each.command);
        for command in all.chain(&self.commands.restore) {
            self.ways.insert(command.clone(), way(command, &traffic)?);
        }
        self.traffic = Some(traffic);
        Ok(())
    }

    /// From now on commands are run in this mount namespace: that of the server, whose pid file
    /// `nginx -s reload` looks for.
    pub(super) fn run_in_mounts(&mut self, mounts: Option<PathBuf>) {
        self.mounts = mounts;
    }

    /// Puts the host into every state once, and checks that they differ where the traffic runs.
    /// Returns what was read there.
    ///
    /// # Errors
    /// Same as [`enter`](Self::enter), and those of `go_on`, which is asked before each; two states
    /// are the same, or differ only in what devices take when they are made.
    pub(super) fn prove(&mut self, go_on: impl Fn() -> Result<()>) -> Result<Vec<StateReading>> {
        for each in self.commands.commands.clone() {
            go_on()?;
            self.enter(&each.state)?;
        }
        let seen: Vec<Seen<'_>> = self
            .commands
            .commands
            .iter()
            .filter_map(|each| {
                let found = self.first.get(&each.state)?;
                Some(Seen { state: &each.state, command: &each.command, found })
            })
            .collect();
        if let Some(traffic) = &self.traffic {
            all_differ(&seen, traffic, self.needs_user_namespace)?;
        }
        let commands = self.commands.commands.iter().map(|each| each.command.as_str());
        overridden::by_age_of_devices(&self.changed(), commands)?;
        let named: BTreeSet<Setting> = named_by(&self.commands).collect();
        Ok(readings(&seen, &named, self.commands.verify.as_deref()))
    }

    /// The sysctls in which states were found to differ, and those that a command names, by their
    /// paths below /proc/sys.
    fn changed(&self) -> BTreeSet<String> {
        let differ = |setting: &Setting| {
            let values = |found: &Found| -> Vec<String> {
                let own = found.values.iter().filter(|(spot, _)| spot.setting == *setting);
                own.map(|(_, value)| value.clone()).collect()
            };
            let all: BTreeSet<Vec<String>> = self.first.values().map(values).collect();
            all.len() > 1
        };
        let found = self.settings.iter().filter(|setting| differ(setting)).cloned();
        let path = |setting| match setting {
            Setting::Sysctl(path) => Some(path),
            Setting::Device { .. } => None,
        };
        named_by(&self.commands).chain(found).filter_map(path).collect()
    }

    /// The congestion control that sockets have in each state unless they ask for another; `None`
    /// if the states leave it as it is. Call it after [`prove`](Self::prove).
    pub(super) fn congestion(&self) -> Option<BTreeMap<HostState, String>> {
        let is_it =
            |setting: &Setting| matches!(setting, Setting::Sysctl(path) if path == CONGESTION);
        let of = |found: &Found| {
            let mut own = found.values.iter().filter(|(spot, _)| {
                is_it(&spot.setting) && matches!(spot.place, StatePlace::Sender | StatePlace::Host)
            });
            own.next().map(|(_, value)| value.clone())
        };
        let is_changed = self.changed().contains(CONGESTION);
        is_changed.then(|| {
            let each = self.first.iter();
            each.filter_map(|(state, found)| Some((state.clone(), of(found)?))).collect()
        })
    }

    /// Checks that the sockets of each cell, given by its label and its parameters, have what the
    /// states change. Call it after [`prove`](Self::prove).
    ///
    /// # Errors
    /// An option of the run replaces it.
    pub(super) fn check_options(
        &self,
        cells: impl Iterator<Item = (String, FixedParams)>,
    ) -> Result<()> {
        overridden::by_options(&self.changed(), cells)
    }

    /// Checks that connections which stay from state to state have what the states change. Call it
    /// after [`prove`](Self::prove).
    ///
    /// # Errors
    /// They have what they were made with.
    pub(super) fn check_connections(&self) -> Result<()> {
        overridden::by_age_of_connections(&self.changed())
    }

    /// Puts the host into a state. Returns the time for which it is to settle; `None` if it was in
    /// that state.
    ///
    /// # Errors
    /// The command failed, or took too long; the state, or the one that it follows, is not what it
    /// was.
    pub(super) fn enter(&mut self, state: &HostState) -> Result<Option<Duration>> {
        if self.current.as_ref() == Some(state) {
            return Ok(None);
        }
        let Some(command) = self.commands.command(state).map(str::to_owned) else {
            return Ok(None); // the state of a server that needs no command
        };
        if let Some(left) = self.current.take()
            && let Some(first) = self.first.get(&left)
        {
            // Commands are asked once in each state: it is what they answer, or the next one is
            // not.
            let values = self.values()?;
            is_unchanged(&left, first, &Found { values, said: first.said.clone() })?;
        }
        self.touched = true;
        let way = self.way(&command);
        // Also if it is not run: the watchdog has to know how to restore.
        let run = if way.is_run { command.as_str() } else { ":" };
        if way.is_run || self.restore_request().is_some() {
            let what = format!("the command of state \"{state}\"");
            self.run(self.request(run, Some(state.name())), &what)?;
        }
        if let Some(traffic) = &self.traffic {
            traffic
                .set(&way.in_namespaces)
                .map_err(|error| error.prefixed(format!("state \"{state}\": ")))
                .map_err(|error| match error.help {
                    None => error.help(format!("it is: {command}")),
                    Some(_) => error,
                })?;
        }
        let found = Found { values: self.values()?, said: self.answer(state)? };
        match self.first.get(state) {
            Some(first) => is_unchanged(state, first, &found)?,
            None => drop(self.first.insert(state.clone(), found)),
        }
        self.current = Some(state.clone());
        Ok(Some(Duration::from_nanos(self.commands.settle_ns)))
    }

    /// Returns how a command takes effect.
    fn way(&self, command: &str) -> Way {
        self.ways.get(command).cloned().unwrap_or(Way { in_namespaces: Vec::new(), is_run: true })
    }

    /// The values of the settings that are read in each state.
    fn values(&self) -> Result<traffic::Values> {
        match &self.traffic {
            Some(traffic) => traffic.read(&self.settings),
            None => Ok(traffic::Values::new()),
        }
    }

    /// The output of the command of `--verify-state`.
    fn answer(&mut self, state: &HostState) -> Result<Option<String>> {
        let Some(command) = self.commands.verify.clone() else { return Ok(None) };
        // It is not told which state it is in.
        let request = Request { reads_stdout: true, ..self.request(&command, None) };
        let what = format!("the command of --verify-state in state \"{state}\"");
        self.run(request, &what).map(Some)
    }

    /// Restores the host, if there is a command for it and something to undo.
    ///
    /// # Errors
    /// The command failed, or took too long: the hint is the command.
    pub(super) fn restore(&mut self) -> Result<()> {
        let request = self.restore_request().filter(|_| self.touched);
        let Some(request) = request else { return Ok(()) };
        self.touched = false;
        self.current = None;
        let command = request.command.clone();
        let restored = self.run(*request, "the command of --ab-restore");
        restored.map(drop).map_err(|error| {
            Error { help: None, ..error }
                .help(format!("the host is not as it was; what would restore it: {command}"))
        })
    }

    /// The request that restores the host: also for the watchdog, when zc is gone. `None` where
    /// there is nothing to restore: what was set in network namespaces of the link is gone with
    /// them.
    fn restore_request(&self) -> Option<Box<Request>> {
        let command = self.commands.restore.as_ref()?;
        let mut all = self.commands.commands.iter().map(|each| &each.command).chain([command]);
        if !all.any(|command| self.way(command).is_run) {
            return None;
        }
        let mut request = self.plain_request(command);
        request.environment.push(("ZC_STATE".to_owned(), "restore".to_owned()));
        Some(Box::new(request))
    }

    /// A request after which the host would have to be restored.
    fn request(&self, command: &str, state: Option<&str>) -> Request {
        let mut request = self.plain_request(command);
        let state = state.map(|state| ("ZC_STATE".to_owned(), state.to_owned()));
        request.environment.extend(state);
        Request { if_lost: self.restore_request(), ..request }
    }

    fn plain_request(&self, command: &str) -> Request {
        Request {
            command: command.to_owned(),
            environment: self.environment.clone(),
            limit_ns: self.commands.limit_ns,
            reads_stdout: false,
            mounts: self.mounts.clone(),
            if_lost: None,
        }
    }

    /// Has the watchdog run a command, and returns its stdout where that is wanted.
    fn run(&mut self, request: Request, what: &str) -> Result<String> {
        let patience = Duration::from_nanos(self.commands.limit_ns) + PATIENCE;
        match self.watchdog.ask(&request, patience)? {
            Reply::Succeeded { stdout } => Ok(stdout),
            Reply::Failed { how, stderr } => {
                let said = zc_run::escape(stderr.trim(), MOST_STDERR);
                let said = if said.is_empty() {
                    "and said nothing".to_owned()
                } else {
                    format!("and said: {said}")
                };
                Err(Error::failed(
                    "state-command-failed",
                    format!("{what} ended with {how} {said}"),
                )
                .help(format!("it is: {}", request.command)))
            }
            Reply::TimedOut => {
                let limit = zc_run::units::duration_text(self.commands.limit_ns);
                Err(Error::failed(
                    "state-command-timed-out",
                    format!("{what} had not ended after {limit}, and was killed"),
                )
                .help("--ab-limit gives commands longer"))
            }
        }
    }
}

/// The settings that the commands of states name.
fn named_by(commands: &HostStates) -> impl Iterator<Item = Setting> {
    let each = commands.commands.iter().flat_map(|each| named(&each.command));
    each.map(|asked| asked.setting)
}

/// Finds out how a command takes effect where the traffic is.
fn way(command: &str, traffic: &Traffic) -> Result<Way> {
    let Some(mut sysctls) = sysctls_alone(command).filter(|_| traffic.is_apart()) else {
        return Ok(Way { in_namespaces: Vec::new(), is_run: true });
    };
    let named = sysctls.len();
    let own = traffic.own(sysctls.iter().map(|(path, _)| path.as_str()))?;
    sysctls.retain(|(path, _)| own.contains(path));
    Ok(Way { is_run: sysctls.len() < named, in_namespaces: sysctls })
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
                _ => {
                    return Err(Error::failed(
                        "watchdog-stalled",
                        "the watchdog of the host's state does not answer",
                    ));
                }
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
    Error::failed("watchdog-gone", "the watchdog of the host's state is gone")
}
