//! The load of a run of NFS: READs or WRITEs of a file that the server exports, and requests to zc's own
//! server of as many bytes, which are the reference of READs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::asked_for::AskedFor;
use super::reader::{CallCounts, Reader};
use super::words::{Done, Order};
use crate::http::{HttpCounts, Load, Pace};
use zc_kernel::clock::monotonic_ns;
use zc_run::{Error, Result};

/// Calls of one size, of one of the files that the reader has opened for these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallsOf {
    /// Its number, in the order in which they were opened.
    pub file: usize,
    /// Bytes of a call.
    pub bytes: usize,
}

/// See the module. Its first origins are those of `calls`, and those of `http` follow.
pub struct NfsLoad {
    calls: Vec<CallsOf>,
    depth: usize,
    http: Option<Arc<Load>>,
    now: Mutex<Now>,
}

/// The reader, and what it had counted before the calls that go on, if any do.
struct Now {
    reader: Reader,
    before: Option<CallCounts>,
}

impl NfsLoad {
    /// Calls by `reader`, `depth` of them at a time at most.
    pub fn new(reader: Reader, calls: Vec<CallsOf>, depth: usize, http: Option<Arc<Load>>) -> Self {
        Self { calls, depth, http, now: Mutex::new(Now { reader, before: None }) }
    }

    /// zc's own load, and the number of an origin there; `None` where that is one of calls.
    pub(crate) fn http_origin(&self, origin: usize) -> Option<(&Load, usize)> {
        Some((self.http()?, origin.checked_sub(self.calls.len())?))
    }

    pub(crate) fn http(&self) -> Option<&Load> {
        self.http.as_deref()
    }

    /// Begins to call so many times, or until the end of the phase. Returns when the first call is due.
    pub(crate) fn go(
        &self,
        origin: usize,
        pace: Pace,
        calls: Option<u64>,
        lead_ns: u64,
    ) -> Result<u64> {
        let of = self.calls.get(origin).copied();
        let CallsOf { file, bytes } = of.ok_or_else(|| Error::failed("there is no such file"))?;
        let per_s = match pace {
            Pace::At { per_s } => Some(per_s),
            Pace::Unpaced => None,
        };
        let mut now = self.now();
        let before = now.reader.counts();
        let begin_ns = monotonic_ns() + lead_ns;
        now.reader.go(Order { file, bytes, depth: self.depth, per_s, calls, begin_ns })?;
        now.before = Some(before);
        Ok(begin_ns)
    }

    /// Ends the phase, and says what it was.
    pub(crate) fn pause(&self) -> Result<AskedFor> {
        let Now { reader, before } = &mut *self.now();
        let Some(before) = before.take() else {
            let http = self.http().ok_or_else(|| Error::failed("nothing goes on"))?;
            return http.pause().map(AskedFor::from);
        };
        let Done { shorter, latency } = reader.stop()?;
        let counts = reader.counts();
        let failed = counts.failed - before.failed;
        let fault = match (failed, shorter) {
            (0, 0) => None,
            (0, _) => Some(format!("{shorter} calls had fewer bytes than asked for")),
            (..) => Some(format!("{failed} calls failed")),
        };
        Ok(AskedFor {
            responses_per_s: None,
            responses: counts.calls - before.calls,
            body_bytes: counts.bytes - before.bytes,
            fault,
            latency,
        })
    }

    /// What was counted since a moment before the phase.
    pub(crate) fn counts(&self) -> HttpCounts {
        let now = self.now();
        if now.before.is_none() {
            return self.http().map(Load::counts).unwrap_or_default();
        }
        let CallCounts { calls, bytes, failed } = now.reader.counts();
        HttpCounts {
            requests: calls + failed,
            responses: calls,
            body_bytes: bytes,
            ..HttpCounts::default()
        }
    }

    /// CPU time of the reader's processes so far.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.now().reader.cpu_ns()
    }

    /// A panic while it was held leaves nothing half done that matters.
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
