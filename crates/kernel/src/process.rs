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

/// What a process has used so far, all its threads together, ended ones included; or a thread alone; or between two such
/// readings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode, in nanoseconds (to the microsecond).
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds (to the microsecond).
    pub system_ns: u64,
    /// The most memory that it had at any time, in KiB. It is a mark and not a sum.
    pub max_resident_kib: u64,
    /// Page faults that were served from memory.
    pub minor_faults: u64,
    /// Page faults that were served from a disk.
    pub major_faults: u64,
    /// Context switches because it waited.
    pub voluntary_switches: u64,
    /// Context switches because something else had its turn.
    pub involuntary_switches: u64,
}

impl Usage {
    /// What was used since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            max_resident_kib: self.max_resident_kib,
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(before.involuntary_switches),
        }
    }
}

/// What this process has used so far.
///
/// # Errors
/// None that is known; a seccomp filter could forbid it.
///
/// # References
/// getrusage(2), RUSAGE_SELF.
pub fn usage() -> io::Result<Usage> {
    usage_of(libc::RUSAGE_SELF)
}

/// What the calling thread has used so far. Nobody can ask for another thread; `max_resident_kib` is the process's.
///
/// # Errors
/// As [`usage`].
///
/// # References
/// getrusage(2), RUSAGE_THREAD.
pub fn own_thread_usage() -> io::Result<Usage> {
    usage_of(libc::RUSAGE_THREAD)
}

fn usage_of(who: libc::c_int) -> io::Result<Usage> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer leads to room for the rusage that getrusage(2) writes.
    if unsafe { libc::getrusage(who, usage.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was zeroed, and all zeros is an rusage; the call has filled it.
    let usage = unsafe { usage.assume_init() };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Ok(Usage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        max_resident_kib: usage.ru_maxrss as u64,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    })
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
    fn what_was_used_grows() {
        let before = usage().unwrap();
        let used = std::hint::black_box(vec![1_u8; 4 << 20]);
        let after = usage().unwrap();
        assert!(after.user_ns + after.system_ns > 0 && after.max_resident_kib > 0);
        assert!(after.minor_faults >= before.minor_faults);
        assert_eq!(before.since(&after).minor_faults, 0);
        drop(used);
    }

    #[test]
    fn what_a_thread_used_is_its_own() {
        let of_a_new_thread = std::thread::spawn(|| own_thread_usage().unwrap()).join().unwrap();
        let process = usage().unwrap();
        let cpu_ns = |usage: Usage| usage.user_ns + usage.system_ns;
        assert!(cpu_ns(of_a_new_thread) <= cpu_ns(process));
        assert!(of_a_new_thread.minor_faults <= process.minor_faults);
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
