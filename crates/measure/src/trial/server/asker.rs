//! Who asks the server: a load of this machine, or one of another machine that is told when.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::http::{Fetched, HttpCounts, Latencies, Load, Pace};
use zc_kernel::clock::{self, monotonic_ns};
use zc_run::Result;

/// Time between an order to a load and its first request.
const LEAD_NS: u64 = 1_000_000;

/// A load on another machine, as the rig sees it.
pub trait RemoteLoad: Send {
    /// Reads one response of an origin.
    ///
    /// # Errors
    /// The server does not answer there, or the other machine is gone.
    fn fetch(&mut self, origin: usize) -> Result<Fetched>;

    /// Begins a phase, `begins_in_ns` after this has arrived; without a rate, as fast as the server
    /// answers. Returns when it has arrived.
    ///
    /// # Errors
    /// The other machine is gone.
    fn go(&mut self, origin: usize, per_s: Option<f64>, begins_in_ns: u64) -> Result<()>;

    /// Ends the phase, and says what it was.
    ///
    /// # Errors
    /// The other machine is gone.
    fn pause(&mut self) -> Result<AskedFor>;
}

/// What a phase of requests was.
#[derive(Debug, Clone)]
pub struct AskedFor {
    /// Responses per second, where nothing else tells how many came in a window.
    pub responses_per_s: Option<f64>,
    /// Whole responses, with the last one.
    pub responses: u64,
    /// Bytes of their bodies.
    pub body_bytes: u64,
    /// What was wrong with them, in words; `None`: nothing.
    pub fault: Option<String>,
    /// From when each was due.
    pub latency: Latencies,
}

/// See the module.
#[derive(Clone)]
pub enum Asker {
    /// A thread of this process.
    Here(Arc<Load>),
    /// Another machine.
    There(Arc<Mutex<dyn RemoteLoad>>),
}

impl Asker {
    /// Reads one response of an origin.
    ///
    /// # Errors
    /// There is none.
    pub fn fetch(&self, origin: usize) -> Result<Fetched> {
        match self {
            Self::Here(load) => load.fetch(origin),
            Self::There(load) => taken(load).fetch(origin),
        }
    }

    /// Begins a phase. Returns when its first request is due, by this machine's CLOCK_MONOTONIC; on
    /// another machine it is earlier by the time that its answer took.
    ///
    /// # Errors
    /// The other machine is gone.
    pub(super) fn go(&self, origin: usize, pace: Pace) -> Result<u64> {
        match self {
            Self::Here(load) => {
                let begin_ns = monotonic_ns() + LEAD_NS;
                load.go(origin, pace, begin_ns);
                Ok(begin_ns)
            }
            Self::There(load) => {
                let per_s = match pace {
                    Pace::At { per_s } => Some(per_s),
                    Pace::Unpaced => None,
                };
                taken(load).go(origin, per_s, LEAD_NS)?;
                Ok(monotonic_ns() + LEAD_NS)
            }
        }
    }

    /// Ends the phase, and says what it was.
    ///
    /// # Errors
    /// The load has ended.
    pub(super) fn pause(&self) -> Result<AskedFor> {
        match self {
            Self::Here(load) => load.pause().map(|phase| AskedFor {
                responses_per_s: None,
                responses: phase.drained.responses,
                body_bytes: phase.drained.body_bytes,
                fault: phase.fault(),
                latency: phase.latency,
            }),
            Self::There(load) => taken(load).pause(),
        }
    }

    /// The counts since the start. Of a load on another machine nothing is known while it goes on.
    pub(super) fn counts(&self) -> Option<HttpCounts> {
        match self {
            Self::Here(load) => Some(load.counts()),
            Self::There(_) => None,
        }
    }

    /// CPU time that it has used on this machine.
    pub(super) fn cpu_ns(&self) -> u64 {
        match self {
            Self::Here(load) => clock::thread_cpu_ns(load.tid()).unwrap_or_default(),
            Self::There(_) => 0,
        }
    }
}

/// A panic while it was asked leaves nothing half done that the next answer would not show.
fn taken(load: &Mutex<dyn RemoteLoad>) -> MutexGuard<'_, dyn RemoteLoad + 'static> {
    load.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Asker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Here(_) => "Here",
            Self::There(_) => "There",
        })
    }
}
