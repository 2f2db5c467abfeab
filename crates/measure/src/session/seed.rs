//! The seed of a run: it is saved, so that what was drawn can be drawn again.

use zc_kernel::random;
use zc_run::{Error, Result};

/// The seed that was given, or a fresh one.
///
/// # Errors
/// The kernel gives no random bytes.
pub fn or_fresh(given: Option<u64>) -> Result<u64> {
    let fresh = || random::array().map(u64::from_ne_bytes);
    given.map_or_else(fresh, Ok).map_err(|error| {
        Error::os("get random bytes for a seed", error)
            .help("a seccomp filter forbids it; --seed N needs none")
    })
}
