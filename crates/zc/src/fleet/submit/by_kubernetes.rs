//! Submits to Kubernetes: at once what has free hosts, and with `--wait` the others as hosts become free.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::fleet::counts::in_words;
use crate::{interrupt, tell};
use zc_fleet::kubernetes::{self, Now};
use zc_fleet::{CellState, Count, FleetPlan, Folder, state};
use zc_run::{Error, ErrorKind, Result};

/// How often the cluster is asked, and the signals are looked at meanwhile.
const LOOK: Duration = Duration::from_secs(3);
const STEP: Duration = Duration::from_millis(100);

/// Submits what is missing, and returns the exit code.
///
/// # Errors
/// There is no kubectl here, the cluster does not answer or refuses, or its nodes are not exclusive.
pub(super) fn submit(folder: &Folder, plan: &FleetPlan, wait: bool, dry_run: bool) -> Result<u8> {
    if dry_run {
        let now = Now { states: state::states(folder, plan)?, submitted: BTreeSet::new() };
        let calls = kubernetes::calls(folder, plan, &kubernetes::free(plan, &now, |_| true));
        let lines: Vec<String> = calls.iter().map(|words| words.join(" ") + "\n").collect();
        return tell::result(&lines.concat()).map(|()| 0);
    }
    let stop = interrupt::flag()?;
    let now = kubernetes::now(folder, plan)?;
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

/// What `--wait` knows of what it has done.
struct Waiting<'a> {
    folder: &'a Folder,
    plan: &'a FleetPlan,
    stop: &'a AtomicBool,
    ids: Vec<&'a str>,
    /// What this call has submitted: each measurement is tried once.
    tried: BTreeSet<usize>,
    /// What was submitted at the last look.
    submitted: BTreeSet<usize>,
    /// What was said of each measurement that waits.
    said: BTreeSet<(usize, String)>,
}

impl<'a> Waiting<'a> {
    fn new(folder: &'a Folder, plan: &'a FleetPlan, stop: &'a AtomicBool) -> Self {
        let ids = plan.cells().map(|cell| cell.id.as_str()).collect();
        let (tried, submitted, said) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Self { folder, plan, stop, ids, tried, submitted, said }
    }

    fn until_all_were_tried(mut self, first: Now) -> Result<u8> {
        let mut now = first;
        loop {
            self.tell(&now);
            let free = kubernetes::free(self.plan, &now, |number| !self.tried.contains(&number));
            if free.is_empty() && now.submitted.is_empty() {
                tell::note(&in_words(&now.states));
                return Ok(u8::from(!Count::of(&now.states).is_complete()));
            }
            self.submitted = now.submitted;
            if !free.is_empty() {
                match kubernetes::submit(self.folder, self.plan, &free) {
                    Ok(()) => {
                        self.tried.extend(&free);
                        self.submitted.extend(free);
                    }
                    Err(error) => self.outage(error)?,
                }
            }
            now = match self.next()? {
                Some(now) => now,
                None => {
                    tell::note("what was submitted goes on; the same command takes it up again");
                    return Ok(ErrorKind::Interrupted.exit_code());
                }
            };
        }
    }

    /// What has come of all after a while; `None` after Ctrl-C. While the cluster does not answer it is asked
    /// again.
    fn next(&mut self) -> Result<Option<Now>> {
        let mut is_told = false;
        loop {
            for _ in 0..LOOK.as_millis() / STEP.as_millis() {
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                std::thread::sleep(STEP);
            }
            match kubernetes::now(self.folder, self.plan) {
                Ok(now) => return Ok(Some(now)),
                Err(error) if !std::mem::replace(&mut is_told, true) => self.outage(error)?,
                Err(error) if error.kind == ErrorKind::Remote => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Says that the cluster does not answer, or refuses. Anything else ends the command.
    fn outage(&self, error: Error) -> Result<()> {
        if error.kind != ErrorKind::Remote {
            return Err(error);
        }
        tell::warning(&format!("{}: it is tried again", error.message), error.help.as_deref());
        Ok(())
    }

    /// Says what has ended since the last look, and why others wait.
    fn tell(&mut self, now: &Now) {
        for number in self.submitted.difference(&now.submitted) {
            let state = &now.states[*number];
            let why = state.why().map_or_else(String::new, |why| format!(": {why}"));
            let count = Count::of(&now.states);
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
