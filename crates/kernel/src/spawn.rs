//! Child processes: inherited descriptors, exit status and usage, and forwarding of signals.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, pidfd_open,
    waitid,
};

/// Passes `fd` to the child of `command` as file descriptor `number` (3 or more) with dup2(2)
/// between fork and exec. Other children do not inherit it.
///
/// # References
/// - [dup2(2)]
/// - [fcntl(2)], F_SETFD
///
/// [dup2(2)]: https://man7.org/linux/man-pages/man2/dup2.2.html
/// [fcntl(2)]: https://man7.org/linux/man-pages/man2/fcntl.2.html
#[doc(alias = "dup2")]
pub fn inherit(command: &mut Command, fd: OwnedFd, number: RawFd) {
    let place = move || {
        if fd.as_raw_fd() == number {
            // dup2 of a descriptor onto itself would leave its close-on-exec flag set. SAFETY:
            // F_SETFD takes a number and a descriptor, which is open here.
            check(unsafe { libc::fcntl(number, libc::F_SETFD, 0) })
        } else {
            // SAFETY: the closure owns `fd`, so it is open. dup2 closes what `number` was in the
            // child. Between fork and exec only the pipe on which exec reports its failure is in
            // use. It is close-on-exec and above the numbers in use; without it a failure would
            // still be an error of the parent.
            check(unsafe { libc::dup2(fd.as_raw_fd(), number) })
        }
    };
    // SAFETY: the closure makes one system call, which is async-signal-safe, and allocates nothing.
    unsafe { command.pre_exec(place) };
}

/// Has the kernel kill the child of `command` when the thread that starts it ends, by
/// PR_SET_PDEATHSIG between fork and exec: even after SIGKILL of this process nothing runs on.
///
/// # References
/// [PR_SET_PDEATHSIG(2const)]
///
/// [PR_SET_PDEATHSIG(2const)]:
///   https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
#[doc(alias = "prctl")]
#[doc(alias = "PR_SET_PDEATHSIG")]
pub fn end_with_this_process(command: &mut Command) {
    let parent = rustix::process::getpid();
    let bind = move || {
        crate::process::end_with_parent()?;
        // It may have ended before the call.
        match rustix::process::getppid() == Some(parent) {
            true => Ok(()),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    };
    // SAFETY: the closure makes two system calls, which are async-signal-safe, and allocates
    // nothing: an error of a kind alone has no memory of its own.
    unsafe { command.pre_exec(bind) };
}

/// Moves the calling process into a new session without a controlling terminal with setsid(2), and
/// so into a new autogroup where the kernel has autogroups.
///
/// # Errors
/// - EPERM: the process leads a process group.
///
/// # References
/// - [setsid(2)]
/// - [sched(7)], "The autogroup feature"
///
/// [setsid(2)]: https://man7.org/linux/man-pages/man2/setsid.2.html
/// [sched(7)]: https://man7.org/linux/man-pages/man7/sched.7.html
#[doc(alias = "setsid")]
pub fn new_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Exit status and resource usage of a child. The usage includes descendants that were waited for.
///
/// # References
/// - [wait4(2)]
/// - [getrusage(2)]
///
/// [wait4(2)]: https://man7.org/linux/man-pages/man2/wait4.2.html
/// [getrusage(2)]: https://man7.org/linux/man-pages/man2/getrusage.2.html
#[doc(alias = "rusage")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Exit code or signal.
    pub status: ExitStatus,
    /// User CPU time in ns, with a resolution of 1 us.
    pub user_ns: u64,
    /// System CPU time in ns, with a resolution of 1 us.
    pub system_ns: u64,
    /// Peak resident memory in KiB.
    pub max_resident_kib: u64,
}

/// Waits for `child` to end with wait4(2), and restarts after signals.
///
/// # Errors
/// - ECHILD: SIGCHLD is ignored, or the child has already been waited for.
///
/// # References
/// - [wait4(2)]
/// - [getrusage(2)]
///
/// [wait4(2)]: https://man7.org/linux/man-pages/man2/wait4.2.html
/// [getrusage(2)]: https://man7.org/linux/man-pages/man2/getrusage.2.html
#[doc(alias = "wait4")]
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

/// Sends `signal` to the process `pid` with kill(2).
///
/// # Errors
/// - ESRCH: no such process.
/// - EPERM: not permitted.
/// - EINVAL: no such signal.
///
/// # References
/// [kill(2)]
///
/// [kill(2)]: https://man7.org/linux/man-pages/man2/kill.2.html
pub fn kill(pid: i32, signal: i32) -> io::Result<()> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    // Every standard signal has a name. Real-time signals are not forwarded.
    let signal = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(pid, signal)?)
}

