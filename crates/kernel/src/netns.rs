//! Anonymous namespaces: created by unshare(2), held by file descriptors, gone with the last of
//! them.
//!
//! Nothing is mounted below /run/netns, so nothing can be left behind, not even after SIGKILL.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// An open network namespace.
///
/// # References
/// - [namespaces(7)]
/// - [network_namespaces(7)]
///
/// [namespaces(7)]: https://man7.org/linux/man-pages/man7/namespaces.7.html
/// [network_namespaces(7)]: https://man7.org/linux/man-pages/man7/network_namespaces.7.html
#[derive(Debug)]
pub struct NetNs {
    fd: OwnedFd,
}

impl NetNs {
    /// Opens the network namespace of the calling thread, /proc/thread-self/ns/net.
    ///
    /// # Errors
    /// - ENOENT: /proc is not mounted, or the kernel has no network namespaces.
    ///
    /// # References
    /// [namespaces(7)]
    ///
    /// [namespaces(7)]: https://man7.org/linux/man-pages/man7/namespaces.7.html
    pub fn current() -> io::Result<Self> {
        Ok(Self { fd: File::open("/proc/thread-self/ns/net")?.into() })
    }

    /// Opens a network namespace by a file that refers to it: /proc/PID/ns/net, or /proc/PID/fd/N
    /// of a process that holds it.
    ///
    /// # Errors
    /// - ENOENT, EACCES: there is no such file, or this process may not open it.
    ///
    /// # References
    /// [namespaces(7)]
    ///
    /// [namespaces(7)]: https://man7.org/linux/man-pages/man7/namespaces.7.html
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { fd: File::open(path)?.into() })
    }

    /// Creates a network namespace with unshare(2), CLONE_NEWNET, and moves the calling thread into
    /// it. It contains only the device `lo`, which is down.
    ///
    /// # Errors
    /// - EPERM: CAP_SYS_ADMIN is needed.
    /// - ENOSPC: the limit user.max_net_namespaces is reached.
    /// - EINVAL: the kernel has no network namespaces.
    ///
    /// # References
    /// - [unshare(2)]
    /// - [network_namespaces(7)]
    ///
    /// [unshare(2)]: https://man7.org/linux/man-pages/man2/unshare.2.html
    /// [network_namespaces(7)]: https://man7.org/linux/man-pages/man7/network_namespaces.7.html
    #[doc(alias = "CLONE_NEWNET")]
    pub fn unshare() -> io::Result<Self> {
        unshare(UnshareFlags::NEWNET)?;
        Self::current()
    }

    /// Moves the calling thread into the namespace with setns(2).
    ///
    /// # Errors
    /// - EPERM: CAP_SYS_ADMIN is needed in the user namespace that owns it and in the caller's own.
    ///
    /// # References
    /// [setns(2)]
    ///
    /// [setns(2)]: https://man7.org/linux/man-pages/man2/setns.2.html
    #[doc(alias = "setns")]
    pub fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.fd.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    /// Does `work` in the namespace, on a thread of its own: the calling one stays where it is.
    ///
    /// # Errors
    /// - Those of [`enter`](Self::enter), and of `work`.
    /// - EAGAIN: there can be no further thread.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let there = || self.enter().and_then(|()| work());
            let thread = std::thread::Builder::new().spawn_scoped(scope, there)?;
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        })
    }
}

impl AsFd for NetNs {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Creates a user namespace with unshare(2), CLONE_NEWUSER, in which the process has every
/// capability.
///
/// The effective user and group are mapped to themselves and no others are mapped. So geteuid(2)
/// keeps its result, and files keep their owners and access rights.
///
/// # Errors
/// - EINVAL: the process has more than one thread.
/// - ENOSPC: the limit user.max_user_namespaces is reached.
/// - EPERM: a policy forbids it (seccomp, kernel.unprivileged_userns_clone, a chroot), or leaves
///   the namespace without capabilities (AppArmor), which shows when the map is written.
///
/// If writing the map fails, the process is in the namespace already. Try it in a child first
/// ([`crate::process::in_child`]).
///
/// # References
/// - [unshare(2)]
/// - [user_namespaces(7)]
///
/// [unshare(2)]: https://man7.org/linux/man-pages/man2/unshare.2.html
/// [user_namespaces(7)]: https://man7.org/linux/man-pages/man7/user_namespaces.7.html
#[doc(alias = "unshare")]
#[doc(alias = "CLONE_NEWUSER")]
pub fn unshare_user() -> io::Result<()> {
    let uid = rustix::process::geteuid().as_raw();
    let gid = rustix::process::getegid().as_raw();
    unshare(UnshareFlags::NEWUSER)?;
    // Without CAP_SETGID in the parent namespace, gid_map may only be written after setgroups has
    // been denied.
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))
}

