//! A ring, and the number of its outstanding requests.
//!
//! It is set up for one thread that submits and waits. `IORING_SETUP_SINGLE_ISSUER` with
//! `IORING_SETUP_DEFER_TASKRUN` (Linux 6.1) runs completion work only inside that thread's own
//! `io_uring_enter` instead of interrupting it. Kernels without these flags get
//! `IORING_SETUP_COOP_TASKRUN` (5.19) or none.
//!
//! A *tuned* ring also has what io_uring's authors advise and programs often leave out, as far as
//! the kernel has it: `IORING_SETUP_NO_SQARRAY` (6.6), its files registered
//! (`IORING_REGISTER_FILES`), and its own descriptor registered (`registered_ring.rs`).
//!
//! # References
//! - io_uring_setup(2)
//! - io_uring_enter(2)
//! - io_uring_register(2)
//! - examples/proxy.c of liburing

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::{Duration, Instant};

use io_uring::types::{self, CancelBuilder, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, cqueue, squeue};

use super::registered_ring::{RegisteredRing, Wait};

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
    /// IORING_CQE_F_SOCK_NONEMPTY: the socket has more bytes.
    pub(super) nonempty: bool,
    /// It was taken for the last one of an outstanding request.
    pub(super) counted: bool,
}

/// A file for requests: by its descriptor, or by its index where it is registered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handle {
    pub(super) fd: types::Fd,
    /// `IOSQE_FIXED_FILE` if it is registered. A request needs them beside `fd`.
    pub(super) flags: squeue::Flags,
}

/// A ring that counts its outstanding requests. Created, used and dropped on one thread, and
/// therefore neither `Send` nor `Sync`.
pub(super) struct Ring {
    io: IoUring,
    /// Pushed requests whose last completion has not been taken out.
    outstanding: usize,
    /// Number of io_uring_enter(2) calls.
    calls: u64,
    /// Its descriptor as registered with this thread.
    registered: Option<RegisteredRing>,
    /// Number of registered files.
    files: usize,
    bound_to_thread: PhantomData<*const ()>,
}

