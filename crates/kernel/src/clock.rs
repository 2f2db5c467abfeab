//! Clocks: CLOCK_MONOTONIC, sleeping until an absolute time, and the CPU clocks of threads and
//! processes.
//!
//! All times are in nanoseconds as `u64`, which lasts 584 years from boot.

use std::io;
use std::mem::MaybeUninit;

use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::{Timespec, clock_gettime};

use crate::stop::Stop;

const NS_PER_S: u64 = 1_000_000_000;

/// CLOCK_MONOTONIC in ns by clock_gettime(2). All time stamps of zc are of this clock, which starts
/// around boot.
///
/// With a CPU time stamp counter as clock source this is a vDSO call of about 20 ns, otherwise a
/// system call.
///
/// # References
/// - [clock_gettime(2)]
/// - [vdso(7)]
///
/// [clock_gettime(2)]: https://man7.org/linux/man-pages/man2/clock_gettime.2.html
/// [vdso(7)]: https://man7.org/linux/man-pages/man7/vdso.7.html
#[doc(alias = "clock_gettime")]
#[doc(alias = "CLOCK_MONOTONIC")]
pub fn monotonic_ns() -> u64 {
    // rustix's `clock_gettime` cannot fail: its `ClockId` holds only clocks that every kernel has.
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Time for which this machine has been suspended since boot, in ns: the lead of CLOCK_BOOTTIME
/// over CLOCK_MONOTONIC, which stands still during suspension.
///
/// # References
/// [clock_gettime(2)]
///
/// [clock_gettime(2)]: https://man7.org/linux/man-pages/man2/clock_gettime.2.html
#[doc(alias = "clock_gettime")]
#[doc(alias = "CLOCK_BOOTTIME")]
pub fn suspended_ns() -> u64 {
    let monotonic_ns = monotonic_ns();
    nanoseconds(clock_gettime(ClockId::Boottime)).saturating_sub(monotonic_ns)
}

/// The time of the timer's last tick, by CLOCK_MONOTONIC_COARSE, in ns: the kernel's clock at its
/// last update. Ticks come at the same time on all CPUs (but with the kernel's parameter
/// `skew_tick`). A vDSO call of 5 ns.
///
/// # References
/// [clock_gettime(2)]
///
/// [clock_gettime(2)]: https://man7.org/linux/man-pages/man2/clock_gettime.2.html
#[doc(alias = "clock_gettime")]
#[doc(alias = "CLOCK_MONOTONIC_COARSE")]
pub fn last_tick_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::MonotonicCoarse))
}

/// Sleeps until CLOCK_MONOTONIC reaches `at_ns` with clock_nanosleep(2), TIMER_ABSTIME, and
/// restarts after signals. Returns at once if that time has passed.
///
/// The delay of the wake-up depends on the thread's scheduling policy and timer slack (50 us unless
/// lowered by [`set_timer_slack`](crate::sched::set_timer_slack)).
///
/// # References
/// [clock_nanosleep(2)]
///
/// [clock_nanosleep(2)]: https://man7.org/linux/man-pages/man2/clock_nanosleep.2.html
#[doc(alias = "clock_nanosleep")]
pub fn sleep_until(at_ns: u64) {
    // An absolute sleep can be restarted with the same argument.
    while nap_until(at_ns).is_err() && monotonic_ns() < at_ns {}
}

/// Sleeps until CLOCK_MONOTONIC reaches `at_ns` with clock_nanosleep(2). Returns true if `stop` was
/// set first.
///
/// A flag set by a signal handler is noticed at once where the signal interrupts this thread, and
/// within 100 ms where it interrupts another one.
///
/// # References
/// [clock_nanosleep(2)]
///
/// [clock_nanosleep(2)]: https://man7.org/linux/man-pages/man2/clock_nanosleep.2.html
#[doc(alias = "clock_nanosleep")]
pub fn sleep_until_or_stop(at_ns: u64, stop: &Stop) -> bool {
    // A signal between the check of the flag and the sleep does not end the sleep, so every sleep
    // is short.
    const STEP_NS: u64 = 100_000_000;
    while !stop.is_set() {
        let now_ns = monotonic_ns();
        if now_ns >= at_ns {
            return false;
        }
        // Interrupted or not, the flag and the clock are looked at.
        let _ = nap_until(at_ns.min(now_ns + STEP_NS));
    }
    true
}

/// Sleeps until `at_ns` or until a signal has been handled.
///
/// # Errors
/// - EINTR: the only one possible with a valid clock and a valid time.
fn nap_until(at_ns: u64) -> rustix::io::Result<()> {
    // Neither part can overflow: u64::MAX ns is 18,446,744,073 s.
    let request = Timespec { tv_sec: (at_ns / NS_PER_S) as i64, tv_nsec: (at_ns % NS_PER_S) as _ };
    clock_nanosleep_absolute(ClockId::Monotonic, &request)
}

/// CPU time, user and system, of the thread `tid` of this process in ns, by clock_gettime(2).
///
/// It is the scheduler's exact sum, not sampled ticks. Without CONFIG_IRQ_TIME_ACCOUNTING it
/// includes interrupts and softirqs that ran on top of the thread.
///
/// # Errors
/// - EINVAL: this process has no such thread.
///
/// # References
/// - [clock_gettime(2)]
/// - [clock_getcpuclockid(3)]
/// - `CPUCLOCK_PERTHREAD_MASK` and `CPUCLOCK_SCHED` in include/linux/posix-timers_types.h: the
///   clock id of a thread is `(~tid << 3) | 6`
///
/// [clock_gettime(2)]: https://man7.org/linux/man-pages/man2/clock_gettime.2.html
/// [clock_getcpuclockid(3)]: https://man7.org/linux/man-pages/man3/clock_getcpuclockid.3.html
#[doc(alias = "clock_gettime")]
#[doc(alias = "pthread_getcpuclockid")]
pub fn thread_cpu_ns(tid: i32) -> io::Result<u64> {
    cpu_clock_ns(tid, 6)
}

