//! Reads the offloads of a device and switches them.

use std::collections::{BTreeMap, BTreeSet};

use zc_kernel::ethtool::Ethtool;
use zc_run::{OffloadSwitch, Offloads, Unavailable};

/// Offloads that decide what packets look like. They are listed even when they are off.
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

/// Generic receive offload: received segments are merged.
const GRO: &str = "rx-gro";

const ALL_TSO: [&str; 4] = [
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
];

/// Whether a switch concerns the receiver's device. All others concern the sender's.
pub(super) fn is_receivers(switch: OffloadSwitch) -> bool {
    match switch {
        OffloadSwitch::NoGro => true,
        OffloadSwitch::NoTso
        | OffloadSwitch::NoGso
        | OffloadSwitch::NoSg
        | OffloadSwitch::NoChecksum => false,
    }
}

/// The offloads of `device` in the calling thread's network namespace; `None` when they cannot be
/// read.
pub(super) fn read(device: &str) -> Option<Offloads> {
    let active = Ethtool::open().and_then(|ethtool| ethtool.active(device)).ok()?;
    let mut offloads: Offloads =
        ALWAYS_LISTED.iter().map(|&name| (name.to_owned(), false)).collect();
    // Some kernels have features without a name.
    let active = active.into_iter().filter(|name| !name.is_empty());
    offloads.extend(active.map(|name| (name, true)));
    Some(offloads)
}

/// The features of Linux that a switch turns off: all that do the same for TCP.
fn features(switch: OffloadSwitch) -> &'static [&'static str] {
    match switch {
        OffloadSwitch::NoGro => &[GRO],
        OffloadSwitch::NoTso => &[
            "tx-tcp-segmentation",
            "tx-tcp-ecn-segmentation",
            "tx-tcp-mangleid-segmentation",
            "tx-tcp6-segmentation",
            "tx-tcp-accecn-segmentation",
        ],
        OffloadSwitch::NoGso => &["tx-generic-segmentation"],
        OffloadSwitch::NoSg => &["tx-scatter-gather", "tx-scatter-gather-fraglist"],
        OffloadSwitch::NoChecksum => {
            &["tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6"]
        }
    }
}

/// Switches offloads of the sender's `device` off, in the calling thread's network namespace, and
/// verifies that they are off.
pub(super) fn switch_off(
    device: &str,
    switches: &BTreeSet<OffloadSwitch>,
) -> Result<(), Unavailable> {
    let switches: Vec<OffloadSwitch> =
        switches.iter().copied().filter(|switch| !is_receivers(*switch)).collect();
    if switches.is_empty() {
        return Ok(());
    }
    let failed = |error| {
        Unavailable::failed(format!(
            "the offloads of \"{device}\" could not be switched off: {error}"
        ))
    };
    let ethtool = Ethtool::open().map_err(|error| {
        Unavailable::unsupported(format!(
            "offloads can be switched by ethtool over netlink, which this kernel has not: {error}"
        ))
    })?;
    let on = ethtool.active(device).map_err(failed)?;
    let is_on = |name: &&&str| on.iter().any(|each| each == **name);
    let wanted: BTreeMap<String, bool> = switches
        .iter()
        .flat_map(|&switch| features(switch).iter().filter(is_on))
        .map(|name| ((*name).to_owned(), false))
        .collect();
    ethtool.set(device, &wanted).map_err(failed)?;
    let left = ethtool.active(device).map_err(failed)?;
    match left.iter().find(|name| wanted.contains_key(*name)) {
        None => Ok(()),
        Some(name) => Err(Unavailable::unsupported(format!(
            "the kernel does not switch {name} of \"{device}\" off"
        ))),
    }
}

/// Switches merging by the receiver's `device`, in the calling thread's network namespace, on or
/// off. Returns whether it merges; `None` if that is unknown. A veth device merges only if GRO is
/// switched on, and only what a device without TSO has sent (veth_xmit, Linux 5.13 and later).
pub(super) fn merge(device: &str, on: bool) -> std::io::Result<Option<bool>> {
    let ethtool = Ethtool::open()?;
    ethtool.set(device, &BTreeMap::from([(GRO.to_owned(), on)]))?;
    Ok(Some(ethtool.active(device)?.iter().any(|name| name == GRO)))
}

/// Whether a device with these offloads accepts TCP packets longer than its MTU: NETIF_F_ALL_TSO of
/// include/linux/netdev_features.h, which veth_xmit() checks. Segmentation of accurate ECN is not
/// part of it and may stay on.
pub(super) fn segments(offloads: &Offloads) -> bool {
    ALL_TSO.iter().any(|name| offloads.get(*name) == Some(&true))
}
