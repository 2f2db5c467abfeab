//! States of a fleet's measurements.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use zc_run::{Result, escape, in_words};

use crate::attempts::Attempt;
use crate::folder::Folder;
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

/// State of a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellState {
    /// It has a run that came to its end, and that a report uses.
    Done(PathBuf),
    /// The engine runs it now, or has it in its queue; with the engine's description.
    Running(Cause),
    /// See `Running`.
    Waiting(Cause),
    /// It has a run that did not come to its end; with the reason.
    Part(PathBuf, Cause),
    /// It has a run that came to its end but that no report uses; with the reason.
    Unusable(PathBuf, Cause),
    /// It was tried and has no run; with the reason.
    Failed(Cause),
    /// It was never begun, or has vanished without a trace.
    Missing,
}

/// A number of measurements in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// All.
    pub all: usize,
    /// Number in state [`CellState::Done`], and so on.
    pub done: usize,
    /// See `done`.
    pub running: usize,
    /// See `done`.
    pub waiting: usize,
    /// See `done`.
    pub part: usize,
    /// See `done`.
    pub unusable: usize,
    /// See `done`.
    pub failed: usize,
    /// See `done`.
    pub missing: usize,
}

impl Count {
    /// Counts them.
    pub fn from_states(states: &[CellState]) -> Self {
        let mut count = Self { all: states.len(), ..Self::default() };
        for state in states {
            *match state {
                CellState::Done(_) => &mut count.done,
                CellState::Running(_) => &mut count.running,
                CellState::Waiting(_) => &mut count.waiting,
                CellState::Part(..) => &mut count.part,
                CellState::Unusable(..) => &mut count.unusable,
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
            Self::Unusable(..) => "unusable",
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
            Self::Running(why)
            | Self::Waiting(why)
            | Self::Part(_, why)
            | Self::Unusable(_, why)
            | Self::Failed(why) => Some(why),
            Self::Done(_) | Self::Missing => None,
        }
    }

    /// Its run, also one that was cut off or that no report uses.
    pub fn run(&self) -> Option<&PathBuf> {
        match self {
            Self::Done(run) | Self::Part(run, _) | Self::Unusable(run, _) => Some(run),
            _ => None,
        }
    }

    /// Whether it is to be submitted: neither done, nor with the engine.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Part(..) | Self::Unusable(..) | Self::Failed(_) | Self::Missing)
    }
}

/// Finds the saved runs that no report uses, with the reasons.
pub type Judge<'a> = dyn Fn(&[PathBuf]) -> Result<BTreeMap<PathBuf, String>> + 'a;

/// The saved runs of all measurements, of every attempt.
///
/// # Errors
/// The folder cannot be read.
pub fn runs(folder: &Folder, plan: &FleetPlan) -> Result<Vec<PathBuf>> {
    Ok(runs_of(plan, &folder.attempts()?))
}

fn runs_of(plan: &FleetPlan, attempts: &BTreeMap<String, Vec<Attempt>>) -> Vec<PathBuf> {
    let of_plan = plan.cells().filter_map(|cell| attempts.get(&cell.id)).flatten();
    of_plan.filter_map(|attempt| attempt.run.clone()).collect()
}

/// The states of all measurements by what lies in the folder, in the order of the plan.
///
/// # Errors
/// The folder cannot be read; those of `judge`.
pub fn states(folder: &Folder, plan: &FleetPlan, judge: &Judge<'_>) -> Result<Vec<CellState>> {
    let attempts = folder.attempts()?;
    let unusable = judge(&runs_of(plan, &attempts))?;
    let said = folder.slurm_messages();
    let mut states = Vec::new();
    for (number, pair) in plan.pairs.iter().enumerate() {
        for (task, cell) in pair.cells.iter().enumerate() {
            let attempts = attempts.get(&cell.id).map_or(&[][..], Vec::as_slice);
            let said = said.get(&(number, task));
            let seen = Seen { folder, cell: &cell.id, attempts, said, unusable: &unusable };
            states.push(seen.state());
        }
    }
    Ok(states)
}

/// Everything that determines a measurement's state.
struct Seen<'a> {
    folder: &'a Folder,
    cell: &'a str,
    attempts: &'a [Attempt],
    /// The last job that Slurm said anything about, and what it said.
    said: Option<&'a (String, String)>,
    unusable: &'a BTreeMap<PathBuf, String>,
}

