//! The meters of one machine, at either end of a link: soakers on its CPUs and the kernel's own
//! counters.

use crate::meter::{
    Below, CpuCounters, KernelMeters, Ksoftirqd, Soaking, TopCgroups, WakeLatency, checks,
    wake_latency,
};
use zc_kernel::clock::{monotonic_ns, own_cpu_ns, sleep_until};
use zc_run::{
    CpuCounts, Error, ErrorKind, Host, Reading, Result, SoakReading, SoakerKind, Warning,
};

/// Time for which the idle machine is observed before a run: 20 ticks of 10 ms.
const LOOK_NS: u64 = 200_000_000;

/// A CPU that cannot be soaked was not typed by the user: it was among those of this process, and
/// has gone offline or out of its cpuset since.
fn no_mistake(error: Error) -> Error {
    if error.kind == ErrorKind::Usage { error.kind(ErrorKind::Unsupported) } else { error }
}

fn paused(cpus: &[usize], soaker: SoakerKind, below: Below) -> Result<Soaking> {
    let mut soakers = Soaking::start(cpus, soaker, below).map_err(no_mistake)?;
    soakers.soak(false)?;
    Ok(soakers)
}

/// Soakers and meters of this machine.
pub struct Machine {
    soakers: Soaking,
    ksoftirqd: Ksoftirqd,
    cgroups: Option<TopCgroups>,
    counters: Option<CpuCounters>,
    meters: KernelMeters,
}

impl Machine {
    /// Starts a soaker on each of `cpus`, paused, and opens the meters. Without CPUs there are no
    /// soakers, and the CPU time of the process is still read.
    ///
    /// # Errors
    /// A CPU may not be used, SCHED_IDLE is refused, or /proc/stat cannot be read.
    pub fn new(cpus: &[usize], soaker: SoakerKind) -> Result<Self> {
        Self::below(Below::OwnSession, cpus, soaker)
    }

    /// Same as [`new`](Self::new), with soakers that rank below those that `below` names.
    ///
    /// # Errors
    /// Same as [`new`](Self::new); or the process of the soakers cannot be started.
    pub fn below(below: Below, cpus: &[usize], soaker: SoakerKind) -> Result<Self> {
        let soakers = paused(cpus, soaker, below)?;
        let (ksoftirqd, meters) = (Ksoftirqd::find(cpus), KernelMeters::open(cpus)?);
        Ok(Self { soakers, ksoftirqd, cgroups: None, counters: None, meters })
    }

    /// Reads these counters, too.
    pub fn counting(self, counters: Option<CpuCounters>) -> Self {
        Self { counters, ..self }
    }

    /// Reads the clocks of the top-level cgroups from now on, where these tell costs better than
    /// wall time alone: no task clock of this kernel contains interrupts, and all CPUs have a
    /// soaker.
    pub fn read_cgroups_under(&mut self, host: &Host) {
        let all_soaked = self.soakers.cpus().len() == host.cpu.online;
        if host.irq_time_accounting == Some(true) && all_soaked {
            self.cgroups = TopCgroups::open();
        }
    }

    /// Replaces the soakers with others of this kind, paused, on the same CPUs.
    ///
    /// # Errors
    /// Same as [`new`](Self::new). The old ones stay.
    pub fn renew_soakers(&mut self, soaker: SoakerKind) -> Result<()> {
        self.soakers = paused(self.soakers.cpus(), soaker, self.soakers.below())?;
        Ok(())
    }

    /// Resumes or pauses the soakers.
    ///
    /// # Errors
    /// They are in a process of their own, which is gone.
    pub fn soak(&mut self, on: bool) -> Result<()> {
        self.soakers.soak(on)
    }

    /// A warning if the soakers do not rank below those whom they should rank below.
    pub fn rank_warning(&self) -> Option<Warning> {
        self.soakers.rank_warning()
    }

    /// Thread ids of the soakers that are threads of this process.
    pub fn soaker_tids(&self) -> &[i32] {
        self.soakers.tids()
    }

    /// Measures how much soakers delay wake-ups on `cpus`; leaves the soakers paused.
    ///
    /// # Errors
    /// A CPU may not be used.
    pub fn wake_latencies(&mut self, cpus: &[usize]) -> Result<Vec<WakeLatency>> {
        let soakers = &mut self.soakers;
        let latencies = cpus.iter().map(|&cpu| wake_latency(cpu, |on| soakers.soak(on))).collect();
        soakers.soak(false)?;
        latencies
    }

    /// Conditions that make the machine unfit to measure, from a fifth of a second in which zc is
    /// idle.
    ///
    /// # Errors
    /// /proc/stat cannot be read.
    pub fn look(&mut self) -> Result<Vec<Warning>> {
        let opened = self.meters.read_stat()?;
        sleep_until(monotonic_ns() + LOOK_NS);
        let closed = self.meters.read_stat()?;
        Ok(checks::while_idle(&opened, &closed))
    }

    /// The soakers' counters and clocks, and those of ksoftirqd.
    pub fn soaked(&self) -> SoakReading {
        SoakReading { ksoftirqd_ns: self.ksoftirqd.cpu_ns(), ..self.soakers.read() }
    }

    /// Hardware events so far; empty where none are counted.
    pub fn counted(&self) -> Vec<CpuCounts> {
        self.counters.as_ref().map_or_else(Vec::new, CpuCounters::read)
    }

    /// Reads the clocks of the cgroups and the kernel's counters, and between them the CPU time of
    /// everything that belongs to zc: the soakers, the calling thread, and `others_ns` of other
    /// threads.
    ///
    /// # Errors
    /// A meter that could be read before cannot be read now.
    pub fn kernel(&mut self, others_ns: u64, into: &mut Reading) -> Result<()> {
        into.cgroups_ns = self.cgroups.as_mut().and_then(TopCgroups::cpu_ns);
        into.process_cpu_ns = self.soakers.cpu_ns() + own_cpu_ns() + others_ns;
        self.meters.read(into)
    }
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("soakers", &self.soakers).finish_non_exhaustive()
    }
}
