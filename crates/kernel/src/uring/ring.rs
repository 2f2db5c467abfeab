//! A ring, and how many completions the kernel still owes it.
//!
//! It is set up for one thread that submits and waits: `IORING_SETUP_SINGLE_ISSUER` with `IORING_SETUP_DEFER_TASKRUN`
//! (Linux 6.1) runs what has to be done for a completion only inside that thread's own `io_uring_enter`, instead of
//! interrupting it; where the kernel does not know these, `IORING_SETUP_COOP_TASKRUN` (5.19), or nothing.

use std::io;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use io_uring::types::{CancelBuilder, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, cqueue, squeue};

/// What a ring takes, roughly: less is never enough.
const RING_BYTES: usize = 8192;

/// How long a ring may take to be taken down after it was closed.
const TEARDOWN: Duration = Duration::from_millis(500);

/// One completion queue entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Completion {
    pub(super) user_data: u64,
    pub(super) result: i32,
    /// IORING_CQE_F_MORE: this request will complete again.
    pub(super) more: bool,
    /// IORING_CQE_F_NOTIF: the kernel has let go of the memory of a zero-copy send.
    pub(super) notification: bool,
    /// IORING_CQE_F_BUFFER: the provided buffer that was used.
    pub(super) buffer: Option<u16>,
}

/// A ring that counts what it is owed. Made, used and dropped on one thread (and therefore neither `Send` nor `Sync`).
pub(super) struct Ring {
    io: IoUring,
    /// Requests pushed whose last completion has not been taken out yet.
    owed: usize,
    /// Calls of io_uring_enter(2).
    calls: u64,
    bound_to_thread: PhantomData<*const ()>,
}

impl Ring {
    /// A ring for `entries` requests at a time and `completions` completions between two harvests.
    ///
    /// # Errors
    /// ENOSYS: not in this kernel. EPERM: `kernel.io_uring_disabled`, or a seccomp filter. ENOMEM: RLIMIT_MEMLOCK
    /// (before 5.12, and again since 6.14, without CAP_IPC_LOCK). EMFILE: RLIMIT_NOFILE.
    pub(super) fn new(entries: u32, completions: u32) -> io::Result<Self> {
        let mut deferred = IoUring::builder();
        deferred.setup_single_issuer().setup_defer_taskrun().setup_submit_all();
        let mut cooperative = IoUring::builder();
        cooperative.setup_coop_taskrun().setup_submit_all();
        let mut plain = IoUring::builder();
        let mut answer = Err(io::Error::from_raw_os_error(libc::EINVAL));
        for builder in [&mut deferred, &mut cooperative, &mut plain] {
            builder.setup_clamp().setup_cqsize(completions.max(2 * entries));
            answer = within_memlock(RING_BYTES, || builder.build(entries));
            // EINVAL is how a kernel says that it does not know a flag.
            if !matches!(&answer, Err(error) if error.raw_os_error() == Some(libc::EINVAL)) {
                break;
            }
        }
        Ok(Self { io: answer?, owed: 0, calls: 0, bound_to_thread: PhantomData })
    }

    /// Asks the kernel whether it has the operations `wanted`, given as their codes and names.
    ///
    /// # Errors
    /// `ErrorKind::Unsupported`, with the name of the first that it has not.
    pub(super) fn require(&self, wanted: &[(u8, &str)]) -> io::Result<()> {
        let mut probe = Probe::new();
        self.io.submitter().register_probe(&mut probe)?;
        match wanted.iter().find(|(code, _)| !probe.is_supported(*code)) {
            None => Ok(()),
            Some((_, name)) => Err(lacking(name)),
        }
    }

    /// Makes the worker threads of the calling thread's rings run on `cpu` only (IORING_REGISTER_IOWQ_AFF, 5.14). They
    /// do not inherit the affinity of the thread that submits.
    pub(super) fn pin_workers(&self, cpu: usize) -> io::Result<()> {
        if cpu >= libc::CPU_SETSIZE as usize {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: cpu_set_t is an array of integers, for which all zeroes is a value.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: `cpu` has just been found to be within the set.
        unsafe { libc::CPU_SET(cpu, &mut set) };
        self.io.submitter().register_iowq_aff(&set)
    }

    /// The raw interface, for registrations.
    pub(super) fn submitter(&self) -> io_uring::Submitter<'_> {
        self.io.submitter()
    }

