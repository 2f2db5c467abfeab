//! Which other programs use CPUs during a run: the name is known before anybody looks for it with top.

use crate::meter::{ByName, Processes, descendants};
use zc_run::{OTHER_PROGRAMS, ProcessKind, Severity, Warning, escape};

/// The most programs that are named.
const MOST: usize = 3;

/// The least CPUs of a program that is named, as for blocks: 2 % of one.
const LEAST_CPUS: f64 = 0.02;

/// The other processes of this machine when the blocks began.
pub(super) struct OtherPrograms {
    before: Processes,
}

impl OtherPrograms {
    pub(super) fn now() -> Self {
        Self { before: without_own() }
    }

    /// Which of them used CPUs since then, in words; `None` where none is seen, as with `hidepid`.
    pub(super) fn seen(&self) -> Option<String> {
        let now = without_own();
        let elapsed_ns = now.at_ns.saturating_sub(self.before.at_ns);
        named(&now.since(&self.before), elapsed_ns)
    }

    /// The same as a warning.
    pub(super) fn warning(&self) -> Option<Warning> {
        self.seen().map(|text| Warning::new(OTHER_PROGRAMS, Severity::Note, text))
    }
}

fn without_own() -> Processes {
    let own = std::process::id().cast_signed();
    Processes::read(&[vec![own], descendants(own)].concat())
}

/// `iperf3 used 0.45 CPUs, python3 0.12`
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
fn named(used: &ByName, elapsed_ns: u64) -> Option<String> {
    let cpus = |ns: u64| ns as f64 / elapsed_ns.max(1) as f64;
    let mut most: Vec<(&str, f64)> = used
        .iter()
        // A far end on this machine is of the run.
        .filter(|((kind, name), _)| *kind == ProcessKind::Other && name != "zc")
        .filter(|(_, ns)| cpus(**ns) >= LEAST_CPUS)
        .map(|((_, name), ns)| (name.as_str(), cpus(*ns)))
        .collect();
    most.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    most.truncate(MOST);
    let mut each = most.iter().map(|(name, cpus)| (escape(name, 40), cpus));
    let (first, cpus) = each.next()?;
    let further: String = each.map(|(name, cpus)| format!(", {name} {cpus:.2}")).collect();
    Some(format!("{first} used {cpus:.2} CPUs{further}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_named_by_what_they_used_and_kernel_threads_are_none() {
        let used = |each: &[(ProcessKind, &str, u64)]| -> ByName {
            each.iter()
                .map(|(kind, name, ms)| ((*kind, (*name).to_owned()), ms * 1_000_000))
                .collect()
        };
        let second = 1_000_000_000;
        let seen = used(&[
            (ProcessKind::Other, "python3", 120),
            (ProcessKind::Other, "iperf3", 450),
            (ProcessKind::Other, "cron", 1),
            (ProcessKind::Other, "zc", 800),
            (ProcessKind::KernelThread, "ksoftirqd/0", 900),
        ]);
        assert_eq!(named(&seen, second).unwrap(), "iperf3 used 0.45 CPUs, python3 0.12");
        assert_eq!(named(&used(&[(ProcessKind::Other, "cron", 1)]), second), None);
        assert_eq!(named(&ByName::new(), 0), None);
    }
}
