//! Rights that a process gives up for good: capabilities, its user, and those that set-user-ID
//! programs and file capabilities would give it.
//!
//! All of this belongs to the calling thread. Threads and processes that it starts afterwards
//! inherit it, so a process that gives up rights does so before it has other threads.

use std::io;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySets, Gid, Uid, capabilities, capability_is_in_ambient_set,
    remove_capability_from_bounding_set, set_capabilities, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

pub use rustix::thread::CapabilitySet;

/// User and group without rights of their own, `nobody` (Documentation/admin-guide/sysctl/fs.rst,
/// "overflowgid & overflowuid").
const NOBODY: u32 = 65_534;

/// Makes every later execve(2) of the calling thread ignore set-user-ID, set-group-ID and file
/// capabilities, by PR_SET_NO_NEW_PRIVS. It cannot be taken back.
///
/// # Errors
/// - EINVAL: before Linux 3.5, or a seccomp filter.
///
/// # References
/// - [PR_SET_NO_NEW_PRIVS(2const)]
/// - Documentation/userspace-api/no_new_privs.rst
///
/// [PR_SET_NO_NEW_PRIVS(2const)]:
///   https://man7.org/linux/man-pages/man2/PR_SET_NO_NEW_PRIVS.2const.html
#[doc(alias = "prctl")]
#[doc(alias = "PR_SET_NO_NEW_PRIVS")]
pub fn no_new_privileges() -> io::Result<()> {
    Ok(rustix::thread::set_no_new_privs(true)?)
}

/// Whether the calling thread has any capability, by capget(2).
///
/// # References
/// [capget(2)]
///
/// [capget(2)]: https://man7.org/linux/man-pages/man2/capget.2.html
#[doc(alias = "capget")]
pub fn has_capabilities() -> bool {
    capabilities(None).is_ok_and(|sets| !sets.permitted.is_empty())
}

/// Permitted capabilities of the calling thread that are not ambient. A user who is not root gets
/// these from the file of the program that was executed: capabilities that a user has and passes on
/// to any program are ambient, and a program whose file has capabilities gets no ambient ones.
///
/// (AT_SECURE of getauxval(3) does not tell as much: transitions of security modules set it too.)
///
/// # Errors
/// None known. A seccomp filter could forbid the call.
///
/// # References
/// - [capget(2)]
/// - [capabilities(7)], "Transformation of capabilities during execve()"
///
/// [capget(2)]: https://man7.org/linux/man-pages/man2/capget.2.html
/// [capabilities(7)]: https://man7.org/linux/man-pages/man7/capabilities.7.html
#[doc(alias = "capget")]
pub fn capabilities_beyond_ambient() -> io::Result<CapabilitySet> {
    let is_ambient = |capability: &CapabilitySet| {
        // EINVAL: no ambient capabilities before Linux 4.3.
        capability_is_in_ambient_set(*capability).unwrap_or(false)
    };
    let permitted = capabilities(None)?.permitted;
    Ok(permitted.iter().filter(|capability| !is_ambient(capability)).collect())
}

/// Gives up all capabilities of the calling thread but `keep`, by capset(2): the effective and
/// permitted ones, and all inheritable ones. The kernel lowers the ambient ones with those.
///
/// # Errors
/// None known. A seccomp filter could forbid the call. If there is nothing to give up, the call is
/// not made.
///
/// # References
/// - [capset(2)]
/// - [capabilities(7)], "Thread capability sets"
///
/// [capset(2)]: https://man7.org/linux/man-pages/man2/capset.2.html
/// [capabilities(7)]: https://man7.org/linux/man-pages/man7/capabilities.7.html
#[doc(alias = "capset")]
pub fn keep_capabilities(keep: CapabilitySet) -> io::Result<()> {
    let has = capabilities(None)?;
    let kept = CapabilitySets {
        effective: has.effective & keep,
        permitted: has.permitted & keep,
        inheritable: CapabilitySet::empty(),
    };
    if kept == has {
        return Ok(()); // an ambient capability would be inheritable too
    }
    Ok(set_capabilities(None, kept)?)
}

