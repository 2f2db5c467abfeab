//! How fast this machine's memory is: loops over working sets of every size, the Internet checksum among them, alone, beside a
//! copy, and folded into it. What they do is here; when, how often and how long is the session's.

mod caches;
mod checksum;
mod lmbench;
mod loops;
mod plan;
mod sets;

pub use caches::{Caches, caches, huge_pages};
pub use checksum::{checksum, fold_portable, rfc1071};
pub use loops::{Bench, unavailable};
pub use plan::{Plan, Tried, WARM_NS, Walker, fit};
pub use sets::{Sets, choose};

/// How much memory may be touched.
pub use crate::workload::available_below;
