//! Scheduling: SCHED_IDLE, CPU affinity, timer slack.
//!
//! What is set here is set for the calling thread alone, and ends with it.

use std::io;
use std::num::NonZeroU64;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity, set_current_timer_slack};

/// Gives the calling thread the scheduling class SCHED_IDLE: it runs when nothing else of its task group wants the CPU,
/// and has a weight of 3 beside the 1024 of a normal thread when something does. It ranks only inside its own autogroup
/// or cgroup; between groups the groups' weights decide. The system call is made raw, because musl's wrapper
/// answers ENOSYS.
///
/// # Errors
/// EPERM or ENOSYS from a seccomp filter. The kernel itself lets every thread lower itself.
///
/// # References
/// sched_setscheduler(2), sched(7) ("SCHED_IDLE", "The autogroup feature").
pub fn set_idle() -> io::Result<()> {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads one sched_param through the pointer, which outlives it. Thread id 0 is the calling thread.
    let status = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const param) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Gives the calling thread the real-time scheduling policy SCHED_RR with `priority` (1 to 99). What it forks or starts inherits
/// it.
///
/// # Errors
/// EPERM: that takes CAP_SYS_NICE or RLIMIT_RTPRIO; also for root in a cgroup that has no share of real time. EINVAL: no such
/// priority.
///
/// # References
/// sched_setscheduler(2), sched(7).
pub fn set_round_robin(priority: i32) -> io::Result<()> {
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: the call reads one sched_param through the pointer, which outlives it. Thread id 0 is the calling thread.
    let status = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_RR, &raw const param) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the nice value of the calling thread (in Linux it is the thread's, not the process's), -20 to 19. Beside SCHED_IDLE
/// it changes no weight, but the ticks of a thread with a positive nice value stand in the `nice` column of
/// /proc/stat.
///
/// # Errors
/// EACCES: the value is lower than the present one, and that takes CAP_SYS_NICE or RLIMIT_NICE.
///
/// # References
/// setpriority(2) ("C library/kernel differences"); `account_user_time` and `set_load_weight` of kernel/sched.
pub fn set_nice(nice: i32) -> io::Result<()> {
    Ok(rustix::process::setpriority_process(Some(rustix::thread::gettid()), nice)?)
}

/// Lets the calling thread run on `cpus` alone.
///
/// # Errors
/// EINVAL: none of them exists, is online and is in the thread's cpuset; or a number is beyond the 1024 CPUs that a
/// `cpu_set_t` holds.
///
/// # References
/// sched_setaffinity(2).
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// The CPUs that the calling thread may run on, ascending.
///
/// # Errors
/// EINVAL: the machine has more than the 1024 CPUs that a `cpu_set_t` holds.
///
/// # References
/// sched_getaffinity(2).
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// The CPU that the calling thread ran on a moment ago.
///
/// # References
/// getcpu(2).
pub fn current_cpu() -> usize {
    rustix::thread::sched_getcpu()
}

/// Lets the kernel delay the calling thread's timers by up to `ns` to batch wake-ups: 50,000 unless set, at least 1.
///
/// # Errors
/// EINVAL from a seccomp filter. 0 is taken as 1: to the kernel it would mean "back to the default".
///
/// # References
/// PR_SET_TIMERSLACK in prctl(2).
pub fn set_timer_slack(ns: u64) -> io::Result<()> {
    Ok(set_current_timer_slack(Some(NonZeroU64::new(ns).unwrap_or(NonZeroU64::MIN)))?)
}

/// The id of the calling thread, as /proc/self/task has it.
///
/// # References
/// gettid(2).
pub fn gettid() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a thread of its own: what is set here would otherwise stay with a thread of the test harness.
    fn in_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    fn stat_field(number: usize) -> String {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        stat.rsplit(')').next().unwrap().split_whitespace().nth(number - 3).unwrap().to_owned()
    }

    #[test]
    fn set_idle_gives_the_class_idle() {
        // Field 41 of proc_pid_stat(5) is the policy; SCHED_IDLE is 5.
        assert_eq!(in_a_thread(|| set_idle().map(|()| stat_field(41))).unwrap(), "5");
    }

    #[test]
    fn set_round_robin_gives_the_policy_and_wants_a_priority() {
        match in_a_thread(|| set_round_robin(1).map(|()| stat_field(41))) {
            Ok(policy) => assert_eq!(policy, "2"),
            Err(error) => eprintln!("skipped: SCHED_RR cannot be had by this user: {error}"),
        }
        assert_eq!(in_a_thread(|| set_round_robin(0)).unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn set_nice_changes_the_calling_thread_alone() {
        let before = stat_field(19);
        assert_eq!(in_a_thread(|| set_nice(19).map(|()| stat_field(19))).unwrap(), "19");
        assert_eq!(stat_field(19), before);
    }

    #[test]
    fn pin_leaves_one_cpu() {
        let last = *allowed_cpus().unwrap().last().unwrap();
        let (allowed, current) = in_a_thread(|| {
            pin(&[last]).unwrap();
            (allowed_cpus().unwrap(), current_cpu())
        });
        assert_eq!(allowed, [last]);
        assert_eq!(current, last);
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error() {
        for cpus in [&[1023][..], &[100_000][..], &[][..]] {
            let error = in_a_thread(|| pin(cpus)).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "{cpus:?}");
        }
    }

    #[test]
    fn timer_slack_is_as_set() {
        let slack = |ns| {
            in_a_thread(move || {
                set_timer_slack(ns).unwrap();
                rustix::thread::current_timer_slack().unwrap()
            })
        };
        assert_eq!(slack(1), 1);
        assert_eq!(slack(0), 1);
        assert_eq!(slack(70_000), 70_000);
    }

    #[test]
    fn gettid_is_in_the_task_folder() {
        let tid = in_a_thread(|| (gettid(), std::path::Path::new(&format!("/proc/self/task/{}", gettid())).exists()));
        assert!(tid.1);
        assert_ne!(tid.0, gettid());
    }
}
