//! What has come of each measurement.

use std::fmt;
use std::path::PathBuf;

use zc_run::escape;

use crate::folder::{Attempt, Folder, is_whole};
use crate::plan::FleetPlan;

/// Why a measurement is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The end of a sentence: `it was killed`.
    pub what: String,
    /// The number of its job.
    pub job: String,
}

impl fmt::Display for Cause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} (job {})", self.what, self.job)
    }
}

/// What has come of a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellState {
    /// It has a run that came to its end.
    Done(PathBuf),
    /// The engine runs it now, or has it in its queue; and what the engine says of it.
    Running(Cause),
    /// See `Running`.
    Waiting(Cause),
    /// It has a run that did not come to its end, and why.
    Part(PathBuf, Cause),
    /// It was tried and has no run; and why.
    Failed(Cause),
    /// It was never begun, or has vanished without a trace.
    Missing,
}

/// A number of measurements in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// All.
    pub all: usize,
    /// Those of [`CellState::Done`], and so on.
    pub done: usize,
    /// See `done`.
    pub running: usize,
    /// See `done`.
    pub waiting: usize,
    /// See `done`.
    pub part: usize,
    /// See `done`.
    pub failed: usize,
    /// See `done`.
    pub missing: usize,
}

impl Count {
    /// Counts them.
    pub fn of(states: &[CellState]) -> Self {
        let mut count = Self { all: states.len(), ..Self::default() };
        for state in states {
            *match state {
                CellState::Done(_) => &mut count.done,
                CellState::Running(_) => &mut count.running,
                CellState::Waiting(_) => &mut count.waiting,
                CellState::Part(..) => &mut count.part,
                CellState::Failed(_) => &mut count.failed,
                CellState::Missing => &mut count.missing,
            } += 1;
        }
        count
    }

    /// Whether every measurement is done.
    pub fn is_complete(&self) -> bool {
        self.done == self.all
    }
}

impl CellState {
    /// Its name in a table.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Running(_) => "running",
            Self::Waiting(_) => "waiting",
            Self::Part(..) => "in part",
            Self::Failed(_) => "failed",
            Self::Missing => "missing",
        }
    }

    /// Its name, and why it is not done, without the number of its job: those of one kind are one.
    pub fn kind(&self) -> String {
        match self.why() {
            Some(cause) => format!("{}: {}", self.name(), cause.what),
            None => self.name().to_owned(),
        }
    }

    /// Why it is not done; `None` if there is nothing to say.
    pub fn why(&self) -> Option<&Cause> {
        match self {
            Self::Running(why) | Self::Waiting(why) | Self::Part(_, why) | Self::Failed(why) => {
                Some(why)
            }
            Self::Done(_) | Self::Missing => None,
        }
    }

    /// Its run, also one that was cut off.
    pub fn run(&self) -> Option<&PathBuf> {
        match self {
            Self::Done(run) | Self::Part(run, _) => Some(run),
            _ => None,
        }
    }

    /// Whether it is to be submitted: neither done, nor with the engine.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Part(..) | Self::Failed(_) | Self::Missing)
    }
}

/// The states of all measurements by what lies in the folder, in the order of the plan.
///
/// # Errors
/// The folder cannot be read.
pub fn states(folder: &Folder, plan: &FleetPlan) -> zc_run::Result<Vec<CellState>> {
    let attempts = folder.attempts()?;
    let said = folder.said_by_slurm();
    let mut states = Vec::new();
    for (number, pair) in plan.pairs.iter().enumerate() {
        for (task, cell) in pair.cells.iter().enumerate() {
            let attempts = attempts.get(&cell.id).map_or(&[][..], Vec::as_slice);
            let said = said.get(&(number, task));
            states.push(Seen { folder, cell: &cell.id, attempts, said }.state());
        }
    }
    Ok(states)
}

/// What there is of a measurement.
struct Seen<'a> {
    folder: &'a Folder,
    cell: &'a str,
    attempts: &'a [Attempt],
    /// The last job of which Slurm said anything, and what.
    said: Option<&'a (String, String)>,
}

