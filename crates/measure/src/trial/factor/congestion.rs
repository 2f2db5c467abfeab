//! `congestion`: TCP congestion control of the sender. Which one holds where none is asked for is `trial::setup`'s.

use zc_kernel::tcp::{self, Unconnected};

use super::Effect;
use zc_run::{Error, FixedParams, Result};

pub(super) struct Congestion;

impl Effect for Congestion {
    /// Before it connects. A connection that BBR has begun is paced by a timer for good, whatever takes it over (bbr_init sets
    /// sk_pacing_status to SK_PACING_NEEDED, and nothing takes that back): where BBR is the system's default, every packet of
    /// every path would pay for a timer of its own.
    fn before_connect(&self, socket: &Unconnected, fixed: &FixedParams) -> Result<()> {
        tcp::set_congestion(socket, &fixed.congestion).map_err(|error| {
            Error::os(format!("use congestion control \"{}\"", fixed.congestion), error)
        })
    }
}
