//! When the thread of a load did not run though it had to: the process was stopped (SIGSTOP, a
//! debugger, a frozen cgroup), got no CPU, or the machine was suspended. Requests that were due
//! meanwhile were late because of that, and their latencies are not the server's.

use zc_kernel::clock::suspended_ns;

/// A turn of the thread that is longer than it may wait by this much is one in which it stood
/// still. Scheduling delays are shorter, even where several programs share the CPU.
const STALL_NS: u64 = 500_000_000;

/// Stalls of one phase.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stalls {
    suspended_at_begin_ns: u64,
    stalled_ns: u64,
}

impl Stalls {
    /// Begins to count.
    pub(super) fn begin() -> Self {
        Self { suspended_at_begin_ns: suspended_ns(), stalled_ns: 0 }
    }

    /// A turn took so long, and was to wait no longer than that.
    pub(super) fn turn(&mut self, took_ns: u64, waits_ns: u64) {
        let longer_ns = took_ns.saturating_sub(waits_ns);
        if longer_ns >= STALL_NS {
            self.stalled_ns = self.stalled_ns.saturating_add(longer_ns);
        }
    }

    /// Time for which it stood still so far; 0: it never did.
    pub(super) fn so_far_ns(&self) -> u64 {
        let suspended_ns = suspended_ns().saturating_sub(self.suspended_at_begin_ns);
        let suspended_ns = if suspended_ns >= STALL_NS { suspended_ns } else { 0 };
        self.stalled_ns.saturating_add(suspended_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn what_is_longer_than_a_wait_by_half_a_second_is_a_stall() {
        let mut stalls = Stalls::begin();
        stalls.turn(499 * MS, 0);
        stalls.turn(549 * MS, 50 * MS);
        assert_eq!(stalls.so_far_ns(), 0);
        stalls.turn(5_000 * MS, 50 * MS);
        stalls.turn(600 * MS, 50 * MS);
        assert_eq!(stalls.so_far_ns(), 5_500 * MS);
    }
}