    /// Puts a request into the submission queue; nothing is started yet.
    ///
    /// # Errors
    /// EBUSY: the queue is full.
    ///
    /// # Safety
    /// What the request points to stays valid, and if the kernel writes to it untouched, until this ring has been owed
    /// nothing ([`owed`](Self::owed)) at some later time, or for ever.
    pub(super) unsafe fn push(&mut self, request: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the caller's promise is the one that is asked for here.
        unsafe { self.io.submission().push(request) }.map_err(|_| io::Error::from_raw_os_error(libc::EBUSY))?;
        self.owed += 1;
        Ok(())
    }

    /// Starts what was pushed and waits until `want` completions are there, or `limit` is over. True: they may be
    /// there (look); false: the time is over.
    ///
    /// # Errors
    /// As io_uring_enter(2); interruption by a signal is none.
    pub(super) fn enter(&mut self, want: usize, limit: Option<Duration>) -> io::Result<bool> {
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            self.calls += 1;
            let answer = match until {
                None => self.io.submit_and_wait(want),
                Some(until) => {
                    let left = Timespec::from(until.saturating_duration_since(Instant::now()));
                    self.io.submitter().submit_with_args(want, &SubmitArgs::new().timespec(&left))
                }
            };
            match answer {
                Ok(_) => return Ok(true),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::ETIME) => return Ok(false),
                    // Completions wait outside the full queue: take out what is there, then come again.
                    Some(libc::EBUSY) => return Ok(true),
                    _ => return Err(error),
                },
            }
        }
    }

    /// Starts what was pushed, waits until nothing is owed, and stores each result at the index in its user data. For
    /// requests that complete once.
    ///
    /// # Errors
    /// As [`enter`](Self::enter); requests may then still be under way.
    pub(super) fn run(&mut self, results: &mut [i32]) -> io::Result<()> {
        while self.owed > 0 {
            self.enter(self.owed, None)?;
            while let Some(completion) = self.pop() {
                if let Some(slot) = results.get_mut(completion.user_data as usize) {
                    *slot = completion.result;
                }
            }
        }
        Ok(())
    }

    /// Takes a completion out of the queue.
    pub(super) fn pop(&mut self) -> Option<Completion> {
        let entry = self.io.completion().next()?;
        let more = cqueue::more(entry.flags());
        if !more {
            self.owed = self.owed.saturating_sub(1);
        }
        Some(Completion {
            user_data: entry.user_data(),
            result: entry.result(),
            more,
            notification: cqueue::notif(entry.flags()),
            buffer: cqueue::buffer_select(entry.flags()),
        })
    }

    /// Requests whose last completion has not been taken out.
    pub(super) fn owed(&self) -> usize {
        self.owed
    }

    /// Refuses to go on after a failure that left requests under way.
    pub(super) fn must_be_idle(&self) -> io::Result<()> {
        if self.owed == 0 { Ok(()) } else { Err(io::Error::other("an earlier failure left requests under way")) }
    }

    /// Calls of io_uring_enter(2) so far.
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    /// Cancels what is under way and waits for it. True: nothing is owed any more.
    pub(super) fn quiesce(&mut self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        if self.owed > 0 {
            // ENOENT (nothing that could be cancelled), EINVAL (before 6.0) and the like: waiting decides.
            let _ = self.io.submitter().register_sync_cancel(Some(Timespec::from(limit)), CancelBuilder::any());
        }
        while self.owed > 0 {
            while self.pop().is_some() {}
            let left = until.saturating_duration_since(Instant::now());
            if self.owed == 0 || left.is_zero() || self.enter(1, Some(left)).is_err() {
                break;
            }
        }
        self.owed == 0
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").field("owed", &self.owed).field("calls", &self.calls).finish_non_exhaustive()
    }
}

