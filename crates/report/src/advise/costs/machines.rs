//! Differences between machines.

use crate::compare::aspects;
use zc_analysis::compare::between_machines;
use zc_run::Host;

/// Differences between a run's machine or kernel and this one, in words; empty if there are none.
pub fn machine_differences(run: &Host, this: &Host) -> Vec<String> {
    between_machines(run, this).iter().map(aspects::text).collect()
}