/// Creates a mount namespace for the calling thread with unshare(2), CLONE_NEWNS. Filesystems
/// mounted in it from now on are visible nowhere else, and disappear with the last process in it.
///
/// # Errors
/// - EPERM: CAP_SYS_ADMIN is needed.
///
/// # References
/// - [unshare(2)]
/// - [mount_namespaces(7)]
///
/// [unshare(2)]: https://man7.org/linux/man-pages/man2/unshare.2.html
/// [mount_namespaces(7)]: https://man7.org/linux/man-pages/man7/mount_namespaces.7.html
#[doc(alias = "unshare")]
#[doc(alias = "CLONE_NEWNS")]
pub fn unshare_mounts() -> io::Result<()> {
    unshare(UnshareFlags::NEWNS)?;
    mount(c"none", c"/", None, libc::MS_REC | libc::MS_PRIVATE)
}

/// Moves the calling thread into a mount namespace with setns(2), CLONE_NEWNS, by an open file that
/// refers to it: /proc/PID/ns/mnt. Its working directory is the root of that namespace then, and no
/// other thread's.
///
/// # Errors
/// - EINVAL: the file refers to no mount namespace.
/// - EPERM: CAP_SYS_ADMIN and CAP_SYS_CHROOT are needed.
///
/// # References
/// - [setns(2)]
/// - [mount_namespaces(7)]
///
/// [setns(2)]: https://man7.org/linux/man-pages/man2/setns.2.html
/// [mount_namespaces(7)]: https://man7.org/linux/man-pages/man7/mount_namespaces.7.html
#[doc(alias = "setns")]
pub fn enter_mounts(namespace: impl AsFd) -> io::Result<()> {
    // Threads that share their working directory cannot be in different ones.
    unshare(UnshareFlags::FS)?;
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount))?)
}

/// Creates a mount namespace for the calling thread ([`unshare_mounts`]) and mounts a sysfs on
/// `/sys` in it with mount(2). It shows the network devices of the thread's network namespace.
///
/// # Errors
/// - EPERM: CAP_SYS_ADMIN is needed, or other mounts hide parts of /sys (containers).
///
/// # References
/// - [unshare(2)]
/// - [mount(2)]
/// - [mount_namespaces(7)]
///
/// [unshare(2)]: https://man7.org/linux/man-pages/man2/unshare.2.html
/// [mount(2)]: https://man7.org/linux/man-pages/man2/mount.2.html
/// [mount_namespaces(7)]: https://man7.org/linux/man-pages/man7/mount_namespaces.7.html
#[doc(alias = "mount")]
pub fn mount_own_sysfs() -> io::Result<()> {
    unshare_mounts()?;
    mount(c"sysfs", c"/sys", Some(c"sysfs"), libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC)
}

/// Creates a mount namespace for the calling thread ([`unshare_mounts`]) and mounts tracefs on
/// `/sys/kernel/tracing` in it with mount(2), where the kernel lists its trace points.
///
/// # Errors
/// - EPERM: CAP_SYS_ADMIN is needed.
/// - ENOENT, ENODEV: the kernel has no trace points.
///
/// # References
/// - [unshare(2)]
/// - [mount(2)]
/// - Linux, Documentation/trace/ftrace.rst
///
/// [unshare(2)]: https://man7.org/linux/man-pages/man2/unshare.2.html
/// [mount(2)]: https://man7.org/linux/man-pages/man2/mount.2.html
#[doc(alias = "mount")]
pub fn mount_own_tracefs() -> io::Result<()> {
    unshare_mounts()?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount(c"tracefs", c"/sys/kernel/tracing", Some(c"tracefs"), flags)
}

fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: only unsharing the file descriptor table (UnshareFlags::FILES) is unsound, and no
    // caller passes it.
    Ok(unsafe { unshare_unsafe(flags) }?)
}

fn mount(
    source: &CStr,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
) -> io::Result<()> {
    let kind = kind.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: the three pointers are NUL-terminated strings that outlive the call, or null where
    // mount(2) ignores them (the type when changing propagation, the data always).
    let result =
        unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind, flags, std::ptr::null()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn the_current_namespace_can_be_opened_by_anybody() {
        NetNs::current().unwrap();
    }

    #[test]
    fn a_new_namespace_has_a_lo_and_is_left_again() {
        // In a thread of its own, because a namespace belongs to a thread.
        std::thread::spawn(|| {
            let home = NetNs::current().unwrap();
            let Ok(new) = NetNs::unshare() else {
                eprintln!("skipped: needs CAP_SYS_ADMIN");
                return;
            };
            let lo = crate::netlink::Devices::open().unwrap().find("lo").unwrap();
            assert!(!lo.up);
            home.enter().unwrap();
            let held = std::os::fd::AsRawFd::as_raw_fd(&new.as_fd());
            NetNs::open(Path::new(&format!("/proc/self/fd/{held}"))).unwrap().enter().unwrap();
            let lo = crate::netlink::Devices::open().unwrap().find("lo").unwrap();
            assert!(!lo.up, "it is the new one");
            home.enter().unwrap();
            let place = || std::fs::read_link("/proc/thread-self/ns/net");
            let at_home = place().unwrap();
            assert_ne!(new.inside(place).unwrap(), at_home);
            assert_eq!(place().unwrap(), at_home, "this thread stays where it is");
            new.enter().unwrap();
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_process_with_threads_cannot_have_a_user_namespace() {
        // The test harness runs this test in a thread.
        let error = unshare_user().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn a_mount_namespace_of_another_thread_is_entered() {
        let there = std::thread::spawn(|| {
            unshare_mounts().map(|()| File::open("/proc/thread-self/ns/mnt").unwrap())
        });
        let there = match there.join().unwrap() {
            Ok(there) => there,
            Err(error) => {
                eprintln!("skipped: needs CAP_SYS_ADMIN ({error})");
                return;
            }
        };
        let path = format!("/proc/self/fd/{}", there.as_raw_fd());
        let link = |path: &str| std::fs::read_link(path).unwrap();
        let (own, theirs) = (link("/proc/thread-self/ns/mnt"), link(&path));
        assert_ne!(own, theirs);
        let entered = std::thread::spawn(move || {
            enter_mounts(&there).unwrap();
            link("/proc/thread-self/ns/mnt")
        });
        assert_eq!(entered.join().unwrap(), theirs);
        assert_eq!(link("/proc/thread-self/ns/mnt"), own);
    }

    #[test]
    fn an_own_sysfs_shows_the_devices_of_the_namespace() {
        // In a thread of its own, because a namespace belongs to a thread.
        std::thread::spawn(|| {
            if NetNs::unshare().is_err() {
                eprintln!("skipped: needs CAP_SYS_ADMIN");
                return;
            }
            if let Err(error) = mount_own_sysfs() {
                eprintln!("skipped: no sysfs: {error}");
                return;
            }
            let devices = std::fs::read_dir("/sys/class/net").unwrap();
            let names: Vec<_> = devices.map(|device| device.unwrap().file_name()).collect();
            assert!(names.iter().any(|name| name == "lo"), "{names:?}");
            let devices = crate::netlink::Devices::open().unwrap();
            assert!(
                names.iter().all(|name| devices.find(name.to_str().unwrap()).is_ok()
                    || std::path::Path::new("/sys/class/net").join(name).is_file()),
                "{names:?}"
            );
        })
        .join()
        .unwrap();
    }
}
