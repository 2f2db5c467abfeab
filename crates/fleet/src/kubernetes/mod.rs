//! Kubernetes runs the measurements: zc writes two Jobs for each, one of which sends and one
//! receives, and calls kubectl.
//!
//! Jobs are deleted once their measurement is in the folder, so those that exist wait, run, or are
//! to be brought home. Without a gang scheduler zc submits a measurement only when its hosts are
//! free of its own ones: two pods that each have one host and wait for the other's would wait for
//! good.

mod bounded;
mod kubectl;
mod log;
mod manifests;
mod names;
mod nodes;
mod objects;
mod stage;

use std::collections::{BTreeMap, BTreeSet};

use zc_run::Result;

use crate::folder::Folder;
use crate::plan::{Cell, FleetPlan};
use crate::state::{Cause, CellState, Judge, states};
use kubectl::Kubectl;
use names::{Names, words};
use objects::Measurements;
use stage::{Ending, Stage};

pub use nodes::{check_exclusive, nodes_with};

/// The most files or names of one call.
const MOST_AT_ONCE: usize = 50;

/// Writes the manifests. `token` is what each end proves to the other.
///
/// # Errors
/// [`ErrorKind::Output`](zc_run::ErrorKind).
pub fn write_jobs(folder: &Folder, plan: &FleetPlan, token: &str) -> Result<()> {
    let mut plans = Vec::new();
    for planned in &plan.plans {
        plans.extend(folder.own_plan(planned)?.map(|text| (planned.name.clone(), text)));
    }
    let fleet = manifests::shared_objects(plan, token, &plans);
    folder.write_secret(&folder.fleet_manifest(), &format!("{fleet:#}\n"))?;
    for (number, cell) in plan.cells().enumerate() {
        let text = format!("{:#}\n", manifests::cell_jobs(plan, number, cell));
        folder.write(&folder.manifest(&cell.id), &text)?;
    }
    Ok(())
}

/// States of all measurements in a cluster and its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// The state of each, in the order of the plan.
    pub states: Vec<CellState>,
    /// Numbers of those that have Jobs.
    pub submitted: BTreeSet<usize>,
    /// Receiving Jobs of measurements whose sending Job is gone, or not there yet.
    left: Vec<String>,
}

impl Now {
    /// States by the folder alone, while nothing is submitted.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn from_folder(folder: &Folder, plan: &FleetPlan, judge: &Judge<'_>) -> Result<Self> {
        let states = states(folder, plan, judge)?;
        Ok(Self { states, submitted: BTreeSet::new(), left: Vec::new() })
    }
}

/// Brings home what has ended, deletes its Jobs, and returns the states of all measurements.
///
/// # Errors
/// [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is no kubectl here;
/// [`ErrorKind::Remote`](zc_run::ErrorKind): the cluster does not answer, or refuses;
/// [`ErrorKind::Output`](zc_run::ErrorKind): the folder cannot be written; nothing is deleted then.
pub fn now(folder: &Folder, plan: &FleetPlan, judge: &Judge<'_>) -> Result<Now> {
    let kubectl = Kubectl::for_plan(plan);
    let measurements = measurements(&kubectl, plan)?;
    let names = Names::for_plan(plan);
    let cells: Vec<&Cell> = plan.cells().collect();
    let (mut over, mut left) = (Vec::new(), Vec::new());
    let (mut submitted, mut seen) = (BTreeSet::new(), Vec::new());
    for (number, measurement) in &measurements {
        let Some(cell) = cells.get(*number) else { continue };
        submitted.insert(*number);
        let job = names.measurement(*number);
        let cause = |what| Cause { what, job };
        match measurement.stage() {
            Stage::Waiting(what) => seen.push((*number, CellState::Waiting(cause(what)))),
            Stage::Running(what) => seen.push((*number, CellState::Running(cause(what)))),
            Stage::ToEnd { pod, why } => {
                end(&kubectl, &pod)?;
                seen.push((*number, CellState::Running(cause(format!("it is ended: {why}")))));
            }
            Stage::Ended(ending) => {
                save_results(&kubectl, folder, cell, &ending)?;
                submitted.remove(number);
                over.extend(measurement.jobs());
            }
            Stage::Left => left.extend(measurement.jobs().map(str::to_owned)),
        }
    }
    delete(&kubectl, &over)?;
    let mut states = states(folder, plan, judge)?;
    for (number, state) in seen {
        if states[number].is_open() {
            states[number] = state;
        }
    }
    Ok(Now { states, submitted, left })
}

