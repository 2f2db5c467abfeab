//! Set-up of a measurement of `zc soak`: soakers on the chosen CPUs, the probe of what they take
//! from another process, and idle windows.

use super::taken::try_out;
use zc_kernel::sched;
use zc_rig::meter::LoadMeter;
use zc_run::{Error, Result, SoakStart, SoakWindow, SoakerKind};

/// Number of idle windows before what is measured. There are several, because their scatter gives
/// the precision of the result.
pub(super) const IDLE_WINDOWS: usize = 10;
/// Length of each idle window.
const IDLE_NS: u64 = 100_000_000;

/// CPUs and kind of the soakers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Soaked {
    /// The CPUs that get a soaker; `None` is all that this process may use.
    pub cpus: Option<Vec<usize>>,
    /// Kind of work.
    pub kind: SoakerKind,
}

impl Soaked {
    pub(super) fn cpus(&self) -> Result<Vec<usize>> {
        match &self.cpus {
            Some(cpus) => Ok(cpus.clone()),
            None => sched::allowed_cpus()
                .map_err(|error| Error::os("ask which CPUs may be used", error)),
        }
    }
}

/// Starts the soakers.
pub(super) fn set_up(soaked: &Soaked) -> Result<LoadMeter> {
    LoadMeter::start(&soaked.cpus()?, soaked.kind)
}

/// Measures so many windows in which nothing is done, or as many as there is time for before
/// `interrupted`.
pub(super) fn idle(
    meter: &mut LoadMeter,
    count: usize,
    interrupted: &mut dyn FnMut(u64) -> bool,
) -> Result<Vec<SoakWindow>> {
    let mut windows = Vec::with_capacity(count);
    for _ in 0..count {
        let opened = meter.open()?;
        if interrupted(opened.soak.at_ns + IDLE_NS) {
            break;
        }
        windows.push(SoakWindow { opened, closed: meter.close()? });
    }
    Ok(windows)
}

/// Measures everything that has to be known first, [`IDLE_WINDOWS`] by `idle`. `None` when it was
/// interrupted.
pub(super) fn start(
    meter: &mut LoadMeter,
    idle: impl FnOnce(&mut LoadMeter) -> Result<Vec<SoakWindow>>,
) -> Result<Option<SoakStart>> {
    // The competing process first: its effect on caches and clocks is over when the idle windows
    // begin.
    let taken = try_out(meter.soakers())?;
    let start = meter.know(taken, idle)?;
    Ok((start.idle.len() == IDLE_WINDOWS).then_some(start))
}

pub(super) fn interrupted() -> Error {
    Error::interrupted("interrupted before anything was measured")
}
