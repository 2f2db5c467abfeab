//! Variation of costs between sessions of one machine in one state, beyond the variation between
//! blocks within a session.

use crate::kept::KeptBlocks;

/// Standard deviation of the logarithm of a cost between sessions of one machine in one state,
/// beyond that of blocks within a session. In a virtual machine it was 0.11, 0.07 and 0.03 in three
/// series of 21 consecutive runs: its neighbours come and go in minutes (docs/method.md, "Two
/// runs").
const COST_BETWEEN_SESSIONS_OF_GUESTS: f64 = 0.11;

/// The same on a machine without other guests: assumed.
const COST_BETWEEN_SESSIONS: f64 = 0.04;

/// Standard deviation between sessions of the logarithm of one path's cost, without what moves the
/// whole machine. For a cost relative to eleven others, in pairs of runs 2 to 14 minutes apart, it
/// was 0.007 in one series of 21 runs and 0.013 in another; less depends on neighbours
/// (docs/method.md, "Two runs").
pub(super) const PATH_BETWEEN_SESSIONS: f64 = 0.010;

pub(super) fn cost_between_sessions(before: &KeptBlocks<'_>, after: &KeptBlocks<'_>) -> f64 {
    let guest = [before, after].iter().any(|kept| kept.header.host.hypervisor.is_some());
    if guest { COST_BETWEEN_SESSIONS_OF_GUESTS } else { COST_BETWEEN_SESSIONS }
}
