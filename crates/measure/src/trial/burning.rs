//! A trial whose cell has a known cost in softirq context.

use std::sync::Arc;

use super::bursts::Bursts;
use crate::link::Link;
use zc_run::{Error, Result};

/// CPU time is burned on the sender's CPU until this is dropped.
pub(super) struct Burning(Arc<dyn Link>);

impl Burning {
    /// Burns `ns_per_mb` between the bursts of the connections that begin from now on. Without
    /// pacing there are no bursts, and nothing is burned. The calling thread must be on the sender's
    /// side of the link.
    ///
    /// # Errors
    /// The link cannot do that.
    pub(super) fn begin(
        link: &Arc<dyn Link>,
        bursts: Bursts,
        ns_per_mb: f64,
    ) -> Result<Option<Self>> {
        if bursts.rate_bytes_per_s().is_none() {
            return Ok(None);
        }
        let burner = link.softirq_burner().map_err(|no| Error::failed(no.reason))?;
        burner.start(ns_per_mb)?;
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