/// The run of an attempt.
struct SeenRun<'a> {
    attempt: &'a Attempt,
    path: &'a Path,
    /// Whether it came to its end; or why it cannot be read.
    is_whole: std::result::Result<bool, String>,
    /// Why no report uses it.
    unusable: Option<&'a String>,
}

impl Seen<'_> {
    /// The first run that is whole, else the last one that was cut off, of those that a report
    /// uses. Else those that none uses, and else why the last attempt has none.
    fn state(&self) -> CellState {
        let runs: Vec<SeenRun<'_>> =
            self.attempts.iter().filter_map(|each| self.run(each)).collect();
        let is_whole = |run: &&SeenRun<'_>| run.is_whole == Ok(true);
        let is_part = |run: &&SeenRun<'_>| run.is_whole == Ok(false);
        let used = || runs.iter().filter(|run| run.unusable.is_none());
        if let Some(run) = used().find(is_whole) {
            return CellState::Done(run.path.to_owned());
        }
        if let Some(run) = used().rfind(is_part) {
            return CellState::Part(run.path.to_owned(), self.ended(run.attempt));
        }
        if let Some(run) = runs.iter().rfind(is_whole) {
            let what = escape(run.unusable.map_or("", String::as_str), 240);
            let cause = Cause { what, job: escape(&run.attempt.job, 40) };
            return CellState::Unusable(run.path.to_owned(), cause);
        }
        if let Some(run) = runs.iter().rfind(is_part) {
            return CellState::Part(run.path.to_owned(), self.ended(run.attempt));
        }
        match (runs.last(), self.attempts.last(), self.said) {
            (Some(SeenRun { attempt, is_whole: Err(why), .. }), ..) => {
                let what = format!("its run cannot be read: {}", escape(why, 160));
                CellState::Failed(Cause { what, job: escape(&attempt.job, 40) })
            }
            (_, Some(attempt), _) => CellState::Failed(self.ended(attempt)),
            (_, None, Some((job, line))) => {
                CellState::Failed(Cause { what: escape(line, 160), job: job.clone() })
            }
            (_, None, None) => CellState::Missing,
        }
    }

    fn run<'a>(&'a self, attempt: &'a Attempt) -> Option<SeenRun<'a>> {
        let path = attempt.run.as_deref()?;
        let is_whole = self.folder.is_whole(path).map_err(|error| in_words(&error));
        Some(SeenRun { attempt, path, is_whole, unusable: self.unusable.get(path) })
    }

    /// Cause of an attempt's end: by its exit code, by what it said, or by what Slurm said of it.
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
            Some(code) => (format!("exit code {code}"), self.folder.last_line(&log)),
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
    use crate::files::Whose;
    use crate::plan::tests::four_hosts;

    /// The last lines of a run that ended so.
    fn run(end: &str) -> String {
        format!("{{\"zc_run\":4}}\n{{\"x\":1}}\n{end}\n")
    }

    #[test]
    fn what_lies_in_the_folder_says_what_has_come_of_each() {
        let at = tempfile::tempdir().unwrap();
        let (folder, _lock) = Folder::create(&at.path().join("f")).unwrap();
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
        put(3, "14", "{\"zc_run\":4", "", "");
        let states = states(&folder, &plan, &|_| Ok(BTreeMap::new())).unwrap();
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
        let count = Count::from_states(&states);
        assert_eq!(
            (count.all, count.done, count.part, count.failed, count.missing),
            (12, 1, 2, 1, 8)
        );
        assert!(!count.is_complete());
    }

    #[test]
    fn a_run_that_no_report_uses_is_not_done_unless_another_attempt_is() {
        let at = tempfile::tempdir().unwrap();
        let (folder, _lock) = Folder::create(&at.path().join("f")).unwrap();
        let plan = four_hosts("");
        let id = &plan.cells().next().unwrap().id;
        let whole = run("{\"reason\":{\"why\":\"budget-spent\"}}");
        let [first, _, _] = folder.files(id, "1");
        let [second, _, _] = folder.files(id, "2");
        folder.write(&first, &whole).unwrap();
        let judge = |runs: &[PathBuf]| {
            let of_first = runs.iter().filter(|run| **run == first);
            Ok(of_first.map(|run| (run.clone(), "it is doubtful".to_owned())).collect())
        };
        let state = || states(&folder, &plan, &judge).unwrap().swap_remove(0);
        let CellState::Unusable(path, why) = state() else { panic!("{:?}", state()) };
        assert_eq!((path.as_path(), why.to_string().as_str()), (&*first, "it is doubtful (job 1)"));
        assert!(state().is_open() && state().kind() == "unusable: it is doubtful");
        let count = Count::from_states(&[state()]);
        assert_eq!((count.done, count.unusable, count.is_complete()), (0, 1, false));
        folder.write(&second, &whole).unwrap();
        assert_eq!(state(), CellState::Done(second));
    }

    #[test]
    fn what_is_no_regular_file_of_one_s_own_is_named_and_not_read() {
        let at = tempfile::tempdir().unwrap();
        std::fs::write(at.path().join("secret"), "hunter2\n").unwrap();
        let (folder, _lock) = Folder::create(&at.path().join("f")).unwrap();
        let plan = four_hosts("");
        let ids: Vec<&str> = plan.cells().map(|cell| cell.id.as_str()).collect();
        let link = |to: &str, name: &Path| std::os::unix::fs::symlink(to, name).unwrap();
        let files_of = |cell: usize| folder.files(ids[cell], "1");
        let [_, exit, log] = files_of(0);
        folder.write(&exit, "6\n").unwrap();
        link("../../secret", &log);
        link("/dev/zero", &files_of(1)[1]);
        std::fs::File::create(&files_of(2)[1]).unwrap().set_len(5 << 30).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &files_of(3)[1], 0o600.into()).unwrap();
        link("../../secret", &files_of(4)[0]);
        rustix::fs::mkfifoat(rustix::fs::CWD, &files_of(5)[0], 0o600.into()).unwrap();
        let (pair, task) = (plan.pairs.len() - 1, 1);
        let said = folder.path().join(format!("logs/{pair:04}.{task}.7.txt"));
        link("../../secret", &said);
        let states = states(&folder, &plan, &|_| Ok(BTreeMap::new())).unwrap();
        let why = |at: usize| states[at].why().map(Cause::to_string).unwrap_or_default();
        for (at, says) in [
            (0, "exit code 6: its log cannot be read: it is a symbolic link (job 1)"),
            (1, "its exit code cannot be read: it is a symbolic link (job 1)"),
            (2, "its exit code cannot be read: it has more than 65536 bytes (job 1)"),
            (3, "its exit code cannot be read: it is not a regular file (job 1)"),
            (4, "its run cannot be read: it is a symbolic link (job 1)"),
            (5, "its run cannot be read: it is not a regular file (job 1)"),
            (states.len() - 1, "its log cannot be read: it is a symbolic link (job 7)"),
        ] {
            assert_eq!(why(at), says);
        }
    }

    #[test]
    fn a_plan_that_came_to_no_end_is_made_again_and_nothing_else_is_written_over() {
        let at = tempfile::tempdir().unwrap();
        let path = at.path().join("f");
        let (folder, lock) = Folder::create(&path).unwrap();
        let refused = || Folder::create(&path).unwrap_err().id;
        assert_eq!(refused(), "folder-in-use");
        folder.write_secret(&folder.fleet_manifest(), "token").unwrap();
        drop(lock);
        let (folder, _lock) = Folder::create(&path).unwrap();
        assert!(!folder.fleet_manifest().exists(), "what is left is removed");
        drop(_lock);
        let [run, _, _] = folder.files("x", "1");
        folder.write(&run, "a run").unwrap();
        assert_eq!(refused(), "cannot-make-folder");
        std::fs::remove_file(&run).unwrap();
        std::fs::write(path.join("mine"), "").unwrap();
        assert_eq!(refused(), "cannot-make-folder");
        std::fs::remove_file(path.join("mine")).unwrap();
        folder.write(&folder.plan(), "{}").unwrap();
        assert_eq!(refused(), "cannot-make-folder");
    }

    #[test]
    fn a_folder_that_has_something_in_it_is_not_taken() {
        let at = tempfile::tempdir().unwrap();
        std::fs::write(at.path().join("x"), "").unwrap();
        assert!(Folder::create(at.path()).is_err());
        assert!(Folder::open(at.path(), Whose::Own).is_err());
        assert!(Folder::open(&at.path().join("none"), Whose::Own).is_err());
    }
}
