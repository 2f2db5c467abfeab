//! A trial whose cell has a known cost in softirq context.

use std::sync::Arc;

use super::bursts::Bursts;
use crate::link::Link;
use zc_run::Result;

/// CPU time is burned on the sender's CPU until this is dropped.
pub(super) struct Burning(Arc<dyn Link>);

impl Burning {
    /// Burns `ns_per_mb` after each burst of the connections that begin from now on. Without pacing
    /// there are no bursts, and nothing is burned. The calling thread must be on the sender's side
    /// of the link.
    ///
    /// # Errors
    /// The link cannot do that.
    pub(super) fn begin(
        link: &Arc<dyn Link>,
        bursts: Bursts,
        ns_per_mb: f64,
    ) -> Result<Option<Self>> {
        let Some(rate) = bursts.rate_bytes_per_s() else { return Ok(None) };
        let burst_bytes = rate * bursts.period_ns() as f64 / 1e9;
        let burner =
            link.softirq_burner().map_err(|no| zc_run::Error::failed(no.reason.clone()))?;
        burner.start((burst_bytes as u64).max(1), (burst_bytes / 1e6 * ns_per_mb) as u64)?;
        Ok(Some(Self(Arc::clone(link))))
    }

    /// CPU time burned so far, in this trial and others.
    pub(super) fn burned_ns(&self) -> Option<u64> {
        self.0.softirq_burner().ok().map(|burner| burner.burned_ns())
    }
}

impl Drop for Burning {
    fn drop(&mut self) {
        if let Ok(burner) = self.0.softirq_burner() {
            burner.stop();
        }
    }
}
