//! Slurm runs the measurements: zc writes its jobs, and calls sbatch, squeue, sacct and scancel.

mod jobs;
mod queue;

use std::path::Path;
use std::process::{Command, Stdio};

use zc_run::{Error, Result, escape};

use crate::folder::Folder;
use crate::plan::FleetPlan;
use crate::state::{Cause, CellState, Judge, states};
use queue::{Queue, Script};

/// Writes the scripts of all jobs.
///
/// # Errors
/// [`ErrorKind::Output`](zc_run::ErrorKind).
pub fn write_jobs(folder: &Folder, plan: &FleetPlan) -> Result<()> {
    for number in 0..plan.pairs.len() {
        folder.write(&folder.job(number), &jobs::pair_script(plan, number, folder))?;
    }
    folder.write(&folder.report_job(), &jobs::report_script(plan, folder))
}

/// A call of sbatch that is to be made: the measurements of a pair that are open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// Index of the pair; `None` for the job that writes the report.
    pub pair: Option<usize>,
    /// Number of measurements.
    pub cells: usize,
    /// The words of the command.
    pub words: Vec<String>,
}

/// The states of all measurements, by what lies in the folder and what Slurm says.
///
/// # Errors
/// [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is no Slurm here;
/// [`ErrorKind::Remote`](zc_run::ErrorKind): it does not answer.
pub fn states_now(
    folder: &Folder,
    plan: &FleetPlan,
    judge: &Judge<'_>,
) -> Result<(Vec<CellState>, Vec<String>)> {
    // First the queue: what ends between the two is then told as running, and not as missing.
    let queue = queue(folder, plan)?;
    let mut states = states(folder, plan, judge)?;
    with_queue(plan, &queue, &mut states);
    Ok((states, queue.reports))
}

/// Replaces the states that earlier attempts left by those of the queue, unless a measurement is
/// done.
fn with_queue(plan: &FleetPlan, queue: &Queue, states: &mut [CellState]) {
    let mut at = 0;
    for (pair, job) in plan.pairs.iter().enumerate() {
        for cell in 0..job.cells.len() {
            if let (Some(task), true) = (queue.tasks.get(&(pair, cell)), states[at].is_open()) {
                let cause = Cause { what: task.state.clone(), job: task.job.clone() };
                states[at] = match task.runs {
                    true => CellState::Running(cause),
                    false => CellState::Waiting(cause),
                };
            }
            at += 1;
        }
    }
}

fn queue(folder: &Folder, plan: &FleetPlan) -> Result<Queue> {
    let name = format!("--name={}", plan.job_name);
    let format = format!("--format={}", queue::FORMAT);
    let text = output("squeue", &["--noheader", "--array", "--me", &name, &format])?;
    Ok(queue::parse(&text, |script| match folder.pair_of(script) {
        Some(pair) => Some(Script::Pair(pair)),
        None => (Path::new(script) == folder.report_job()).then_some(Script::Report),
    }))
}

/// Jobs to submit: one for each pair that has open measurements, and the one that writes the report
/// after them.
pub fn submissions(folder: &Folder, plan: &FleetPlan, states: &[CellState]) -> Vec<Submission> {
    let mut all = Vec::new();
    let mut at = 0;
    for (number, pair) in plan.pairs.iter().enumerate() {
        let open: Vec<usize> =
            (0..pair.cells.len()).filter(|cell| states[at + cell].is_open()).collect();
        at += pair.cells.len();
        if !open.is_empty() {
            let tasks: Vec<String> = open.iter().map(usize::to_string).collect();
            let mut words = vec!["sbatch".to_owned(), "--parsable".to_owned()];
            words.push(format!("--array={}", tasks.join(",")));
            words
                .extend(plan.slurm.deadline_s().map(|seconds| format!("--deadline=now+{seconds}")));
            words.push(folder.job(number).display().to_string());
            all.push(Submission { pair: Some(number), cells: open.len(), words });
        }
    }
    if !all.is_empty() {
        let words = ["sbatch", "--parsable"].map(str::to_owned).into_iter();
        let words = words.chain([folder.report_job().display().to_string()]).collect();
        all.push(Submission { pair: None, cells: 0, words });
    }
    all
}

