//! What the calling thread has used since a moment, as getrusage(2) says, which a thread can only ask about itself.

use zc_kernel::clock::monotonic_ns;
use zc_kernel::process::{self, own_thread_usage};

use zc_run::Usage;

/// The moment, and what had been used by then.
pub(super) struct UsedSince {
    at_ns: u64,
    before: process::Usage,
}

impl UsedSince {
    /// Now; null where the kernel does not say.
    pub(super) fn now() -> Option<Self> {
        Some(Self { at_ns: monotonic_ns(), before: own_thread_usage().ok()? })
    }

    /// What the thread has used since.
    pub(super) fn usage(&self) -> Option<Usage> {
        let used = own_thread_usage().ok()?.since(&self.before);
        let elapsed_ns = monotonic_ns().saturating_sub(self.at_ns);
        Some(Usage { user_ns: used.user_ns, system_ns: used.system_ns, elapsed_ns })
    }
}
