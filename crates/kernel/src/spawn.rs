//! Child processes: what they inherit, how they end and what they used, and the signals that are passed on to them.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, pidfd_open, waitid,
};

/// Lets the child of `command` have `fd` as its file descriptor `number` (3 or more), and no other child.
///
/// # References
/// dup2(2).
pub fn inherit(command: &mut Command, fd: OwnedFd, number: RawFd) {
    let place = move || {
        if fd.as_raw_fd() == number {
            // dup2 of a descriptor onto itself would leave its close-on-exec flag up.
            // SAFETY: F_SETFD takes a descriptor that is open here and a number.
            check(unsafe { libc::fcntl(number, libc::F_SETFD, 0) })
        } else {
            // SAFETY: `fd` is open, as the closure owns it. What `number` was in the child is closed: between fork and exec
            // nothing of the parent's is in use but what exec needs, and that is close-on-exec and above the numbers in use
            // (or exec reports its failure to nobody, which is an error of the parent all the same).
            check(unsafe { libc::dup2(fd.as_raw_fd(), number) })
        }
    };
    // SAFETY: the closure makes one system call, which is async-signal-safe, and allocates nothing.
    unsafe { command.pre_exec(place) };
}

/// Puts the calling process into a new session, without a terminal, and so into a new autogroup where there are
/// autogroups.
///
/// # Errors
/// EPERM: it leads a process group.
///
/// # References
/// setsid(2), sched(7) ("The autogroup feature").
pub fn new_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// How a child ended, and what it and those of its descendants that were waited for have used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Exit code or signal.
    pub status: ExitStatus,
    /// CPU time in user mode, in nanoseconds (to the microsecond).
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds (to the microsecond).
    pub system_ns: u64,
    /// The most memory that it had at any time, in KiB.
    pub max_resident_kib: u64,
}

/// Waits for `child` to end.
///
/// # Errors
/// ECHILD: SIGCHLD is ignored, or somebody else has waited for it.
///
/// # References
/// wait4(2), getrusage(2).
pub fn wait_with_usage(child: Child) -> io::Result<Ended> {
    let pid = child.id() as i32;
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers lead to room of the type that wait4(2) writes.
        if unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) } == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: it was zeroed, and all zeros is an rusage; wait4 has filled it.
    let usage = unsafe { usage.assume_init() };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Ok(Ended {
        status: ExitStatus::from_raw(status),
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        max_resident_kib: usage.ru_maxrss as u64,
    })
}

/// Sends `signal` to the process `pid`.
///
/// # Errors
/// ESRCH: there is no such process; EPERM; EINVAL: no signal.
///
/// # References
/// kill(2).
pub fn kill(pid: i32, signal: i32) -> io::Result<()> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    // Every standard signal has a name; real-time signals are not passed on.
    let signal = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(pid, signal)?)
}

/// Sends `signal` to every process of the process group that `leader` made. As long as the leader has not been waited for its number
/// is nobody else's, although it has ended.
///
/// # Errors
/// ESRCH: there is no such group; EPERM: it has no process that may be signalled; EINVAL: no signal.
///
/// # References
/// kill(2), setpgid(2).
pub fn kill_group(leader: i32, signal: i32) -> io::Result<()> {
    let leader = Pid::from_raw(leader).ok_or(io::ErrorKind::InvalidInput)?;
    let signal = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process_group(leader, signal)?)
}

/// Whether the child `pid` is stopped: a terminal stops a whole process group in the background as soon as one of it reads from it or
/// changes it (SIGTTIN, SIGTTOU). The child is not waited for by this, and stays stopped.
///
/// # Errors
/// ECHILD: it is no child, or has been waited for.
///
/// # References
/// waitid(2), termios(3).
pub fn is_stopped(pid: i32) -> io::Result<bool> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(pid), options)?.is_some_and(|status| status.stopped()))
}

/// A file descriptor that becomes readable when the process `pid` ends.
///
/// # Errors
/// ESRCH: there is no such process. ENOSYS before Linux 5.3.
///
/// # References
/// pidfd_open(2).
pub fn pidfd(pid: i32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Waits until one of `fds` is readable or `patience` is over (`None`: for ever), and says which are.
///
/// # Errors
/// ENOMEM.
///
/// # References
/// ppoll(2).
pub fn wait_readable(fds: &[BorrowedFd<'_>], patience: Option<Duration>) -> io::Result<Vec<bool>> {
    let timeout = patience
        .map(|patience| Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: patience.subsec_nanos().into() });
    let mut polled: Vec<PollFd<'_>> = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) => Ok(polled.iter().map(|fd| !fd.revents().is_empty()).collect()),
        Err(rustix::io::Errno::INTR) => Ok(vec![false; fds.len()]),
        Err(error) => Err(error.into()),
    }
}

