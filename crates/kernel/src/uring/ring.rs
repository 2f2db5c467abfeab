//! A ring, and the number of its outstanding requests.
//!
//! It is set up for one thread that submits and waits. `IORING_SETUP_SINGLE_ISSUER` with
//! `IORING_SETUP_DEFER_TASKRUN` (Linux 6.1) runs completion work only inside that thread's own
//! `io_uring_enter` instead of interrupting it. Kernels without these flags get
//! `IORING_SETUP_COOP_TASKRUN` (5.19) or none.
//!
//! # References
//! - io_uring_setup(2)
//! - io_uring_enter(2)
//! - io_uring_register(2)

use std::io;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use io_uring::types::{CancelBuilder, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, cqueue, squeue};

/// Memory that a ring needs at least, roughly.
const RING_BYTES: usize = 8192;

/// Time that the kernel may take to tear down a closed ring.
const TEARDOWN: Duration = Duration::from_millis(500);

/// One completion queue entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Completion {
    pub(super) user_data: u64,
    pub(super) result: i32,
    /// IORING_CQE_F_MORE: this request will complete again.
    pub(super) more: bool,
    /// IORING_CQE_F_NOTIF: the kernel has released the memory of a zero-copy send.
    pub(super) notification: bool,
    /// IORING_CQE_F_BUFFER: the provided buffer that was used.
    pub(super) buffer: Option<u16>,
}

/// A ring that counts its outstanding requests. Created, used and dropped on one thread, and
/// therefore neither `Send` nor `Sync`.
pub(super) struct Ring {
    io: IoUring,
    /// Pushed requests whose last completion has not been taken out.
    outstanding: usize,
    /// Number of io_uring_enter(2) calls.
    calls: u64,
    bound_to_thread: PhantomData<*const ()>,
}

impl Ring {
    /// Creates a ring for `entries` requests at a time and `completions` completions between two
    /// reaps.
    ///
    /// # Errors
    /// - ENOSYS: the kernel has no io_uring.
    /// - EPERM: `kernel.io_uring_disabled`, or a seccomp filter.
    /// - ENOMEM: RLIMIT_MEMLOCK (before 5.12, and again since 6.14, without CAP_IPC_LOCK).
    /// - EMFILE: RLIMIT_NOFILE.
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
            // A kernel answers EINVAL to an unknown flag.
            if !matches!(&answer, Err(error) if error.raw_os_error() == Some(libc::EINVAL)) {
                break;
            }
        }
        Ok(Self { io: answer?, outstanding: 0, calls: 0, bound_to_thread: PhantomData })
    }

    /// Asks the kernel whether it has the operations `wanted`, given as codes and names
    /// (IORING_REGISTER_PROBE).
    ///
    /// # Errors
    /// `ErrorKind::Unsupported`, with the name of the first missing one.
    pub(super) fn require(&self, wanted: &[(u8, &str)]) -> io::Result<()> {
        let mut probe = Probe::new();
        self.io.submitter().register_probe(&mut probe)?;
        match wanted.iter().find(|(code, _)| !probe.is_supported(*code)) {
            None => Ok(()),
            Some((_, name)) => Err(lacking(name)),
        }
    }

    /// Restricts the worker threads of the calling thread's rings to `cpu`
    /// (IORING_REGISTER_IOWQ_AFF, 5.14). They do not inherit the affinity of the submitting thread.
    pub(super) fn pin_workers(&self, cpu: usize) -> io::Result<()> {
        if cpu >= libc::CPU_SETSIZE as usize {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: cpu_set_t is an array of integers, for which all zeros is a value.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: `cpu` is within the set, as checked above.
        unsafe { libc::CPU_SET(cpu, &mut set) };
        self.io.submitter().register_iowq_aff(&set)
    }

    /// The raw interface, for registrations.
    pub(super) fn submitter(&self) -> io_uring::Submitter<'_> {
        self.io.submitter()
    }

    /// Puts a request into the submission queue. Nothing is started yet.
    ///
    /// # Errors
    /// - EBUSY: the queue is full.
    ///
    /// # Safety
    /// The memory that the request points to must stay valid until this ring has nothing
    /// outstanding ([`outstanding`](Self::outstanding)) at a later time, or forever. If the kernel
    /// writes to it, it must not be accessed until then.
    pub(super) unsafe fn push(&mut self, request: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the caller guarantees what is required here.
        unsafe { self.io.submission().push(request) }
            .map_err(|_| io::Error::from_raw_os_error(libc::EBUSY))?;
        self.outstanding += 1;
        Ok(())
    }

    /// Submits what was pushed, and waits for `want` completions or until `limit` is over. True:
    /// there may be completions. False: the time is over.
    ///
    /// # Errors
    /// Errors of io_uring_enter(2), except interruption by a signal.
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
                    // Completions wait outside the full queue. Reap what is there and call again.
                    Some(libc::EBUSY) => return Ok(true),
                    _ => return Err(error),
                },
            }
        }
    }

    /// Submits what was pushed, waits until nothing is outstanding, and stores each result at the
    /// index in its user data. For requests that complete once.
    ///
    /// # Errors
    /// Same as for [`enter`](Self::enter). Requests may then still be in flight.
    pub(super) fn run(&mut self, results: &mut [i32]) -> io::Result<()> {
        while self.outstanding > 0 {
            self.enter(self.outstanding, None)?;
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
            self.outstanding = self.outstanding.saturating_sub(1);
        }
        Some(Completion {
            user_data: entry.user_data(),
            result: entry.result(),
            more,
            notification: cqueue::notif(entry.flags()),
            buffer: cqueue::buffer_select(entry.flags()),
        })
    }

    /// Number of requests whose last completion has not been taken out.
    pub(super) fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Fails after an earlier failure that left requests in flight.
    pub(super) fn check_idle(&self) -> io::Result<()> {
        if self.outstanding == 0 {
            Ok(())
        } else {
            Err(io::Error::other("an earlier failure left requests in flight"))
        }
    }

    /// Number of io_uring_enter(2) calls so far.
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    /// Cancels what is in flight and waits for it. True: nothing is outstanding any more.
    pub(super) fn quiesce(&mut self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        if self.outstanding > 0 {
            // The answer does not matter: ENOENT (nothing to cancel), EINVAL (before 6.0) and
            // others. The wait below decides.
            let _ = self
                .io
                .submitter()
                .register_sync_cancel(Some(Timespec::from(limit)), CancelBuilder::any());
        }
        while self.outstanding > 0 {
            while self.pop().is_some() {}
            let left = until.saturating_duration_since(Instant::now());
            if self.outstanding == 0 || left.is_zero() || self.enter(1, Some(left)).is_err() {
                break;
            }
        }
        self.outstanding == 0
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring")
            .field("outstanding", &self.outstanding)
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

/// Calls `attempt`, which charges about `bytes` to RLIMIT_MEMLOCK. Repeats it for a while if it
/// fails with ENOMEM although the limit would allow it.
///
/// A kernel thread tears down a closed ring after a grace period, and until then the ring's memory
/// counts against its user.
pub(super) fn within_memlock<T>(
    bytes: usize,
    attempt: impl Fn() -> io::Result<T>,
) -> io::Result<T> {
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

/// Soft limit of locked memory in bytes (RLIMIT_MEMLOCK of getrlimit(2)). `None` is unlimited.
pub(super) fn memlock_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Memlock).current
}

