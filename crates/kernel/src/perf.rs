//! Samples of what a CPU executes, with the kernel's call stack, by perf_event_open(2): one event
//! and one ring buffer per CPU.
//!
//! The event counts for every task of its CPU. The kernel writes samples to the ring at a fixed
//! frequency, and the reader drains it at any time. A full ring loses samples and reports how many.
//! User stacks are not recorded: a sample taken in user mode has no stack.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::perf_records::Decoder;

pub use crate::perf_records::{Record, Sample};

/// Event that triggers a sample.
///
/// # References
/// [perf_event_open(2)]
///
/// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
#[doc(alias = "perf_event_attr")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// PERF_COUNT_HW_CPU_CYCLES: cycles of the CPU, a hardware counter.
    Cycles,
    /// PERF_COUNT_SW_CPU_CLOCK: a high-resolution timer of the kernel.
    CpuClock,
}

/// `struct perf_event_attr` up to `sample_max_stack` and the two bytes after it:
/// PERF_ATTR_SIZE_VER5, Linux 4.1 and later.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Attr {
    kind: u32,
    size: u32,
    config: u64,
    /// A frequency and not a period, because of [`FREQ`].
    sample_freq: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    bp_addr: u64,
    bp_len: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

impl Attr {
    /// An event that is counted, and whose counts are read in this format.
    pub(crate) fn counted(kind: u32, config: u64, read_format: u64) -> Self {
        Self { kind, size: size_of::<Self>() as u32, config, read_format, ..Self::default() }
    }
}

pub(crate) const PERF_TYPE_HARDWARE: u32 = 0;
pub(crate) const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_TYPE_TRACEPOINT: u32 = 2;
pub(crate) const PERF_COUNT_HW_CPU_CYCLES: u64 = 0;
pub(crate) const PERF_COUNT_SW_CPU_CLOCK: u64 = 0;

const PERF_SAMPLE_TID: u64 = 1 << 1;
const PERF_SAMPLE_TIME: u64 = 1 << 2;
const PERF_SAMPLE_CALLCHAIN: u64 = 1 << 5;

// The bit field of `struct perf_event_attr`.
const DISABLED: u64 = 1;
const EXCLUDE_HV: u64 = 1 << 6;
const FREQ: u64 = 1 << 10;
const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;
const USE_CLOCKID: u64 = 1 << 25;

const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;
const PERF_EVENT_IOC_ENABLE: libc::Ioctl = 0x2400;
const PERF_EVENT_IOC_DISABLE: libc::Ioctl = 0x2401;

/// Offsets of the ring's two positions in `struct perf_event_mmap_page`.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

/// Pages of the ring after its header page. Together 516 KiB, which a user may lock per CPU
/// (kernel.perf_event_mlock_kb).
const PAGES: usize = 128;

/// Opens an event for all tasks of a CPU, in the group that `leader` leads or leading its own.
pub(crate) fn open_event(
    attr: &Attr,
    cpu: usize,
    leader: Option<BorrowedFd<'_>>,
) -> io::Result<OwnedFd> {
    let cpu =
        libc::c_int::try_from(cpu).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let (every_task, group) = (-1, leader.map_or(-1, |leader| leader.as_raw_fd()));
    // SAFETY: the call reads `size` bytes through the pointer, which are those of `attr`.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            ptr::from_ref(attr),
            every_task as libc::pid_t,
            cpu,
            group as libc::c_int,
            PERF_FLAG_FD_CLOEXEC,
        )
    };
    let fd = libc::c_int::try_from(fd).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just made this descriptor, and it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Counts how often one CPU passes a trace point of the kernel, from when this is opened.
///
/// # References
/// - [perf_event_open(2)], `PERF_TYPE_TRACEPOINT`
/// - Linux, Documentation/trace/events.rst
///
/// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
#[doc(alias = "perf_event_open")]
#[derive(Debug)]
pub struct TracePoint {
    fd: OwnedFd,
}