/// Sends `signal` to every process of the process group of `leader` with kill(2). The number stays
/// reserved until the leader has been waited for, even after it has ended.
///
/// # Errors
/// - ESRCH: no such group.
/// - EPERM: no process of the group may be signalled.
/// - EINVAL: no such signal.
///
/// # References
/// - [kill(2)]
/// - [setpgid(2)]
///
/// [kill(2)]: https://man7.org/linux/man-pages/man2/kill.2.html
/// [setpgid(2)]: https://man7.org/linux/man-pages/man2/setpgid.2.html
#[doc(alias = "kill")]
#[doc(alias = "killpg")]
pub fn kill_group(leader: i32, signal: i32) -> io::Result<()> {
    let leader = Pid::from_raw(leader).ok_or(io::ErrorKind::InvalidInput)?;
    let signal = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process_group(leader, signal)?)
}

/// Whether the child `pid` is stopped, by waitid(2) with WNOWAIT. The child is not reaped and stays
/// stopped.
///
/// A terminal stops a whole background process group as soon as one of its processes reads from the
/// terminal or changes it (SIGTTIN, SIGTTOU).
///
/// # Errors
/// - ECHILD: not a child, or already waited for.
///
/// # References
/// - [waitid(2)]
/// - [termios(3)]
///
/// [waitid(2)]: https://man7.org/linux/man-pages/man2/waitid.2.html
/// [termios(3)]: https://man7.org/linux/man-pages/man3/termios.3.html
#[doc(alias = "waitid")]
pub fn is_stopped(pid: i32) -> io::Result<bool> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(pid), options)?.is_some_and(|status| status.stopped()))
}

/// Opens a file descriptor that becomes readable when the process `pid` ends, with pidfd_open(2).
///
/// # Errors
/// - ESRCH: no such process.
/// - ENOSYS: before Linux 5.3.
///
/// # References
/// [pidfd_open(2)]
///
/// [pidfd_open(2)]: https://man7.org/linux/man-pages/man2/pidfd_open.2.html
#[doc(alias = "pidfd_open")]
pub fn pidfd(pid: i32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Waits with ppoll(2) until one of `fds` is readable or `patience` is over (`None`: forever), and
/// returns which are. A signal ends the wait with none.
///
/// # Errors
/// - ENOMEM: no kernel memory.
///
/// # References
/// [ppoll(2)]
///
/// [ppoll(2)]: https://man7.org/linux/man-pages/man2/ppoll.2.html
#[doc(alias = "ppoll")]
#[doc(alias = "poll")]
pub fn wait_readable(fds: &[BorrowedFd<'_>], patience: Option<Duration>) -> io::Result<Vec<bool>> {
    let timeout = patience.map(|patience| Timespec {
        tv_sec: patience.as_secs() as i64,
        tv_nsec: patience.subsec_nanos().into(),
    });
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) => Ok(polled.iter().map(|fd| !fd.revents().is_empty()).collect()),
        Err(rustix::io::Errno::INTR) => Ok(vec![false; fds.len()]),
        Err(error) => Err(error.into()),
    }
}

/// Whether the peer of a socket has closed its sending side, or the writers of a pipe have all
/// closed it, by poll(2). Bytes sent before may still be unread.
///
/// # Errors
/// - ENOMEM: no kernel memory.
///
/// # References
/// [poll(2)], POLLRDHUP and POLLHUP
///
/// [poll(2)]: https://man7.org/linux/man-pages/man2/poll.2.html
#[doc(alias = "POLLRDHUP")]
pub fn is_hung_up(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let found = crate::tcp::wait(fd, PollFlags::RDHUP, Some(Duration::ZERO))?;
    Ok(found.intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR))
}

/// Waits with ppoll(2) until `fd` accepts bytes without blocking (a pipe: PIPE_BUF of them) or
/// `patience` is over, and returns whether it does. A closed peer counts as accepting: the write
/// reports it.
///
/// # Errors
/// - ENOMEM: no kernel memory.
///
/// # References
/// - [ppoll(2)]
/// - [pipe(7)], "PIPE_BUF"
///
/// [ppoll(2)]: https://man7.org/linux/man-pages/man2/ppoll.2.html
/// [pipe(7)]: https://man7.org/linux/man-pages/man7/pipe.7.html
#[doc(alias = "ppoll")]
#[doc(alias = "poll")]
pub fn wait_writable(fd: BorrowedFd<'_>, patience: Duration) -> io::Result<bool> {
    Ok(!crate::tcp::wait(fd, PollFlags::OUT, Some(patience))?.is_empty())
}

