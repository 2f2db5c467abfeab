//! Gives the kernel the keys of a connection.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use super::session::TlsSession;
use zc_kernel::ktls::{self, Direction};
use zc_run::Unavailable;

/// Makes the kernel encrypt, or decrypt, what goes through a socket from here on.
///
/// # Errors
/// Why it does not.
pub(crate) fn keyed_socket(
    socket: BorrowedFd<'_>,
    direction: Direction,
    session: &TlsSession,
) -> Result<(), Unavailable> {
    ktls::attach(socket).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NOENT) => {
            Unavailable::unsupported("the kernel has no TLS, or has not loaded it")
                .remedy("as root: modprobe tls (of a kernel with CONFIG_TLS)")
        }
        _ => refused("the kernel's TLS", error),
    })?;
    let cipher = session.records.cipher;
    ktls::set_keys(socket, direction, &session.for_kernel()).map_err(|error| {
        match Errno::from_io_error(&error) {
            Some(Errno::NOENT | Errno::INVAL | Errno::NOPROTOOPT) => {
                let version = session.records.version;
                Unavailable::unsupported(format!(
                    "the kernel's TLS {version} has no {cipher}: {error}"
                ))
                .remedy("--cipher aes-128-gcm is what all kernels with TLS have")
            }
            _ => refused("a key for the kernel's TLS", error),
        }
    })
}

fn refused(what: &str, error: io::Error) -> Unavailable {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Unavailable::refused(format!("{what}: {error}")),
        _ => Unavailable::failed(format!("{what}: {error}")),
    }
}
