//! `zc soak -- COMMAND`: what an execution of a command costs the whole machine.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

use clap::ValueHint;
use serde_json::json;

use super::result_file::ResultFile;
use super::tell;
use zc_analysis::soak::{
    CommandCost, CostBy, Per, Unit, command_cost, not_quiet, own_clocks_tell, paces, taken_share,
};
use zc_report::soak as report;
use zc_run::{
    CommandEnd, Error, ErrorKind, INSTEAD_OF_THROTTLED, Result, Severity, SoakCommand, SoakStart,
    Warning, units, why_throttled,
};
use zc_soak::{
    CommandFault, CommandOptions, Counter, Measured, Reader, Soaked, StatusUrl, command,
    stdin_is_read_once,
};

/// The exit codes of env(1), nohup(1) and timeout(1): zc itself failed, the command cannot be run,
/// there is no such command.
pub(super) const OWN_FAILURE: u8 = 125;
pub(super) const NOT_EXECUTABLE: u8 = 126;
pub(super) const NOT_FOUND: u8 = 127;

/// Number of executions, without `--runs`, before the interval may end the series. Stopping at the
/// first narrow interval favours those that are narrow by chance; with eight and more that matters
/// little.
const LEAST_RUNS: usize = 8;
/// Half-width of the interval, as a share of the cost, that ends the series without `--runs`.
const NARROW: f64 = 0.025;
/// Time for executions, without `--budget`.
const BUDGET: &str = "30s";
/// The longest.
const LONGEST_NS: u64 = 7 * 24 * 3600 * 1_000_000_000;

/// Options of `zc soak` that a command shares with what else it does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared<'a> {
    /// Time for executions.
    pub(super) budget: Option<&'a str>,
    /// Whether the result is JSON.
    pub(super) json: bool,
}

/// Options of a command.
#[derive(Debug, clap::Args)]
pub(super) struct OfCommandArgs {
    /// Times that the command is executed [default: until its cost is known within 2.5 %, eight
    /// times or more, or --budget is spent]
    #[arg(long, value_name = "N", allow_hyphen_values = true, requires = "command")]
    runs: Option<String>,
    /// Times that it is executed before that, without being measured
    #[arg(
        long,
        value_name = "N",
        default_value = "0",
        allow_hyphen_values = true,
        requires = "command"
    )]
    warmup: String,
    /// A line for sh that is executed before each execution, and not measured
    #[arg(long, value_name = "LINE", requires = "command")]
    prepare: Option<String>,
    /// A line for sh that is executed after each execution, and not measured
    #[arg(long, value_name = "LINE", requires = "command")]
    cleanup: Option<String>,
    /// Cost of one of what the command did, by what wrk, ab, h2load, oha, hey, iperf3 -J, fio, curl
    /// -w, dd, rsync --stats, pgbench or redis-benchmark prints, or by --status-url or --link; of a
    /// service, by its sockets or --status-url
    #[arg(long, value_name = "bytes|requests|transactions", requires = "costing")]
    per: Option<String>,
    /// The same by the numbers that the group of an expression finds, added up: '(\d+) files'
    #[arg(long, value_name = "REGEX", requires = "command", conflicts_with = "per")]
    per_regex: Option<String>,
    /// nginx's page stub_status, http://HOST:PORT/PATH, which counts the requests of --per requests
    #[arg(long, value_name = "URL", requires = "costing", conflicts_with = "per_regex")]
    status_url: Option<String>,
    /// Network device that counts the bytes of --per bytes: sent and received, headers included
    #[arg(long, value_name = "DEVICE", requires = "command",
          conflicts_with_all = ["per_regex", "status_url"])]
    link: Option<String>,
    /// Go on when an execution ends with another exit code than 0
    #[arg(long, requires = "command")]
    ignore_failure: bool,
    /// Execute the command also where its cost cannot be measured
    #[arg(long, requires = "command")]
    run_anyway: bool,
    /// Add the readings of every execution, or of every window, to the JSON
    #[arg(long, requires = "json", requires = "costing")]
    raw: bool,
    /// Write the result of a command to this file, which must not exist, instead of stderr
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "command")]
    output: Option<PathBuf>,
}

impl OfCommandArgs {
    /// `--per`, which a service has too.
    pub(super) fn per(&self) -> Option<&str> {
        self.per.as_deref()
    }

    /// `--status-url`, which a service has too.
    ///
    /// # Errors
    /// It is no address of a page.
    pub(super) fn status_url(&self) -> Result<Option<StatusUrl>> {
        self.status_url.as_deref().map(StatusUrl::parse).transpose()
    }

    /// Counter of what the command did; `None` if the command counts itself.
    fn counter(&self) -> Result<Option<Counter>> {
        let counter = match (self.status_url()?, &self.link) {
            (Some(page), _) => Counter::Requests(page),
            (None, Some(device)) => Counter::Bytes { device: device.clone() },
            (None, None) => return Ok(None),
        };
        let (option, unit) = match counter {
            Counter::Requests(_) => ("--status-url", "requests"),
            Counter::Bytes { .. } => ("--link", "bytes"),
        };
        match self.per() {
            Some(per) if per == unit => Ok(Some(counter)),
            _ => Err(Error::usage(
                "unit-not-counted",
                format!("{option} counts {unit}, and these were not asked for"),
            )
            .help(format!("--per {unit} asks for the cost of one"))),
        }
    }

