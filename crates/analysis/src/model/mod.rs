//! The results of an analysis: types alone, so that a reader of the JSON finds every field and its unit
//! here.
//!
//! Units: costs are nanoseconds of soaked CPU time per KiB (1024 bytes) of payload as the receiver
//! counted it; rates are bytes per second; shares run from 0 to 1. `None` means that the run does not
//! determine the value; it never stands for 0.

pub(super) mod cell;
pub(super) mod estimates;
pub(super) mod figure;
pub(super) mod netperf;
pub(super) mod sizes;
pub(super) mod verdict;
