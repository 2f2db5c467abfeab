//! A fleet's jobs as Slurm lists them.

use std::collections::BTreeMap;

use zc_run::escape;

/// The format of squeue that [`parse`] reads: the array, the task, state, reason, and the script.
pub(crate) const FORMAT: &str = "%F|%K|%i|%T|%r|%o";

/// A task that waits or runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Task {
    /// Its number, as scancel takes it: `12_3`.
    pub(crate) job: String,
    /// Whether it runs, or waits.
    pub(crate) runs: bool,
    /// Slurm's state and reason: `pending, Resources`.
    pub(crate) state: String,
}

/// The tasks of pairs by index of the pair and of the cell, and the job after them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    /// Tasks by pair and cell.
    pub(crate) tasks: BTreeMap<(usize, usize), Task>,
    /// Numbers of jobs that write the report.
    pub(crate) reports: Vec<String>,
}

/// Purpose of a script in a fleet's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    /// The measurements of the pair of this index.
    Pair(usize),
    /// The report.
    Report,
}

/// Reads the lines of squeue. `script_of` returns the purpose of a script; `None` if it is another
/// folder's. Lines of another format are passed over.
pub(crate) fn parse(text: &str, script_of: impl Fn(&str) -> Option<Script>) -> Queue {
    let mut queue = Queue::default();
    for line in text.lines() {
        let mut fields = line.splitn(6, '|');
        let mut next = || fields.next();
        let (Some(array), Some(task), Some(own), Some(state), Some(reason), Some(script)) =
            (next(), next(), next(), next(), next(), next())
        else {
            continue;
        };
        match (script_of(script.trim()), task.parse()) {
            (Some(Script::Pair(pair)), Ok(number)) => {
                let reason = match reason {
                    "None" | "" => String::new(),
                    reason => format!(", {}", escape(reason, 80)),
                };
                let task = Task {
                    job: format!("{array}_{task}"),
                    runs: state != "PENDING",
                    state: escape(&state.to_lowercase(), 40) + &reason,
                };
                queue.tasks.insert((pair, number), task);
            }
            (Some(Script::Report), _) => queue.reports.push(own.to_owned()),
            (Some(Script::Pair(_)), Err(_)) | (None, _) => {}
        }
    }
    queue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_told_by_script_and_number() {
        let text = "7|0|8|RUNNING|None|/f/jobs/0003.sbatch\n\
                    7|1|7_1|PENDING|Resources|/f/jobs/0003.sbatch\n\
                    9|N/A|9|PENDING|Dependency|/f/jobs/report.sbatch\n\
                    10|N/A|10|PENDING|Dependency|/other/jobs/report.sbatch\n\
                    garbage\n";
        let queue = parse(text, |script| match script {
            "/f/jobs/0003.sbatch" => Some(Script::Pair(3)),
            "/f/jobs/report.sbatch" => Some(Script::Report),
            _ => None,
        });
        assert_eq!(queue.reports, ["9"]);
        let task = |at| &queue.tasks[&(3, at)];
        assert_eq!(
            (task(0).job.as_str(), task(0).runs, task(0).state.as_str()),
            ("7_0", true, "running")
        );
        assert_eq!(task(1).state, "pending, Resources");
        assert!(!task(1).runs);
    }
}
