//! `zc soak`: the soakers alone, without a plan. They watch whatever runs on this machine ([`live`]), a command from
//! beginning to end ([`command`]), or a load that is known ([`verify`]). What was seen comes out as it was counted.

mod burner;
mod command;
mod live;
mod taken;
mod verify;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use zc_sys::{clock, sched, spawn};

pub use command::{CommandFault, CommandOptions, command};
pub use live::{Heard, LiveOptions, live};
pub use verify::{VerifyOptions, verify};

/// The other end of a process that zc has started for itself: see [`crate::meter::serve`].
pub use crate::meter::serve as outside;
use crate::meter::{KernelMeters, SoakerProcess};
use crate::record::{Fault, FaultKind, Result, SoakEdge, SoakStart, SoakWindow, SoakerKind, SoakerPace};

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
            None => sched::allowed_cpus().map_err(|error| Fault::os("ask which CPUs may be used", error)),
        }
    }
}

/// Soakers in a process of their own, and the kernel's meters beside them.
struct Bench {
    soakers: SoakerProcess,
    meters: KernelMeters,
}

impl Bench {
    fn set_up(soaked: &Soaked) -> Result<Self> {
        let cpus = soaked.cpus()?;
        let soakers = SoakerProcess::start(&cpus, soaked.kind)?;
        Ok(Self { soakers, meters: KernelMeters::open(&cpus)? })
    }

    /// A window opens: the soakers are read last, so that reading the others is in no window.
    fn open(&mut self) -> Result<SoakEdge> {
        let stat = self.meters.read_stat()?;
        let soaker_cpu_ns = self.soakers.cpu_ns()?;
        Ok(SoakEdge { soak: self.soakers.read(), soaker_cpu_ns, stat })
    }

    /// A window closes: the soakers are read first.
    fn close(&mut self) -> Result<SoakEdge> {
        let soak = self.soakers.read();
        let soaker_cpu_ns = self.soakers.cpu_ns()?;
        Ok(SoakEdge { soak, soaker_cpu_ns, stat: self.meters.read_stat()? })
    }

    /// Windows in which nothing is done, as many as there is time for before `interrupted`.
    fn idle(&mut self, interrupted: &mut dyn FnMut(u64) -> bool) -> Result<Vec<SoakWindow>> {
        let mut windows = Vec::with_capacity(IDLE_WINDOWS);
        for _ in 0..IDLE_WINDOWS {
            let opened = self.open()?;
            if interrupted(opened.soak.at_ns + IDLE_NS) {
                break;
            }
            windows.push(SoakWindow { opened, closed: self.close()? });
        }
        Ok(windows)
    }

    /// Everything that is known before anything is measured. None when it was interrupted.
    fn start(&mut self, kind: SoakerKind, interrupted: &mut dyn FnMut(u64) -> bool) -> Result<Option<SoakStart>> {
        // The stranger first: what it leaves behind in caches and clocks is over when the idle windows begin.
        let taken = taken::try_out(&mut self.soakers)?;
        let before = self.soakers.pace()?;
        let idle = self.idle(interrupted)?;
        let after = self.soakers.pace()?;
        if idle.len() < IDLE_WINDOWS {
            return Ok(None);
        }
        let pace = after.iter().zip(&before).map(|(after, before)| SoakerPace {
            units: after.units.saturating_sub(before.units),
            cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
        });
        let pace = pace.collect();
        let (cpus, rank) = (self.soakers.cpus().to_vec(), self.soakers.rank().clone());
        Ok(Some(SoakStart { cpus, soaker: kind, rank, idle, pace, taken }))
    }
}

/// Sleeps until `at_ns`, and says whether `stop` came up before.
fn sleep_or_stop(at_ns: u64, stop: &AtomicBool) -> bool {
    // A signal that comes between a look at the flag and the sleep ends no sleep, so no sleep is long.
    const STEP: Duration = Duration::from_millis(100);
    loop {
        let left = Duration::from_nanos(at_ns.saturating_sub(clock::monotonic_ns()));
        if stop.load(Ordering::Relaxed) {
            return true;
        }
        if left <= STEP {
            clock::sleep_until(at_ns);
            return stop.load(Ordering::Relaxed);
        }
        // With nothing to wait for it can only fail for want of memory, and then the loop spins until the time has come.
        drop(spawn::wait_readable(&[], Some(STEP)));
    }
}

fn interrupted() -> Fault {
    Fault::new(FaultKind::Interrupted, "interrupted before anything was measured")
}
