//! The counters of a device, as a run saves them.

use zc_kernel::clock::monotonic_ns;
use zc_kernel::netlink::Devices;
use zc_run::{Error, LinkCounters, Result};

/// The counters of device `name` with interface number `index`, and the time of reading.
///
/// # Errors
/// Netlink failed.
pub(super) fn read_counters(devices: &Devices, name: &str, index: u32) -> Result<LinkCounters> {
    let at_ns = monotonic_ns();
    let counted = devices.counters(index).map_err(|error| {
        Error::os(format_args!("read the counters of device \"{name}\""), error)
    })?;
    Ok(LinkCounters {
        at_ns,
        tx_packets: counted.tx_packets,
        tx_bytes: counted.tx_bytes,
        rx_packets: counted.rx_packets,
        rx_bytes: counted.rx_bytes,
        dropped: counted.tx_dropped.saturating_add(counted.rx_dropped),
    })
}
