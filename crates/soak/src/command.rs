//! Measures the cost of a command to the whole machine, from before its process is created until it
//! has been waited for: once or several times, with idle windows before and after each execution.
//!
//! The soakers are in a helper process that ranks below the command.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;

use super::around::{Idle, times};
use super::child::{Signals, end_of};
use super::counter::Counter;
use super::fault::{CommandFault, Outcome};
use super::printed::Printed;
use super::setup::{IDLE_WINDOWS, Soaked, interrupted, set_up, start};
use super::stdin::Stdin;
use zc_kernel::clock;
use zc_kernel::spawn::Ended;
use zc_rig::meter::LoadMeter;
use zc_rig::trial::GLANCE;
use zc_run::{CommandEnd, CommandRun, Did, Error, Result, SoakCommand, SoakStart, SoakWindow};

/// Idle windows between two executions.
const BETWEEN: usize = 5;

/// Options of [`command`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOptions {
    /// CPUs and kind of the soakers.
    pub soaked: Soaked,
    /// The command and its arguments; not empty.
    pub command: Vec<OsString>,
    /// Whether it is to print English, as what it prints is read: `LC_ALL=C`.
    pub speaks_english: bool,
    /// Executions before those that are measured.
    pub warmup: usize,
    /// A line for `sh -c` before each execution.
    pub prepare: Option<String>,
    /// A line for `sh -c` after each execution.
    pub cleanup: Option<String>,
    /// Whether it is executed again when it has failed.
    pub ignore_failure: bool,
    /// The counter of its work, if the command itself does not count it.
    pub counter: Option<Counter>,
}

/// Finds in what a command printed how much it did.
pub type Reader<'a> = &'a dyn Fn(&str) -> Option<Did>;

/// Measured executions of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The executions; at least one.
    pub seen: SoakCommand,
    /// Why there are no more, if that was not asked for.
    pub fault: Option<Error>,
}

/// Executes the command and measures it, as often as `again` says of what was measured so far. It
/// is asked before the first time too. A failed execution and a signal end the series. With a
/// `reader`, which is called once for each execution, the command's stdout and stderr are pipes.
///
/// # Errors
/// It could not be executed or measured even once; the error of `again`.
pub fn command(
    options: &CommandOptions,
    reader: Option<Reader<'_>>,
    again: &mut dyn FnMut(&SoakCommand) -> Result<bool>,
) -> Outcome<Measured> {
    if options.command.is_empty() {
        return Err(Error::usage("command-missing", "a command is missing after \"--\"").into());
    }
    let signals = Signals::hold()?;
    let meter = set_up(&options.soaked)?;
    let mut series = Series { options, reader, signals, meter, stdin: Stdin::now(), idle: None };
    let start = series.start()?;
    let command = options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut seen = SoakCommand { command, start, runs: Vec::new() };
    let mut fault = None;
    while again(&seen)? {
        let first = seen.runs.is_empty();
        let executed = if first { series.first() } else { series.once() };
        match executed {
            Ok(run) => {
                let failed = failed(run.end) && !options.ignore_failure;
                seen.runs.push(run);
                fault = series.clean_up().err();
                if failed || fault.is_some() || series.signals.asked_to_end {
                    break;
                }
            }
            Err(fault) if first => return Err(fault),
            // What was measured before stands.
            Err(_) if series.signals.asked_to_end => break,
            Err(why) => {
                fault = Some(why.into_error());
                break;
            }
        }
    }
    Ok(Measured { seen, fault })
}

fn failed(end: CommandEnd) -> bool {
    end != CommandEnd::Exited { code: 0 }
}

/// The executions of a command.
struct Series<'o> {
    options: &'o CommandOptions,
    reader: Option<Reader<'o>>,
    signals: Signals,
    meter: LoadMeter,
    stdin: Stdin,
    /// The idle windows since the last execution, if nothing was executed since.
    idle: Option<Idle>,
}

