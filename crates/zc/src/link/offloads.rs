//! The offloads of a device, as the record keeps them.

use zc_sys::ethtool::Ethtool;

use crate::record::Offloads;

/// Those that decide what a packet is on its way: they are listed also when they are off.
const ALWAYS_LISTED: [&str; 8] = [
    "rx-checksum",
    "rx-gro",
    "tx-checksum-ip-generic",
    "tx-generic-segmentation",
    "tx-nocache-copy",
    "tx-scatter-gather",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
];

/// The offloads of `device` in the calling thread's network namespace; `None` when they cannot be read.
pub(super) fn read(device: &str) -> Option<Offloads> {
    let active = Ethtool::open().and_then(|ethtool| ethtool.active(device)).ok()?;
    let mut offloads: Offloads = ALWAYS_LISTED.iter().map(|&name| (name.to_owned(), false)).collect();
    offloads.extend(active.into_iter().map(|name| (name, true)));
    Some(offloads)
}
