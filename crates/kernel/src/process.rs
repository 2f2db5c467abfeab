//! The process itself: user id, number of threads, limits, resource usage, and a forked child for
//! trial calls.

use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::{Pid, Resource, WaitId, WaitIdOptions, getrlimit, waitid};
use rustix::thread::CapabilitySet;

/// Effective user id by geteuid(2).
///
/// # References
/// [geteuid(2)]
///
/// [geteuid(2)]: https://man7.org/linux/man-pages/man2/geteuid.2.html
#[doc(alias = "geteuid")]
pub fn euid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Number of threads of this process: `Threads:` of /proc/self/status.
///
/// # Errors
/// - ENOENT: /proc is not mounted.
///
/// # References
/// [proc_pid_status(5)]
///
/// [proc_pid_status(5)]: https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
pub fn threads() -> io::Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    status.lines().find_map(|line| line.strip_prefix("Threads:")?.trim().parse().ok()).ok_or_else(
        || io::Error::new(io::ErrorKind::InvalidData, "/proc/self/status has no count of threads"),
    )
}

/// Overwrites a word of this process's command line, which every user can read in
/// /proc/PID/cmdline, with as many `x`. Copies that the program has made of it stay.
///
/// # Errors
/// - ENOENT: /proc is not mounted.
/// - EACCES: a security policy forbids to write to /proc/self/mem.
///
/// # References
/// - [proc_pid_cmdline(5)]
/// - [proc_pid_stat(5)], `arg_start`
///
/// [proc_pid_cmdline(5)]: https://man7.org/linux/man-pages/man5/proc_pid_cmdline.5.html
/// [proc_pid_stat(5)]: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
pub fn hide_in_command_line(word: &str) -> io::Result<()> {
    // Field 48; the name of the program, the second, may have spaces and brackets in it.
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let arg_start: u64 = stat
        .rsplit_once(')')
        .and_then(|(_, fields)| fields.split_ascii_whitespace().nth(48 - 3)?.parse().ok())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no arg_start"))?;
    let line = std::fs::read("/proc/self/cmdline")?;
    let memory = std::fs::File::options().write(true).open("/proc/self/mem")?;
    let places = (0..line.len()).filter(|at| line[*at..].starts_with(word.as_bytes()));
    for place in places {
        memory.write_all_at(&vec![b'x'; word.len()], arg_start + place as u64)?;
    }
    Ok(())
}

/// Whether the calling thread has the capabilities to create network namespaces and devices in them
/// without a user namespace: CAP_SYS_ADMIN and CAP_NET_ADMIN, by capget(2). A security policy may
/// still refuse.
///
/// # References
/// - [capget(2)]
/// - [capabilities(7)]
///
/// [capget(2)]: https://man7.org/linux/man-pages/man2/capget.2.html
/// [capabilities(7)]: https://man7.org/linux/man-pages/man7/capabilities.7.html
#[doc(alias = "capget")]
pub fn may_make_namespaces() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| {
        sets.effective.contains(CapabilitySet::SYS_ADMIN)
            && sets.effective.contains(CapabilitySet::NET_ADMIN)
    })
}

/// Soft RLIMIT_MEMLOCK in bytes by getrlimit(2). `None` is unlimited.
///
/// # References
/// [getrlimit(2)]
///
/// [getrlimit(2)]: https://man7.org/linux/man-pages/man2/getrlimit.2.html
#[doc(alias = "getrlimit")]
#[doc(alias = "RLIMIT_MEMLOCK")]
pub fn memlock_limit_bytes() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

