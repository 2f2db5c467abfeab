//! Burns CPU time in softirq context on the sender's CPU: a known cost that no account of a thread
//! has in it, and that is to be found.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::refusal::explain_bpf;
use zc_kernel::tc_bpf::{AckBurn, BurnedFlow};
use zc_run::{Error, Result, Unavailable};

/// A burner for the flows of a trial, in proportion to their bytes, while their senders sleep
/// between two bursts.
#[derive(Debug)]
pub struct SoftirqBurner {
    device: &'static str,
    program: Mutex<AckBurn>,
}

impl SoftirqBurner {
    /// Loads the program and tries it on `device` of the calling thread's network namespace.
    pub(super) fn load(device: &'static str) -> std::result::Result<Self, Unavailable> {
        let mut program = AckBurn::load().map_err(|error| explain_bpf(&error))?;
        program.attach(device, 0.0).map_err(|error| {
            Unavailable::unsupported(format!(
                "this kernel attaches no program to a device by tcx (before Linux 6.6): {error}"
            ))
        })?;
        program.detach();
        Ok(Self { device, program: Mutex::new(program) })
    }

    /// Burns `ns_per_mb` for each MB of the connections that begin from now on and have a
    /// [`flow`](Self::flow). The calling thread must be on the sender's side of the link.
    ///
    /// # Errors
    /// The kernel does not attach the program.
    pub fn start(&self, ns_per_mb: f64) -> Result<()> {
        self.program()
            .attach(self.device, ns_per_mb)
            .map_err(|error| Error::os("burn CPU time in softirqs", error.error))
    }

    /// The flow from this port, whose sender says when it sleeps.
    pub fn flow(&self, source_port: u16) -> BurnedFlow {
        self.program().flow(source_port)
    }

    /// Ends it.
    pub fn stop(&self) {
        self.program().detach();
    }

    /// Nanoseconds burned so far.
    pub fn burned_ns(&self) -> u64 {
        self.program().burned_ns()
    }

    fn program(&self) -> MutexGuard<'_, AckBurn> {
        self.program.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
