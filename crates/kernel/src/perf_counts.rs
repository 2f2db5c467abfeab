//! Counts of events on a CPU, whatever runs there, by perf_event_open(2): a group, whose events are
//! counted at the same time and read together.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::perf::{
    Attr, PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_SW_CPU_CLOCK, PERF_TYPE_HARDWARE,
    PERF_TYPE_SOFTWARE, open_event,
};

/// An event that is counted.
///
/// # References
/// [perf_event_open(2)]
///
/// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
#[doc(alias = "perf_event_attr")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// PERF_COUNT_HW_CPU_CYCLES: cycles of the CPU while it does not sleep.
    Cycles,
    /// PERF_COUNT_HW_INSTRUCTIONS: instructions that were retired.
    Instructions,
    /// PERF_COUNT_HW_CACHE_MISSES: misses of the last level of the cache.
    CacheMisses,
    /// PERF_COUNT_SW_CPU_CLOCK: nanoseconds, by a timer of the kernel.
    CpuClock,
}

const PERF_COUNT_HW_INSTRUCTIONS: u64 = 1;
const PERF_COUNT_HW_CACHE_MISSES: u64 = 3;

const PERF_FORMAT_TOTAL_TIME_ENABLED: u64 = 1;
const PERF_FORMAT_TOTAL_TIME_RUNNING: u64 = 1 << 1;
const PERF_FORMAT_GROUP: u64 = 1 << 3;

const READ_FORMAT: u64 =
    PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_GROUP;

/// The most events of a group.
const MOST: usize = 8;

impl Counted {
    fn kind_and_config(self) -> (u32, u64) {
        match self {
            Self::Cycles => (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES),
            Self::Instructions => (PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS),
            Self::CacheMisses => (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES),
            Self::CpuClock => (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK),
        }
    }
}

/// Events of one CPU that are counted at the same time, from when they are opened.
///
/// # References
/// [perf_event_open(2)], "Reading results"
///
/// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
#[doc(alias = "perf_event_open")]
#[derive(Debug)]
pub struct EventGroup {
    leader: OwnedFd,
    /// Open as long as the group is.
    _members: Vec<OwnedFd>,
    events: usize,
}

/// What a group has counted so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupCounts {
    /// Nanoseconds for which the group was enabled.
    pub enabled_ns: u64,
    /// Nanoseconds of them in which it was counted: fewer where more groups are open than the CPU
    /// has counters, which then take turns.
    pub running_ns: u64,
    /// The counts, in the order of the events.
    pub values: Vec<u64>,
}

impl EventGroup {
    /// Opens a group of up to 8 events for all tasks of `cpu` with perf_event_open(2).
    ///
    /// # Errors
    /// - EACCES, EPERM: /proc/sys/kernel/perf_event_paranoid is above 0 and the user lacks
    ///   CAP_PERFMON.
    /// - ENOENT, EOPNOTSUPP, ENODEV: no such event here, for example a virtual machine without
    ///   counters.
    /// - EINVAL: no events, or more than the CPU can count at the same time.
    ///
    /// # References
    /// [perf_event_open(2)]
    ///
    /// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
    #[doc(alias = "perf_event_open")]
    pub fn open(events: &[Counted], cpu: usize) -> io::Result<Self> {
        let attr = |event: &Counted| {
            let (kind, config) = event.kind_and_config();
            Attr::counted(kind, config, READ_FORMAT)
        };
        let Some((first, others)) = events.split_first().filter(|_| events.len() <= MOST) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let leader = open_event(&attr(first), cpu, None)?;
        let member = |event| open_event(&attr(event), cpu, Some(leader.as_fd()));
        let members = others.iter().map(member).collect::<io::Result<_>>()?;
        Ok(Self { leader, _members: members, events: events.len() })
    }

    /// Reads all counts at once, with read(2).
    ///
    /// # Errors
    /// - ENOSPC: the group has grown, which it does not.
    ///
    /// # References
    /// [perf_event_open(2)], "Reading results"
    ///
    /// [perf_event_open(2)]: https://man7.org/linux/man-pages/man2/perf_event_open.2.html
    pub fn read(&self) -> io::Result<GroupCounts> {
        // `struct read_format` with PERF_FORMAT_GROUP: the number of events, two times, the values.
        let mut bytes = [0; 8 * (3 + MOST)];
        let read = rustix::io::read(&self.leader, &mut bytes)?;
        let mut words = bytes[..read].chunks_exact(8).map(|word| {
            u64::from_ne_bytes(word.try_into().unwrap_or_default()) // they have 8 bytes
        });
        let mut next = || words.next().ok_or(io::ErrorKind::InvalidData);
        let (count, enabled_ns, running_ns) = (next()?, next()?, next()?);
        let values: Vec<u64> = words.collect();
        if values.len() != self.events || count != self.events as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(GroupCounts { enabled_ns, running_ns, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched;

    #[test]
    fn a_group_of_software_events_is_counted_together() {
        let cpu = sched::allowed_cpus().unwrap()[0];
        let group = match EventGroup::open(&[Counted::CpuClock; 3], cpu) {
            Ok(group) => group,
            Err(error) => return eprintln!("skipped: a CPU cannot be counted here: {error}"),
        };
        let before = group.read().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let after = group.read().unwrap();
        assert_eq!((before.values.len(), after.values.len()), (3, 3));
        let enabled_ns = after.enabled_ns - before.enabled_ns;
        assert!(enabled_ns > 0);
        assert_eq!(after.running_ns - before.running_ns, enabled_ns, "they need no counter");
        // The clock of a CPU is that for which the group is enabled, whatever runs there.
        for (from, to) in std::iter::zip(before.values, after.values) {
            assert!((to - from).abs_diff(enabled_ns) < enabled_ns / 4, "{from} to {to}");
        }
    }

    #[test]
    fn hardware_events_are_counted_or_said_to_be_missing() {
        let cpu = sched::allowed_cpus().unwrap()[0];
        let hardware = [Counted::Cycles, Counted::Instructions, Counted::CacheMisses];
        match EventGroup::open(&hardware, cpu) {
            Ok(group) => {
                let before = group.read().unwrap();
                std::thread::sleep(std::time::Duration::from_millis(1));
                assert!(group.read().unwrap().enabled_ns > before.enabled_ns);
            }
            Err(error) => assert!(
                matches!(
                    error.raw_os_error(),
                    Some(
                        libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::EACCES | libc::EPERM
                    )
                ),
                "{error}"
            ),
        }
    }

    #[test]
    fn no_events_and_too_many_are_refused() {
        let cpu = sched::allowed_cpus().unwrap()[0];
        for events in [vec![], vec![Counted::CpuClock; MOST + 1]] {
            let error = EventGroup::open(&events, cpu).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }
}
