//! `congestion`: TCP congestion control of the sender. `trial::setup` chooses the default.

use super::effect::Effect;
use zc_kernel::tcp::{self, Unconnected};
use zc_run::{Error, FixedParams, Result};

pub(super) struct Congestion;

impl Effect for Congestion {
    /// Set before the connection is made. A connection that starts with BBR is paced by a timer
    /// until it ends, even after a switch to another congestion control: bbr_init sets
    /// sk_pacing_status to SK_PACING_NEEDED, and nothing resets it. Where BBR is the system's
    /// default, every packet of every path would pay for a timer.
    fn before_connect(&self, socket: &Unconnected, fixed: &FixedParams) -> Result<()> {
        let Some(name) = fixed.set_congestion() else { return Ok(()) };
        tcp::set_congestion(socket, name).map_err(|error| {
            Error::os(format!("use congestion control \"{name}\""), error)
                .id("congestion-control-unavailable")
        })
    }
}
