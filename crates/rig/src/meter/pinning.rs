//! Binding a thread to a CPU, and why it fails.

use std::io;

use rustix::io::Errno;

use zc_kernel::sched;
use zc_run::{Error, ErrorKind, Result};

/// An error of sched_setaffinity(2) with `cpus` while `doing`. Where the call itself is refused,
/// this machine cannot do it; `otherwise` is the kind where a CPU is not one that may be used.
pub fn cannot_pin(
    doing: impl std::fmt::Display,
    cpus: &[usize],
    error: io::Error,
    otherwise: ErrorKind,
) -> Error {
    let allowed = sched::allowed_cpus().unwrap_or_default();
    let refused = match Errno::from_io_error(&error) {
        Some(Errno::PERM | Errno::ACCESS | Errno::NOSYS) => true,
        // The kernel would say so of a CPU that may not be used; these may.
        Some(Errno::INVAL) => !cpus.is_empty() && cpus.iter().all(|cpu| allowed.contains(cpu)),
        _ => false,
    };
    let (kind, help) = if refused {
        let by = "sched_setaffinity(2) is refused: by a seccomp filter, as containers have, or by \
                  a security module";
        (ErrorKind::Unsupported, by.to_owned())
    } else {
        (otherwise, format!("the CPUs that may be used here are {allowed:?}"))
    };
    Error::os(doing, error).id("cannot-bind-to-cpu").kind(kind).help(help)
}

/// Binds the calling thread to `cpu`.
///
/// # Errors
/// [`ErrorKind::Usage`]: there is no such CPU, or it may not be used. [`ErrorKind::Unsupported`]:
/// the call is refused.
pub fn bind_to(cpu: usize) -> Result<()> {
    sched::pin(&[cpu]).map_err(|error| {
        cannot_pin(format!("bind to CPU \"{cpu}\""), &[cpu], error, ErrorKind::Usage)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_refused_is_not_the_user_s_mistake() {
        let here = sched::allowed_cpus().unwrap()[0];
        let none = 100_000;
        let kind = |cpu: usize, errno: Errno| {
            cannot_pin("bind", &[cpu], errno.into(), ErrorKind::Usage).kind
        };
        assert_eq!(kind(none, Errno::INVAL), ErrorKind::Usage);
        assert_eq!(kind(here, Errno::INVAL), ErrorKind::Unsupported);
        for errno in [Errno::PERM, Errno::ACCESS, Errno::NOSYS] {
            assert_eq!(kind(none, errno), ErrorKind::Unsupported);
        }
    }
}