    /// `--raw`, which a service has too.
    pub(super) fn raw(&self) -> bool {
        self.raw
    }
}

/// Executes the command and writes what it costs. Returns the exit code: that of its last
/// execution, or [`OWN_FAILURE`] after an error, which has been printed.
///
/// # Errors
/// The options are wrong.
pub(super) fn run(
    words: &[OsString],
    typed: &OfCommandArgs,
    shared: Shared<'_>,
    soaked: Soaked,
) -> Result<u8> {
    let budget = shared.budget.unwrap_or(BUDGET);
    let per = match (&typed.per, &typed.per_regex) {
        (Some(unit), _) => Some(Per::with_known_readers(unit)?),
        (None, Some(expression)) => Some(Per::regex(expression)?),
        (None, None) => None,
    };
    let until = Until {
        runs: typed
            .runs
            .as_deref()
            .map(|runs| units::count("runs", runs, 1..=1_000_000))
            .transpose()?,
        budget_ns: units::duration(budget, 0..=LONGEST_NS)?,
        run_anyway: typed.run_anyway,
        begun: None,
        unit: per.as_ref().map(|per| per.unit),
    };
    let options = CommandOptions {
        soaked,
        command: words.to_vec(),
        // An expression of the user's is about the language of the user.
        speaks_english: typed.per.is_some(),
        warmup: units::count("warmup", &typed.warmup, 0..=1_000_000)? as usize,
        prepare: typed.prepare.clone(),
        cleanup: typed.cleanup.clone(),
        ignore_failure: typed.ignore_failure,
        counter: typed.counter()?,
    };
    Ok(measure(typed, shared.json, &options, per.as_ref(), until).unwrap_or_else(|error| {
        tell::error(&error);
        OWN_FAILURE
    }))
}