/// Soft RLIMIT_NOFILE, a number of file descriptors, by getrlimit(2). `None` is unlimited.
///
/// # References
/// [getrlimit(2)]
///
/// [getrlimit(2)]: https://man7.org/linux/man-pages/man2/getrlimit.2.html
#[doc(alias = "getrlimit")]
#[doc(alias = "RLIMIT_NOFILE")]
pub fn nofile_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Resource usage of a process or a thread up to now, or the difference of two such readings. The
/// usage of a process includes threads that have ended.
///
/// # References
/// [getrusage(2)]
///
/// [getrusage(2)]: https://man7.org/linux/man-pages/man2/getrusage.2.html
#[doc(alias = "rusage")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// User CPU time in ns, with a resolution of 1 us.
    pub user_ns: u64,
    /// System CPU time in ns, with a resolution of 1 us.
    pub system_ns: u64,
    /// Peak resident memory in KiB. A high-water mark: it does not add up.
    pub max_resident_kib: u64,
    /// Page faults that needed no I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Context switches because the thread waited.
    pub voluntary_switches: u64,
    /// Context switches because another thread took its turn.
    pub involuntary_switches: u64,
}

impl Usage {
    /// Difference to the earlier reading `before`. `max_resident_kib` stays as it is.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            max_resident_kib: self.max_resident_kib,
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(before.involuntary_switches),
        }
    }
}

/// Resource usage of this process by getrusage(2), RUSAGE_SELF.
///
/// # Errors
/// None known. A seccomp filter could forbid the call.
///
/// # References
/// [getrusage(2)]
///
/// [getrusage(2)]: https://man7.org/linux/man-pages/man2/getrusage.2.html
#[doc(alias = "getrusage")]
#[doc(alias = "RUSAGE_SELF")]
pub fn usage() -> io::Result<Usage> {
    usage_of(libc::RUSAGE_SELF)
}

/// Resource usage of the calling thread by getrusage(2), RUSAGE_THREAD. `max_resident_kib` is that
/// of the process. The kernel offers this for the calling thread only.
///
/// # Errors
/// Same as for [`usage`].
///
/// # References
/// [getrusage(2)]
///
/// [getrusage(2)]: https://man7.org/linux/man-pages/man2/getrusage.2.html
#[doc(alias = "getrusage")]
#[doc(alias = "RUSAGE_THREAD")]
pub fn own_thread_usage() -> io::Result<Usage> {
    usage_of(libc::RUSAGE_THREAD)
}

/// Resource usage of the children that this process has waited for, and of theirs that they had
/// waited for, by getrusage(2), RUSAGE_CHILDREN.
///
/// # Errors
/// Same as for [`usage`].
///
/// # References
/// [getrusage(2)]
///
/// [getrusage(2)]: https://man7.org/linux/man-pages/man2/getrusage.2.html
#[doc(alias = "getrusage")]
#[doc(alias = "RUSAGE_CHILDREN")]
pub fn children_usage() -> io::Result<Usage> {
    usage_of(libc::RUSAGE_CHILDREN)
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

/// Runs `attempt` in a child made by fork(2), and returns how the child ended.
///
/// It is for calls that cannot be undone, such as entering a user namespace. The child leaves by
/// _exit(2) with the result of `attempt`. It flushes nothing and drops nothing.
///
/// # Errors
/// - EBUSY: the process has more than one thread. A child could then wait forever for a lock that
///   another thread held at the fork.
/// - EAGAIN, ENOMEM: fork(2) failed.
///
/// # References
/// - [fork(2)]
/// - [waitpid(2)]
/// - [_exit(2)]
///
/// [fork(2)]: https://man7.org/linux/man-pages/man2/fork.2.html
/// [waitpid(2)]: https://man7.org/linux/man-pages/man2/waitpid.2.html
/// [_exit(2)]: https://man7.org/linux/man-pages/man2/_exit.2.html
#[doc(alias = "fork")]
#[doc(alias = "waitpid")]
pub fn in_child(attempt: impl FnOnce() -> u8) -> io::Result<ExitStatus> {
    wait(fork(attempt)?)
}

/// The same with a pipe into which `attempt` writes; returns what it wrote, and how it ended.
///
/// # Errors
/// Same as for [`in_child`]. EMFILE: no descriptor is free.
///
/// # References
/// - [fork(2)]
/// - [pipe(2)]
///
/// [fork(2)]: https://man7.org/linux/man-pages/man2/fork.2.html
/// [pipe(2)]: https://man7.org/linux/man-pages/man2/pipe.2.html
#[doc(alias = "fork")]
#[doc(alias = "pipe")]
pub fn read_from_child(
    attempt: impl FnOnce(io::PipeWriter) -> u8,
) -> io::Result<(Vec<u8>, ExitStatus)> {
    let (reader, writer) = io::pipe()?;
    let mut reader = Some(reader);
    // The end for writing is dropped here with the closure, or the pipe would not end.
    let child = fork(|| {
        drop(reader.take()); // or it would wait for itself to read, once the parent is gone
        attempt(writer)
    })?;
    let mut written = Vec::new();
    let read = reader.map(|mut reader| reader.read_to_end(&mut written)).transpose();
    let ended = wait(child)?;
    read?;
    Ok((written, ended))
}

/// Forks, and runs `attempt` in the child, which does not return.
fn fork(attempt: impl FnOnce() -> u8) -> io::Result<libc::pid_t> {
    if threads()? != 1 {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    // SAFETY: with a single thread, no lock is held by a thread that is missing in the child, so
    // the child may run ordinary code. It leaves by _exit and runs no destructor and no exit
    // handler of the parent.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt));
            // SAFETY: _exit(2) takes any number and does not return.
            unsafe { libc::_exit(result.map_or(255, i32::from)) }
        }
        pid => Ok(pid),
    }
}

