//! The runs of a tuning: all lines, those that look promising in blocks of their own, and the
//! winners in one state. How a budget is divided, and what decides who goes on, is told in
//! `zc_analysis::tune`.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::args::SiteArgs;
use super::copies::{Copies, CopyOf, Started};
use crate::interim::Planned;
use crate::progress::Watcher;
use crate::{run_out, tell};
use zc_analysis::tune::{
    Fate, Line, PRESENT, Phase, Phases, promising, state_name, step_states, winners,
};
use zc_analysis::{Estimates, estimate};
use zc_kernel::stop::Stop;
use zc_load::{Reuse, Target, Targets, Trust};
use zc_measure::session::{self, BlockOptions, Kind, Outcome, ServerOptions, StateOption, TARGET};
use zc_run::{Error, ErrorKind, Result, Run, Support};
use zc_servers::Http2;
use zc_tune::Change;

/// Time limit of a response, and of the servers' first answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Shares of the budget of screening and confirming.
const SCREENING: f64 = 0.4;
const CONFIRMING: f64 = 0.35;

/// Half-width of the intervals at which a run that decides may end early: its ratios are the
/// answer.
const NARROW: f64 = 0.01;

/// The least time for a run: below it there is no block.
const LEAST: Duration = Duration::from_secs(3);

/// The id of the error that no state but the present one answers as it should.
const NO_OTHER: &str = "no-other-state-answers";

/// A run with its estimates.
pub(super) struct Estimated {
    pub(super) run: Run,
    estimates: Estimates,
}

/// The runs that were made.
pub(super) struct Measured {
    pub(super) screening: Estimated,
    pub(super) confirming: Option<Estimated>,
    pub(super) together: Option<Estimated>,
    /// Why there are no more.
    pub(super) ended: Option<Error>,
}

/// Makes the runs. `tried` has the change of each line that can be tried.
///
/// # Errors
/// The first run could not be made: the present state does not answer as it should, or zc cannot
/// measure here.
pub(super) fn measure(
    args: &SiteArgs,
    copies: &mut Copies<'_>,
    asked: Asked,
    lines: &mut [Line],
    tried: &[Option<Change>],
    stop: &Stop,
) -> Result<Measured> {
    let mut run = Runs {
        args,
        asked,
        stop,
        stem: jiff::Zoned::now().strftime("zc-tune-%Y-%m-%dT%H-%M-%S").to_string(),
        began: Instant::now(),
    };
    let of_line = |index: usize| {
        let change = tried.get(index)?.as_ref()?;
        let name = state_name(index, &lines.get(index)?.name);
        Some(CopyOf { name, changes: vec![change] })
    };
    let all = with_present((0..lines.len()).filter_map(of_line).collect());
    if all.len() < 2 {
        let refused = lines.iter().filter_map(|line| match &line.fate {
            Fate::Refused { words } => Some(format!("; {}: {words}", line.name)),
            _ => None,
        });
        let message = format!(
            "there is no line to try: every candidate is in effect, or cannot be tried{}",
            refused.collect::<String>()
        );
        return Err(Error::usage("nothing-to-try", message).help("--try 'LINE' adds one"));
    }
    let (screening, ended) = loop {
        match run.make("screening", copies, &all, SCREENING, None, TARGET) {
            // It is not by files that the site answers, or not all kinds of requests.
            Err(error) if error.id == "unexpected-response" => {
                let Some(without) = run.ask_for_less(copies) else { return Err(error) };
                tell::note(&format!("{without}, as the present state answers otherwise: {error}"));
            }
            made => break made?,
        }
    };
    let mut measured = Measured { screening, confirming: None, together: None, ended };
    let rate = requests_per_s(&measured.screening.run);
    let chosen = promising(measured.phases().screening, lines);
    if measured.ended.is_some() || chosen.is_empty() {
        return Ok(measured);
    }
    let states = with_present(chosen.iter().copied().filter_map(of_line).collect());
    let share = if chosen.len() == 1 { 1.0 - SCREENING } else { CONFIRMING };
    match run.make("confirming", copies, &states, share, rate, NARROW) {
        Ok((confirming, ended)) => {
            (measured.confirming, measured.ended) = (Some(confirming), ended)
        }
        Err(error) if error.id == NO_OTHER => {
            for at in chosen {
                lines[at].fate = Fate::Broke { how: error.message.clone() };
            }
        }
        Err(error) => measured.ended = Some(error),
    }
    let won = winners(&measured.phases(), lines);
    if measured.ended.is_some() || won.len() < 2 {
        return Ok(measured);
    }
    let states = step_states(&won).map(|(name, lines)| {
        let changes = lines.iter().filter_map(|at| tried.get(*at)?.as_ref()).collect();
        CopyOf { name, changes }
    });
    let states = with_present(states.collect());
    match run.make("together", copies, &states, 1.0 - SCREENING - CONFIRMING, rate, NARROW) {
        Ok((together, ended)) => (measured.together, measured.ended) = (Some(together), ended),
        Err(error) => measured.ended = Some(error),
    }
    Ok(measured)
}

impl Measured {
    /// The runs for the analysis.
    pub(super) fn phases<'a>(&'a self) -> Phases<'a> {
        let phase = |Estimated { run, estimates }: &'a Estimated| Phase { run, estimates };
        Phases {
            screening: phase(&self.screening),
            confirming: self.confirming.as_ref().map(phase),
            together: self.together.as_ref().map(phase),
        }
    }
}

