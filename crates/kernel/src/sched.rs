//! Scheduling of threads: policy, nice value, CPU affinity, timer slack.
//!
//! All settings apply to one thread, the calling one unless the function takes a thread id, and end
//! with it.

use std::io;
use std::num::NonZeroU64;

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity, set_current_timer_slack};

/// Sets the scheduling policy SCHED_IDLE of thread `tid` (0: the calling one) with
/// sched_setscheduler(2).
///
/// The thread then runs when nothing else of its task group wants the CPU. Otherwise it has a
/// weight of 3, where a normal thread has 1024. The policy ranks a thread inside its own autogroup
/// or cgroup only: between groups, the groups' weights decide. The system call is made directly,
/// because musl's wrapper answers ENOSYS.
///
/// # Errors
/// - EPERM, ENOSYS: a seccomp filter. The kernel itself lets every user lower the priority of their
///   own threads.
/// - ESRCH: there is no such thread.
///
/// # References
/// - [sched_setscheduler(2)]
/// - [sched(7)], "SCHED_IDLE" and "The autogroup feature"
///
/// [sched_setscheduler(2)]: https://man7.org/linux/man-pages/man2/sched_setscheduler.2.html
/// [sched(7)]: https://man7.org/linux/man-pages/man7/sched.7.html
#[doc(alias = "sched_setscheduler")]
#[doc(alias = "SCHED_IDLE")]
pub fn set_idle(tid: i32) -> io::Result<()> {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads one sched_param through the pointer, which outlives it.
    let status = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, tid, libc::SCHED_IDLE, &raw const param)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the real-time policy SCHED_RR with `priority` (1 to 99) with sched_setscheduler(2). Child
/// processes and new threads inherit it.
///
/// # Errors
/// - EPERM: CAP_SYS_NICE or RLIMIT_RTPRIO is needed. Root gets it in a cgroup without real-time
///   share.
/// - EINVAL: no such priority.
///
/// # References
/// - [sched_setscheduler(2)]
/// - [sched(7)]
///
/// [sched_setscheduler(2)]: https://man7.org/linux/man-pages/man2/sched_setscheduler.2.html
/// [sched(7)]: https://man7.org/linux/man-pages/man7/sched.7.html
#[doc(alias = "sched_setscheduler")]
#[doc(alias = "SCHED_RR")]
pub fn set_round_robin(priority: i32) -> io::Result<()> {
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: the call reads one sched_param through the pointer, which outlives it. Thread id 0 is
    // the calling thread.
    let status =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_RR, &raw const param) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the nice value (-20 to 19) of thread `tid` (0: the calling one) with setpriority(2). On
/// Linux it belongs to the thread, not to the process.
///
/// Under SCHED_IDLE the value does not change the weight. /proc/stat counts the ticks of a thread
/// with a positive value in the column `nice`.
///
/// # Errors
/// - EACCES: the value is below the present one, which needs CAP_SYS_NICE or RLIMIT_NICE.
/// - ESRCH: there is no such thread.
///
/// # References
/// - [setpriority(2)], "C library/kernel differences"
/// - `account_user_time` and `set_load_weight` in kernel/sched
///
/// [setpriority(2)]: https://man7.org/linux/man-pages/man2/setpriority.2.html
#[doc(alias = "setpriority")]
#[doc(alias = "nice")]
pub fn set_nice(tid: i32, nice: i32) -> io::Result<()> {
    Ok(rustix::process::setpriority_process(rustix::process::Pid::from_raw(tid), nice)?)
}

/// Restricts the calling thread to `cpus` with sched_setaffinity(2).
///
/// # Errors
/// - EINVAL: none of them exists, is online and is in the thread's cpuset, or a number is beyond
///   the 1024 CPUs of a `cpu_set_t`.
///
/// # References
/// [sched_setaffinity(2)]
///
/// [sched_setaffinity(2)]: https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html
#[doc(alias = "sched_setaffinity")]
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    Ok(sched_setaffinity(None, &set_of(cpus)?)?)
}

/// Restricts another thread to `cpus` with sched_setaffinity(2): one of the kernel's, for example.
///
/// # Errors
/// - EINVAL: as [`pin`], or `tid` is not above 0; the kernel does not allow it for this thread of
///   its own.
/// - EPERM: the thread is another user's.
/// - ESRCH: there is no such thread.
///
/// # References
/// [sched_setaffinity(2)]
///
/// [sched_setaffinity(2)]: https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html
#[doc(alias = "sched_setaffinity")]
pub fn pin_thread(tid: i32, cpus: &[usize]) -> io::Result<()> {
    Ok(sched_setaffinity(Some(thread(tid)?), &set_of(cpus)?)?)
}

