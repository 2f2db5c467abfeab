//! Options of sockets for which rustix has no function.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

/// Sets an option whose value is an int with setsockopt(2).
///
/// # Errors
/// Errors of the option.
pub(crate) fn set_int(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    set_bytes(socket, level, option, &value.to_ne_bytes())
}

/// The same for an option whose value is these bytes. It must be one whose value holds no address
/// that the kernel follows, such as an int, a name, or a struct of plain data.
///
/// # Errors
/// Errors of the option.
pub(crate) fn set_bytes(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &[u8],
) -> io::Result<()> {
    // SAFETY: setsockopt reads `value.len()` bytes through the pointer, which outlives the call.
    // Callers set no option whose value holds an address.
    let status = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The value of an option that is an int, by getsockopt(2).
///
/// # Errors
/// Errors of the option.
pub(crate) fn get_int(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: getsockopt writes at most `len` bytes to `value`, which is as large.
    let status = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw mut value).cast(),
            &raw mut len,
        )
    };
    if status == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}
