//! BPF programs that a cgroup's packets and sockets pass.
//!
//! # References
//! - bpf(2)
//! - include/uapi/linux/bpf.h, BPF_PROG_QUERY

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

const PROG_QUERY: libc::c_int = 16;

/// Programs of the cgroup and of all above it.
const QUERY_EFFECTIVE: u32 = 1;

/// Hook at which a program is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// BPF_CGROUP_INET_INGRESS: for each packet that a socket of the cgroup receives.
    Ingress = 0,
    /// BPF_CGROUP_INET_EGRESS: for each packet that it sends.
    Egress = 1,
    /// BPF_CGROUP_SOCK_OPS: for changes of its TCP connections.
    SocketOperations = 3,
}

/// The part of `union bpf_attr` that BPF_PROG_QUERY reads, up to `prog_cnt`. The kernel takes what
/// is behind it for 0.
#[repr(C)]
struct Query {
    target_fd: u32,
    attach_type: u32,
    query_flags: u32,
    attach_flags: u32,
    prog_ids: u64,
    prog_cnt: u32,
    unused: u32,
}

/// Number of programs that `hook` has for sockets of `cgroup`, a folder of a cgroup2 file system,
/// with BPF_PROG_QUERY: its own and those of the cgroups above it.
///
/// # Errors
/// - EPERM: CAP_NET_ADMIN is needed.
/// - EBADF: it is no cgroup of version 2.
/// - EINVAL, ENOSYS: the kernel has no BPF for cgroups.
///
/// # References
/// [bpf(2)]
///
/// [bpf(2)]: https://man7.org/linux/man-pages/man2/bpf.2.html
#[doc(alias = "bpf")]
#[doc(alias = "BPF_PROG_QUERY")]
pub fn programs(cgroup: BorrowedFd<'_>, hook: Hook) -> io::Result<u32> {
    let mut query = Query {
        target_fd: cgroup.as_raw_fd() as u32,
        attach_type: hook as u32,
        query_flags: QUERY_EFFECTIVE,
        attach_flags: 0,
        prog_ids: 0,
        prog_cnt: 0,
        unused: 0,
    };
    bpf(PROG_QUERY, &mut query)?;
    Ok(query.prog_cnt)
}

fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<libc::c_long> {
    // SAFETY: the kernel reads and writes at most `size_of::<T>()` bytes of `attributes`, which is
    // valid for both. Pointers in it are 0 or to memory that outlives the call.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, FromRawFd, OwnedFd};

    use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, unlinkat};
    use rustix::mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen,
    };

    use super::*;

    const PROG_LOAD: libc::c_int = 5;
    const PROG_ATTACH: libc::c_int = 8;

    #[repr(C)]
    struct Load {
        prog_type: u32,
        insn_cnt: u32,
        insns: u64,
        license: u64,
    }

    #[repr(C)]
    struct Attach {
        target_fd: u32,
        attach_bpf_fd: u32,
        attach_type: u32,
        attach_flags: u32,
    }

    /// A program for cgroups that lets every packet pass: r0 = 1; exit.
    fn load() -> io::Result<OwnedFd> {
        const CGROUP_SKB: u32 = 8;
        let instructions: [u64; 2] = [0x0000_0001_0000_00b7, 0x0000_0000_0000_0095];
        let mut load = Load {
            prog_type: CGROUP_SKB,
            insn_cnt: 2,
            insns: instructions.as_ptr() as u64,
            license: c"GPL".as_ptr() as u64,
        };
        let program = bpf(PROG_LOAD, &mut load)?;
        // SAFETY: the kernel has just made this descriptor.
        Ok(unsafe { OwnedFd::from_raw_fd(program as i32) })
    }

    /// The root of the cgroups of version 2, mounted where nobody sees it.
    fn cgroups() -> rustix::io::Result<OwnedFd> {
        let context = fsopen("cgroup2", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(context.as_fd())?;
        fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
    }

    #[test]
    fn a_program_is_counted_at_its_hook() {
        let root = match cgroups() {
            Ok(root) => root,
            Err(error) => return eprintln!("skipped: cgroup2 cannot be mounted: {error}"),
        };
        let program = match load() {
            Ok(program) => program,
            Err(error) => return eprintln!("skipped: no BPF for cgroups: {error}"),
        };
        let name = format!("zc-test-{}", std::process::id());
        mkdirat(&root, &name, Mode::RWXU).unwrap();
        let folder =
            openat(&root, &name, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let before = programs(folder.as_fd(), Hook::Egress).unwrap();
        let mut attach = Attach {
            target_fd: folder.as_raw_fd() as u32,
            attach_bpf_fd: program.as_raw_fd() as u32,
            attach_type: Hook::Egress as u32,
            // BPF_F_ALLOW_MULTI: beside those of the cgroups above.
            attach_flags: 2,
        };
        let attached = bpf(PROG_ATTACH, &mut attach);
        let after = programs(folder.as_fd(), Hook::Egress);
        let others = programs(folder.as_fd(), Hook::Ingress);
        unlinkat(&root, &name, AtFlags::REMOVEDIR).unwrap();
        if let Err(error) = attached {
            // A cgroup above allows no further program.
            return eprintln!("skipped: no program can be attached: {error}");
        }
        assert_eq!(after.unwrap(), before + 1);
        assert_eq!(others.unwrap(), 0);
    }

    #[test]
    fn a_folder_that_is_no_cgroup_is_an_error() {
        let folder = std::fs::File::open("/").unwrap();
        let error = programs(folder.as_fd(), Hook::Egress).unwrap_err();
        assert!(
            matches!(
                error.raw_os_error(),
                Some(libc::EBADF | libc::EPERM | libc::EINVAL | libc::ENOSYS)
            ),
            "{error}"
        );
    }
}