/// Waits until `fd` takes bytes without blocking (a pipe: PIPE_BUF of them) or `patience` is over, and says whether it does.
/// A peer that is gone counts as taking them: the write says so.
///
/// # Errors
/// ENOMEM.
///
/// # References
/// ppoll(2), pipe(7) "PIPE_BUF".
pub fn wait_writable(fd: BorrowedFd<'_>, patience: Duration) -> io::Result<bool> {
    Ok(!crate::tcp::wait(fd, PollFlags::OUT, Some(patience))?.is_empty())
}

/// Signals that are held back from the calling thread and read instead. When this is dropped they have their effect again.
#[derive(Debug)]
pub struct HeldSignals {
    fd: OwnedFd,
    before: libc::sigset_t,
}

/// A signal that was held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// SIGINT ...
    pub signal: i32,
    /// The kernel sent it (a key of the terminal, a terminal that is gone), to the whole process group at once. Else a
    /// process sent it, maybe to this process alone.
    pub by_kernel: bool,
}

impl HeldSignals {
    /// Holds `signals` back. They are held back from threads that the calling thread starts from now on, too: call it
    /// before there are others. Children inherit it, unless [`release_in_child`](Self::release_in_child) is called.
    ///
    /// # Errors
    /// EINVAL: a number is no signal's. EMFILE, ENFILE, ENOMEM.
    ///
    /// # References
    /// signalfd(2), pthread_sigmask(3).
    pub fn hold(signals: &[i32]) -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset(3) initialises the set that the pointer leads room for.
        check(unsafe { libc::sigemptyset(set.as_mut_ptr()) })?;
        for &signal in signals {
            // SAFETY: the set is initialised; a number that is no signal's is EINVAL.
            check(unsafe { libc::sigaddset(set.as_mut_ptr(), signal) })?;
        }
        // SAFETY: initialised above.
        let set = unsafe { set.assume_init() };
        // SAFETY: the set is initialised and outlives the call, which makes a new descriptor.
        let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        check(fd)?;
        // SAFETY: the descriptor is new and nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: both sets outlive the call; it reads the one and writes the other.
        let status = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, before.as_mut_ptr()) };
        if status != 0 {
            return Err(io::Error::from_raw_os_error(status));
        }
        // SAFETY: the call succeeded, so the set is written.
        Ok(Self { fd, before: unsafe { before.assume_init() } })
    }

    /// The next signal that has come; `None` when none has.
    pub fn next(&self) -> Option<Held> {
        let mut info = [0; size_of::<libc::signalfd_siginfo>()];
        match rustix::io::read(&self.fd, &mut info) {
            Ok(length) if length == info.len() => {
                // SAFETY: the kernel has filled the whole struct, which is made of integers; the bytes need not be aligned.
                let info = unsafe { info.as_ptr().cast::<libc::signalfd_siginfo>().read_unaligned() };
                Some(Held { signal: info.ssi_signo as i32, by_kernel: info.ssi_code > 0 })
            }
            _ => None,
        }
    }

    /// Lets a held signal have the effect on this process that it would have had: SIGTSTP stops it until it is continued, but not
    /// where nobody is left to continue it (in an orphaned process group).
    ///
    /// # Errors
    /// EINVAL: no signal's number.
    pub fn let_through(&self, signal: i32) -> io::Result<()> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset(3) initialises the set that the pointer leads room for.
        check(unsafe { libc::sigemptyset(set.as_mut_ptr()) })?;
        // SAFETY: the set is initialised; a number that is no signal's is EINVAL.
        check(unsafe { libc::sigaddset(set.as_mut_ptr(), signal) })?;
        // SAFETY: initialised above.
        let set = unsafe { set.assume_init() };
        // SAFETY: raise(3) takes any number; the signal is held back, so it waits for this thread.
        check(unsafe { libc::raise(signal) })?;
        for how in [libc::SIG_UNBLOCK, libc::SIG_BLOCK] {
            // SAFETY: the set is initialised and outlives the call. At SIG_UNBLOCK the signal takes its effect, which is
            // the default one or that of a handler that somebody installed for it.
            let status = unsafe { libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut()) };
            if status != 0 {
                return Err(io::Error::from_raw_os_error(status));
            }
        }
        Ok(())
    }

    /// Lets the child of `command` start with the signals as they were before they were held back.
    pub fn release_in_child(&self, command: &mut Command) {
        let before = self.before;
        let release = move || {
            // SAFETY: the set is a copy of one that pthread_sigmask wrote, and outlives the call.
            let status = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
            if status == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(status)) }
        };
        // SAFETY: the closure calls pthread_sigmask alone, which is async-signal-safe, and allocates nothing.
        unsafe { command.pre_exec(release) };
    }
}

