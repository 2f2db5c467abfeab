//! Which other programs use CPUs during a run: the name is known before anybody looks for it with
//! top.

use zc_rig::meter::{ByName, Processes, descendants};
use zc_run::{OTHER_PROGRAMS, OtherProgram, ProcessKind, Severity, Warning, escape};

/// The most programs that are named.
const MOST: usize = 5;

/// The least CPUs of a program that is named: 2 % of one.
const LEAST_CPUS: f64 = 0.02;

/// The least share of the CPUs that all of them use in a run that names them, as in the rules that
/// drop blocks.
const LEAST_SHARE: f64 = 0.02;

/// Time between two looks at all processes, in ns. A look takes milliseconds on a machine with a
/// thousand of them.
const APART_NS: u64 = 2_000_000_000;

/// The other processes of this machine, and what they have used since a moment.
pub(super) struct OtherPrograms {
    first: Processes,
    last: Processes,
    used: ByName,
    /// Whether a zc is part of the run that is no child of this one: a far end on this machine.
    knows_zc: bool,
}

impl OtherPrograms {
    pub(super) fn now(knows_zc: bool) -> Self {
        let last = without_own();
        Self { first: last.clone(), last, used: ByName::new(), knows_zc }
    }

    /// Looks again if it is time to. Call it outside of windows.
    pub(super) fn look(&mut self) {
        if zc_kernel::clock::monotonic_ns() >= self.last.at_ns + APART_NS {
            self.look_now();
        }
    }

    fn look_now(&mut self) {
        let now = without_own();
        for (of, ns) in now.since(&self.last).into_iter().chain(now.ended_since(&self.last)) {
            *self.used.entry(of).or_default() += ns;
        }
        self.last = now;
    }

    /// Programs that used most CPU time since then, the largest first. None is seen with `hidepid`.
    pub(super) fn most(&mut self) -> Vec<OtherProgram> {
        self.look_now();
        let elapsed_ns = self.last.at_ns.saturating_sub(self.first.at_ns);
        most(&self.used, elapsed_ns, self.knows_zc)
    }

    /// Same as [`most`](Self::most); none where they used hardly anything of so many CPUs.
    #[expect(clippy::cast_precision_loss, reason = "a number of CPUs")]
    pub(super) fn noticeable(&mut self, cpus: usize) -> Vec<OtherProgram> {
        let most = self.most();
        let used: f64 = most.iter().map(|program| program.cpus).sum();
        if used < LEAST_SHARE * cpus as f64 { Vec::new() } else { most }
    }

    /// The program that uses most of a CPU: `burn, pid 17`.
    pub(super) fn holder_of(&self, cpu: usize) -> Option<String> {
        let (name, pid) = without_own().busiest_on(cpu, &self.first)?;
        Some(format!("{}, pid {pid}", escape(&name, 40)))
    }
}

/// The note about the other programs of a run.
pub(super) fn note(others: &[OtherProgram]) -> Warning {
    let text = format!("other programs: {}", OtherProgram::in_words(others));
    Warning::new(OTHER_PROGRAMS, Severity::Note, text)
}

fn without_own() -> Processes {
    let own = std::process::id().cast_signed();
    Processes::read(&[vec![own], descendants(own)].concat())
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
fn most(used: &ByName, elapsed_ns: u64, knows_zc: bool) -> Vec<OtherProgram> {
    let cpus = |ns: u64| ns as f64 / elapsed_ns.max(1) as f64;
    let mut most: Vec<OtherProgram> = used
        .iter()
        .filter(|((kind, name), _)| *kind == ProcessKind::Other && !(knows_zc && name == "zc"))
        .map(|((_, name), ns)| OtherProgram { name: name.clone(), cpus: cpus(*ns) })
        .filter(|program| program.cpus >= LEAST_CPUS)
        .collect();
    most.sort_by(|one, other| other.cpus.total_cmp(&one.cpus));
    most.truncate(MOST);
    most
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
        let named = |knows_zc| OtherProgram::in_words(&most(&seen, second, knows_zc));
        assert_eq!(named(true), "iperf3 0.45, python3 0.12 CPUs");
        assert_eq!(named(false), "zc 0.80, iperf3 0.45, python3 0.12 CPUs");
        let text = note(&most(&seen, second, true)).text;
        assert_eq!(text, "other programs: iperf3 0.45, python3 0.12 CPUs");
        assert_eq!(most(&used(&[(ProcessKind::Other, "cron", 1)]), second, true), []);
        assert_eq!(most(&ByName::new(), 0, true), []);
    }
}
