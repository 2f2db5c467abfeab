//! Cycles, instructions and misses of the last-level cache on the CPUs of the flows, counted by the
//! hardware, whatever runs there.
//!
//! A reading interrupts a CPU on which the reader is not, so the CPUs of the flows alone are
//! counted.

use std::io;

use zc_kernel::perf_counts::{Counted, EventGroup};
use zc_run::{CpuCounts, Error, Result, in_words};

/// The events of each CPU, in the order of the fields of [`CpuCounts`].
const EVENTS: [Counted; 3] = [Counted::Cycles, Counted::Instructions, Counted::CacheMisses];

/// Open counters of a set of CPUs.
#[derive(Debug)]
pub struct CpuCounters {
    groups: Vec<(usize, EventGroup)>,
}

impl CpuCounters {
    /// Opens the counters of each of these CPUs. Call it before a user namespace is entered: the
    /// kernel checks the rights in the initial one.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is no PMU, or not for this user.
    pub fn open(cpus: &[usize]) -> Result<Self> {
        Self::of(EVENTS, cpus).map_err(|error| not_counted(&error))
    }

    fn of(events: [Counted; 3], cpus: &[usize]) -> io::Result<Self> {
        let mut cpus = cpus.to_vec();
        cpus.sort_unstable();
        cpus.dedup();
        let open = |cpu: usize| Ok((cpu, EventGroup::open(&events, cpu)?));
        Ok(Self { groups: cpus.into_iter().map(open).collect::<io::Result<_>>()? })
    }

    /// Counters of a clock that every kernel has, in place of those of a PMU. `None`, with a note,
    /// where this user may not count a CPU.
    #[cfg(test)]
    pub(crate) fn of_software(cpus: &[usize]) -> Option<Self> {
        Self::of([Counted::CpuClock; 3], cpus)
            .inspect_err(|error| eprintln!("skipped: a CPU cannot be counted here: {error}"))
            .ok()
    }

    /// The counts so far; empty if one cannot be read any more.
    pub fn read(&self) -> Vec<CpuCounts> {
        let each = self.groups.iter().map(|(cpu, group)| {
            let counts = group.read().ok()?;
            let [cycles, instructions, llc_misses] = counts.values.try_into().ok()?;
            let (enabled_ns, running_ns) = (counts.enabled_ns, counts.running_ns);
            let cpu = *cpu;
            Some(CpuCounts { cpu, enabled_ns, running_ns, cycles, instructions, llc_misses })
        });
        each.collect::<Option<_>>().unwrap_or_default()
    }
}

fn not_counted(error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::PermissionDenied {
        let message =
            format!("this user may not count what all tasks of a CPU do: {}", in_words(error));
        return Error::unsupported("counters-not-permitted", message)
            .help("run as root, or let every user: sysctl kernel.perf_event_paranoid=0");
    }
    Error::unsupported(
        "no-counters",
        format!(
            "no PMU: this CPU, or its hypervisor, shows no counters of cycles, instructions and \
             cache misses ({})",
            in_words(error)
        ),
    )
    .help("leave --counters out; zc doctor tells what is there")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_is_counted_once_and_its_counts_grow() {
        let cpus = zc_kernel::sched::allowed_cpus().unwrap();
        let Some(counters) = CpuCounters::of_software(&[&cpus[..], &cpus[..1]].concat()) else {
            return;
        };
        let first = counters.read();
        assert_eq!(first.len(), cpus.len());
        std::thread::sleep(std::time::Duration::from_millis(1));
        for (before, after) in std::iter::zip(first, counters.read()) {
            assert_eq!(before.cpu, after.cpu);
            assert!(after.cycles > before.cycles, "the clock, here: {after:?}");
            assert_eq!(after.enabled_ns - before.enabled_ns, after.running_ns - before.running_ns);
        }
    }

    #[test]
    fn without_a_pmu_the_error_says_so_and_without_rights_what_gives_them() {
        let cpus = zc_kernel::sched::allowed_cpus().unwrap();
        if let Err(error) = CpuCounters::open(&cpus) {
            assert!(["no-counters", "counters-not-permitted"].contains(&error.id.as_ref()));
        }
        let missing = not_counted(&io::Error::from_raw_os_error(libc::ENOENT));
        assert!(missing.id == "no-counters" && missing.message.starts_with("no PMU: "));
        let refused = not_counted(&io::Error::from_raw_os_error(libc::EACCES));
        assert!(refused.help.unwrap().contains("perf_event_paranoid=0"));
    }
}
