//! How far costs differ between two sessions of one machine in one state, beyond what blocks within a
//! session show.

use crate::kept::KeptBlocks;

/// Standard deviation of the logarithm of a cost from one session to the next of one machine in one state, over what blocks within a
/// session show. In a virtual machine, of three times 21 runs in a row 0.11, 0.07 and 0.03: its neighbours come and go in minutes (docs/method.md, "Two runs").
const COST_BETWEEN_SESSIONS_OF_GUESTS: f64 = 0.11;

/// The same where nobody else is on the machine: assumed.
const COST_BETWEEN_SESSIONS: f64 = 0.04;

/// What a path has of its own in a session, all that moves the whole machine aside: of a cost relative to eleven others, in pairs of runs 2 to 14 minutes apart, 0.007
/// in one round of 21 runs and 0.013 in another; less of neighbours (docs/method.md, "Two runs").
pub(super) const PATH_BETWEEN_SESSIONS: f64 = 0.010;

pub(super) fn cost_between_sessions(before: &KeptBlocks<'_>, after: &KeptBlocks<'_>) -> f64 {
    let guest = [before, after].iter().any(|kept| kept.header.host.hypervisor.is_some());
    if guest { COST_BETWEEN_SESSIONS_OF_GUESTS } else { COST_BETWEEN_SESSIONS }
}