/// Does `attempt`, which charges about `bytes` to RLIMIT_MEMLOCK, and does it again for a while if it fails with ENOMEM
/// although the limit allows as much: a ring that was closed is taken down by a kernel thread after a grace period, and
/// until then its memory counts against its user.
pub(super) fn within_memlock<T>(bytes: usize, attempt: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let until = Instant::now() + TEARDOWN;
    loop {
        match attempt() {
            Err(error)
                if error.raw_os_error() == Some(libc::ENOMEM)
                    && memlock_limit().is_none_or(|limit| limit >= bytes as u64)
                    && Instant::now() < until =>
            {
                std::thread::sleep(Duration::from_millis(2));
            }
            answer => return answer,
        }
    }
}

/// The soft limit of locked memory in bytes (RLIMIT_MEMLOCK of getrlimit(2)); none where there is none.
pub(super) fn memlock_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Memlock).current
}

/// The error for something that this kernel's io_uring does not have.
pub(super) fn lacking(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("this kernel's io_uring has no {what}"))
}

#[cfg(test)]
mod tests {
    use io_uring::{opcode, types};

    use super::*;

    #[test]
    fn a_ring_runs_requests_and_keeps_count_of_them() {
        let Ok(mut ring) = Ring::new(8, 16).map_err(|error| eprintln!("skipped: no io_uring: {error}")) else { return };
        for user_data in 0..3 {
            // SAFETY: a no-operation points to nothing.
            unsafe { ring.push(&opcode::Nop::new().build().user_data(user_data)) }.unwrap();
        }
        assert_eq!(ring.owed(), 3);
        let mut results = [-1; 3];
        ring.run(&mut results).unwrap();
        assert_eq!((results, ring.owed(), ring.calls()), ([0; 3], 0, 1));
    }

    #[test]
    fn a_full_queue_is_an_error_and_not_lost_requests() {
        let Ok(mut ring) = Ring::new(2, 4).map_err(|error| eprintln!("skipped: no io_uring: {error}")) else { return };
        // SAFETY: no-operations point to nothing.
        let pushed = (0..3).map(|_| unsafe { ring.push(&opcode::Nop::new().build()) });
        assert_eq!(pushed.map(|each| each.is_ok()).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(ring.owed(), 2);
        ring.run(&mut []).unwrap();
    }

    #[test]
    fn waiting_is_over_when_its_time_is() {
        let Ok(mut ring) = Ring::new(2, 4).map_err(|error| eprintln!("skipped: no io_uring: {error}")) else { return };
        assert!(!ring.enter(1, Some(Duration::from_millis(1))).unwrap());
    }

    #[test]
    fn what_is_under_way_can_be_called_off() {
        let Ok(mut ring) = Ring::new(2, 4).map_err(|error| eprintln!("skipped: no io_uring: {error}")) else { return };
        let (end, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let fd = types::Fd(std::os::fd::AsRawFd::as_raw_fd(&end));
        // SAFETY: a poll points to nothing.
        unsafe { ring.push(&opcode::PollAdd::new(fd, libc::POLLIN as u32).build()) }.unwrap();
        ring.enter(0, None).unwrap();
        assert!(ring.quiesce(Duration::from_secs(10)));
    }

    #[test]
    fn an_operation_that_does_not_exist_is_named() {
        let Ok(ring) = Ring::new(2, 4).map_err(|error| eprintln!("skipped: no io_uring: {error}")) else { return };
        ring.require(&[(opcode::Nop::CODE, "NOP")]).unwrap();
        let error = ring.require(&[(opcode::Nop::CODE, "NOP"), (254, "TELEPATHY")]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert!(error.to_string().contains("TELEPATHY"));
    }

    #[test]
    fn workers_cannot_be_pinned_to_a_cpu_that_does_not_exist() {
        let Ok(ring) = Ring::new(2, 4).map_err(|error| eprintln!("skipped: no io_uring: {error}")) else { return };
        assert!(ring.pin_workers(usize::MAX).is_err());
    }
}
