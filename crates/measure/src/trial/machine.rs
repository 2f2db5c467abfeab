//! What measures a machine, whichever end of a link it is: soakers on its CPUs and the kernel's own meters.

use zc_kernel::clock::{monotonic_ns, own_cpu_ns, sleep_until};

use crate::meter::{KernelMeters, Soakers, WakeLatency, checks, wake_latency};
use zc_run::{Reading, Result, SoakReading, SoakerKind, Warning};

/// How long zc looks at the machine before it does anything: 20 ticks of 10 ms.
const LOOK_NS: u64 = 200_000_000;

/// Soakers and meters.
pub struct Machine {
    soakers: Soakers,
    meters: KernelMeters,
}

impl Machine {
    /// Starts a soaker on each of `cpus`, paused, and opens the meters. Without any CPU there is nothing to soak, and the
    /// process's own CPU time is still read.
    ///
    /// # Errors
    /// A CPU may not be used, SCHED_IDLE is refused, or /proc/stat cannot be read.
    pub fn new(cpus: &[usize], soaker: SoakerKind) -> Result<Self> {
        let soakers = Soakers::start(cpus, soaker)?;
        soakers.pause();
        Ok(Self { soakers, meters: KernelMeters::open(cpus)? })
    }

    /// Lets the soakers work or sleep.
    pub fn soak(&self, on: bool) {
        if on {
            self.soakers.resume();
        } else {
            self.soakers.pause();
        }
    }

    /// Which threads the soakers are.
    pub fn soaker_tids(&self) -> &[i32] {
        self.soakers.tids()
    }

    /// Whether soakers delay those who wake up on `cpus`; leaves the soakers asleep.
    ///
    /// # Errors
    /// A CPU may not be used.
    pub fn wake_latencies(&self, cpus: &[usize]) -> Result<Vec<WakeLatency>> {
        let latencies = cpus.iter().map(|&cpu| wake_latency(cpu, &self.soakers)).collect();
        self.soakers.pause();
        latencies
    }

    /// What makes the machine unfit to measure, seen in a fifth of a second in which nothing of zc is at work.
    ///
    /// # Errors
    /// /proc/stat cannot be read.
    pub fn look(&mut self) -> Result<Vec<Warning>> {
        let opened = self.meters.read_stat()?;
        sleep_until(monotonic_ns() + LOOK_NS);
        let closed = self.meters.read_stat()?;
        Ok(checks::while_idle(&opened, &closed))
    }

    /// The soakers' counters: a few loads, no system call but the clock.
    pub fn soaked(&self) -> SoakReading {
        self.soakers.read()
    }

    /// What the kernel counts, and right before it the CPU time of everything that is zc's: the soakers, the calling thread, and
    /// `others_ns` of other threads.
    ///
    /// # Errors
    /// A meter that could be read before cannot be read now.
    pub fn kernel(&mut self, others_ns: u64, into: &mut Reading) -> Result<()> {
        into.process_cpu_ns = self.soakers.cpu_ns()? + own_cpu_ns() + others_ns;
        self.meters.read(into)
    }
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("soakers", &self.soakers).finish_non_exhaustive()
    }
}
