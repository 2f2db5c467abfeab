//! The load of a run of NFS: READs or WRITEs of a file that the server exports, and requests to
//! zc's own server of as many bytes, which are the reference of READs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::asked_for::AskedFor;
use super::calling::Calling;
use super::reader::{CallCounts, Reader};
use super::words::Order;
use zc_kernel::clock::{self, monotonic_ns};
use zc_load::{HttpCounts, Load, Pace};
use zc_rig::meter::kernel_workers;
use zc_run::{Error, NfsClient, Result};

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
    calling: Mutex<Calling>,
    /// The kernel's workers, which work for its client; empty of a client in user space.
    workers: Mutex<Vec<i32>>,
    client: NfsClient,
}

impl NfsLoad {
    /// Calls by `reader`, `depth` of them at a time at most.
    pub fn new(
        reader: Reader,
        client: NfsClient,
        calls: Vec<CallsOf>,
        depth: usize,
        http: Option<Arc<Load>>,
    ) -> Self {
        let calling = Mutex::new(Calling::by(reader));
        Self { calls, depth, http, calling, workers: Mutex::default(), client }
    }

    /// Looks for the kernel's workers, which come and go.
    pub(crate) fn find_workers(&self) {
        if self.client == NfsClient::Kernel {
            *self.workers.lock().unwrap_or_else(PoisonError::into_inner) = kernel_workers();
        }
    }

    /// zc's own load, and the number of an origin there; `None` where that is one of calls.
    pub(crate) fn http_origin(&self, origin: usize) -> Option<(&Load, usize)> {
        Some((self.http()?, origin.checked_sub(self.calls.len())?))
    }

    pub(crate) fn http(&self) -> Option<&Load> {
        self.http.as_deref()
    }

    /// Begins to call so many times, or until the end of the phase. Returns when the first call is
    /// due.
    pub(crate) fn go(
        &self,
        origin: usize,
        pace: Pace,
        calls: Option<u64>,
        lead_ns: u64,
    ) -> Result<u64> {
        let of = self.calls.get(origin).copied();
        let CallsOf { file, bytes } =
            of.ok_or_else(|| Error::failed("protocol", "there is no such file"))?;
        let per_s = match pace {
            Pace::At { per_s } => Some(per_s),
            Pace::Unpaced => None,
        };
        let mut calling = self.calling();
        let begin_ns = monotonic_ns() + lead_ns;
        calling.go(Order { file, bytes, depth: self.depth, per_s, calls, begin_ns })?;
        Ok(begin_ns)
    }

    /// Ends the phase, and says what it was.
    pub(crate) fn pause(&self) -> Result<AskedFor> {
        if let Some(phase) = self.calling().pause()? {
            // What came in a window is counted.
            return Ok(AskedFor { responses_per_s: None, ..phase });
        }
        let http = self.http().ok_or_else(|| Error::failed("protocol", "nothing goes on"))?;
        http.pause().map(AskedFor::from)
    }

    /// The counts since a moment before the phase.
    pub(crate) fn counts(&self) -> HttpCounts {
        match self.calling().counts() {
            Some(counts) => as_of_http(counts),
            None => self.http().map(Load::counts).unwrap_or_default(),
        }
    }

    /// The counts before a phase of an origin begins, with which those of the phase go on.
    pub(crate) fn counts_before(&self, origin: usize) -> HttpCounts {
        match self.http_origin(origin) {
            Some((http, _)) => http.counts(),
            None => as_of_http(self.calling().counts_so_far()),
        }
    }

    /// CPU time so far of the reader's processes, and of the kernel's workers where its client
    /// works in them. The workers' work for others is in their clocks in idle windows too.
    pub(crate) fn cpu_ns(&self) -> u64 {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let clocks = workers.iter().filter_map(|pid| clock::cpu_ns_of_process(*pid).ok());
        self.calling().cpu_ns() + clocks.sum::<u64>()
    }

    /// A panic while it was held leaves nothing half done that matters.
    fn calling(&self) -> MutexGuard<'_, Calling> {
        self.calling.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls as requests.
fn as_of_http(CallCounts { calls, bytes, failed }: CallCounts) -> HttpCounts {
    HttpCounts {
        requests: calls + failed,
        responses: calls,
        body_bytes: bytes,
        ..HttpCounts::default()
    }
}
