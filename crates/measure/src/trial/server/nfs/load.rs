//! The load of a run of NFS: READs of a file that the server exports, and requests to zc's own server of
//! the same bytes, which are the reference.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::asked_for::AskedFor;
use super::reader::{ReadCounts, Reader};
use super::words::{Done, Order};
use crate::http::{HttpCounts, Load, Pace};
use zc_kernel::clock::monotonic_ns;
use zc_run::Result;

/// READs of one size, of one of the files that the reader has opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reads {
    /// Its number, in the order in which they were opened.
    pub file: usize,
    /// Bytes of a READ.
    pub bytes: usize,
}

/// See the module. Its first origins are those of `reads`, and those of `http` follow.
pub struct NfsLoad {
    reads: Vec<Reads>,
    depth: usize,
    http: Arc<Load>,
    now: Mutex<Now>,
}

/// The reader, and what it had counted before the READs that go on, if any do.
struct Now {
    reader: Reader,
    before: Option<ReadCounts>,
}

impl NfsLoad {
    /// READs by `reader`, `depth` of them at a time at most.
    pub fn new(reader: Reader, reads: Vec<Reads>, depth: usize, http: Arc<Load>) -> Self {
        Self { reads, depth, http, now: Mutex::new(Now { reader, before: None }) }
    }

    /// zc's own load, and the number of an origin there; `None` where that is one of READs.
    pub(crate) fn http_origin(&self, origin: usize) -> Option<usize> {
        origin.checked_sub(self.reads.len())
    }

    pub(crate) fn http(&self) -> &Load {
        &self.http
    }

    /// Begins to read so many times, or until the end of the phase. Returns when the first READ is due.
    pub(crate) fn go(
        &self,
        origin: usize,
        pace: Pace,
        reads: Option<u64>,
        lead_ns: u64,
    ) -> Result<u64> {
        let Reads { file, bytes } = self.reads[origin];
        let per_s = match pace {
            Pace::At { per_s } => Some(per_s),
            Pace::Unpaced => None,
        };
        let mut now = self.now();
        let before = now.reader.counts();
        let begin_ns = monotonic_ns() + lead_ns;
        now.reader.go(Order { file, bytes, depth: self.depth, per_s, reads, begin_ns })?;
        now.before = Some(before);
        Ok(begin_ns)
    }

    /// Ends the READs that go on, and says what they were; `None` if none do.
    pub(crate) fn end(&self) -> Option<Result<AskedFor>> {
        let Now { reader, before } = &mut *self.now();
        let before = before.take()?;
        Some(reader.stop().map(|Done { shorter, latency }| {
            let counts = reader.counts();
            let failed = counts.failed - before.failed;
            let fault = match (failed, shorter) {
                (0, 0) => None,
                (0, _) => Some(format!("{shorter} READs had fewer bytes than asked for")),
                (..) => Some(format!("{failed} READs failed")),
            };
            AskedFor {
                responses_per_s: None,
                responses: counts.reads - before.reads,
                body_bytes: counts.bytes - before.bytes,
                fault,
                latency,
            }
        }))
    }

    /// What was counted since the reader began, where READs go on.
    pub(crate) fn counts(&self) -> Option<HttpCounts> {
        let now = self.now();
        now.before?;
        let ReadCounts { reads, bytes, failed } = now.reader.counts();
        Some(HttpCounts {
            requests: reads + failed,
            responses: reads,
            body_bytes: bytes,
            ..HttpCounts::default()
        })
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
