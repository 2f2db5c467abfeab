//! Lateness of a sleeping thread's wake-ups on a CPU, with soakers and without them.
//!
//! To a thread that wakes up, a soaker should be as good as an idle CPU. On kernels 6.6 to 6.14 it
//! may not be: once picked, a SCHED_IDLE thread was protected for a whole slice (the EEVDF
//! scheduler's RUN_TO_PARITY), which delays wake-ups by milliseconds. Because of backports version
//! numbers are no help, so it is measured.

use super::pinning::cannot_pin;
use zc_kernel::{clock, sched};
use zc_run::{Error, ErrorKind, Probe, Result, Severity, Warning};

/// Length of each sleep, and so the time from one wake-up to the next.
const STEP_NS: u64 = 200_000;

/// Wake-ups with soakers, and as many without: with sleeps of 200 us this takes 50 ms, and the
/// third-worst is the 99th percentile.
const TRIES: usize = 250;

/// If the soaked 99th percentile exceeds the unsoaked one by more than this, a soaker delays
/// wake-ups. A context switch takes a few us, a slice 700 us or more.
const TOLERATED_NS: u64 = 100_000;

/// 99th percentiles of the lateness of wake-ups on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WakeLatency {
    /// The CPU on which threads woke up.
    pub cpu: usize,
    /// With the soakers paused.
    pub unsoaked_p99_ns: u64,
    /// With the soakers running.
    pub soaked_p99_ns: u64,
}

impl WakeLatency {
    /// The form in which it is saved.
    pub fn probe(self) -> Probe {
        let Self { cpu, unsoaked_p99_ns, soaked_p99_ns } = self;
        Probe::WakeLatency { cpu, unsoaked_p99_ns, soaked_p99_ns }
    }

    /// The warning `soaker-delays-wakeups`, when soakers delay wake-ups by more than 100 us.
    pub fn warning(self) -> Option<Warning> {
        let (soaked, unsoaked) =
            (self.soaked_p99_ns as f64 / 1e3, self.unsoaked_p99_ns as f64 / 1e3);
        (self.soaked_p99_ns > self.unsoaked_p99_ns + TOLERATED_NS).then(|| {
            Warning::new(
                "soaker-delays-wakeups",
                Severity::Doubt,
                format!(
                    "one wake-up in a hundred on CPU {} comes {soaked:.0} us late while soakers \
                     run, and {unsoaked:.0} us late while they do not: soaked \
                     trials are slowed down by the measurement",
                    self.cpu
                ),
            )
            .remedy(remedy(&rustix::system::uname().release().to_string_lossy()))
        })
    }
}

/// The remedy under a kernel of this release: from 6.15 on a newer kernel would not help.
fn remedy(release: &str) -> &'static str {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < (6, 15) => {
            "a kernel without slice protection for SCHED_IDLE (6.15 or later), or a quieter machine"
        }
        _ => "a quieter machine, or other CPUs with --cpus",
    }
}

/// Measures wake-ups on `cpu`, 50 ms with the soakers paused and 50 ms with them running, by
/// `soak`; leaves them running.
///
/// # Errors
/// The CPU may not be used; those of `soak`.
pub fn wake_latency(cpu: usize, mut soak: impl FnMut(bool) -> Result<()>) -> Result<WakeLatency> {
    soak(false)?;
    let unsoaked = lateness_p99(cpu);
    soak(true)?;
    Ok(WakeLatency { cpu, unsoaked_p99_ns: unsoaked?, soaked_p99_ns: lateness_p99(cpu)? })
}

/// In a thread of its own, so that neither its CPU nor its timer slack stays with the caller.
fn lateness_p99(cpu: usize) -> Result<u64> {
    let doing = move || format!("try out wake-ups on CPU \"{cpu}\"");
    let error = move |error| Error::os(doing(), error);
    let work = move || -> Result<u64> {
        sched::pin(&[cpu])
            .map_err(|error| cannot_pin(doing(), &[cpu], error, ErrorKind::Unsupported))?;
        sched::set_timer_slack(1).map_err(error)?;
        let mut lateness: Vec<u64> = (0..TRIES)
            .map(|_| {
                let due = clock::monotonic_ns() + STEP_NS;
                clock::sleep_until(due);
                clock::monotonic_ns().saturating_sub(due)
            })
            .collect();
        Ok(p99(&mut lateness))
    };
    let thread =
        std::thread::Builder::new().name("zc-wakeups".into()).spawn(work).map_err(error)?;
    thread.join().unwrap_or_else(|_| {
        Err(Error::failed("thread-panicked", "the thread that tries out wake-ups panicked"))
    })
}

/// The value that 99 % of the values do not exceed; 0 of none.
fn p99(values: &mut [u64]) -> u64 {
    values.sort_unstable();
    let rank = (values.len() * 99).div_ceil(100);
    values.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{Below, Soaking};
    use zc_run::SoakerKind;

    #[test]
    fn a_newer_kernel_is_no_remedy_for_one_that_is_new_enough() {
        for (release, helps) in
            [("6.1.0-38-amd64", true), ("6.14.2", true), ("6.15.0-rc1", false), ("7.0", false)]
        {
            assert_eq!(remedy(release).contains("6.15"), helps, "{release}");
        }
        assert!(!remedy("unknown").contains("6.15"));
    }

    #[test]
    fn p99_is_the_nearest_rank() {
        assert_eq!(p99(&mut (1..=100).collect::<Vec<_>>()), 99);
        assert_eq!(p99(&mut (1..=250).rev().collect::<Vec<_>>()), 248);
        assert_eq!(p99(&mut [7]), 7);
        assert_eq!(p99(&mut []), 0);
    }

    #[test]
    fn wake_ups_are_measured_and_the_soakers_run_afterwards() {
        let cpu = sched::allowed_cpus().unwrap()[0];
        let mut soakers = Soaking::start(&[cpu], SoakerKind::Alu, Below::OwnSession).unwrap();
        let latency = wake_latency(cpu, |on| soakers.soak(on)).unwrap();
        assert!(latency.unsoaked_p99_ns > 0 && latency.soaked_p99_ns > 0);
        assert!(!soakers.read().units.is_empty());
        assert!(wake_latency(99_999, |on| soakers.soak(on)).is_err());
    }

    #[test]
    fn only_soakers_that_delay_wake_ups_cause_a_warning() {
        let of = |unsoaked_p99_ns, soaked_p99_ns| {
            WakeLatency { cpu: 1, unsoaked_p99_ns, soaked_p99_ns }.warning()
        };
        assert_eq!(of(60_000, 160_000), None);
        assert_eq!(of(500_000, 60_000), None);
        let warning = of(60_000, 3_060_000).unwrap();
        assert_eq!(warning.name, "soaker-delays-wakeups");
        assert!(warning.text.contains("3060 us"), "{}", warning.text);
    }
}
