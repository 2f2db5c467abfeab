//! Descriptors that QEMU is started with, and the numbers that it has them as.

use std::os::fd::{AsFd, RawFd};
use std::process::Command;

use rustix::io::fcntl_dupfd_cloexec;

use zc_kernel::spawn::inherit;
use zc_run::{Error, Result};

pub(crate) const INITRD: RawFd = 3;
pub(crate) const CODE: RawFd = 4;
pub(crate) const LOG: RawFd = 5;
pub(crate) const WIRE: RawFd = 6;

/// Above all of these numbers. A descriptor that had one of them here would be closed in the child
/// when an earlier one takes the number.
const ABOVE: RawFd = 10;

/// Passes a descriptor to QEMU under this number.
///
/// # Errors
/// No descriptor is free.
pub(crate) fn pass(qemu: &mut Command, fd: impl AsFd, number: RawFd) -> Result<()> {
    let further =
        fcntl_dupfd_cloexec(fd, ABOVE).map_err(|error| Error::os("pass a file on", error))?;
    inherit(qemu, further, number);
    Ok(())
}

/// A file of QEMU's by its number.
pub(crate) fn path(number: RawFd) -> String {
    format!("/dev/fd/{number}")
}
