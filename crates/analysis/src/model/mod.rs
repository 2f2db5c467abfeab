//! The result types of an analysis: every field of the JSON with its unit.
//!
//! Units: costs are nanoseconds of soaked CPU time per KiB (1024 bytes) of payload as counted by
//! the receiver; rates are bytes per second; shares run from 0 to 1. `None` means that the run does
//! not determine the value, never 0.

pub(super) mod account_kind;
pub(super) mod cell;
pub(super) mod components;
pub(super) mod estimates;
pub(super) mod figure;
pub(super) mod netperf;
pub(super) mod replay;
pub(super) mod requests;
pub(super) mod sizes;
pub(super) mod verdict;