impl Seen<'_> {
    /// The first run that is whole, else the last one that was cut off, else why the last attempt has none.
    fn state(&self) -> CellState {
        let runs =
            || self.attempts.iter().filter_map(|attempt| Some((attempt, attempt.run.as_ref()?)));
        if let Some((_, run)) = runs().find(|(_, run)| is_whole(run)) {
            return CellState::Done(run.clone());
        }
        if let Some((attempt, run)) = runs().next_back() {
            return CellState::Part(run.clone(), self.ended(attempt));
        }
        match (self.attempts.last(), self.said) {
            (Some(attempt), _) => CellState::Failed(self.ended(attempt)),
            (None, Some((job, line))) => {
                CellState::Failed(Cause { what: escape(line, 160), job: job.clone() })
            }
            (None, None) => CellState::Missing,
        }
    }

    /// How an attempt ended: by its exit code, by what it said, or by what Slurm said of it.
    fn ended(&self, attempt: &Attempt) -> Cause {
        let [_, _, log] = self.folder.files(self.cell, &attempt.job);
        let by_slurm =
            self.said.filter(|(job, _)| *job == attempt.job).map(|(_, line)| line.clone());
        if let Some(said) = &attempt.said {
            return Cause { what: escape(said, 240), job: escape(&attempt.job, 40) };
        }
        let (how, said) = match attempt.exit_code {
            Some(130) => ("it was interrupted".to_owned(), None),
            Some(137) => ("it was killed".to_owned(), by_slurm),
            Some(code) => (format!("exit code {code}"), Folder::last_line(&log)),
            None => ("it was killed, or its host vanished".to_owned(), by_slurm),
        };
        let said = said.map_or_else(String::new, |said| {
            format!(": {}", escape(said.trim_start_matches("error: "), 160))
        });
        Cause { what: how + &said, job: escape(&attempt.job, 40) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::four_hosts;

    /// The last lines of a run that ended so.
    fn run(end: &str) -> String {
        format!("{{\"zc_run\":3,\"blocks\":[\n{{\"x\":1}}\n],\"end\":{end}}}\n")
    }

    #[test]
    fn what_lies_in_the_folder_says_what_has_come_of_each() {
        let at = tempfile::tempdir().unwrap();
        let folder = Folder::create(&at.path().join("f")).unwrap();
        let plan = four_hosts("");
        let ids: Vec<&str> = plan.cells().map(|cell| cell.id.as_str()).collect();
        let put = |cell: usize, job: &str, run: &str, code: &str, said: &str| {
            let files = folder.files(ids[cell], job);
            for (path, text) in files.iter().zip([run, code, said]) {
                if !text.is_empty() {
                    folder.write(path, text).unwrap();
                }
            }
        };
        let whole = run("{\"reason\":{\"why\":\"budget-spent\"}}");
        let cut = run("{\"reason\":{\"why\":\"interrupted\"}}");
        put(0, "9", &cut, "130\n", "");
        put(0, "10", &whole, "0\n", "");
        put(0, "11", &cut, "", "");
        put(1, "12", &cut, "130", "");
        put(2, "13", "", "6", "error: no \u{1b}[31mroute\nhint: try again\n");
        put(3, "14", "{\"zc_run\":3", "", "");
        let states = states(&folder, &plan).unwrap();
        let [whole_run, _, _] = folder.files(ids[0], "10");
        assert_eq!(
            states[0],
            CellState::Done(whole_run),
            "a whole one counts, whatever else there is"
        );
        let why = |at: usize| states[at].why().map(Cause::to_string);
        assert_eq!(why(1).as_deref(), Some("it was interrupted (job 12)"));
        assert_eq!(why(2).as_deref(), Some("exit code 6: no \\u{1b}[31mroute (job 13)"));
        assert_eq!(why(3).as_deref(), Some("it was killed, or its host vanished (job 14)"));
        assert_eq!(states[1].kind(), "in part: it was interrupted");
        assert_eq!(states[4], CellState::Missing);
        let count = Count::of(&states);
        assert_eq!(
            (count.all, count.done, count.part, count.failed, count.missing),
            (12, 1, 2, 1, 8)
        );
        assert!(!count.is_complete());
    }

    #[test]
    fn a_folder_that_has_something_in_it_is_not_taken() {
        let at = tempfile::tempdir().unwrap();
        std::fs::write(at.path().join("x"), "").unwrap();
        assert!(Folder::create(at.path()).is_err());
        assert!(Folder::open(at.path()).is_err());
        assert!(Folder::open(&at.path().join("none")).is_err());
    }
}
