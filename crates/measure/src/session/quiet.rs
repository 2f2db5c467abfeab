//! Waiting until other programs leave the machine alone (`--wait-until-quiet`), before anything of
//! a run is set up: soakers would hide what is idle.

use std::time::{Duration, Instant};

use super::other_programs::OtherPrograms;
use super::progress::Progress;
use zc_kernel::clock::{monotonic_ns, sleep_until};
use zc_kernel::stop::Stop;
use zc_rig::meter::KernelMeters;
use zc_rig::meter::checks::Shares;
use zc_rig::trial::allowed_cpus;
use zc_run::{Dropped, Error, ErrorKind, OtherProgram, Result};

/// Length of a look at the machine, in steps after each of which a signal is noticed. A hundred
/// ticks of each CPU tell 1 % of it; unit tests do not ask for so much.
const STEPS: u32 = 10;
const STEP_NS: u64 = if cfg!(test) { 10_000_000 } else { 100_000_000 };
/// Quiet looks in a row until the machine is quiet.
const LOOKS: usize = 2;

/// When a machine is quiet, and how long to wait for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quiet {
    /// The longest time to wait.
    pub at_most: Duration,
    /// The share of the CPUs, 0 to 1, that other programs may use.
    pub others: f64,
    /// The share of the CPUs, 0 to 1, that a hypervisor may take.
    pub steal: f64,
}

/// Returns once the machine has been quiet for two seconds.
///
/// # Errors
/// [`ErrorKind::NothingKept`]: it was not within that time. [`ErrorKind::Interrupted`]: `stop` was
/// set. /proc/stat cannot be read.
pub fn wait_until_quiet(quiet: Quiet, stop: &Stop, progress: &mut dyn Progress) -> Result<()> {
    let cpus = allowed_cpus()?;
    let mut meters = KernelMeters::open(&cpus)?;
    let mut others = OtherPrograms::now(false);
    let began = Instant::now();
    let mut looks = 0;
    while looks < LOOKS {
        let opened = meters.read_stat()?;
        for _ in 0..STEPS {
            sleep_until(monotonic_ns() + STEP_NS);
            if stop.is_set() {
                return Err(Error::interrupted(
                    "interrupted before the machine was quiet: nothing was measured",
                ));
            }
        }
        let Some(why) = quiet.disturbed(Shares::between(&opened, &meters.read_stat()?)) else {
            looks += 1;
            continue;
        };
        looks = 0;
        let left = quiet.at_most.saturating_sub(began.elapsed());
        if left.is_zero() {
            let seconds = quiet.at_most.as_secs_f64().ceil();
            let message = format!("the machine was not quiet within {seconds} s: {why}");
            let error = |message| Error::new(ErrorKind::NothingKept, "not-quiet", message);
            let named = OtherProgram::in_words(&others.most());
            return Err(match named.is_empty() {
                false => error(format!("{message}: {named}")).help("end them, or wait longer"),
                true => error(message).help("find what it is with top, or wait longer"),
            });
        }
        progress.preparing(&format!("waiting for a quiet machine: {why}"), left);
    }
    Ok(())
}

impl Quiet {
    /// Describes the disturbance of the machine; `None` if it is quiet.
    fn disturbed(&self, shares: Option<Shares>) -> Option<String> {
        let Shares { busy, steal, cpus, .. } = shares?;
        let others = (busy > self.others).then_some(Dropped::Foreign { share: busy });
        let stolen = || (steal > self.steal).then_some(Dropped::Steal { share: steal });
        others.or_else(stolen)?.disturbance(cpus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Silent;

    #[test]
    fn a_machine_is_quiet_or_the_error_says_what_disturbs_it() {
        let shares = |busy, steal| Some(Shares { busy, steal, cpus: 4, elapsed_s: 1.0 });
        let quiet = Quiet { at_most: Duration::ZERO, others: 0.02, steal: 0.01 };
        assert_eq!(quiet.disturbed(shares(0.02, 0.01)), None);
        assert_eq!(quiet.disturbed(None), None);
        let said = quiet.disturbed(shares(0.5, 0.5));
        assert_eq!(said.as_deref(), Some("other programs use 50 % of 4 CPUs"));
        let said = quiet.disturbed(shares(0.0, 0.25));
        assert_eq!(said.as_deref(), Some("the hypervisor takes 25 % of 4 CPUs"));
    }

    #[test]
    fn waiting_ends_at_its_limit_at_a_signal_and_when_it_is_quiet() {
        let never = Quiet { at_most: Duration::ZERO, others: -1.0, steal: 0.0 };
        let error = wait_until_quiet(never, &Stop::default(), &mut Silent).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NothingKept);
        let error = wait_until_quiet(never, &Stop::already(), &mut Silent).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Interrupted);
        let always = Quiet { at_most: Duration::ZERO, others: 1.0, steal: 1.0 };
        wait_until_quiet(always, &Stop::default(), &mut Silent).unwrap();
    }
}
