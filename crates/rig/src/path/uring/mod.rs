//! Shared by the paths over io_uring: a socket of their own, and why io_uring is unavailable.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use zc_kernel::uring::disabled_sysctl;
use zc_run::Unavailable;

/// A duplicate of the socket for a ring, so that a path owns the descriptors of its requests.
pub(super) fn own(socket: BorrowedFd<'_>) -> Result<OwnedFd, Unavailable> {
    socket
        .try_clone_to_owned()
        .map_err(|error| Unavailable::failed(format!("cannot duplicate a socket: {error}")))
}

/// Explains why a ring could not be set up.
pub(super) fn no(error: io::Error) -> Unavailable {
    no_because(&error, disabled_sysctl())
}

fn no_because(error: &io::Error, disabled: Option<u8>) -> Unavailable {
    match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::NOSYS) => {
            Unavailable::unsupported("this kernel has no io_uring, or a seccomp filter hides it")
                .remedy("in a container: a seccomp profile that allows io_uring_setup")
        }
        Some(rustix::io::Errno::PERM | rustix::io::Errno::ACCESS) => match disabled {
            Some(level @ 1..) => Unavailable::refused(format!(
                "io_uring is switched off here: sysctl kernel.io_uring_disabled is {level}"
            ))
            .remedy("sysctl -w kernel.io_uring_disabled=0"),
            _ => Unavailable::refused(
                "io_uring is refused to this process, by a seccomp filter or a security module",
            )
            .remedy("in a container: a seccomp profile that allows io_uring_setup"),
        },
        Some(rustix::io::Errno::NOMEM) => {
            Unavailable::refused("a ring needs more locked memory than is allowed")
                .remedy("ulimit -l unlimited")
        }
        Some(rustix::io::Errno::MFILE) => {
            Unavailable::refused("a ring needs more open files than are allowed")
                .remedy("ulimit -n 1024")
        }
        _ if error.kind() == io::ErrorKind::Unsupported => {
            Unavailable::unsupported(error.to_string())
        }
        _ => Unavailable::failed(format!("cannot set up io_uring: {error}")),
    }
}

#[cfg(test)]
mod tests;
