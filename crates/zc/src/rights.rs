//! The rights of this process: those that it must not have come from its file, and those that
//! nothing it does needs are given up.

use rustix::process::{getegid, geteuid, getgid, getuid};

use zc_rig::privileges::{has_capabilities_of_its_file, no_new_privileges};
use zc_run::{Error, Result};

/// Refuses to run as a zc that is set-user-ID or set-group-ID, or whose file has capabilities: it
/// would read files, open ports and, by `--ab` and `--via`, run commands with rights that the user
/// who starts it does not have.
///
/// # Errors
/// [`ErrorKind::Unsupported`](zc_run::ErrorKind): this process has rights of its file (execve(2),
/// capabilities(7)).
pub(super) fn refuse_those_of_the_file() -> Result<()> {
    if geteuid() != getuid() || getegid() != getgid() {
        let message = "zc has the rights of its file's owner (set-user-ID), and does not use them";
        return Err(Error::unsupported("rights-of-file", message).help(
            "chmod ug-s takes them off the file; sudo zc ... has root's where that is allowed",
        ));
    }
    if has_capabilities_of_its_file() {
        let message = "zc has capabilities of its file (setcap), and does not use them";
        return Err(Error::unsupported("rights-of-file", message).help(
            "setcap -r takes them off the file; sudo zc ... has root's where that is allowed, \
             setpriv --ambient-caps some of them",
        ));
    }
    Ok(())
}

/// Gives up what set-user-ID programs and file capabilities would give.
pub(super) fn refuse_new_ones() {
    // Best effort: where a filter forbids it, this process starts nothing that has more rights all
    // the same.
    let _ = no_new_privileges();
}