/// Like [`now`], for use before submitting: it also deletes what is left of measurements whose
/// sending Job is gone. Other callers must not: such a measurement may be one that is being
/// submitted at this moment.
///
/// # Errors
/// Same as [`now`].
pub fn now_to_submit(folder: &Folder, plan: &FleetPlan, judge: &Judge<'_>) -> Result<Now> {
    let now = now(folder, plan, judge)?;
    if now.left.is_empty() {
        return Ok(now);
    }
    let left: Vec<&str> = now.left.iter().map(String::as_str).collect();
    delete(&Kubectl::for_plan(plan), &left)?;
    self::now(folder, plan, judge)
}

fn delete(kubectl: &Kubectl, jobs: &[&str]) -> Result<()> {
    for names in jobs.chunks(MOST_AT_ONCE) {
        let call = ["delete", "jobs", "--ignore-not-found", "--wait=false"];
        kubectl.output(&[&call, names].concat())?;
    }
    Ok(())
}

fn measurements(kubectl: &Kubectl, plan: &FleetPlan) -> Result<Measurements> {
    let text = kubectl.output(&["get", "jobs,pods", &selector(plan), "--output=json"])?;
    objects::parse(&text)
}

/// The option that selects the objects of a fleet.
fn selector(plan: &FleetPlan) -> String {
    format!("--selector={}={}", words::FLEET, Names::for_plan(plan).fleet)
}

/// Ends a pod as its own deadline would: zc is told, saves what it has, and the log stays.
fn end(kubectl: &Kubectl, pod: &str) -> Result<()> {
    let patch = "{\"spec\":{\"activeDeadlineSeconds\":1}}";
    kubectl.output(&["patch", "pod", pod, "--patch", patch]).map(drop)
}

/// Writes the files of an attempt: the run, the messages, and last how it ended.
fn save_results(kubectl: &Kubectl, folder: &Folder, cell: &Cell, ending: &Ending) -> Result<()> {
    let [run, exit, said] = folder.files(&cell.id, &ending.attempt);
    if exit.exists() {
        return Ok(()); // another call was faster, or could not delete its Jobs
    }
    let log = match &ending.pod {
        // Ends with its container, or after the time of a request.
        Some(pod) if ending.may_write => kubectl.try_output(&["logs", "--follow", pod])?,
        Some(pod) => kubectl.try_output(&["logs", pod])?,
        None => Ok(String::new()),
    };
    let mut why = ending.why.clone();
    let log = log.unwrap_or_else(|failed| {
        why = Some(match why.take() {
            Some(why) => why,
            None => format!("its log cannot be had: {}", failed.error().message),
        });
        failed.said
    });
    let log = log::parse(&log);
    folder.write(&said, &log.said)?;
    if ending.code != Some(0)
        && let Some(pod) = &ending.far_pod
        && let Ok(log) = kubectl.try_output(&["logs", pod])?
    {
        let path = said.with_extension("far.txt");
        folder.write(&path, &log)?;
        let line = folder.last_line(&path);
        let error = line.as_ref().and_then(|line| line.strip_prefix("error: "));
        if let (true, Some(why), Some(error)) = (ending.receiver_failed, &mut why, error) {
            *why = format!("{why}: {error}");
        }
    }
    match &log.run {
        Some(lines) => folder.write(&run, &zc_run::gzip_members(lines))?,
        None if ending.code == Some(0) && why.is_none() => {
            // A kubelet that has lost a log says so in place of it.
            let said = log.said.lines().next_back().unwrap_or("it is empty");
            why = Some(format!("its log has no run: {said}"));
        }
        None => {}
    }
    let code = ending.code.map(|code| code.to_string()).unwrap_or_default();
    let why = why.map(|why| why.replace('\n', " ") + "\n").unwrap_or_default();
    folder.write(&exit, &format!("{code}\n{why}"))
}

