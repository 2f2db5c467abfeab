//! Namespaces without names: made by unshare(2), held by file descriptors, gone with the last of them. Nothing
//! is mounted below /run/netns, so nothing can be left behind, not even after SIGKILL.
//!
//! References: [namespaces(7)], [user_namespaces(7)], [network_namespaces(7)], [setns(2)].
//!
//! [namespaces(7)]: https://man7.org/linux/man-pages/man7/namespaces.7.html
//! [user_namespaces(7)]: https://man7.org/linux/man-pages/man7/user_namespaces.7.html
//! [network_namespaces(7)]: https://man7.org/linux/man-pages/man7/network_namespaces.7.html
//! [setns(2)]: https://man7.org/linux/man-pages/man2/setns.2.html

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// A network namespace, held open.
#[derive(Debug)]
pub struct NetNs {
    fd: OwnedFd,
}

impl NetNs {
    /// The calling thread's own.
    ///
    /// # Errors
    /// /proc is not mounted, or the kernel has no network namespaces.
    pub fn current() -> io::Result<Self> {
        Ok(Self { fd: File::open("/proc/thread-self/ns/net")?.into() })
    }

    /// A new one, with nothing in it but a `lo` that is down. The calling thread is in it afterwards.
    ///
    /// # Errors
    /// `EPERM` without CAP_SYS_ADMIN, `ENOSPC` at the limit of `user.max_net_namespaces`, `EINVAL` when the kernel has no
    /// network namespaces.
    pub fn unshare() -> io::Result<Self> {
        unshare(UnshareFlags::NEWNET)?;
        Self::current()
    }

    /// Moves the calling thread into it.
    ///
    /// # Errors
    /// `EPERM` without CAP_SYS_ADMIN in the user namespace that owns it and in the caller's own.
    pub fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.fd.as_fd(), Some(LinkNameSpaceType::Network))?)
    }
}

impl AsFd for NetNs {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Gives the process a new user namespace in which it has every capability, and in which its own user and group, and nobody
/// else, are mapped to themselves: geteuid(2) goes on telling the truth, files keep their owners, and the process its
/// access to them.
///
/// # Errors
/// `EINVAL` when the process has more than one thread; `ENOSPC` at the limit of `user.max_user_namespaces`; `EPERM` when
/// a policy forbids it (seccomp, `kernel.unprivileged_userns_clone`, a chroot) or when one leaves the namespace powerless
/// (AppArmor), which shows when the map is written. After a failure to write it the process is in the namespace all the
/// same: rehearse in a child first.
pub fn unshare_user() -> io::Result<()> {
    let uid = rustix::process::geteuid().as_raw();
    let gid = rustix::process::getegid().as_raw();
    unshare(UnshareFlags::NEWUSER)?;
    // Without CAP_SETGID in the parent namespace a gid_map may only be written once setgroups is off for good.
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))
}

/// Gives the calling thread a mount namespace of its own, out of which nothing spreads, and mounts a sysfs on `/sys` there:
/// one that shows the network devices of the namespace the thread is in.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN, or where /sys is partly hidden by other mounts (containers).
pub fn mount_own_sysfs() -> io::Result<()> {
    unshare(UnshareFlags::NEWNS)?;
    mount(c"none", c"/", None, libc::MS_REC | libc::MS_PRIVATE)?;
    mount(c"sysfs", c"/sys", Some(c"sysfs"), libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC)
}

fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: unsharing is unsound for the file descriptor table alone (UnshareFlags::FILES), which no caller passes.
    Ok(unsafe { unshare_unsafe(flags) }?)
}

fn mount(source: &CStr, target: &CStr, kind: Option<&CStr>, flags: libc::c_ulong) -> io::Result<()> {
    let kind = kind.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: the three pointers are NUL-terminated strings that outlive the call, or null where mount(2) ignores them (the
    // kind in a change of propagation, the data always).
    let result = unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind, flags, std::ptr::null()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_namespace_can_be_opened_by_anybody() {
        NetNs::current().unwrap();
    }

    #[test]
    fn a_new_namespace_has_a_lo_and_is_left_again() {
        // In a thread of its own: a namespace belongs to a thread.
        std::thread::spawn(|| {
            let home = NetNs::current().unwrap();
            let Ok(new) = NetNs::unshare() else {
                eprintln!("skipped: needs CAP_SYS_ADMIN");
                return;
            };
            let lo = crate::netlink::Devices::open().unwrap().find("lo").unwrap();
            assert!(!lo.up);
            home.enter().unwrap();
            new.enter().unwrap();
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_process_with_threads_cannot_have_a_user_namespace() {
        // The test harness runs this one in a thread.
        let error = unshare_user().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }
}
