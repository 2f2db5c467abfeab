//! The speed of this machine's memory: loops over working sets of every size, among them the
//! Internet checksum alone, together with a copy, and folded into it. The loops are here; the
//! session decides when, how often and how long they run.

mod caches;
mod checksum;
mod encryption;
mod lmbench;
mod loops;
mod plan;
mod sets;

pub use caches::{Caches, caches, huge_pages};
pub use checksum::{checksum, fold_portable, rfc1071};
pub use loops::{Bench, unavailable};
pub use plan::{Plan, Tried, WARM_NS, Walker, fit};
pub use sets::{Sets, choose};

/// Bytes of memory that may be touched.
pub use crate::workload::available_below;