/// States after the present one, with which they are compared.
fn with_present(others: Vec<CopyOf<'_>>) -> Vec<CopyOf<'_>> {
    let present = CopyOf { name: PRESENT.to_owned(), changes: Vec::new() };
    [present].into_iter().chain(others).collect()
}

/// What the copies are asked for, and how.
pub(super) struct Asked {
    pub(super) targets: Targets,
    /// By HTTP/1.1.
    pub(super) reuse: Reuse,
    pub(super) http2: Option<Http2>,
}

/// What all runs have in common.
struct Runs<'a> {
    args: &'a SiteArgs,
    asked: Asked,
    stop: &'a Stop,
    /// Begin of the runs' names.
    stem: String,
    began: Instant,
}

impl Runs<'_> {
    /// Asks in a location of zc's own, or else without the next kind of requests that a site may
    /// answer with whole files. Says what is asked for from now on; `None`: that was all.
    fn ask_for_less(&mut self, copies: &mut Copies<'_>) -> Option<&'static str> {
        if copies.use_own_location() {
            return Some("files are asked for in a location of zc's own");
        }
        let kinds = [
            (304, "nothing is asked for on condition that it was modified"),
            (206, "no ranges are asked for"),
        ];
        let (status, words) = kinds.into_iter().find(|(status, _)| self.has(*status))?;
        let each = self.asked.targets.each();
        let turns = (0..self.asked.targets.turns())
            .map(|turn| &each[self.asked.targets.of_turn(turn) as usize]);
        let others = turns.filter(|target| status_of(target) != Some(status)).cloned();
        self.asked.targets = Targets::in_turn(others)?;
        Some(words)
    }

    fn has(&self, status: u16) -> bool {
        self.asked.targets.each().iter().any(|target| status_of(target) == Some(status))
    }

    /// Makes a run of these states for its share of the budget, or for what is left of it.
    fn make(
        &self,
        name: &str,
        copies: &Copies<'_>,
        states: &[CopyOf<'_>],
        share: f64,
        requests_per_s: Option<f64>,
        target: f64,
    ) -> Result<(Estimated, Option<Error>)> {
        let whole = Duration::from_nanos(self.args.budget);
        let left = whole.saturating_sub(self.began.elapsed());
        let budget = whole.mul_f64(share).min(left);
        if budget < LEAST {
            let message = format!("no time was left for the {name} run");
            return Err(Error::new(ErrorKind::NothingKept, "budget-spent", message)
                .help("give a longer --budget"));
        }
        let out: PathBuf = self.args.runs.join(format!("{}-{name}.jsonl.gz", self.stem));
        run_out::check(&out, true, crate::format::FormatArgs::default())?;
        let started = copies.start(name, states)?;
        let is_encrypted = started.urls.iter().any(|url| url.starts_with("https:"));
        let of_states = std::iter::zip(states, &started.urls)
            .map(|(state, url)| Ok(StateOption { state: state.name.parse()?, url: url.clone() }));
        let options = ServerOptions {
            blocks: BlockOptions {
                command: crate::experiment::command(),
                budget_ns: u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX),
                target,
                seed: self.args.seed.number,
                cpus: self.args.cpus,
                ..BlockOptions::plain(out.clone())
            },
            states: of_states.collect::<Result<_>>()?,
            commands: None,
            mix: Some(self.asked.targets.clone()),
            http2: self.asked.http2.clone(),
            serve: Some(started.command.clone()),
            origin: copies.origin(),
            remote: None,
            generator: Vec::new(),
            requests_per_s,
            connections: match &self.asked.http2 {
                Some(http2) => http2.connections,
                None => self.args.connections as usize,
            },
            reuse: self.asked.reuse,
            headers: Vec::new(),
            trust: if is_encrypted { Trust::Anybody } else { Trust::System },
            timeout: TIMEOUT,
            start_limit: TIMEOUT,
        };
        let lines = options.states.len() - 1;
        tell::note(&format!("{name}: {lines} {}", if lines == 1 { "state" } else { "states" }));
        let mut watcher = Watcher::new(std::io::stderr().is_terminal(), budget);
        let outcome =
            session::run(Kind::Server(&options), &mut Planned::default(), self.stop, &mut watcher);
        watcher.clear();
        let Outcome { mut run, error } = outcome.map_err(|error| {
            let mut asked = match &*error.id {
                NO_OTHER => 1..started.urls.len(),
                _ => 0..1,
            };
            let words = asked.find_map(|state| started.last_words(state));
            match words.filter(|_| error.kind == ErrorKind::Remote) {
                Some(words) => Error { message: with_words(&error.message, &words), ..error },
                None => error,
            }
        })?;
        tell::note(&format!("saved as {}", tell::path(&out)));
        add_last_words(&mut run, states, &started);
        let estimates = estimate(&run);
        Ok((Estimated { run, estimates }, error))
    }
}

/// Adds to why states did not answer what their servers said last. (The saved run has what zc saw.)
fn add_last_words(run: &mut Run, states: &[CopyOf<'_>], started: &Started<'_>) {
    let words_of = |label: &str| {
        let place = states.iter().position(|state| state.name == label)?;
        started.last_words(place)
    };
    for row in &mut run.header.unavailable {
        if let (Support::No(no), Some(words)) = (&mut row.support, words_of(&row.name)) {
            no.reason = with_words(&no.reason, &words);
        }
    }
    let failed = run.blocks.iter_mut().flat_map(|block| &mut block.failed);
    for trial in failed {
        if let Some(words) = words_of(&trial.cell) {
            trial.reason = with_words(&trial.reason, &words);
        }
    }
}

fn with_words(why: &str, words: &str) -> String {
    format!("{why}; {words}")
}

fn status_of(target: &Target) -> Option<u16> {
    target.expected.map(|expected| expected.status)
}

/// The rate of a run.
fn requests_per_s(run: &Run) -> Option<f64> {
    run.header.plan.traffic.server().map(|server| server.requests_per_s)
}
