//! Idle time of the machine's CPUs, by the kernel's own clock.
//!
//! The second number of /proc/uptime is the idle time of all CPUs together. Where idle CPUs have no
//! tick (NO_HZ_IDLE, the rule) it is the time between entering and leaving idle to the microsecond,
//! without the interrupts and softirqs in between (fs/proc/uptime.c; kernel/time/tick-sched.c,
//! tick_nohz_start_idle). It is printed in steps of 10 ms only. A reader that looks often and takes
//! the moment at which it steps is off by what was idle between two looks.
//!
//! The same clock in /proc/stat costs several times as much to read. cpuidle's `time` includes the
//! interrupts that end an idle period, and is missing in most virtual machines.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The open /proc/uptime.
#[derive(Debug)]
pub struct IdleClock {
    uptime: File,
}

impl IdleClock {
    /// Opens the clock. `None` where there is none: /proc is not mounted, or a container shows
    /// another file in its place (lxcfs), whose idle time is not that of the CPUs.
    pub fn open() -> Option<Self> {
        let uptime = File::open("/proc/uptime").ok()?;
        let file_system = rustix::fs::fstatfs(&uptime).ok()?.f_type;
        let clock = Self { uptime };
        (file_system == rustix::fs::PROC_SUPER_MAGIC && clock.read_ns().is_some()).then_some(clock)
    }

    /// Idle time of all CPUs since boot in ns, a multiple of 10 ms.
    pub fn read_ns(&self) -> Option<u64> {
        let mut bytes = [0; 64];
        let filled = self.uptime.read_at(&mut bytes, 0).ok()?;
        idle_ns(str::from_utf8(&bytes[..filled]).ok()?)
    }
}

/// Idle time in the text of proc_uptime(5), `SECONDS.HH SECONDS.HH`.
fn idle_ns(text: &str) -> Option<u64> {
    let (_, idle) = text.trim_end().split_once(' ')?;
    let (seconds, hundredths) = idle.split_once('.')?;
    let hundredths = (hundredths.len() == 2).then(|| hundredths.parse::<u64>().ok())??;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(hundredths * 10_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_idle_time() {
        assert_eq!(idle_ns("350735.47 234388.09\n"), Some(234_388_090_000_000));
        for text in ["", "1.00", "1.00 2", "1.00 2.5", "1.00 -2.50", "1.00 99999999999999.00"] {
            assert_eq!(idle_ns(text), None, "{text}");
        }
    }

    #[test]
    fn the_clock_grows_by_whole_steps() {
        let Some(clock) = IdleClock::open() else {
            eprintln!("skipped: /proc/uptime is not the kernel's here");
            return;
        };
        let (first, second) = (clock.read_ns().unwrap(), clock.read_ns().unwrap());
        assert!(second >= first && first > 0);
        assert_eq!((second - first) % 10_000_000, 0);
    }
}