/// CPUs that the calling thread may run on, ascending, by sched_getaffinity(2).
///
/// # Errors
/// - EINVAL: the machine has more than the 1024 CPUs of a `cpu_set_t`.
///
/// # References
/// [sched_getaffinity(2)]
///
/// [sched_getaffinity(2)]: https://man7.org/linux/man-pages/man2/sched_getaffinity.2.html
#[doc(alias = "sched_getaffinity")]
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    Ok(in_set(&sched_getaffinity(None)?))
}

/// CPUs that another thread may run on, ascending, by sched_getaffinity(2).
///
/// # Errors
/// - EINVAL: as [`allowed_cpus`], or `tid` is not above 0.
/// - ESRCH: there is no such thread.
///
/// # References
/// [sched_getaffinity(2)]
///
/// [sched_getaffinity(2)]: https://man7.org/linux/man-pages/man2/sched_getaffinity.2.html
#[doc(alias = "sched_getaffinity")]
pub fn allowed_cpus_of(tid: i32) -> io::Result<Vec<usize>> {
    Ok(in_set(&sched_getaffinity(Some(thread(tid)?))?))
}

fn thread(tid: i32) -> io::Result<Pid> {
    let pid = (tid > 0).then(|| Pid::from_raw(tid)).flatten();
    pid.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))
}

fn set_of(cpus: &[usize]) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        set.set(cpu);
    }
    Ok(set)
}

fn in_set(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// CPU on which the calling thread was running at the time of the call, by getcpu(2).
///
/// # References
/// [getcpu(2)]
///
/// [getcpu(2)]: https://man7.org/linux/man-pages/man2/getcpu.2.html
#[doc(alias = "getcpu")]
pub fn current_cpu() -> usize {
    rustix::thread::sched_getcpu()
}

/// Sets the timer slack of the calling thread in ns with PR_SET_TIMERSLACK: how long the kernel may
/// delay its timers to batch wake-ups.
///
/// The default is 50,000 ns. 0 is taken as 1, because the kernel reads 0 as "back to the default".
///
/// # Errors
/// - EINVAL: a seccomp filter.
///
/// # References
/// [PR_SET_TIMERSLACK(2const)]
///
/// [PR_SET_TIMERSLACK(2const)]: https://man7.org/linux/man-pages/man2/PR_SET_TIMERSLACK.2const.html
#[doc(alias = "prctl")]
#[doc(alias = "PR_SET_TIMERSLACK")]
pub fn set_timer_slack(ns: u64) -> io::Result<()> {
    Ok(set_current_timer_slack(Some(NonZeroU64::new(ns).unwrap_or(NonZeroU64::MIN)))?)
}

/// Id of the calling thread by gettid(2), as listed in /proc/self/task.
///
/// # References
/// [gettid(2)]
///
/// [gettid(2)]: https://man7.org/linux/man-pages/man2/gettid.2.html
pub fn gettid() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs in a thread of its own, because the settings would otherwise stay with a thread of the
    /// test harness.
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
        assert_eq!(in_a_thread(|| set_idle(0).map(|()| stat_field(41))).unwrap(), "5");
    }

    #[test]
    fn set_round_robin_gives_the_policy_and_wants_a_priority() {
        match in_a_thread(|| set_round_robin(1).map(|()| stat_field(41))) {
            Ok(policy) => assert_eq!(policy, "2"),
            Err(error) => eprintln!("skipped: SCHED_RR is not permitted: {error}"),
        }
        assert_eq!(
            in_a_thread(|| set_round_robin(0)).unwrap_err().raw_os_error(),
            Some(libc::EINVAL)
        );
    }

    #[test]
    fn set_nice_changes_the_calling_thread_alone() {
        let before = stat_field(19);
        assert_eq!(in_a_thread(|| set_nice(0, 19).map(|()| stat_field(19))).unwrap(), "19");
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
    fn another_thread_is_pinned_and_asked() {
        let last = *allowed_cpus().unwrap().last().unwrap();
        let before = allowed_cpus().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                tell.send(gettid()).unwrap();
                ended.recv().ok()
            });
            let tid = told.recv().unwrap();
            pin_thread(tid, &[last]).unwrap();
            assert_eq!(allowed_cpus_of(tid).unwrap(), [last]);
            assert_eq!(allowed_cpus().unwrap(), before);
            drop(end);
        });
        for none in [0, -1] {
            assert_eq!(pin_thread(none, &[last]).unwrap_err().raw_os_error(), Some(libc::EINVAL));
            assert!(allowed_cpus_of(none).is_err());
        }
        assert_eq!(allowed_cpus_of(i32::MAX).unwrap_err().raw_os_error(), Some(libc::ESRCH));
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
        let tid = in_a_thread(|| {
            (gettid(), std::path::Path::new(&format!("/proc/self/task/{}", gettid())).exists())
        });
        assert!(tid.1);
        assert_ne!(tid.0, gettid());
    }
}