impl AsFd for HeldSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        // SAFETY: the set is the one that pthread_sigmask wrote. It cannot fail with a valid `how`.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

fn check(status: libc::c_int) -> io::Result<()> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).stdin(Stdio::null());
        command
    }

    #[test]
    fn a_descriptor_is_inherited_under_its_new_number() {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let mut command = shell("echo inherited >&9");
        inherit(&mut command, write, 9);
        assert!(command.status().unwrap().success());
        drop(command); // it owns the parent's copy
        let mut text = String::new();
        io::Read::read_to_string(&mut std::fs::File::from(read), &mut text).unwrap();
        assert_eq!(text, "inherited\n");
    }

    #[test]
    fn a_child_s_end_and_usage_are_told() {
        let child = shell("exit 7").spawn().unwrap();
        assert_eq!(wait_with_usage(child).unwrap().status.code(), Some(7));
        let mut child = shell("exit 7").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(wait_with_usage(child).unwrap_err().raw_os_error(), Some(libc::ECHILD));
        let busy = shell("i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done").spawn().unwrap();
        let ended = wait_with_usage(busy).unwrap();
        assert!(ended.status.success() && ended.user_ns + ended.system_ns > 0);
    }

    #[test]
    fn a_pidfd_is_readable_once_the_child_has_ended_of_a_signal() {
        let child = shell("exec sleep 1000").spawn().unwrap();
        let pid = child.id() as i32;
        let fd = pidfd(pid).unwrap();
        assert_eq!(wait_readable(&[fd.as_fd()], Some(Duration::ZERO)).unwrap(), [false]);
        kill(pid, libc::SIGTERM).unwrap();
        assert_eq!(wait_readable(&[fd.as_fd()], Some(Duration::from_secs(60))).unwrap(), [true]);
        assert_eq!(wait_with_usage(child).unwrap().status.signal(), Some(libc::SIGTERM));
        assert!(kill(pid, 0x7fff).is_err());
    }

    #[test]
    fn a_whole_group_is_stopped_and_killed() {
        let mut command = shell("sleep 1000 & kill -STOP 0; wait");
        let child = command.process_group(0).spawn().unwrap();
        let pid = child.id() as i32;
        let until = std::time::Instant::now() + Duration::from_secs(60);
        while !is_stopped(pid).unwrap() {
            assert!(std::time::Instant::now() < until, "it has not stopped within a minute");
            std::thread::yield_now();
        }
        assert!(is_stopped(pid).unwrap(), "it was not taken away by asking");
        kill_group(pid, libc::SIGKILL).unwrap();
        assert_eq!(wait_with_usage(child).unwrap().status.signal(), Some(libc::SIGKILL));
        assert!(is_stopped(pid).is_err());
        assert!(kill_group(pid, 0x7fff).is_err());
    }

    #[test]
    fn held_signals_are_read_and_children_have_them_as_before() {
        // In a thread of its own, whose mask goes with it; SIGURG is ignored unless it is held back.
        let test = || {
            let held = HeldSignals::hold(&[libc::SIGURG]).unwrap();
            assert_eq!(held.next(), None);
            // SAFETY: raise(3) takes any number.
            unsafe { libc::raise(libc::SIGURG) };
            assert_eq!(held.next(), Some(Held { signal: libc::SIGURG, by_kernel: false }));
            held.let_through(libc::SIGURG).unwrap();
            assert_eq!(held.next(), None, "it was let through, and had no effect");
            assert!(held.let_through(0x7fff).is_err());
            // What was held back before stays so in the child, what is held back now does not.
            let inner = HeldSignals::hold(&[libc::SIGWINCH]).unwrap();
            let mut command = Command::new("grep"); // not through a shell, which clears its mask
            command.args(["SigBlk", "/proc/self/status"]);
            inner.release_in_child(&mut command);
            let status = String::from_utf8(command.output().unwrap().stdout).unwrap();
            let blocked = u64::from_str_radix(status.split_whitespace().nth(1).unwrap(), 16).unwrap();
            assert_eq!(blocked, 1 << (libc::SIGURG - 1));
        };
        std::thread::scope(|scope| scope.spawn(test).join().unwrap());
        assert!(HeldSignals::hold(&[0]).is_err());
    }
}
