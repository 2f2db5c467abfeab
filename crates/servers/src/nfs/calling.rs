//! The phases of a reader: calls of one file that begin at a moment, and what they were once they
//! have ended.

use super::super::asked_for::AskedFor;
use super::reader::{CallCounts, Reader};
use super::words::{Done, Opened, Order, ToOpen};
use zc_kernel::clock::monotonic_ns;
use zc_load::schedule_was_kept;
use zc_run::Result;

/// A reader, and the calls that go on, if any do.
#[derive(Debug)]
pub struct Calling {
    reader: Reader,
    goes_on: Option<GoesOn>,
}

/// Calls that go on, and what the reader had counted before.
#[derive(Debug, Clone, Copy)]
struct GoesOn {
    order: Order,
    before: CallCounts,
}

impl Calling {
    /// Nothing goes on yet.
    pub fn by(reader: Reader) -> Self {
        Self { reader, goes_on: None }
    }

    /// Opens a file: see [`Reader::open`].
    ///
    /// # Errors
    /// Same as there.
    pub fn open(&mut self, order: &ToOpen<'_>) -> Result<Opened> {
        self.reader.open(order)
    }

    /// Begins to call.
    ///
    /// # Errors
    /// The reader has ended.
    pub fn go(&mut self, order: Order) -> Result<()> {
        let before = self.reader.counts();
        self.reader.go(order)?;
        self.goes_on = Some(GoesOn { order, before });
        Ok(())
    }

    /// Ends the phase, and says what it was, by its rate too; `None`: nothing went on.
    ///
    /// # Errors
    /// A call failed; the reader has ended.
    pub fn pause(&mut self) -> Result<Option<AskedFor>> {
        let Some(GoesOn { order, before }) = self.goes_on.take() else { return Ok(None) };
        let at_end =
            Seen { at_ns: monotonic_ns(), calls: self.reader.counts().calls - before.calls };
        let Done { shorter, latency } = self.reader.stop()?;
        let counts = self.reader.counts();
        let (calls, failed) = (counts.calls - before.calls, counts.failed - before.failed);
        let fault = match (failed, shorter) {
            (0, 0) => None,
            (0, _) => Some(format!("{shorter} calls had fewer bytes than asked for")),
            (..) => Some(format!("{failed} calls failed")),
        };
        Ok(Some(AskedFor {
            responses_per_s: Some(per_s(&order, at_end, calls)),
            responses: calls,
            body_bytes: counts.bytes - before.bytes,
            fault,
            latency,
        }))
    }

    /// The counts of all phases so far; `None`: none is running.
    pub(super) fn counts(&self) -> Option<CallCounts> {
        self.goes_on.map(|_| self.counts_so_far())
    }

    /// The counts of all phases so far.
    pub(super) fn counts_so_far(&self) -> CallCounts {
        self.reader.counts()
    }

    /// CPU time of the reader's processes so far.
    pub(super) fn cpu_ns(&self) -> u64 {
        self.reader.cpu_ns()
    }
}

/// Calls that were answered by a moment.
#[derive(Clone, Copy)]
struct Seen {
    at_ns: u64,
    calls: u64,
}

/// Calls per second in the middle of a phase, of which `all` were made: the rate of the schedule
/// where that was kept, else those that were answered by its end.
fn per_s(order: &Order, at_end: Seen, all: u64) -> f64 {
    let seconds = at_end.at_ns.saturating_sub(order.begin_ns) as f64 / 1e9;
    if let Some(per_s) = order.per_s {
        let due = (seconds * per_s).floor() + 1.0;
        if schedule_was_kept(due, due - all as f64) {
            return per_s;
        }
    }
    at_end.calls as f64 / seconds.max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_a_phase_is_that_of_the_schedule_where_it_was_kept() {
        let paced = Order {
            file: 0,
            bytes: 4096,
            depth: 4,
            per_s: Some(1000.0),
            calls: None,
            begin_ns: 5_000_000_000,
        };
        // Two seconds, in which 2001 calls are due.
        let seen = |calls| Seen { at_ns: 7_000_000_000, calls };
        assert_eq!(per_s(&paced, seen(1999), 2001), 1000.0);
        assert_eq!(per_s(&paced, seen(1977), 1981), 1000.0, "a hundredth was not made");
        assert_eq!(per_s(&paced, seen(1976), 1980), 988.0, "more was not made");
        let unpaced = Order { per_s: None, ..paced };
        assert_eq!(per_s(&unpaced, seen(3000), 3004), 1500.0);
        // It ended before its first call was due.
        let early = Seen { at_ns: 4_000_000_000, calls: 0 };
        assert_eq!((per_s(&paced, early, 0), per_s(&unpaced, early, 0)), (1000.0, 0.0));
    }
}