/// Most files that a ring registers. Others are named by their descriptors.
const REGISTERED_FILES: usize = 1024;

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
        Self::with(entries, completions, false)
    }

    /// The same, tuned, with `files` registered as far as the kernel can do that and there is room.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub(super) fn tuned<'a>(
        entries: u32,
        completions: u32,
        files: impl IntoIterator<Item = BorrowedFd<'a>>,
    ) -> io::Result<Self> {
        let mut ring = Self::with(entries, completions, true)?;
        let files: Vec<RawFd> =
            files.into_iter().map(|file| file.as_raw_fd()).take(REGISTERED_FILES).collect();
        if ring.io.submitter().register_files(&files).is_ok() {
            ring.files = files.len();
        }
        ring.registered = RegisteredRing::new(&ring.io).ok();
        Ok(ring)
    }

    fn with(entries: u32, completions: u32, tuned: bool) -> io::Result<Self> {
        let mut without_array = IoUring::builder();
        without_array.setup_single_issuer().setup_defer_taskrun().setup_submit_all();
        without_array.setup_no_sqarray();
        let mut deferred = IoUring::builder();
        deferred.setup_single_issuer().setup_defer_taskrun().setup_submit_all();
        let mut cooperative = IoUring::builder();
        cooperative.setup_coop_taskrun().setup_submit_all();
        let mut plain = IoUring::builder();
        let mut answer = Err(io::Error::from_raw_os_error(libc::EINVAL));
        let builders = [&mut without_array, &mut deferred, &mut cooperative, &mut plain];
        for builder in builders.into_iter().skip(usize::from(!tuned)) {
            builder.setup_clamp().setup_cqsize(completions.max(2 * entries));
            answer = within_memlock(RING_BYTES, || builder.build(entries));
            // A kernel answers EINVAL to an unknown flag.
            if !matches!(&answer, Err(error) if error.raw_os_error() == Some(libc::EINVAL)) {
                break;
            }
        }
        Ok(Self {
            io: answer?,
            outstanding: 0,
            calls: 0,
            registered: None,
            files: 0,
            bound_to_thread: PhantomData,
        })
    }

    /// The file of `fd` for requests, which is number `index` of those that [`tuned`](Self::tuned)
    /// was given.
    pub(super) fn handle(&self, index: usize, fd: &impl AsRawFd) -> Handle {
        if index < self.files {
            // Below REGISTERED_FILES.
            Handle { fd: types::Fd(index as RawFd), flags: squeue::Flags::FIXED_FILE }
        } else {
            Handle { fd: types::Fd(fd.as_raw_fd()), flags: squeue::Flags::empty() }
        }
    }

    /// What the kernel said about itself when the ring was made.
    pub(super) fn features(&self) -> &io_uring::Parameters {
        self.io.params()
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

    /// Puts linked requests into the submission queue which complete once together: all but the
    /// last have `IOSQE_CQE_SKIP_SUCCESS`. The completion is that of the last, or that of the first
    /// which failed; those behind it are cancelled in silence.
    ///
    /// # Errors
    /// - EBUSY: the queue has no room for them.
    ///
    /// # Safety
    /// As for [`push`](Self::push).
    ///
    /// # References
    /// io_uring_enter(2), IOSQE_CQE_SKIP_SUCCESS
    pub(super) unsafe fn push_chain(&mut self, requests: &[squeue::Entry]) -> io::Result<()> {
        // SAFETY: the caller guarantees what is required here.
        unsafe { self.io.submission().push_multiple(requests) }
            .map_err(|_| io::Error::from_raw_os_error(libc::EBUSY))?;
        self.outstanding += 1;
        Ok(())
    }

    /// Counts a completion that [`pop`](Self::pop) took for the last of its request, although the
    /// request was not counted any more.
    pub(super) fn was_uncounted(&mut self) {
        self.outstanding += 1;
    }

    /// Submits what was pushed, and waits for `want` completions or until `limit` is over. True:
    /// there may be completions. False: the time is over.
    ///
    /// # Errors
    /// Errors of io_uring_enter(2), except interruption by a signal.
    pub(super) fn enter(&mut self, want: usize, limit: Option<Duration>) -> io::Result<bool> {
        self.enter_within(want, Wait { limit, all_within: None })
    }

    /// The same with all limits of a wait.
    ///
    /// # Errors
    /// Errors of io_uring_enter(2), except interruption by a signal.
    pub(super) fn enter_within(&mut self, want: usize, wait: Wait) -> io::Result<bool> {
        let until = wait.limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            self.calls += 1;
            let limit = until.map(|until| until.saturating_duration_since(Instant::now()));
            let answer = self.call(want, Wait { limit, ..wait });
            match answer {
                Ok(()) => return Ok(true),
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

    /// One io_uring_enter(2).
    fn call(&mut self, want: usize, wait: Wait) -> io::Result<()> {
        if let Some(ring) = &self.registered {
            let submission = self.io.submission();
            let (submit, flush) = (submission.len(), submission.cq_overflow());
            drop(submission);
            return ring.enter(submit, want, flush, wait);
        }
        if wait.is_endless() {
            return self.io.submit_and_wait(want).map(drop);
        }
        let limit = wait.limit.map(Timespec::from);
        let arguments = SubmitArgs::new().min_wait_usec(wait.min_wait_us());
        let submitter = self.io.submitter();
        match &limit {
            None => submitter.submit_with_args(want, &arguments),
            Some(limit) => submitter.submit_with_args(want, &arguments.timespec(limit)),
        }
        .map(drop)
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
        let counted = !more && self.outstanding > 0;
        self.outstanding -= usize::from(counted);
        Some(Completion {
            user_data: entry.user_data(),
            result: entry.result(),
            more,
            notification: cqueue::notif(entry.flags()),
            buffer: cqueue::buffer_select(entry.flags()),
            nonempty: cqueue::sock_nonempty(entry.flags()),
            counted,
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

impl Drop for Ring {
    fn drop(&mut self) {
        // The kernel tears a closed ring down later. Until then it would hold the files, and a
        // socket that it holds is not closed.
        if self.files > 0 {
            let _ = self.io.submitter().unregister_files();
        }
        if let Some(registered) = self.registered.take() {
            registered.unregister(&self.io);
        }
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
    fn a_tuned_ring_is_entered_by_its_index_and_leaves_room_in_its_thread() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        // A thread has room for sixteen.
        for _ in 0..40 {
            let files = [std::os::fd::AsFd::as_fd(&file)];
            let Ok(mut ring) = Ring::tuned(2, 4, files)
                .map_err(|error| eprintln!("skipped: no io_uring: {error}"))
            else {
                return;
            };
            if ring.registered.is_none() || ring.files != 1 {
                return eprintln!("skipped: this kernel registers no rings, or no files");
            }
            let handle = ring.handle(0, &file);
            assert!(handle.flags.contains(squeue::Flags::FIXED_FILE));
            assert_eq!(ring.handle(1, &file).fd.0, file.as_raw_fd());
            let mut bytes = [0; 4];
            let read = opcode::Read::new(handle.fd, bytes.as_mut_ptr(), 4).build();
            // SAFETY: the buffer lives until the request has completed, which `run` waits for.
            unsafe { ring.push(&read.flags(handle.flags)) }.unwrap();
            let mut results = [-1];
            ring.run(&mut results).unwrap();
            assert_eq!((results, bytes), ([4], *b"\x7fELF"));
            assert!(!ring.enter(1, Some(Duration::from_millis(1))).unwrap());
        }
    }

    #[test]
    fn a_chain_completes_once_and_where_it_failed() {
        let Ok(mut ring) =
            Ring::tuned(8, 16, []).map_err(|error| eprintln!("skipped: no io_uring: {error}"))
        else {
            return;
        };
        if !ring.features().is_feature_skip_cqe_on_success() {
            return eprintln!("skipped: no IOSQE_CQE_SKIP_SUCCESS");
        }
        let silent = squeue::Flags::IO_LINK | squeue::Flags::SKIP_SUCCESS;
        let nop = |number| opcode::Nop::new().build().user_data(number);
        // No such descriptor.
        let fails = opcode::PollAdd::new(types::Fd(-1), 0).build().user_data(1);
        for (second, at) in [(nop(1), 2), (fails, 1)] {
            let chain = [nop(0).flags(silent), second.flags(silent), nop(2)];
            // SAFETY: they point to nothing.
            unsafe { ring.push_chain(&chain) }.unwrap();
            ring.enter(1, None).unwrap();
            let completion = ring.pop().unwrap();
            assert_eq!((completion.user_data, completion.result < 0), (at, at == 1));
            assert!(ring.pop().is_none());
            assert!(!ring.enter(1, Some(Duration::from_millis(1))).unwrap());
            assert_eq!(ring.outstanding(), 0);
        }
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