/// Measurements that can be submitted: the open ones that `wanted` selects and whose hosts, wires
/// and machines nothing of this fleet has. Those that were never tried come first. With a gang
/// scheduler hosts are its business.
pub fn free(plan: &FleetPlan, now: &Now, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
    let cells: Vec<&Cell> = plan.cells().collect();
    let (mut hosts, mut wires) = (BTreeSet::new(), BTreeSet::new());
    for number in &now.submitted {
        hosts.extend([cells[*number].near, cells[*number].far]);
        wires.extend(plan.wires(cells[*number]));
    }
    let mut order: Vec<usize> = (0..cells.len()).collect();
    // One that fails again and again keeps no other from its hosts.
    order.sort_by_key(|number| now.states[*number] != CellState::Missing);
    let mut free = Vec::new();
    for number in order {
        let cell = cells[number];
        let of_cell = plan.wires(cell);
        let has_hosts =
            plan.kubernetes.gang || !(hosts.contains(&cell.near) || hosts.contains(&cell.far));
        if now.states[number].is_open()
            && !now.submitted.contains(&number)
            && wanted(number)
            && has_hosts
            && of_cell.is_disjoint(&wires)
        {
            hosts.extend([cell.near, cell.far]);
            wires.extend(of_cell);
            free.push(number);
        }
    }
    free
}

/// The calls that submit measurements, as words: one for what all use, and one for many of them.
pub fn calls(folder: &Folder, plan: &FleetPlan, numbers: &[usize]) -> Vec<Vec<String>> {
    let kubectl = Kubectl::for_plan(plan);
    creations(folder, plan, numbers)
        .iter()
        .map(|call| kubectl.words(&call.iter().map(String::as_str).collect::<Vec<_>>()))
        .collect()
}

fn creations(folder: &Folder, plan: &FleetPlan, numbers: &[usize]) -> Vec<Vec<String>> {
    let create = |files: Vec<String>| {
        let files = files.into_iter().map(|file| format!("--filename={file}"));
        ["create".to_owned()].into_iter().chain(files).collect()
    };
    let cells: Vec<&Cell> = plan.cells().collect();
    let file = |number: &usize| folder.manifest(&cells[*number].id).display().to_string();
    let fleet = create(vec![folder.fleet_manifest().display().to_string()]);
    let of_cells = numbers.chunks(MOST_AT_ONCE).map(|some| create(some.iter().map(file).collect()));
    [fleet].into_iter().chain(of_cells).collect()
}

/// Submits measurements.
///
/// # Errors
/// Same as [`now`]; also a manifest that is not a regular file, or whose owner's files are not
/// read. Measurements submitted before the error stay.
pub fn submit(folder: &Folder, plan: &FleetPlan, numbers: &[usize]) -> Result<()> {
    let kubectl = Kubectl::for_plan(plan);
    folder.check_job(&folder.fleet_manifest())?;
    let cells: Vec<&Cell> = plan.cells().collect();
    for number in numbers {
        folder.check_job(&folder.manifest(&cells[*number].id))?;
    }
    for (place, call) in creations(folder, plan, numbers).iter().enumerate() {
        let call: Vec<&str> = call.iter().map(String::as_str).collect();
        match kubectl.try_output(&call)? {
            Ok(_) => {}
            // The shared objects stay from the first call on.
            Err(failed) if place == 0 && failed.is_there_already() => {}
            Err(failed) => return Err(failed.error()),
        }
    }
    Ok(())
}

/// Brings home what has ended, and deletes all that a fleet has in the cluster. Returns how many
/// measurements waited or ran: those are lost.
///
/// # Errors
/// Same as [`now`].
pub fn cancel(folder: &Folder, plan: &FleetPlan) -> Result<usize> {
    let lost = now(folder, plan, &|_| Ok(BTreeMap::new()))?.submitted.len();
    let kinds = "jobs,services,secrets,configmaps";
    let call = ["delete", kinds, &selector(plan), "--wait=false"];
    Kubectl::for_plan(plan).output(&call).map(|_| lost)
}

#[cfg(test)]
mod tests;