/// Signals that are blocked in the calling thread and read from a signalfd. Dropping this restores
/// the signal mask.
///
/// # References
/// [signalfd(2)]
///
/// [signalfd(2)]: https://man7.org/linux/man-pages/man2/signalfd.2.html
#[doc(alias = "signalfd")]
#[derive(Debug)]
pub struct HeldSignals {
    fd: OwnedFd,
    before: libc::sigset_t,
}

/// A signal read from the signalfd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Signal number, such as SIGINT.
    pub signal: i32,
    /// Whether the kernel sent it (a terminal key, a terminal that is gone), and so to the whole
    /// process group. Otherwise a process sent it, maybe to this process alone.
    pub by_kernel: bool,
}

impl HeldSignals {
    /// Blocks `signals` with pthread_sigmask(3) and opens a signalfd(2) for them.
    ///
    /// Threads that the calling thread starts later inherit the mask, so call this before starting
    /// any. Child processes inherit it too, unless [`release_in_child`](Self::release_in_child) is
    /// called.
    ///
    /// # Errors
    /// - EINVAL: not a signal number.
    /// - EMFILE, ENFILE, ENOMEM: no file descriptors or no memory left.
    ///
    /// # References
    /// - [signalfd(2)]
    /// - [pthread_sigmask(3)]
    ///
    /// [signalfd(2)]: https://man7.org/linux/man-pages/man2/signalfd.2.html
    /// [pthread_sigmask(3)]: https://man7.org/linux/man-pages/man3/pthread_sigmask.3.html
    #[doc(alias = "signalfd")]
    #[doc(alias = "pthread_sigmask")]
    pub fn hold(signals: &[i32]) -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset(3) initialises the set, for which the pointer has room.
        check(unsafe { libc::sigemptyset(set.as_mut_ptr()) })?;
        for &signal in signals {
            // SAFETY: the set is initialised. An invalid signal number is EINVAL.
            check(unsafe { libc::sigaddset(set.as_mut_ptr(), signal) })?;
        }
        // SAFETY: initialised above.
        let set = unsafe { set.assume_init() };
        // SAFETY: the set is initialised and outlives the call, which makes a new descriptor.
        let fd =
            unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        check(fd)?;
        // SAFETY: the descriptor is new and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: both sets outlive the call, which reads one and writes the other.
        let status =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, before.as_mut_ptr()) };
        if status != 0 {
            return Err(io::Error::from_raw_os_error(status));
        }
        // SAFETY: the call succeeded, so the set is written.
        Ok(Self { fd, before: unsafe { before.assume_init() } })
    }

    /// Reads the next pending signal from the signalfd with read(2). `None` when there is none.
    ///
    /// # References
    /// [signalfd(2)]
    ///
    /// [signalfd(2)]: https://man7.org/linux/man-pages/man2/signalfd.2.html
    #[doc(alias = "read")]
    pub fn next(&self) -> Option<Held> {
        let mut info = [0; size_of::<libc::signalfd_siginfo>()];
        match rustix::io::retry_on_intr(|| rustix::io::read(&self.fd, &mut info)) {
            Ok(length) if length == info.len() => {
                // SAFETY: the kernel has filled the whole struct, which consists of integers. The
                // read allows any alignment.
                let info =
                    unsafe { info.as_ptr().cast::<libc::signalfd_siginfo>().read_unaligned() };
                Some(Held { signal: info.ssi_signo as i32, by_kernel: info.ssi_code > 0 })
            }
            _ => None,
        }
    }

    /// Lets a blocked signal take effect on this process: raises it with raise(3) and unblocks it
    /// for a moment.
    ///
    /// SIGTSTP stops the process until it is continued, except in an orphaned process group, where
    /// nothing could continue it.
    ///
    /// # Errors
    /// - EINVAL: not a signal number.
    ///
    /// # References
    /// - [raise(3)]
    /// - [pthread_sigmask(3)]
    ///
    /// [raise(3)]: https://man7.org/linux/man-pages/man3/raise.3.html
    /// [pthread_sigmask(3)]: https://man7.org/linux/man-pages/man3/pthread_sigmask.3.html
    #[doc(alias = "raise")]
    pub fn let_through(&self, signal: i32) -> io::Result<()> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset(3) initialises the set, for which the pointer has room.
        check(unsafe { libc::sigemptyset(set.as_mut_ptr()) })?;
        // SAFETY: the set is initialised. An invalid signal number is EINVAL.
        check(unsafe { libc::sigaddset(set.as_mut_ptr(), signal) })?;
        // SAFETY: initialised above.
        let set = unsafe { set.assume_init() };
        // SAFETY: raise(3) takes any number. The signal is blocked, so it stays pending for this
        // thread.
        check(unsafe { libc::raise(signal) })?;
        for how in [libc::SIG_UNBLOCK, libc::SIG_BLOCK] {
            // SAFETY: the set is initialised and outlives the call. At SIG_UNBLOCK the signal takes
            // effect: the default action, or an installed handler.
            let status =
                unsafe { libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut()) };
            if status != 0 {
                return Err(io::Error::from_raw_os_error(status));
            }
        }
        Ok(())
    }

    /// Restores the earlier signal mask in the child of `command` with pthread_sigmask(3).
    ///
    /// # References
    /// [pthread_sigmask(3)]
    ///
    /// [pthread_sigmask(3)]: https://man7.org/linux/man-pages/man3/pthread_sigmask.3.html
    #[doc(alias = "pthread_sigmask")]
    pub fn release_in_child(&self, command: &mut Command) {
        let before = self.before;
        let release = move || {
            // SAFETY: the set is a copy of one that pthread_sigmask wrote, and outlives the call.
            let status = unsafe {
                libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut())
            };
            if status == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(status)) }
        };
        // SAFETY: the closure calls only pthread_sigmask, which is async-signal-safe, and allocates
        // nothing.
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
        // SAFETY: pthread_sigmask wrote the set. The call cannot fail with a valid `how`.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut())
        };
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
    fn a_child_ends_with_the_thread_that_started_it() {
        let started = std::thread::scope(|scope| {
            let start = || {
                let mut command = Command::new("sleep");
                command.arg("60");
                end_with_this_process(&mut command);
                command.spawn().unwrap()
            };
            std::thread::Builder::new().spawn_scoped(scope, start).unwrap().join()
        });
        let mut child = started.unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_child_s_exit_status_and_usage_are_returned() {
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
        assert!(is_stopped(pid).unwrap(), "asking does not reap it");
        kill_group(pid, libc::SIGKILL).unwrap();
        assert_eq!(wait_with_usage(child).unwrap().status.signal(), Some(libc::SIGKILL));
        assert!(is_stopped(pid).is_err());
        assert!(kill_group(pid, 0x7fff).is_err());
    }

    #[test]
    fn held_signals_are_read_and_children_get_the_earlier_mask() {
        // In a thread of its own, whose mask ends with it. SIGURG is ignored unless it is blocked.
        let test = || {
            let held = HeldSignals::hold(&[libc::SIGURG]).unwrap();
            assert_eq!(held.next(), None);
            // SAFETY: raise(3) takes any number.
            unsafe { libc::raise(libc::SIGURG) };
            assert_eq!(held.next(), Some(Held { signal: libc::SIGURG, by_kernel: false }));
            held.let_through(libc::SIGURG).unwrap();
            assert_eq!(held.next(), None, "it was delivered, and is ignored by default");
            assert!(held.let_through(0x7fff).is_err());
            // A signal blocked before stays blocked in the child. One blocked by `inner` does not.
            let inner = HeldSignals::hold(&[libc::SIGWINCH]).unwrap();
            let mut command = Command::new("grep"); // not through a shell, which clears its mask
            command.args(["SigBlk", "/proc/self/status"]);
            inner.release_in_child(&mut command);
            let status = String::from_utf8(command.output().unwrap().stdout).unwrap();
            let blocked =
                u64::from_str_radix(status.split_whitespace().nth(1).unwrap(), 16).unwrap();
            assert_eq!(blocked, 1 << (libc::SIGURG - 1));
        };
        std::thread::scope(|scope| scope.spawn(test).join().unwrap());
        assert!(HeldSignals::hold(&[0]).is_err());
    }

    #[test]
    fn a_pipe_accepts_bytes_until_it_is_full_and_once_its_reader_is_gone() {
        let (reader, mut writer) = io::pipe().unwrap();
        assert!(wait_writable(writer.as_fd(), Duration::ZERO).unwrap());
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        while io::Write::write(&mut writer, &[0; 4096]).is_ok() {}
        assert!(!wait_writable(writer.as_fd(), Duration::ZERO).unwrap());
        drop(reader);
        assert!(wait_writable(writer.as_fd(), Duration::from_secs(10)).unwrap());
    }
}
