//! The phase that goes on: its schedule, what it has recorded, and what it was once it ends.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

use super::counts::{Fault, HttpCounts};
use super::latencies::Latencies;
use super::options::Pace;
use super::phase::Phase;
use super::schedule::Schedule;
use super::stalls::Stalls;
use zc_kernel::clock::{monotonic_ns, own_cpu_ns};
use zc_run::Result;

/// A phase that goes on, or whose last responses are waited for.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) origin: usize,
    /// Its number.
    pub(super) number: u64,
    pub(super) schedule: Schedule,
    pace: Pace,
    begin_ns: u64,
    before: HttpCounts,
    /// At the first request.
    cpu_ns: Option<u64>,
    waited: u64,
    outstanding: u64,
    latency: Latencies,
    late: Latencies,
    own_late: Latencies,
    statuses: BTreeMap<u16, u64>,
    first_fault: Option<(Fault, String)>,
    /// When the last of a limited number of requests came out.
    done_ns: Option<u64>,
    ending: Option<Ending>,
    pub(super) stalls: Stalls,
}

#[derive(Debug)]
struct Ending {
    wanted_by: Sender<Result<Phase>>,
    at_ns: u64,
    /// When outstanding responses are not waited for any more.
    until_ns: u64,
    counts: HttpCounts,
    cpu_ns: u64,
    outstanding: u64,
}

impl Running {
    pub(super) fn new(
        number: u64,
        origin: usize,
        pace: Pace,
        begin_ns: u64,
        requests: u64,
        before: HttpCounts,
    ) -> Self {
        // What is not paced cannot be late.
        let begin_ns = match pace {
            Pace::Unpaced => begin_ns.max(monotonic_ns()),
            Pace::At { .. } => begin_ns,
        };
        Self {
            origin,
            number,
            schedule: Schedule::new(pace, begin_ns, requests),
            pace,
            begin_ns,
            before,
            cpu_ns: None,
            waited: 0,
            outstanding: 0,
            latency: Latencies::default(),
            late: Latencies::default(),
            own_late: Latencies::default(),
            statuses: BTreeMap::new(),
            first_fault: None,
            done_ns: None,
            ending: None,
            stalls: Stalls::begin(),
        }
    }

    /// A request that was due at `due_ns` has been begun at `now_ns`, on a connection that has been
    /// free since `free_ns`.
    pub(super) fn begun(&mut self, due_ns: u64, free_ns: u64, now_ns: u64) {
        self.outstanding += 1;
        if matches!(self.pace, Pace::At { .. }) {
            self.waited += u64::from(free_ns > due_ns);
            self.late.record(now_ns.saturating_sub(due_ns));
            self.own_late.record(now_ns.saturating_sub(due_ns.max(free_ns)));
        }
    }

    /// The next request may be begun: there is no end yet. Marks the beginning.
    pub(super) fn is_open(&mut self, now_ns: u64) -> bool {
        if self.cpu_ns.is_none() && now_ns >= self.begin_ns {
            self.cpu_ns = Some(own_cpu_ns());
        }
        self.ending.is_none()
    }

    /// A request has come out at `at_ns`: with a whole response of that status that took so long,
    /// or without.
    pub(super) fn came(
        &mut self,
        at_ns: u64,
        whole: Option<(u16, u64)>,
        fault: Option<(Fault, String)>,
    ) {
        self.outstanding = self.outstanding.saturating_sub(1);
        if self.outstanding == 0 && self.schedule.is_over() {
            self.done_ns = Some(at_ns);
        }
        if let Some((status, latency_ns)) = whole {
            self.latency.record(latency_ns);
            *self.statuses.entry(status).or_default() += 1;
        }
        if self.first_fault.is_none() {
            self.first_fault = fault;
        }
    }

    /// Begins no more requests. It ends at `at_ns`, or has ended with the last of its requests.
    /// Outstanding responses are waited for until `until_ns`.
    pub(super) fn end(
        &mut self,
        wanted_by: Sender<Result<Phase>>,
        at_ns: u64,
        until_ns: u64,
        counts: HttpCounts,
    ) {
        self.ending = Some(Ending {
            wanted_by,
            at_ns: self.done_ns.unwrap_or(at_ns),
            until_ns,
            counts: counts.since(&self.before),
            cpu_ns: self.cpu_ns.map_or(0, |begun_ns| own_cpu_ns().saturating_sub(begun_ns)),
            outstanding: self.outstanding,
        });
    }

    /// Whether it has ended, and nothing is waited for any more.
    pub(super) fn is_over(&self, now_ns: u64) -> bool {
        let is_over = |ending: &Ending| self.outstanding == 0 || now_ns >= ending.until_ns;
        self.ending.as_ref().is_some_and(is_over)
    }

    /// Says what it was to whoever ended it.
    pub(super) fn tell(self, now_ns: u64, counts: &HttpCounts) {
        let Some(ending) = self.ending else { return };
        let due = self.schedule.due(ending.at_ns);
        let phase = Phase {
            origin: self.origin,
            pace: self.pace,
            begin_ns: self.begin_ns,
            end_ns: ending.at_ns,
            drained_ns: now_ns,
            counts: ending.counts,
            drained: counts.since(&self.before),
            due,
            unsent: due.saturating_sub(self.schedule.taken()),
            waited: self.waited,
            outstanding: ending.outstanding,
            latency: self.latency,
            late: self.late,
            own_late: self.own_late,
            cpu_ns: ending.cpu_ns,
            stalled_ns: self.stalls.so_far_ns(),
            statuses: self.statuses,
            first_fault: self.first_fault,
        };
        // Whoever asked may have lost patience.
        let _ = ending.wanted_by.send(Ok(phase));
    }
}
