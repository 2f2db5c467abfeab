//! CPU time that the calling thread has used since a given moment (getrusage(2), RUSAGE_THREAD,
//! which a thread can only read for itself).

use zc_kernel::clock::monotonic_ns;
use zc_kernel::process::{self, own_thread_usage};
use zc_run::Usage;

/// A moment, and the usage until then.
pub(super) struct UsedSince {
    at_ns: u64,
    before: process::Usage,
}

impl UsedSince {
    /// Begins now; `None` where the kernel does not report it.
    pub(super) fn now() -> Option<Self> {
        Some(Self { at_ns: monotonic_ns(), before: own_thread_usage().ok()? })
    }

    /// Usage of the thread since then.
    pub(super) fn usage(&self) -> Option<Usage> {
        let used = own_thread_usage().ok()?.since(&self.before);
        let elapsed_ns = monotonic_ns().saturating_sub(self.at_ns);
        Some(Usage { user_ns: used.user_ns, system_ns: used.system_ns, elapsed_ns })
    }
}