impl TracePoint {
    /// Opens a counter with perf_event_open(2), of the trace point with this `id`: the number in
    /// the file events/GROUP/NAME/id of tracefs.
    ///
    /// # Errors
    /// - EACCES, EPERM: the user lacks CAP_PERFMON.
    /// - ENOENT: there is no such trace point.
    ///
    /// # References
    /// [perf_event_open(2)]
    ///
    /// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
    #[doc(alias = "perf_event_open")]
    pub fn open(id: u64, cpu: usize) -> io::Result<Self> {
        let attr = Attr::counted(PERF_TYPE_TRACEPOINT, id, 0);
        open_event(&attr, cpu, None).map(|fd| Self { fd })
    }

    /// The count so far, by read(2).
    ///
    /// # Errors
    /// None known.
    ///
    /// # References
    /// [perf_event_open(2)], "Reading results"
    ///
    /// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
    #[doc(alias = "read")]
    pub fn passed(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        rustix::io::read(&self.fd, &mut count)?;
        Ok(u64::from_ne_bytes(count))
    }
}

/// The sampling event of one CPU, and its ring.
///
/// # References
/// [perf_event_open(2)]
///
/// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
#[doc(alias = "perf_event_open")]
#[derive(Debug)]
pub struct Sampler {
    fd: OwnedFd,
    start: NonNull<u8>,
    page_bytes: usize,
    decoder: Decoder,
}

// SAFETY: it owns its mapping, which is bound to no thread.
unsafe impl Send for Sampler {}

