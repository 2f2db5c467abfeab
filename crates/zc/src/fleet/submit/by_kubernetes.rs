//! Submits to Kubernetes: at once what has free hosts, and with `--wait` the others as hosts become
//! free.

use std::collections::BTreeSet;
use std::time::Duration;

use super::waiting::{answered, outage};
use crate::fleet::counts::in_words;
use crate::fleet::judge::judge;
use crate::{interrupt, tell};
use zc_fleet::kubernetes::{self, Now};
use zc_fleet::{CellState, Count, FleetPlan, Folder};
use zc_kernel::stop::Stop;
use zc_run::{ErrorKind, Result};

/// Interval at which the cluster is asked.
const LOOK: Duration = Duration::from_secs(5);

/// Number of refusals in a row after which submitting is given up.
const MOST_REFUSED: usize = 5;

/// Submits what is missing, and returns the exit code.
///
/// # Errors
/// There is no kubectl here, the cluster does not answer or refuses, or its nodes are not
/// exclusive.
pub(super) fn submit(folder: &Folder, plan: &FleetPlan, wait: bool, dry_run: bool) -> Result<u8> {
    let judged = |runs: &[_]| judge(folder, runs);
    if dry_run {
        let now = Now::from_folder(folder, plan, &judged)?;
        let calls = kubernetes::calls(folder, plan, &kubernetes::free(plan, &now, |_| true));
        let lines: Vec<String> = calls.iter().map(|words| words.join(" ") + "\n").collect();
        return tell::result(&lines.concat()).map(|()| 0);
    }
    let stop = interrupt::flag()?;
    let now = kubernetes::now_to_submit(folder, plan, &judged)?;
    if now.submitted.is_empty() && !now.states.iter().any(CellState::is_open) {
        tell::note(&format!("nothing is missing: {}", in_words(&now.states)));
        return Ok(0);
    }
    if !plan.shared {
        kubernetes::check_exclusive(plan)?;
    }
    match wait {
        true => Waiting::new(folder, plan, &stop).until_all_were_tried(now),
        false => once(folder, plan, &now).map(|()| 0),
    }
}

/// Submits what has free hosts.
fn once(folder: &Folder, plan: &FleetPlan, now: &Now) -> Result<()> {
    let free = kubernetes::free(plan, now, |_| true);
    if !free.is_empty() {
        kubernetes::submit(folder, plan, &free)?;
    }
    let open = now.states.iter().filter(|state| state.is_open()).count() - free.len();
    let path = tell::path(folder.path());
    tell::note(&match open {
        0 => format!("submitted: {} measurements", free.len()),
        _ => format!("submitted: {} measurements; {open} wait for their hosts", free.len()),
    });
    tell::note(&match open {
        0 => format!("next: zc fleet status {path}"),
        _ => format!("next: zc fleet submit {path} --wait, or again later"),
    });
    Ok(())
}

/// State of `--wait`.
struct Waiting<'a> {
    folder: &'a Folder,
    plan: &'a FleetPlan,
    stop: &'a Stop,
    ids: Vec<&'a str>,
    /// Measurements that this call has submitted: each is tried once.
    tried: BTreeSet<usize>,
    /// Measurements submitted at the last look.
    submitted: BTreeSet<usize>,
    /// Number of times in a row that the cluster refused a submission.
    refused: usize,
    /// Messages printed about each measurement that waits.
    said: BTreeSet<(usize, String)>,
}

impl<'a> Waiting<'a> {
    fn new(folder: &'a Folder, plan: &'a FleetPlan, stop: &'a Stop) -> Self {
        let ids = plan.cells().map(|cell| cell.id.as_str()).collect();
        let (tried, submitted, said) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Self { folder, plan, stop, ids, tried, submitted, refused: 0, said }
    }

    fn until_all_were_tried(mut self, first: Now) -> Result<u8> {
        let mut now = first;
        loop {
            self.tell(&now);
            let free = kubernetes::free(self.plan, &now, |number| !self.tried.contains(&number));
            if free.is_empty() && now.submitted.is_empty() {
                tell::note(&in_words(&now.states));
                return Ok(u8::from(!Count::from_states(&now.states).is_complete()));
            }
            self.submitted = now.submitted;
            if !free.is_empty() {
                match kubernetes::submit(self.folder, self.plan, &free) {
                    Ok(()) => {
                        self.tried.extend(&free);
                        self.submitted.extend(free);
                        self.refused = 0;
                    }
                    // A Job that is being deleted still has its name; a right that is missing stays
                    // so.
                    Err(error) if self.refused < MOST_REFUSED => {
                        outage(error)?;
                        self.refused += 1;
                    }
                    Err(error) => return Err(error),
                }
            }
            let next = answered(LOOK, self.stop, || {
                kubernetes::now_to_submit(self.folder, self.plan, &|runs| judge(self.folder, runs))
            })?;
            now = match next {
                Some(now) => now,
                None => {
                    tell::note("what was submitted goes on; the same command takes it up again");
                    return Ok(ErrorKind::Interrupted.exit_code());
                }
            };
        }
    }

    /// Says what has ended since the last look, and why others wait.
    fn tell(&mut self, now: &Now) {
        for number in self.submitted.difference(&now.submitted) {
            let state = &now.states[*number];
            let why = state.why().map_or_else(String::new, |why| format!(": {why}"));
            let count = Count::from_states(&now.states);
            let (done, all) = (count.done, count.all);
            tell::note(&format!("{done} of {all}: {}: {}{why}", self.ids[*number], state.name()));
        }
        for (number, state) in now.states.iter().enumerate() {
            if let CellState::Waiting(why) = state
                && !why.what.contains("starts on")
                && !why.what.ends_with("yet")
                && self.said.insert((number, why.what.clone()))
            {
                tell::note(&format!("{}: waiting: {}", self.ids[number], why.what));
            }
        }
    }
}