fn measure(
    typed: &OfCommandArgs,
    json: bool,
    options: &CommandOptions,
    per: Option<&Per>,
    mut until: Until,
) -> Result<u8> {
    // Checked before the command runs.
    let output = typed.output.as_deref().map(ResultFile::create).transpose()?;
    let by_itself = per.filter(|_| options.counter.is_none());
    let count = by_itself.map(|per| |printed: &str| per.count(printed));
    let reader = count.as_ref().map(|count| count as Reader<'_>);
    let Measured { seen, fault } = match command(options, reader, &mut |seen| until.again(seen)) {
        Ok(measured) => measured,
        Err(CommandFault::NotRun { found, error }) => {
            tell::error(&error);
            return Ok(if found { NOT_EXECUTABLE } else { NOT_FOUND });
        }
        Err(CommandFault::NotStarted(error)) => return Err(error),
        Err(CommandFault::NotMeasured { end, error }) => return Ok(unmeasured(end, &error)),
    };
    let end = seen.runs.last().map_or(CommandEnd::Exited { code: 0 }, |run| run.end);
    let told = result(&seen, until.unit, json.then_some(typed.raw)).and_then(|(cost, text)| {
        match output {
            Some(file) => file.write(&text)?,
            None => tell::note(text.trim_end()),
        }
        let withheld = cost.withheld.map(|why| {
            Error::new(
                ErrorKind::NothingKept,
                "cost-not-measured",
                format!("its cost was not measured: {why}"),
            )
            .help(
                seen.start
                    .without_costs()
                    .map_or("stop what runs beside it, or wait until it has ended", |it| it.1),
            )
        });
        let uncounted = until.unit.filter(|_| cost.per.is_none());
        let uncounted = uncounted.map(|unit| not_counted(unit, options.counter.as_ref()));
        withheld.or(fault).or(uncounted).map_or(Ok(()), Err)
    });
    Ok(told.map_or_else(|error| unmeasured(end, &error), |()| exit_code(end)))
}

/// When the command is not executed again.
struct Until {
    runs: Option<u64>,
    budget_ns: u64,
    run_anyway: bool,
    begun: Option<Instant>,
    /// Unit of the cost.
    unit: Option<Unit>,
}

impl Until {
    /// Whether it is executed again. Before the first time, whether its cost can be measured.
    fn again(&mut self, seen: &SoakCommand) -> Result<bool> {
        let Some(begun) = self.begun else {
            if !self.run_anyway {
                fit(&seen.start)?;
            }
            if self.runs.is_none() && stdin_is_read_once() {
                self.runs = Some(1);
                tell::note(
                    "the command is executed once: stdin is a pipe, which can be read once; --runs \
                     N or </dev/null executes it more often",
                );
            }
            self.begun = Some(Instant::now());
            return Ok(true);
        };
        // The next one would not print a number either.
        if self.unit.is_some() && seen.runs.last().is_some_and(|run| run.did.is_none()) {
            return Ok(false);
        }
        let done = seen.runs.len();
        if let Some(runs) = self.runs {
            return Ok((done as u64) < runs);
        }
        // With as much time for the next as for the others.
        let spent_ns = begun.elapsed().as_nanos() as f64;
        if spent_ns * (done + 1) as f64 / done as f64 > self.budget_ns as f64 {
            return Ok(false);
        }
        let is_known = || command_cost(seen, self.unit).is_some_and(|cost| is_narrow(&cost));
        Ok(done < LEAST_RUNS || !is_known())
    }
}

/// Whether the figure that was asked for is known well enough.
fn is_narrow(cost: &CommandCost) -> bool {
    let figure = cost.per.as_ref().map(|per| per.cost_ns).or(cost.cpu_s);
    figure.is_some_and(|it| it.half_width.is_some_and(|half| half <= NARROW * it.value))
}

fn not_counted(unit: Unit, counter: Option<&Counter>) -> Error {
    if counter.is_some() {
        return Error::input(
            "count-is-zero",
            format!("no {} was counted while the command ran", unit.name()),
        )
        .help("is it the right page or device, in this network namespace?");
    }
    Error::input(
        "command-printed-no-number",
        format!("the command did not print a number of {}s", unit.name()),
    )
    .help("zc help soak names the programs whose output is known; --per-regex finds it in others")
}

/// Hint: what can be measured all the same.
const ANYWAY: &str =
    "--run-anyway executes it all the same, with its own user and system time as the figure";

/// Whether the machine is fit to measure.
fn fit(start: &SoakStart) -> Result<()> {
    // Nothing that else runs is the cause where the kernel stops the soakers.
    if let Some(quota) = start.cpu_quota {
        let why = why_throttled(quota, start.cpus.len());
        let message = format!("the command was not executed: {why}");
        let help = format!("{INSTEAD_OF_THROTTLED}; {ANYWAY}");
        let error = Error::new(ErrorKind::NothingKept, "command-not-executed", message);
        return Err(error.help(help));
    }
    // Of what others take nothing is in the cost then.
    if own_clocks_tell(start) {
        return Ok(());
    }
    let unfit = |error: Error| error.help(ANYWAY);
    paces(start).ok_or_else(|| unfit(Error { help: None, ..stood_still(start) }))?;
    match not_quiet(start) {
        Some(Warning { severity: Severity::Withhold, text, .. }) => Err(unfit(Error::new(
            ErrorKind::NothingKept,
            "command-not-executed",
            format!("the command was not executed: {text}"),
        ))),
        _ => Ok(()),
    }
}

/// The exit code of a command whose result is missing: its own, unless that means success.
fn unmeasured(end: CommandEnd, error: &Error) -> u8 {
    tell::error(error);
    match exit_code(end) {
        0 => OWN_FAILURE,
        code => code,
    }
}

/// The cost, and the result as text; as JSON where `json` says whether the readings are in it.
fn result(
    seen: &SoakCommand,
    unit: Option<Unit>,
    json: Option<bool>,
) -> Result<(CommandCost, String)> {
    let cost = command_cost(seen, unit).ok_or_else(|| stood_still(&seen.start))?;
    let taken = seen.start.taken.as_ref().zip(paces(&seen.start));
    let taken = taken.and_then(|(taken, rates)| taken_share(taken, &rates));
    let warning = not_quiet(&seen.start).filter(|_| cost.by == CostBy::WallTime);
    if let Some(raw) = json {
        let mut document = json!({
            "command": seen.command,
            "cpus": seen.start.cpus,
            "rank": seen.start.rank,
            "cost": cost,
            "taken": taken,
            "warnings": warning.as_slice(),
        });
        if raw {
            document["seen"] = json!(seen);
        }
        return Ok((cost, line(&document)));
    }
    if let Some(warning) = warning {
        tell::warning(&warning.text, warning.remedy.as_deref());
    }
    let text = report::command(seen, &cost) + &report::start(&seen.start, taken);
    Ok((cost, text))
}

pub(super) fn stood_still(start: &SoakStart) -> Error {
    let message = "a soaker got no CPU time while its rate was taken";
    match start.without_costs() {
        Some((why, instead)) => {
            Error::failed("soaker-starved", format!("{message}: {why}")).help(instead)
        }
        None => Error::failed("soaker-starved", message)
            .help("something of higher rank keeps its CPU busy; choose other CPUs with --cpus"),
    }
}

pub(super) fn line(document: &serde_json::Value) -> String {
    format!("{document}\n")
}

fn exit_code(end: CommandEnd) -> u8 {
    match end {
        CommandEnd::Exited { code } => code as u8, // wait(2) has no more than these 8 bits
        CommandEnd::Killed { signal } => 128_u8.wrapping_add(signal as u8), // signals go to 64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!(exit_code(CommandEnd::Exited { code: 255 }), 255);
        assert_eq!(exit_code(CommandEnd::Killed { signal: 9 }), 137);
    }
}
