//! Burns CPU time in softirq context on the sender's CPU: a known cost that no account of a thread
//! has in it, and that is to be found.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::refusal::explain_bpf;
use zc_kernel::tc_bpf::{AckBurn, Stage};
use zc_run::{Error, Result, Unavailable};

/// A burner for the bursts of a trial: for each, once the last of its bytes is acknowledged.
#[derive(Debug)]
pub struct SoftirqBurner {
    device: &'static str,
    program: Mutex<AckBurn>,
}

impl SoftirqBurner {
    /// Loads the program and tries it on `device` of the calling thread's network namespace.
    pub(super) fn load(device: &'static str) -> std::result::Result<Self, Unavailable> {
        let no = |error| match explain_bpf(&error) {
            _ if error.stage == Stage::Attach => Unavailable::unsupported(format!(
                "this kernel attaches no program to a device by tcx (before Linux 6.6): {error}"
            )),
            why => why,
        };
        let mut program = AckBurn::load().map_err(no)?;
        program.attach(device, 1, 0).map_err(no)?;
        program.detach();
        Ok(Self { device, program: Mutex::new(program) })
    }

    /// Burns `ns_per_burst` after every `burst_bytes` of the connections that begin from now on.
    /// The calling thread must be on the sender's side of the link.
    ///
    /// # Errors
    /// The kernel does not attach the program.
    pub fn start(&self, burst_bytes: u64, ns_per_burst: u64) -> Result<()> {
        self.program()
            .attach(self.device, burst_bytes, ns_per_burst)
            .map_err(|error| Error::os("burn CPU time in softirqs", error.error))
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
