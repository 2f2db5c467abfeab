//! The load of the whole machine, from soakers in a process of their own and /proc/stat.

use super::environment::quota_below;
use super::helper_process::SoakerProcess;
use super::host::{host, is_emulated};
use super::kernel::KernelMeters;
use super::ksoftirqd::Ksoftirqd;
use zc_run::{
    Error, ErrorKind, INSTEAD_OF_EMULATED, INSTEAD_OF_THROTTLED, Result, SoakEdge, SoakReading,
    SoakStart, SoakWindow, SoakerKind, StatReading, Taken, WHY_EMULATED, why_throttled,
};

/// Refuses to measure loads with so many soakers on an emulated machine, and where the kernel
/// throttles them. There a load would be that of translated instructions, or of the limit.
///
/// # Errors
/// [`ErrorKind::NothingKept`]: the CPU is emulated, or a cgroup may use fewer CPUs.
pub fn loads_can_be_told(soaked: usize) -> Result<()> {
    let refused = |why: &str, instead: &str| {
        let message = format!("no load is shown: {why}");
        Err(Error::new(ErrorKind::NothingKept, "load-not-measurable", message).help(instead))
    };
    match quota_below(soaked) {
        _ if is_emulated() => refused(WHY_EMULATED, INSTEAD_OF_EMULATED),
        Some(quota) => refused(&why_throttled(quota, soaked), INSTEAD_OF_THROTTLED),
        None => Ok(()),
    }
}

/// Soakers in a process of their own, and the kernel's counters.
#[derive(Debug)]
pub struct LoadMeter {
    soakers: SoakerProcess,
    ksoftirqd: Ksoftirqd,
    meters: KernelMeters,
    kind: SoakerKind,
}

impl LoadMeter {
    /// Starts one soaker on each of `cpus`.
    ///
    /// # Errors
    /// Same as [`SoakerProcess::start`]; or /proc/stat cannot be read.
    pub fn start(cpus: &[usize], kind: SoakerKind) -> Result<Self> {
        let soakers = SoakerProcess::start(cpus, kind)?;
        let ksoftirqd = Ksoftirqd::find(cpus);
        Ok(Self { soakers, ksoftirqd, meters: KernelMeters::open(cpus)?, kind })
    }

    /// Opens a window: the soakers are read last, so that reading the others is outside of it.
    ///
    /// # Errors
    /// The process of the soakers has ended.
    pub fn open(&mut self) -> Result<SoakEdge> {
        let stat = self.meters.read_stat()?;
        let ksoftirqd_ns = self.ksoftirqd.cpu_ns();
        Ok(SoakEdge { stat, ..self.read(ksoftirqd_ns) })
    }

    /// Closes a window: the soakers are read first. If the next window follows without a gap, it
    /// opens with this edge.
    ///
    /// # Errors
    /// The process of the soakers has ended.
    pub fn close(&mut self) -> Result<SoakEdge> {
        let mut edge = self.read(Vec::new());
        edge.soak.ksoftirqd_ns = self.ksoftirqd.cpu_ns();
        edge.stat = self.meters.read_stat()?;
        Ok(edge)
    }

    /// Reads the soakers alone: some loads.
    fn read(&self, ksoftirqd_ns: Vec<u64>) -> SoakEdge {
        let seen = self.soakers.seen();
        let soak = SoakReading { ksoftirqd_ns, ..self.soakers.read() };
        SoakEdge {
            soak,
            undisturbed: seen.iter().map(|soaker| soaker.undisturbed).collect(),
            ticked: seen.iter().map(|soaker| soaker.ticked).collect(),
            ..SoakEdge::default()
        }
    }

    /// /proc/stat alone, for time in which the soakers sleep.
    ///
    /// # Errors
    /// It cannot be read, or a CPU has gone offline.
    pub fn stat(&mut self) -> Result<StatReading> {
        self.meters.read_stat()
    }

    /// The soakers, for pausing and resuming them.
    pub fn soakers(&mut self) -> &mut SoakerProcess {
        &mut self.soakers
    }

    /// Describes the soakers, once `idle` has measured windows in which nothing is done.
    ///
    /// # Errors
    /// Same as `idle`; or the soakers are gone.
    pub fn know(
        &mut self,
        taken: Option<Taken>,
        idle: impl FnOnce(&mut Self) -> Result<Vec<SoakWindow>>,
    ) -> Result<SoakStart> {
        let before = self.soakers.pace();
        let idle = idle(self)?;
        let after = self.soakers.pace();
        let pace = after.iter().zip(before).map(|(after, before)| after.since(before)).collect();
        let (cpus, rank) = (self.soakers.cpus().to_vec(), self.soakers.rank().clone());
        let cpu_quota = quota_below(cpus.len());
        let host = host();
        let soaker = self.kind;
        Ok(SoakStart {
            cpus,
            soaker,
            rank,
            idle,
            pace,
            taken,
            emulated: host.is_emulated(),
            cpu_quota,
            irq_time_accounting: host.irq_time_accounting,
            thread_clock_step_ns: host.thread_clock_step_ns,
        })
    }
}