/// Submits a job, and returns its number.
///
/// # Errors
/// [`ErrorKind::Remote`](zc_run::ErrorKind): Slurm refuses it;
/// [`ErrorKind::Input`](zc_run::ErrorKind): its script is not of those that are read.
pub fn submit(folder: &Folder, submission: &Submission) -> Result<String> {
    let script = submission.pair.map_or_else(|| folder.report_job(), |pair| folder.job(pair));
    folder.check_job(&script)?;
    let words: Vec<&str> = submission.words.iter().skip(1).map(String::as_str).collect();
    Ok(output("sbatch", &words)?.trim().split(';').next().unwrap_or_default().to_owned())
}

/// Removes jobs from the queue.
///
/// # Errors
/// Slurm refuses it.
pub fn cancel_jobs(jobs: &[String]) -> Result<()> {
    if jobs.is_empty() {
        return Ok(());
    }
    let words: Vec<&str> = jobs.iter().map(String::as_str).collect();
    output("scancel", &words).map(drop)
}

/// Cancels all jobs of a fleet. A measurement that runs saves what it has.
///
/// # Errors
/// Slurm refuses it.
pub fn cancel(plan: &FleetPlan) -> Result<()> {
    output("scancel", &["--me", &format!("--name={}", plan.job_name)]).map(drop)
}

/// Checks that jobs can have hosts for themselves.
///
/// # Errors
/// [`ErrorKind::Unsupported`](zc_run::ErrorKind): the partition shares hosts whatever a job asks
/// for.
pub fn check_exclusive(plan: &FleetPlan) -> Result<()> {
    let mut words = vec!["--oneliner", "show", "partition"];
    words.extend(plan.slurm.partition.as_deref());
    let text = output("scontrol", &words)?;
    let is_ours = |line: &&str| plan.slurm.partition.is_some() || line.contains(" Default=YES");
    let forced = |line: &str| line.contains(" OverSubscribe=FORCE");
    match text.lines().filter(is_ours).any(forced) {
        false => Ok(()),
        true => Err(Error::unsupported(
            "hosts-shared",
            "jobs of this partition share their hosts whatever they ask for (OverSubscribe=FORCE)",
        )
        .help(
            "name another one under [slurm] partition, or shared = true measures beside others, \
             and the report says so",
        )),
    }
}

/// The nodes of Slurm that have a feature.
///
/// # Errors
/// There is no Slurm here, it does not answer, or no node has it.
pub fn nodes_with(feature: &str) -> Result<Vec<String>> {
    let text = output("sinfo", &["--noheader", "--Node", "--format=%N|%f"])?;
    let mut nodes: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some((node, features)) = line.trim().split_once('|')
            && features.split(',').any(|has| has == feature)
            && !nodes.iter().any(|known| known == node)
        {
            nodes.push(node.to_owned());
        }
    }
    match nodes.is_empty() {
        false => Ok(nodes),
        true => Err(Error::input(
            "no-node-with-feature",
            format!("no node has the feature \"{}\"", escape(feature, 40)),
        )
        .help("sinfo --Node --format='%N %f' lists them")),
    }
}

/// The stdout of a command of Slurm.
fn output(command: &str, words: &[&str]) -> Result<String> {
    let output = Command::new(command).args(words).stdin(Stdio::null()).output().map_err(
        |error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::unsupported("command-not-found", format!("there is no {command} here")).help(
                    "a fleet with engine = \"slurm\" is submitted where Slurm's commands are; \
                     engine = \"ssh\" needs none",
                )
            }
            _ => Error::os(format!("start {command}"), error),
        },
    )?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(Error::remote("slurm-failed", format!("{command} failed: {}", escape(said.trim(), 200)))
        .help(
            "is slurmctld up? sinfo tells; what was submitted stays, and the same command goes on",
        ))
}
