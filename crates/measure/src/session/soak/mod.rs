//! `zc soak`: the soakers alone, without a plan. They watch whatever runs on this machine ([`live`]), a command from
//! beginning to end ([`command`]), or a load that is known ([`verify`]). What was seen comes out as it was counted.

mod burner;
mod command;
mod live;
mod taken;
mod verify;

use zc_kernel::sched;

pub use command::{CommandFault, CommandOptions, command};
pub use live::{Heard, LiveOptions, live};
pub use verify::{VerifyOptions, verify};

use crate::meter::LoadMeter;
/// The other end of a process that zc has started for itself: see [`crate::meter::serve`].
pub use crate::meter::serve as helper;
use zc_run::{Error, ErrorKind, Result, SoakStart, SoakWindow, SoakerKind};

/// Idle windows before (and after) what is measured, and how long each is. Several, because their scatter is what says how
/// sure the result is.
const IDLE_WINDOWS: usize = 10;
/// See [`IDLE_WINDOWS`].
const IDLE_NS: u64 = 100_000_000;

/// What soakers are to do, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Soaked {
    /// The CPUs that get a soaker; none means all that this process may use.
    pub cpus: Option<Vec<usize>>,
    /// What they do.
    pub kind: SoakerKind,
}

impl Soaked {
    fn cpus(&self) -> Result<Vec<usize>> {
        match &self.cpus {
            Some(cpus) => Ok(cpus.clone()),
            None => sched::allowed_cpus()
                .map_err(|error| Error::os("ask which CPUs may be used", error)),
        }
    }
}

/// The soakers at work.
fn set_up(soaked: &Soaked) -> Result<LoadMeter> {
    LoadMeter::start(&soaked.cpus()?, soaked.kind)
}

/// Windows in which nothing is done, as many as there is time for before `interrupted`.
fn idle(
    meter: &mut LoadMeter,
    interrupted: &mut dyn FnMut(u64) -> bool,
) -> Result<Vec<SoakWindow>> {
    let mut windows = Vec::with_capacity(IDLE_WINDOWS);
    for _ in 0..IDLE_WINDOWS {
        let opened = meter.open()?;
        if interrupted(opened.soak.at_ns + IDLE_NS) {
            break;
        }
        windows.push(SoakWindow { opened, closed: meter.close()? });
    }
    Ok(windows)
}

/// Everything that is known before anything is measured. None when it was interrupted.
fn start(
    meter: &mut LoadMeter,
    interrupted: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<SoakStart>> {
    // The stranger first: what it leaves behind in caches and clocks is over when the idle windows begin.
    let taken = taken::try_out(meter.soakers())?;
    let start = meter.know(taken, |meter| idle(meter, interrupted))?;
    Ok((start.idle.len() == IDLE_WINDOWS).then_some(start))
}

fn interrupted() -> Error {
    Error::new(ErrorKind::Interrupted, "interrupted before anything was measured")
}
