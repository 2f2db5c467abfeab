//! Options of sockets whose value is an int, for which rustix has no function.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

/// Sets an option with setsockopt(2).
///
/// # Errors
/// Errors of the option.
pub(crate) fn set_int(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: setsockopt reads one int through the pointer, which outlives the call. An int is too
    // short to hold an address, so no option makes the kernel follow one.
    let status = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