/// The error for a missing feature of this kernel's io_uring.
pub(super) fn lacking(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("this kernel's io_uring has no {what}"))
}

#[cfg(test)]
mod tests {
    use io_uring::{opcode, types};

    use super::*;

    #[test]
    fn a_ring_runs_requests_and_keeps_count_of_them() {
        let Ok(mut ring) =
            Ring::new(8, 16).map_err(|error| eprintln!("skipped: no io_uring: {error}"))
        else {
            return;
        };
        for user_data in 0..3 {
            // SAFETY: a no-operation points to nothing.
            unsafe { ring.push(&opcode::Nop::new().build().user_data(user_data)) }.unwrap();
        }
        assert_eq!(ring.outstanding(), 3);
        let mut results = [-1; 3];
        ring.run(&mut results).unwrap();
        assert_eq!((results, ring.outstanding(), ring.calls()), ([0; 3], 0, 1));
    }

    #[test]
    fn a_full_queue_is_an_error_and_not_lost_requests() {
        let Ok(mut ring) =
            Ring::new(2, 4).map_err(|error| eprintln!("skipped: no io_uring: {error}"))
        else {
            return;
        };
        // SAFETY: no-operations point to nothing.
        let pushed = (0..3).map(|_| unsafe { ring.push(&opcode::Nop::new().build()) });
        assert_eq!(pushed.map(|each| each.is_ok()).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(ring.outstanding(), 2);
        ring.run(&mut []).unwrap();
    }

    #[test]
    fn waiting_is_over_when_its_time_is() {
        let Ok(mut ring) =
            Ring::new(2, 4).map_err(|error| eprintln!("skipped: no io_uring: {error}"))
        else {
            return;
        };
        assert!(!ring.enter(1, Some(Duration::from_millis(1))).unwrap());
    }

    #[test]
    fn requests_in_flight_can_be_cancelled() {
        let Ok(mut ring) =
            Ring::new(2, 4).map_err(|error| eprintln!("skipped: no io_uring: {error}"))
        else {
            return;
        };
        let (end, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let fd = types::Fd(std::os::fd::AsRawFd::as_raw_fd(&end));
        // SAFETY: a poll points to nothing.
        unsafe { ring.push(&opcode::PollAdd::new(fd, libc::POLLIN as u32).build()) }.unwrap();
        ring.enter(0, None).unwrap();
        assert!(ring.quiesce(Duration::from_secs(10)));
    }

    #[test]
    fn an_operation_that_does_not_exist_is_named() {
        let Ok(ring) = Ring::new(2, 4).map_err(|error| eprintln!("skipped: no io_uring: {error}"))
        else {
            return;
        };
        ring.require(&[(opcode::Nop::CODE, "NOP")]).unwrap();
        let error = ring.require(&[(opcode::Nop::CODE, "NOP"), (254, "TELEPATHY")]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert!(error.to_string().contains("TELEPATHY"));
    }

    #[test]
    fn workers_cannot_be_pinned_to_a_cpu_that_does_not_exist() {
        let Ok(ring) = Ring::new(2, 4).map_err(|error| eprintln!("skipped: no io_uring: {error}"))
        else {
            return;
        };
        assert!(ring.pin_workers(usize::MAX).is_err());
    }
}
