//! `cyclesoak`, and what `zcc` shares with it: calibration, and `System load: 12.3%`, where 100 %
//! is all CPUs.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use super::output::{debug, line};
use super::usage;
use crate::{interrupt, tell};
use zc_analysis::soak::{self, Load, idle_rates, not_quiet, paces};
use zc_classic::{Calibration, CyclesoakOptions, FILE_NAME, Tool};
use zc_kernel::stop::Stop;
use zc_run::{Error, Result, SoakWindow, escape};

/// The folder of the calibration: the current one.
fn here() -> &'static Path {
    Path::new(".")
}

pub(super) fn cyclesoak(words: &[OsString]) -> Result<()> {
    let options = CyclesoakOptions::read(words)?;
    if options.help {
        return usage::print(Tool::Cyclesoak);
    }
    if options.calibrate {
        return calibrate(options.nr_cpus, options.debug, &interrupt::flag()?);
    }
    let calibration = calibration(options.nr_cpus)?;
    let rates = calibration.rates();
    let stop = interrupt::flag()?;
    let mut failed = None;
    let mut doubts = Doubts::default();
    zc_classic::cyclesoak(&calibration, options.period_ns, &stop, &mut |window| {
        let Some(load) = window_load(&window, &rates) else { return ControlFlow::Continue(()) };
        debug(options.debug > 0, || {
            let counts = window.closed.soak.units.iter().zip(&window.opened.soak.units);
            let each: Vec<String> =
                counts.map(|(new, old)| new.saturating_sub(*old).to_string()).collect();
            format!("cyclesoak: counts {} in {:.3} s", each.join(" "), load.elapsed_ns as f64 / 1e9)
        });
        doubts.look(&load);
        line(&line_of(&load, if options.each_cpu { &calibration.cpus } else { &[] }), &mut failed)
    })?;
    failed.map_or(Ok(()), Err)
}

/// Writes `./counts_per_sec`.
///
/// # Errors
/// The soakers cannot be started, or the file cannot be written.
pub(super) fn calibrate(nr_cpus: Option<usize>, debugging: u32, stop: &Stop) -> Result<()> {
    let cpus = soaked_cpus(nr_cpus)?;
    let start = zc_classic::calibrate(&cpus, stop)?;
    // On a quiet machine as in 2001: what runs there all the time is not load. On a busy machine
    // that would make every load too small by what was busy, so rates are taken from the soakers'
    // own CPU time, which is nearly as exact.
    let busy = not_quiet(&start).is_some();
    let rates = if busy { paces(&start) } else { idle_rates(&start.idle) };
    let rates = rates.ok_or_else(|| {
        Error::failed("soaker-starved", "a soaker got no CPU time while it was being calibrated")
            .help("something keeps its CPU busy; calibrate while nothing else runs")
    })?;
    if busy {
        tell::warning(
            "something else ran while the soakers were calibrated: it was done by their own CPU \
             time, which is less exact",
            Some("calibrate again while nothing else runs"),
        );
    }
    let counts_per_s: Vec<f64> = rates.iter().map(|rate| rate * 1e9).collect();
    debug(debugging > 0, || {
        let each: Vec<String> = counts_per_s.iter().map(|counts| format!("{counts:.0}")).collect();
        format!(
            "calibrated: {} counts per second on CPUs {cpus:?}, soakers {:?}",
            each.join(" "),
            start.rank
        )
    });
    Calibration::new(cpus, counts_per_s).write(here())?;
    tell::note(&format!("calibrated: wrote \"{FILE_NAME}\""));
    Ok(())
}

/// Reads `./counts_per_sec`.
///
/// # Errors
/// There is none, or it is of another machine.
pub(super) fn calibration(nr_cpus: Option<usize>) -> Result<Calibration> {
    Calibration::read(here(), &soaked_cpus(nr_cpus)?).map_err(|mut error| {
        // The message may quote a host name or a line of an unknown file.
        error.message = escape(&error.message, 1000);
        error
    })
}

/// The CPUs that are soaked. Warns if these are not all.
fn soaked_cpus(nr_cpus: Option<usize>) -> Result<Vec<usize>> {
    let (allowed, soaked) = (zc_classic::cpus_for(None)?.len(), zc_classic::cpus_for(nr_cpus)?);
    let all = allowed.max(zc_classic::online_cpus());
    if soaked.len() < all {
        let help = match soaked.len() < allowed {
            true => "leave out -N to soak all CPUs",
            false => {
                "this process may not use the others (taskset(1), a cgroup's cpuset): start it \
                 without that"
            }
        };
        let message = format!(
            "{} of {all} CPUs are soaked: what runs on the others is not seen",
            soaked.len()
        );
        tell::warning(&message, Some(help));
    }
    Ok(soaked)
}

/// A load below this means that the calibration is wrong: rates scatter by less.
const NOTHING: f64 = -0.05;

/// Warns about a wrong calibration, once.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    warned: bool,
}

impl Doubts {
    /// Checks a load, which cannot be below 0.
    pub(super) fn look(&mut self, load: &Load) {
        if !self.warned && share(load) < NOTHING {
            self.warned = true;
            tell::warning(
                &format!(
                    "the soakers do more than when they were calibrated, so loads \
                     by \"{FILE_NAME}\" are too small"
                ),
                Some(
                    "the CPUs' clock changed, or something else ran then; calibrate again: \
                     cyclesoak -C",
                ),
            );
        }
    }
}

/// The load of all CPUs as a share of them.
fn share(load: &Load) -> f64 {
    load.busy_cpus / load.cpus.len().max(1) as f64
}

/// The load of a window; `None` if it cannot be computed.
pub(super) fn window_load(window: &SoakWindow, rates: &[f64]) -> Option<Load> {
    soak::load(window, rates)
}

/// `System load: 12.3%`, and the free share of each of `cpus`.
pub(super) fn line_of(load: &Load, cpus: &[usize]) -> String {
    let mut text = format!("System load: {}", percent(share(load)));
    if !cpus.is_empty() {
        text.push_str(" || Free:");
        for (cpu, share) in cpus.iter().zip(&load.cpus) {
            let _ = write!(text, " {}({cpu})", percent(1.0 - share)); // to a String
        }
    }
    text
}

/// `12.3%`. An idle machine may show slightly less than 0, as rates scatter.
fn percent(share: f64) -> String {
    let text = format!("{:.1}%", 100.0 * share);
    if text == "-0.0%" { "0.0%".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_percent_is_all_cpus() {
        let load = Load {
            elapsed_ns: 1_000_000_000,
            cpus: vec![0.25, -0.0004],
            busy_cpus: 0.2496,
            stat_cpus: 0.0,
            steal_cpus: 0.0,
        };
        assert_eq!(line_of(&load, &[]), "System load: 12.5%");
        assert_eq!(line_of(&load, &[0, 3]), "System load: 12.5% || Free: 75.0%(0) 100.0%(3)");
        assert_eq!(percent(-0.0004), "0.0%");
        assert_eq!(percent(-0.01), "-1.0%");
    }
}
