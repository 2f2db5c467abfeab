//! The guard of real-time threads: one that does not sleep in time becomes an ordinary one.
//!
//! A real-time thread that never sleeps keeps its CPU from everything else. The kernel counts the
//! CPU time of each since it slept last (RLIMIT_RTTIME), and sends SIGXCPU to the one that has
//! exceeded the limit. The handler takes the policy from that thread, so it goes on as any other.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::low_level;

/// The limit of this process's real-time threads.
#[derive(Debug)]
pub struct RealtimeGuard {
    limit: Duration,
    was_exceeded: Arc<AtomicBool>,
}

impl RealtimeGuard {
    /// Limits the CPU time that a real-time thread of this process uses between two sleeps, to a
    /// lower limit if one is in place. The kernel counts in ticks of 1 to 10 ms. Programs that the
    /// process starts inherit the limit. SIGXCPU of RLIMIT_CPU counts as one of this limit.
    ///
    /// # Errors
    /// - EPERM: a seccomp filter.
    ///
    /// # References
    /// - [getrlimit(2)], RLIMIT_RTTIME
    /// - `check_thread_timers` in kernel/time/posix-cpu-timers.c: the signal goes to the thread
    ///   that exceeded the limit, whose soft value then grows by a second.
    ///
    /// [getrlimit(2)]: https://man7.org/linux/man-pages/man2/getrlimit.2.html
    #[doc(alias = "setrlimit")]
    #[doc(alias = "RLIMIT_RTTIME")]
    #[doc(alias = "SIGXCPU")]
    pub fn limit(limit: Duration) -> io::Result<Self> {
        let was_exceeded = Arc::new(AtomicBool::new(false));
        let exceeded = Arc::clone(&was_exceeded);
        let at_signal = move || {
            let param = libc::sched_param { sched_priority: 0 };
            // SAFETY: the call reads one sched_param through the pointer, which outlives it, and
            // may be made in a handler. Thread id 0 is the calling thread, and giving the policy up
            // needs no privilege.
            unsafe {
                libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_OTHER, &raw const param);
            }
            exceeded.store(true, Ordering::Relaxed);
        };
        // SAFETY: the handler makes a system call and stores an atomic. It neither allocates nor
        // locks; what it owns is never dropped, as it is not unregistered.
        unsafe { low_level::register(libc::SIGXCPU, at_signal) }?;
        let Rlimit { current, maximum } = getrlimit(Resource::Rttime);
        // At the hard limit the kernel ends the process.
        let most = maximum.map_or(u64::MAX, |hard_us| hard_us / 2);
        let wanted_us = u64::try_from(limit.as_micros()).unwrap_or(u64::MAX);
        let soft_us = wanted_us.min(most).min(current.unwrap_or(u64::MAX));
        let guard = Self { limit: Duration::from_micros(soft_us), was_exceeded };
        guard.set()?;
        Ok(guard)
    }

    /// Whether a thread has exceeded the limit since this was asked last, and has become an
    /// ordinary one. The limit then applies to the next one as before.
    ///
    /// # Errors
    /// Same as for [`limit`](Self::limit).
    pub fn was_exceeded(&self) -> io::Result<bool> {
        if !self.was_exceeded.swap(false, Ordering::Relaxed) {
            return Ok(false);
        }
        self.set()?;
        Ok(true)
    }

    fn set(&self) -> io::Result<()> {
        let maximum = getrlimit(Resource::Rttime).maximum;
        let current = u64::try_from(self.limit.as_micros()).ok();
        Ok(setrlimit(Resource::Rttime, Rlimit { current, maximum })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::set_round_robin;
    use std::time::Instant;

    /// Policy of the calling thread: field 41 of proc_pid_stat(5).
    fn policy() -> u32 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let after_name = stat.rsplit(')').next().unwrap();
        after_name.split_whitespace().nth(41 - 3).unwrap().parse().unwrap()
    }

    /// Works without a pause under SCHED_RR until the guard says so, or for a second and a half of
    /// CPU time, which is more than the limit grows to. The policy before and after.
    fn runs_on(guard: &RealtimeGuard) -> io::Result<(u32, u32, bool)> {
        let in_a_thread = || {
            set_round_robin(1)?;
            let (before, began) = (policy(), Instant::now());
            while policy() == before && began.elapsed() < Duration::from_secs(5) {}
            Ok((before, policy(), guard.was_exceeded()?))
        };
        std::thread::scope(|scope| scope.spawn(in_a_thread).join().unwrap())
    }

    #[test]
    fn a_real_time_thread_that_does_not_sleep_becomes_an_ordinary_one_each_time() {
        let guard = RealtimeGuard::limit(Duration::from_millis(20)).unwrap();
        assert!(!guard.was_exceeded().unwrap());
        for _ in 0..2 {
            match runs_on(&guard) {
                Ok(found) => assert_eq!(found, (libc::SCHED_RR as u32, 0, true)),
                Err(error) => return eprintln!("skipped: SCHED_RR is not permitted: {error}"),
            }
        }
        assert_eq!(getrlimit(Resource::Rttime).current, Some(20_000), "it has not grown");
    }
}
