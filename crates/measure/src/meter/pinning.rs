//! Why a thread cannot be bound to a CPU.

use std::io;

use rustix::io::Errno;
use zc_kernel::sched;
use zc_run::{Error, ErrorKind};

/// An error of sched_setaffinity(2) while `doing`. Where the call itself is refused, this machine
/// cannot do it; `otherwise` is the kind where the CPU is not one that may be used.
pub fn cannot_pin(doing: impl std::fmt::Display, error: io::Error, otherwise: ErrorKind) -> Error {
    let errno = Errno::from_io_error(&error);
    let (kind, help) = if matches!(errno, Some(Errno::PERM | Errno::ACCESS | Errno::NOSYS)) {
        let by = "sched_setaffinity(2) is refused: by a seccomp filter, as containers have, or by \
                  a security module";
        (ErrorKind::Unsupported, by.to_owned())
    } else {
        let allowed = sched::allowed_cpus().unwrap_or_default();
        (otherwise, format!("the CPUs that may be used here are {allowed:?}"))
    };
    Error::os(doing, error).kind(kind).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_refused_is_not_the_user_s_mistake() {
        let kind =
            |errno: Errno| cannot_pin("bind to CPU \"7\"", errno.into(), ErrorKind::Usage).kind;
        assert_eq!(kind(Errno::INVAL), ErrorKind::Usage);
        for errno in [Errno::PERM, Errno::ACCESS, Errno::NOSYS] {
            assert_eq!(kind(errno), ErrorKind::Unsupported);
        }
        let error = cannot_pin("bind to CPU \"7\"", Errno::INVAL.into(), ErrorKind::Usage);
        assert_eq!(error.message, "cannot bind to CPU \"7\": invalid argument");
    }
}