impl Series<'_> {
    /// Measures what must be known before the first execution.
    fn start(&mut self) -> Result<SoakStart> {
        let (signals, idle) = (&mut self.signals, &mut self.idle);
        let start = start(&mut self.meter, |meter| {
            let measured =
                Idle::measure(meter, IDLE_WINDOWS, &mut |at_ns| signals.end_before(at_ns))?;
            Ok(idle.insert(measured).windows.clone())
        })?;
        start.ok_or_else(interrupted)
    }

    /// Executes it the first time that counts.
    fn first(&mut self) -> Outcome<CommandRun> {
        for _ in 0..self.options.warmup {
            self.prepare()?;
            let end = end_of(self.execute()?.0.status);
            if failed(end) && !self.options.ignore_failure {
                let error =
                    Error::failed("command-failed", "the command failed while it warmed up")
                        .help("--ignore-failure goes on all the same");
                return Err(CommandFault::NotMeasured { end, error });
            }
            self.clean_up()?;
        }
        self.once()
    }

    /// Executes it once.
    fn once(&mut self) -> Outcome<CommandRun> {
        self.prepare()?;
        let before = match self.idle.take() {
            Some(before) => before,
            None => self.idle()?,
        };
        if self.signals.asked_to_end {
            return Err(interrupted().into());
        }
        // Outside of the window, and of zc's own time.
        let counted_before = self.count()?;
        let zc_before_ns = clock::process_cpu_ns();
        let opened = self.meter.open()?;
        let executed = self.execute();
        let closed = self.meter.close();
        let zc_ns = clock::process_cpu_ns() - zc_before_ns;

        let (ended, printed) = executed?;
        let end = end_of(ended.status);
        let lost = |error| CommandFault::NotMeasured { end, error };
        let window = SoakWindow { opened, closed: closed.map_err(lost)? };
        let counted_after = self.count().map_err(lost)?;
        // Whoever asked for the end does not wait: there is a value then, without an interval.
        let after = match self.signals.asked_to_end {
            true => Idle::none(&mut self.meter),
            false => self.idle().map_err(lost)?,
        };
        let run = CommandRun {
            processes: times(&before, &after),
            idle_before: before.windows,
            window,
            end,
            user_ns: ended.user_ns,
            system_ns: ended.system_ns,
            zc_ns,
            did: match (&self.options.counter, counted_before, counted_after) {
                (Some(counter), Some(before), Some(after)) => counter.between(before, after),
                _ => printed.zip(self.reader).and_then(|(printed, reader)| {
                    // Each by itself: a meter on stderr is not a part of the result on stdout.
                    printed.texts().iter().find_map(|text| reader(text))
                }),
            },
            idle_after: after.windows.clone(),
        };
        self.idle = Some(after);
        Ok(run)
    }

    /// Reads the counter outside of the command. A page that does not answer is waited for on a
    /// thread of its own, so that a signal ends the wait.
    fn count(&mut self) -> Result<Option<u64>> {
        let Some(counter) = self.options.counter.clone() else { return Ok(None) };
        let (said, hears) = channel();
        Builder::new()
            .name("zc-counter".to_owned())
            .spawn(move || drop(said.send(counter.read())))
            .map_err(|error| Error::os("start a thread that reads the counter", error))?;
        loop {
            match hears.recv_timeout(GLANCE) {
                Ok(count) => return count.map(Some),
                Err(RecvTimeoutError::Timeout) if self.signals.end_before(0) => {
                    return Err(interrupted());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::failed(
                        "thread-ended",
                        "the thread that reads the counter has ended",
                    ));
                }
            }
        }
    }

    fn idle(&mut self) -> Result<Idle> {
        let signals = &mut self.signals;
        Idle::measure(&mut self.meter, BETWEEN, &mut |at_ns| signals.end_before(at_ns))
    }

    fn execute(&mut self) -> Outcome<(Ended, Option<Printed>)> {
        self.stdin.rewind()?;
        let mut words = self.options.command.iter();
        let mut command = Command::new(words.next().map(OsString::as_os_str).unwrap_or_default());
        command.args(words);
        if self.reader.is_some() {
            if self.options.speaks_english {
                command.env("LC_ALL", "C");
            }
            let (ended, printed) = self.signals.execute_and_read(command)?;
            return Ok((ended, Some(printed)));
        }
        Ok((self.signals.execute(command)?, None))
    }

    fn prepare(&mut self) -> Result<()> {
        self.shell("--prepare", self.options.prepare.as_ref())
    }

    fn clean_up(&mut self) -> Result<()> {
        self.shell("--cleanup", self.options.cleanup.as_ref())
    }

    /// Has a shell run a line that is not to be measured. Idle windows before it are not used for a
    /// later execution.
    fn shell(&mut self, option: &str, line: Option<&String>) -> Result<()> {
        let Some(line) = line else { return Ok(()) };
        self.idle = None;
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line).stdin(Stdio::null()).stdout(Stdio::null());
        let ended = self.signals.execute(command).map_err(CommandFault::into_error)?;
        let how = match end_of(ended.status) {
            CommandEnd::Exited { code: 0 } => return Ok(()),
            CommandEnd::Exited { code } => format!("exit code {code}"),
            CommandEnd::Killed { signal } => format!("signal {signal}"),
        };
        Err(Error::failed("command-failed", format!("the command of {option} ended with {how}"))
            .help(format!("it is: {line}")))
    }
}
