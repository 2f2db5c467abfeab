//! A ring's descriptor, registered with its thread (`IORING_REGISTER_RING_FDS`, Linux 5.18).
//!
//! io_uring_enter(2) then takes the ring out of a table of the thread, and does not look the
//! descriptor up in that of the process, which takes a reference for every call.
//!
//! The `io-uring` crate remembers a registration in its `Submitter`, which borrows the ring and
//! cannot be kept beside it. So the calls are made here.
//!
//! # References
//! - io_uring_register_ring_fd(3)
//! - io_uring_enter(2), IORING_ENTER_REGISTERED_RING and IORING_ENTER_EXT_ARG

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use io_uring::EnterFlags;
use io_uring::types::Timespec;

/// `IORING_REGISTER_RING_FDS` and `IORING_UNREGISTER_RING_FDS` of include/uapi/linux/io_uring.h.
const REGISTER: libc::c_uint = 20;
const UNREGISTER: libc::c_uint = 21;

/// `struct io_uring_rsrc_update` of include/uapi/linux/io_uring.h.
#[repr(C)]
struct Update {
    offset: u32,
    reserved: u32,
    data: u64,
}

/// `struct io_uring_getevents_arg` of include/uapi/linux/io_uring.h.
#[repr(C)]
struct Arguments {
    sigmask: u64,
    sigmask_bytes: u32,
    min_wait_us: u32,
    timeout: u64,
}

/// Limits of a wait for completions.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wait {
    /// Longest wait.
    pub(super) limit: Option<Duration>,
    /// Time for which to wait for all completions that are wanted. After it one of them is enough
    /// (Linux 6.12).
    pub(super) all_within: Option<Duration>,
}

impl Wait {
    /// Whether the call has no limits to tell the kernel.
    pub(super) fn is_endless(&self) -> bool {
        self.limit.is_none() && self.all_within.is_none()
    }

    /// `all_within` as the kernel takes it, 0 for none.
    pub(super) fn min_wait_us(&self) -> u32 {
        self.all_within.map_or(0, |time| u32::try_from(time.as_micros()).unwrap_or(u32::MAX))
    }
}

/// Index of a ring in the table of the thread that has registered it.
#[derive(Debug)]
pub(super) struct RegisteredRing {
    index: u32,
}

impl RegisteredRing {
    /// Registers `ring` with the calling thread.
    ///
    /// # Errors
    /// - EINVAL: the kernel cannot do that.
    /// - EBUSY: the thread has registered sixteen rings.
    pub(super) fn new(ring: &impl AsRawFd) -> io::Result<Self> {
        let ring = ring.as_raw_fd();
        // The kernel chooses the index, and stores it there.
        let mut update = Update { offset: u32::MAX, reserved: 0, data: ring as u64 };
        register(ring, REGISTER, &mut update)?;
        Ok(Self { index: update.offset })
    }

    /// Takes `ring` out of the table of the calling thread, which has to be the one that registered
    /// it. The table's reference would keep the ring and its memory until the thread ends.
    pub(super) fn unregister(self, ring: &impl AsRawFd) {
        let mut update = Update { offset: self.index, reserved: 0, data: 0 };
        // If it fails, the end of the thread does it.
        let _ = register(ring.as_raw_fd(), UNREGISTER, &mut update);
    }

    /// io_uring_enter(2): submits `submit` requests and waits for `want` completions. `flush` makes
    /// the kernel move completions into the queue that it has kept outside.
    pub(super) fn enter(
        &self,
        submit: usize,
        want: usize,
        flush: bool,
        wait: Wait,
    ) -> io::Result<()> {
        let mut flags = EnterFlags::REGISTERED_RING;
        if want > 0 || flush {
            flags.insert(EnterFlags::GETEVENTS);
        }
        let timeout = wait.limit.map(Timespec::from);
        let arguments = Arguments {
            sigmask: 0,
            sigmask_bytes: 0,
            min_wait_us: wait.min_wait_us(),
            timeout: timeout.as_ref().map_or(0, |timeout| std::ptr::from_ref(timeout) as u64),
        };
        let (argument, bytes) = if wait.is_endless() {
            (std::ptr::null(), 0)
        } else {
            flags.insert(EnterFlags::EXT_ARG);
            (std::ptr::from_ref(&arguments), size_of::<Arguments>())
        };
        // SAFETY: `arguments`, and `timeout` to which it points, live until the call returns, and
        // are laid out as the kernel expects. What the requests point to is the duty of
        // `Ring::push`.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                self.index,
                submit as libc::c_uint,
                want as libc::c_uint,
                flags.bits(),
                argument,
                bytes,
            )
        };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// io_uring_register(2) with one `update`.
fn register(ring: RawFd, operation: libc::c_uint, update: &mut Update) -> io::Result<()> {
    // SAFETY: the kernel reads one `struct io_uring_rsrc_update` and stores its `offset`.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_io_uring_register,
            ring,
            operation,
            std::ptr::from_mut(update),
            1 as libc::c_uint,
        )
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
