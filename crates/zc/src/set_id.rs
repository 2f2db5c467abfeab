//! A zc that is set-user-ID or set-group-ID is refused: it would read files, open ports and, by
//! `--ab` and `--via`, run commands as its owner for whoever starts it.

use rustix::process::{getegid, geteuid, getgid, getuid};
use zc_run::{Error, ErrorKind, Result};

/// # Errors
/// [`ErrorKind::Unsupported`]: this process has the user or the group of its file (execve(2)).
pub(super) fn refuse() -> Result<()> {
    if geteuid() == getuid() && getegid() == getgid() {
        return Ok(());
    }
    let message = "zc has the rights of its file's owner (set-user-ID), and does not use them";
    Err(Error::new(ErrorKind::Unsupported, message)
        .help("chmod ug-s takes them off the file; sudo zc ... has root's where that is allowed"))
}