/// Has the kernel kill the calling process when its parent ends, by PR_SET_PDEATHSIG. A change of
/// the process's user undoes it.
///
/// # Errors
/// None known. A seccomp filter could forbid the call.
///
/// # References
/// [PR_SET_PDEATHSIG(2const)]
///
/// [PR_SET_PDEATHSIG(2const)]: https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
#[doc(alias = "prctl")]
#[doc(alias = "PR_SET_PDEATHSIG")]
pub fn end_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?)
}

/// Makes the calling process the parent of every descendant whose own parent ends, by
/// PR_SET_CHILD_SUBREAPER: a daemon stays among its descendants.
///
/// # Errors
/// None known. A seccomp filter could forbid the call.
///
/// # References
/// [PR_SET_CHILD_SUBREAPER(2const)]
///
/// [PR_SET_CHILD_SUBREAPER(2const)]:
///   https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html
#[doc(alias = "prctl")]
#[doc(alias = "PR_SET_CHILD_SUBREAPER")]
pub fn set_child_subreaper() -> io::Result<()> {
    // Any process stands for "on".
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Waits with waitid(2) for those of the processes `pids` that are children of the caller and have
/// ended, so that none stays as a zombie. A child that the caller waits for in another way must not
/// be among them.
///
/// # References
/// [waitid(2)]
///
/// [waitid(2)]: https://man7.org/linux/man-pages/man2/waitid.2.html
#[doc(alias = "waitid")]
pub fn reap(pids: &[i32]) {
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        // ECHILD: a grandchild, which its own parent waits for.
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}

fn wait(pid: libc::pid_t) -> io::Result<ExitStatus> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a valid place for an int. The child is ours and is not waited for
        // elsewhere.
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
        // One thread of the harness, and maybe the one that runs this test.
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
    fn what_children_used_is_counted_once_they_were_waited_for_with_that_of_their_own_children() {
        let of_children = || children_usage().map(|usage| usage.user_ns + usage.system_ns).unwrap();
        let before = of_children();
        let counts = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let mut child = std::process::Command::new("sh");
        let mut child = child.args(["-c", "sh -c \"$0\"; true", counts]).spawn().unwrap();
        assert!(child.wait().unwrap().success());
        assert!(of_children() > before);
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

    fn status_line(name: &str) -> String {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned()
    }

    #[test]
    fn the_effective_user_is_that_of_proc() {
        assert_eq!(
            status_line("Uid:").split_whitespace().nth(1),
            Some(euid().to_string().as_str())
        );
    }

    #[test]
    fn namespaces_need_two_capabilities() {
        // capability.h: CAP_NET_ADMIN is 12, CAP_SYS_ADMIN 21.
        let needed = 1 << 12 | 1 << 21;
        let effective = u64::from_str_radix(status_line("CapEff:").trim(), 16).unwrap();
        assert_eq!(may_make_namespaces(), effective & needed == needed);
    }
}