impl Sampler {
    /// Opens a sampling event for all tasks of `cpu` with perf_event_open(2), disabled, at
    /// `frequency_hz` samples per second.
    ///
    /// # Errors
    /// - EACCES, EPERM: /proc/sys/kernel/perf_event_paranoid is above 0 and the user lacks
    ///   CAP_PERFMON.
    /// - ENOENT, EOPNOTSUPP, ENODEV: no such event here, for example a virtual machine without
    ///   counters.
    /// - EINVAL: the frequency exceeds /proc/sys/kernel/perf_event_max_sample_rate.
    /// - EPERM from mmap(2): more memory than may be locked.
    ///
    /// # References
    /// - [perf_event_open(2)]
    /// - [mmap(2)]
    ///
    /// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
    /// [mmap(2)]: https://man7.org/linux/man-pages/man2/mmap.2.html
    #[doc(alias = "perf_event_open")]
    pub fn open(event: Event, cpu: usize, frequency_hz: u64) -> io::Result<Self> {
        let (kind, config) = match event {
            Event::Cycles => (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES),
            Event::CpuClock => (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK),
        };
        let attr = Attr {
            kind,
            size: size_of::<Attr>() as u32,
            config,
            sample_freq: frequency_hz,
            sample_type: PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
            flags: DISABLED | EXCLUDE_HV | FREQ | EXCLUDE_CALLCHAIN_USER | USE_CLOCKID,
            // Nothing waits for the descriptor.
            wakeup_events: u32::MAX,
            clockid: libc::CLOCK_MONOTONIC,
            ..Attr::default()
        };
        let fd = open_event(&attr, cpu, None)?;
        let page_bytes = crate::pages::page_size();
        let bytes = (1 + PAGES) * page_bytes;
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing.
        let start = unsafe {
            mmap(
                ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                fd.as_fd(),
                0,
            )
        }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { fd, start, page_bytes, decoder: Decoder::default() })
    }

    /// Starts sampling with ioctl(2), PERF_EVENT_IOC_ENABLE.
    ///
    /// # Errors
    /// None known.
    ///
    /// # References
    /// [perf_event_open(2)]
    ///
    /// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
    #[doc(alias = "ioctl")]
    #[doc(alias = "PERF_EVENT_IOC_ENABLE")]
    pub fn enable(&self) -> io::Result<()> {
        self.control(PERF_EVENT_IOC_ENABLE)
    }

    /// Stops sampling with ioctl(2), PERF_EVENT_IOC_DISABLE.
    ///
    /// # Errors
    /// None known.
    ///
    /// # References
    /// [perf_event_open(2)]
    ///
    /// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
    #[doc(alias = "ioctl")]
    #[doc(alias = "PERF_EVENT_IOC_DISABLE")]
    pub fn disable(&self) -> io::Result<()> {
        self.control(PERF_EVENT_IOC_DISABLE)
    }

    fn control(&self, what: libc::Ioctl) -> io::Result<()> {
        // SAFETY: both requests take a number and no pointer.
        let done = unsafe { libc::ioctl(self.fd.as_raw_fd(), what, 0) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Removes all records from the ring and passes them to `take`, oldest first. Makes no system
    /// call.
    ///
    /// # References
    /// [perf_event_open(2)], "MMAP layout"
    ///
    /// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
    #[doc(alias = "data_head")]
    #[doc(alias = "data_tail")]
    pub fn drain(&mut self, take: impl FnMut(Record<'_>)) {
        let head = self.position(DATA_HEAD).load(Ordering::Acquire);
        let tail = self.position(DATA_TAIL).load(Ordering::Relaxed);
        let mut decoder = std::mem::take(&mut self.decoder);
        let at = decoder.records(tail, head, |at, into| self.copy_out(at, into), take);
        self.decoder = decoder;
        self.position(DATA_TAIL).store(at, Ordering::Release);
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: both positions are 8-byte aligned words within the first page of the mapping,
        // which the kernel also accesses as words. The mapping lives as long as `self`.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(offset).cast()) }
    }

    /// Copies from position `at` of the ring, and wraps around its end.
    fn copy_out(&self, at: u64, into: &mut [u8]) {
        let ring_bytes = PAGES * self.page_bytes;
        let from = (at % ring_bytes as u64) as usize;
        let first = into.len().min(ring_bytes - from);
        let (to_end, rest) = into.split_at_mut(first);
        // SAFETY: the ring is the `ring_bytes` after the first page of the mapping. The first part
        // ends at or before its end. The second begins at its start, and is not longer than the
        // rest of a record, which is at most 64 KiB. The kernel writes only from `data_head` up to
        // `data_tail`, and the copied bytes lie between the two.
        unsafe {
            let ring = self.start.as_ptr().add(self.page_bytes);
            ptr::copy_nonoverlapping(ring.add(from), to_end.as_mut_ptr(), to_end.len());
            ptr::copy_nonoverlapping(ring, rest.as_mut_ptr(), rest.len());
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // SAFETY: `open` made the mapping with this start and length, and no reference to it
        // outlives `self`. munmap(2) fails only for arguments that describe no mapping.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), (1 + PAGES) * self.page_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::{clock, sched};

    fn open() -> Option<(usize, Sampler)> {
        let cpu = sched::allowed_cpus().unwrap()[0];
        match Sampler::open(Event::CpuClock, cpu, 5000) {
            Ok(sampler) => Some((cpu, sampler)),
            Err(error) => {
                eprintln!("skipped: the CPU cannot be sampled by this user: {error}");
                None
            }
        }
    }

    #[test]
    fn the_attributes_are_as_long_as_the_kernel_s() {
        assert_eq!(size_of::<Attr>(), 112); // PERF_ATTR_SIZE_VER5
    }

    #[test]
    fn passes_of_a_trace_point_are_counted_where_there_are_any() {
        let id = || {
            crate::netns::mount_own_tracefs().ok()?;
            let place = "/sys/kernel/tracing/events/sched/sched_switch/id";
            std::fs::read_to_string(place).ok()?.trim().parse().ok()
        };
        let id: Option<u64> = std::thread::scope(|scope| scope.spawn(id).join().unwrap());
        let Some(id) = id else {
            return eprintln!("skipped: no trace points here, or not for this user");
        };
        let cpu = sched::allowed_cpus().unwrap()[0];
        let point = match TracePoint::open(id, cpu) {
            Ok(point) => point,
            Err(error) => return eprintln!("skipped: trace points cannot be counted: {error}"),
        };
        let before = point.passed().unwrap();
        on(cpu, || std::thread::sleep(std::time::Duration::from_millis(1)));
        assert!(point.passed().unwrap() > before);
    }

    #[test]
    fn a_trace_point_that_is_not_there_is_an_error() {
        assert!(TracePoint::open(u64::MAX, sched::allowed_cpus().unwrap()[0]).is_err());
    }

    /// Runs `work` pinned to `cpu` in a new thread. Returns the thread's id and the result.
    fn on<T: Send>(cpu: usize, work: impl FnOnce() -> T + Send) -> (i32, T) {
        let whole = || {
            sched::pin(&[cpu]).unwrap();
            (sched::gettid(), work())
        };
        std::thread::scope(|scope| scope.spawn(whole).join().unwrap())
    }

    /// Works until the calling thread has used `cpu_ns` more, half in user mode and half in the
    /// kernel: a share of a few percent may get none of 150 samples.
    fn work_for(cpu_ns: u64) {
        let used_ns = || clock::thread_cpu_ns(sched::gettid()).unwrap();
        let until_ns = used_ns() + cpu_ns;
        let mut page = [0; 4096];
        let mut zero = std::fs::File::open("/dev/zero").unwrap();
        while used_ns() < until_ns {
            let began_ns = used_ns();
            for _ in 0..100 {
                zero.read_exact(&mut page).unwrap();
            }
            let kernel_ns = used_ns() - began_ns;
            while used_ns() < began_ns + 2 * kernel_ns {
                std::hint::black_box((0..1000).fold(1, |a, b| std::hint::black_box(a ^ b)));
            }
        }
    }

    #[test]
    fn a_thread_that_works_is_found_in_user_mode_and_in_the_kernel() {
        let Some((cpu, sampler)) = open() else { return };
        let began_ns = clock::monotonic_ns();
        let (tid, mut sampler) = on(cpu, move || {
            sampler.enable().unwrap();
            work_for(30_000_000);
            sampler.disable().unwrap();
            sampler
        });
        let took = began_ns..=clock::monotonic_ns();
        let (mut user, mut kernel) = (0, 0);
        sampler.drain(|record| {
            let Record::Sample(sample) = record else { return };
            assert!(took.contains(&sample.at_ns));
            assert!(!sample.user || sample.stack.is_empty());
            if sample.tid == tid {
                assert_eq!(sample.pid, std::process::id() as i32);
                if sample.user { user += 1 } else { kernel += 1 }
            }
        });
        assert!(user > 0 && kernel > 0, "{user} in user mode, {kernel} in the kernel");
        let mut more = 0;
        sampler.drain(|_| more += 1);
        assert_eq!(more, 0, "what was taken is gone");
    }

    #[test]
    fn a_ring_that_is_full_says_what_it_lost() {
        let Some((cpu, sampler)) = open() else { return };
        let (_, mut sampler) = on(cpu, move || {
            // The kernel sees room for 7 bytes in the ring.
            sampler.position(DATA_TAIL).store(8, Ordering::Release);
            sampler.enable().unwrap();
            work_for(5_000_000);
            sampler.position(DATA_TAIL).store(0, Ordering::Release);
            work_for(5_000_000);
            sampler.disable().unwrap();
            sampler
        });
        let (mut lost, mut samples) = (0, 0);
        sampler.drain(|record| match record {
            Record::Lost(count) => lost += count,
            Record::Sample(_) => samples += 1,
            Record::Throttled => {}
        });
        assert!(lost > 0 && samples > 0, "{lost} lost, {samples} kept");
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error() {
        assert!(Sampler::open(Event::CpuClock, 99_999, 1000).is_err());
        assert!(Sampler::open(Event::CpuClock, usize::MAX, 1000).is_err());
    }
}
