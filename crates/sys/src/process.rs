//! The process itself: who it is, how many threads it has, what it may use, and a child to try something out in.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::{Resource, getrlimit};
use rustix::thread::CapabilitySet;

/// Effective user id.
pub fn euid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// How many threads this process has (`Threads:` of /proc/self/status, proc_pid_status(5)).
///
/// # Errors
/// /proc is not mounted.
pub fn threads() -> io::Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("Threads:")?.trim().parse().ok())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/self/status has no count of threads"))
}

/// Whether the calling thread has what it takes to make network namespaces and devices in them without a user namespace:
/// CAP_SYS_ADMIN and CAP_NET_ADMIN (capabilities(7)). A policy may refuse it all the same.
pub fn may_make_namespaces() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| {
        sets.effective.contains(CapabilitySet::SYS_ADMIN) && sets.effective.contains(CapabilitySet::NET_ADMIN)
    })
}

/// The soft RLIMIT_MEMLOCK in bytes; `None` is unlimited.
pub fn memlock_limit_bytes() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

/// The soft RLIMIT_NOFILE; `None` is unlimited.
pub fn nofile_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Runs `attempt` in a child process and returns how it ended: what cannot be undone (a user namespace) is tried out
/// without being in it afterwards. The child ends by _exit(2) with what `attempt` returns; nothing is flushed, nothing
/// dropped.
///
/// # Errors
/// `EBUSY` when the process has more than one thread, as a child of such a one could wait forever for a lock that another
/// thread held at the time (fork(2)); whatever fork(2) or waitpid(2) says.
pub fn in_child(attempt: impl FnOnce() -> u8) -> io::Result<ExitStatus> {
    if threads()? != 1 {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    // SAFETY: with a single thread no lock is held by a thread that the child would not have, so the child may run
    // ordinary code; it leaves by _exit and runs no destructor and no exit handler of the parent.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt));
            // SAFETY: _exit(2) takes any number and does not return.
            unsafe { libc::_exit(result.map_or(255, i32::from)) }
        }
        _ => wait(pid),
    }
}

fn wait(pid: libc::pid_t) -> io::Result<ExitStatus> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a valid place for an int, and the child is ours and not waited for elsewhere.
        if unsafe { libc::waitpid(pid, &mut status, 0) } == pid {
            return Ok(ExitStatus::from_raw(status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_threads() {
        // The harness's own and the one that runs this.
        assert!(threads().unwrap() >= 1);
    }

    #[test]
    fn limits_are_read() {
        assert!(nofile_limit().is_none_or(|limit| limit > 0));
        let _ = memlock_limit_bytes();
    }

    #[test]
    fn a_process_with_threads_is_not_forked() {
        if threads().unwrap() == 1 {
            eprintln!("skipped: the harness runs tests without threads");
            return;
        }
        assert_eq!(in_child(|| 0).unwrap_err().raw_os_error(), Some(libc::EBUSY));
    }
}