/// CPU time, user and system, of all threads of this process in ns, by clock_gettime(2),
/// CLOCK_PROCESS_CPUTIME_ID. Includes threads that have ended.
///
/// # References
/// [clock_gettime(2)]
///
/// [clock_gettime(2)]: https://man7.org/linux/man-pages/man2/clock_gettime.2.html
#[doc(alias = "clock_gettime")]
#[doc(alias = "CLOCK_PROCESS_CPUTIME_ID")]
pub fn process_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// CPU time, user and system, of all threads of the process `pid` in ns, by clock_gettime(2).
///
/// # Errors
/// - EINVAL: no such process.
///
/// # References
/// - [clock_gettime(2)]
/// - [clock_getcpuclockid(3)]: the clock id of a process is `(~pid << 3) | 2`
///
/// [clock_gettime(2)]: https://man7.org/linux/man-pages/man2/clock_gettime.2.html
/// [clock_getcpuclockid(3)]: https://man7.org/linux/man-pages/man3/clock_getcpuclockid.3.html
#[doc(alias = "clock_gettime")]
#[doc(alias = "clock_getcpuclockid")]
pub fn cpu_ns_of_process(pid: i32) -> io::Result<u64> {
    cpu_clock_ns(pid, 2)
}

/// CPU time of the calling thread in ns, by clock_gettime(2), CLOCK_THREAD_CPUTIME_ID.
///
/// # References
/// [clock_gettime(2)]
///
/// [clock_gettime(2)]: https://man7.org/linux/man-pages/man2/clock_gettime.2.html
#[doc(alias = "clock_gettime")]
#[doc(alias = "CLOCK_THREAD_CPUTIME_ID")]
pub fn own_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// Reads the CPU clock of the thread or process `id`, which rustix cannot name. `kind` is the low
/// three bits of the clock id.
fn cpu_clock_ns(id: i32, kind: i32) -> io::Result<u64> {
    // An id that overflows into the three bits would name another clock. Ids end at 2^22
    // (PID_MAX_LIMIT).
    if !(0..=i32::MAX >> 3).contains(&id) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let clock: libc::clockid_t = (!id << 3) | kind;
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: clock_gettime(2) writes one timespec through the pointer, which points to room for
    // one. It takes any integer as a clock id and answers EINVAL to an invalid one.
    let status = unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so the timespec is written.
    let time = unsafe { time.assume_init() };
    Ok(time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64)
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::gettid;

    #[test]
    fn the_monotonic_clock_does_not_go_back() {
        let times: Vec<u64> = (0..1000).map(|_| monotonic_ns()).collect();
        assert!(times.is_sorted());
    }

    #[test]
    fn the_time_of_suspension_stands_still_while_the_machine_is_awake() {
        let before_ns = suspended_ns();
        // Between two readings of the clocks this thread may lose its CPU.
        assert!(suspended_ns().abs_diff(before_ns) < 60_000_000_000);
    }

    #[test]
    fn a_sleep_ends_no_sooner_than_asked() {
        let at = monotonic_ns() + 2_000_000;
        sleep_until(at);
        assert!(monotonic_ns() >= at);
        sleep_until(0);
    }

    #[test]
    fn a_sleep_ends_when_the_stop_flag_is_set() {
        let stop = Stop::default();
        let at = monotonic_ns() + 2_000_000;
        assert!(!sleep_until_or_stop(at, &stop));
        assert!(monotonic_ns() >= at);
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| sleep_until_or_stop(u64::MAX, &stop));
            stop.set();
            assert!(sleeper.join().unwrap());
        });
        assert!(sleep_until_or_stop(0, &stop));
    }

    #[test]
    fn a_thread_is_seen_to_use_cpu_from_another_thread() {
        let tid = gettid();
        std::thread::scope(|scope| {
            let other = scope.spawn(move || {
                let before = thread_cpu_ns(tid).unwrap();
                while thread_cpu_ns(tid).unwrap() < before + 100_000 {
                    std::thread::yield_now();
                }
            });
            while !other.is_finished() {
                std::hint::black_box(monotonic_ns());
            }
        });
        assert!(own_cpu_ns() >= 100_000);
        assert!(process_cpu_ns() >= own_cpu_ns());
    }

    #[test]
    fn another_process_s_clock_is_this_one_s_when_it_is_this_one() {
        let before = process_cpu_ns();
        let other = cpu_ns_of_process(std::process::id() as i32).unwrap();
        // The sum over threads is not quite monotonic while threads of other tests run and end: the
        // kernel adds them up one by one (thread_group_sample_cputime). The clock of another
        // process would be off by far more than a tick.
        const TICK_NS: u64 = 10_000_000;
        assert!((before.saturating_sub(TICK_NS)..=process_cpu_ns() + TICK_NS).contains(&other));
        for no_process in [-1, 1 << 22, i32::MAX >> 3, i32::MAX] {
            assert_eq!(
                cpu_ns_of_process(no_process).unwrap_err().raw_os_error(),
                Some(libc::EINVAL),
                "{no_process}"
            );
        }
    }

    #[test]
    fn a_thread_of_another_process_is_an_error() {
        // Process 1 is never this one, and exists in every PID namespace.
        assert_eq!(thread_cpu_ns(1).unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }
}
