//! `zc bisect`, for `git bisect run`: builds the commit that is checked out, measures it until it
//! can be told whether it is good or bad, and answers with the exit code.
//!
//! git takes 0 for good, 1 to 127 for bad but for 125, which skips the commit, and ends the
//! bisection at any other code (git-bisect(1)). So what is wrong with one commit is 125, and what
//! would be wrong with all of them is [`ABORT`].

mod args;
mod build;
mod git;
mod in_guests;
mod log;
mod measuring;
mod seen;

pub(crate) use args::BisectArgs;

use std::path::PathBuf;

use self::git::{Bisection, Commit, no_bisection};
use self::in_guests::Guests;
use self::log::Log;
use self::measuring::Plan;
use self::seen::Seen;
use crate::format::WidthArgs;
use crate::{interrupt, render, tell};
use zc_analysis::bisect::{
    Against, Answer, Entry, Judged, Question, Told, error_share, error_spent, steps_left,
};
use zc_kernel::stop::Stop;
use zc_report::bisect::{self as report, Left};
use zc_run::{Error, ErrorKind, Result};

/// The exit code of a commit that is bad.
const BAD: u8 = 1;
/// The exit code by which git skips a commit.
const SKIP: u8 = 125;
/// The exit code that ends the bisection: git's own for what is fatal.
const ABORT: u8 = 128;

/// Version of the log.
const VERSION: u32 = 1;

/// The file of the log in the git directory.
const LOG: &str = "zc-bisect.jsonl";

/// Whether this process is a `zc bisect`.
pub(crate) fn is_asked_for() -> bool {
    std::env::args_os().nth(1).is_some_and(|word| word == "bisect")
}

/// The exit code of an error: none that git would take for an answer.
pub(crate) fn exit_code(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Interrupted => kind.exit_code(),
        _ => ABORT,
    }
}

/// Tells a commit, or prints what is known, and returns the exit code.
///
/// # Errors
/// What would be wrong with every commit: the arguments, the saved run, the log, no bisection, no
/// git, no such command; and Ctrl-C.
pub(crate) fn run(args: &BisectArgs) -> Result<u8> {
    let stop = interrupt::flag()?;
    let bisection = Bisection::under_way()?;
    if args.report {
        return print_report(args, bisection.ok_or_else(no_bisection)?);
    }
    if bisection.is_none() && args.steps.is_none() {
        return Err(no_bisection());
    }
    let (Some(path), Some(worse)) = (&args.path, args.worse) else {
        return Err(Error::usage("argument-missing", "\"--path\" or \"--worse\" is missing"));
    };
    let commit = git::checked_out()?
        .unwrap_or_else(|| Commit { name: "unknown".to_owned(), subject: String::new() });
    let mut place = Place::new(args, bisection)?;
    let measuring = Measuring::new(args, path)?;
    let error = match (&place.bisection, args.steps) {
        (_, Some(steps)) => args.error / steps as f64,
        (None, None) => args.error,
        (Some(bisection), None) => {
            let left = steps_left(bisection.suspects()?.len() as u64);
            error_share(args.error, error_spent(place.seen()), left)
        }
    };
    let seen = match build::run(&args.command, &stop)? {
        Some(why) => Seen { judged: Judged::default(), why: Some(why), elapsed_s: 0.0 },
        None => measuring.measure(Question { worse, error }, &stop)?,
    };
    let Seen { judged, why, elapsed_s } = seen;
    let answer = match judged.answer {
        Some(Answer::Good) => Told::Good,
        Some(Answer::Bad) => Told::Bad,
        None => Told::Skip,
    };
    place.add(Entry {
        zc_bisect: VERSION,
        bisection: place.began.clone(),
        at: jiff::Timestamp::now().to_string(),
        commit: commit.name,
        subject: commit.subject,
        cell: path.clone(),
        reference: measuring.against(),
        worse,
        answer,
        why,
        error,
        ratio: judged.ratio,
        low: judged.low,
        high: judged.high,
        confidence: judged.confidence,
        values: judged.values,
        elapsed_s,
    })?;
    tell::result(&report::commit(place.seen(), &place.left()?, columns()))?;
    Ok(match answer {
        Told::Good => 0,
        Told::Bad => BAD,
        Told::Skip => SKIP,
    })
}

/// How commits are measured.
enum Measuring {
    OnHost(Box<Plan>),
    InGuests(Box<Guests>),
}

impl Measuring {
    fn new(args: &BisectArgs, path: &str) -> Result<Self> {
        Ok(match &args.kernel {
            Some(kernel) => Self::InGuests(Box::new(Guests::new(args, kernel, path)?)),
            None => Self::OnHost(Box::new(Plan::new(args, path)?)),
        })
    }

    /// What commits are compared with.
    fn against(&self) -> Against {
        match self {
            Self::OnHost(plan) => plan.against(),
            Self::InGuests(_) => Against::GoodKernel,
        }
    }

    /// Measures the commit that is checked out.
    fn measure(&self, question: Question, stop: &Stop) -> Result<Seen> {
        match self {
            Self::OnHost(plan) => plan.measure(question),
            Self::InGuests(guests) => guests.measure(question, stop),
        }
    }
}

fn print_report(args: &BisectArgs, bisection: Bisection) -> Result<u8> {
    let place = Place::new(args, Some(bisection))?;
    tell::result(&report::report(place.seen(), &place.left()?, columns()))?;
    Ok(0)
}

fn columns() -> usize {
    render::columns(WidthArgs::default())
}

/// Where a bisection stands, and its log.
struct Place {
    bisection: Option<Bisection>,
    /// When it began.
    began: String,
    /// `None` outside of a repository, unless a file was named.
    log: Option<Log>,
    /// The entries, where there is no log.
    unlogged: Vec<Entry>,
}

impl Place {
    fn new(args: &BisectArgs, bisection: Option<Bisection>) -> Result<Self> {
        let began = match &bisection {
            Some(bisection) => bisection.began.clone(),
            None => jiff::Timestamp::now().to_string(),
        };
        let path: Option<PathBuf> = match &args.log {
            Some(path) => Some(path.clone()),
            None => git::own_file(LOG)?,
        };
        let log = path.map(|path| Log::open(&path, &began)).transpose()?;
        Ok(Self { bisection, began, log, unlogged: Vec::new() })
    }

    fn seen(&self) -> &[Entry] {
        self.log.as_ref().map_or(&self.unlogged, |log| &log.entries)
    }

    /// Adds an entry, and takes its answer as git will.
    fn add(&mut self, entry: Entry) -> Result<()> {
        if let Some(bisection) = &mut self.bisection {
            bisection.told(&entry.commit, entry.answer);
        }
        match &mut self.log {
            Some(log) => log.add(entry),
            None => {
                self.unlogged.push(entry);
                Ok(())
            }
        }
    }

    /// What is left of it.
    fn left(&self) -> Result<Left> {
        let Some(bisection) = &self.bisection else { return Ok(Left::Unknown) };
        let suspects = bisection.suspects()?;
        let is_open = |commit: &String| commit != bisection.bad() && !bisection.is_skipped(commit);
        Ok(match suspects.as_slice() {
            [only] => {
                let Commit { name, subject } = git::commit(only)?;
                Left::Found(name, subject)
            }
            all if all.iter().any(is_open) => {
                let commits = all.len() as u64;
                Left::Commits(commits, steps_left(commits))
            }
            all => Left::OneOf(all.to_vec()),
        })
    }
}