/// Removes all capabilities but `keep` from the bounding set of the calling thread by
/// PR_CAPBSET_DROP: no program that it executes can get them, not even as root. Call it before
/// [`keep_capabilities`].
///
/// A thread without CAP_SETPCAP may not, and keeps its bounding set.
///
/// # Errors
/// None known. A seccomp filter could forbid the call.
///
/// # References
/// [PR_CAPBSET_DROP(2const)]
///
/// [PR_CAPBSET_DROP(2const)]: https://man7.org/linux/man-pages/man2/PR_CAPBSET_DROP.2const.html
#[doc(alias = "prctl")]
#[doc(alias = "PR_CAPBSET_DROP")]
pub fn bound_capabilities(keep: CapabilitySet) -> io::Result<()> {
    if !capabilities(None)?.effective.contains(CapabilitySet::SETPCAP) {
        return Ok(());
    }
    // Capabilities of later kernels are included: the first number that this kernel does not
    // have ends the loop.
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if keep.contains(capability) {
            continue;
        }
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            Err(Errno::INVAL) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Makes the calling thread that of the user and the group `nobody`, without further groups, by
/// setgroups(2), setresgid(2) and setresuid(2). Only for a process with one thread: others would
/// stay what they are. Returns whether that succeeded: a user namespace may lack that user, and
/// only root may change it.
///
/// # References
/// - [setresuid(2)]
/// - [user_namespaces(7)]
///
/// [setresuid(2)]: https://man7.org/linux/man-pages/man2/setresuid.2.html
/// [user_namespaces(7)]: https://man7.org/linux/man-pages/man7/user_namespaces.7.html
#[doc(alias = "setresuid")]
#[doc(alias = "setresgid")]
#[doc(alias = "setgroups")]
pub fn become_nobody() -> bool {
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    set_thread_groups(&[])
        .and_then(|()| set_thread_res_gid(group, group, group))
        .and_then(|()| set_thread_res_uid(user, user, user))
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Status in /proc of a thread after `work`, which changes only that thread's rights.
    fn status_after(work: impl FnOnce() + Send) -> String {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                work();
                std::fs::read_to_string("/proc/thread-self/status").unwrap()
            });
            thread.join().unwrap()
        })
    }

    fn field(status: &str, name: &str) -> String {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap_or_default().to_owned()
    }

    fn set(status: &str, name: &str) -> u64 {
        u64::from_str_radix(&field(status, name), 16).unwrap()
    }

    #[test]
    fn no_new_privileges_are_given_to_the_thread() {
        let status = status_after(|| no_new_privileges().unwrap());
        assert_eq!(field(&status, "NoNewPrivs:"), "1");
    }

    #[test]
    fn only_the_capabilities_that_are_kept_are_left() {
        let before = status_after(|| ());
        let keep = CapabilitySet::NET_ADMIN | CapabilitySet::IPC_LOCK;
        let after = status_after(|| {
            bound_capabilities(keep).unwrap();
            keep_capabilities(keep).unwrap();
        });
        for name in ["CapEff:", "CapPrm:"] {
            assert_eq!(set(&after, name), set(&before, name) & keep.bits(), "{name}");
        }
        assert_eq!((set(&after, "CapInh:"), set(&after, "CapAmb:")), (0, 0));
        if set(&before, "CapEff:") & CapabilitySet::SETPCAP.bits() == 0 {
            eprintln!("skipped: needs CAP_SETPCAP to drop from the bounding set");
            return;
        }
        assert_eq!(set(&after, "CapBnd:"), set(&before, "CapBnd:") & keep.bits());
    }

    #[test]
    fn an_ambient_capability_is_none_of_the_file_and_is_given_up() {
        let cleared = status_after(|| {
            let one = CapabilitySet::NET_ADMIN;
            let Ok(has) = capabilities(None) else { return };
            let sets = CapabilitySets { inheritable: one, permitted: one, effective: one };
            let raised = set_capabilities(None, sets)
                .and_then(|()| rustix::thread::configure_capability_in_ambient_set(one, true));
            if raised.is_err() {
                return eprintln!("skipped: needs CAP_NET_ADMIN, has {:?}", has.permitted);
            }
            assert!(has_capabilities() && capabilities_beyond_ambient().unwrap().is_empty());
            keep_capabilities(CapabilitySet::empty()).unwrap();
            assert!(!has_capabilities());
        });
        assert_eq!(set(&cleared, "CapAmb:"), 0);
    }

    #[test]
    fn nobody_is_nobody() {
        let status = status_after(|| {
            if !become_nobody() {
                eprintln!("skipped: needs root");
            }
        });
        let is_root = rustix::process::geteuid().is_root();
        let user = field(&status, "Uid:");
        assert!(!is_root || user == NOBODY.to_string(), "{user}");
    }
}
