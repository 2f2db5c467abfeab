//! A device of the host's own, over which zc sends and which it leaves as it is: `lo`, or the one that leads to another machine.
//! Both sides are in the namespace that zc was started in.

use std::net::IpAddr;

use zc_kernel::netlink::{Device, Devices};

use super::{Link, offloads, read_counters};
use zc_run::{IpVersion, LinkCounters, LinkFacts, LinkKind, Result};

/// A link over such a device.
pub(super) struct OfHost {
    facts: LinkFacts,
    devices: Devices,
    index: u32,
    receiver: IpAddr,
}

impl OfHost {
    /// Over `device` of `devices`. `receiver` is where a receiver on this machine listens.
    pub(super) fn new(
        kind: LinkKind,
        ip: IpVersion,
        devices: Devices,
        device: Device,
        receiver: IpAddr,
    ) -> Self {
        let facts = LinkFacts {
            kind,
            offloads: offloads::read(&device.name),
            receiver_merges: None,
            device: device.name,
            mtu_bytes: device.mtu_bytes,
            sides_apart: kind == LinkKind::Remote,
            rps: None,
            rps_check: None,
            ip,
            switched_off: Default::default(),
            initial_window_packets: None,
            far_end: None,
            passed_over: Vec::new(),
        };
        Self { facts, devices, index: device.index, receiver }
    }
}

impl Link for OfHost {
    fn facts(&self) -> &LinkFacts {
        &self.facts
    }

    fn enter_sender(&self) -> Result<()> {
        Ok(())
    }

    fn enter_receiver(&self) -> Result<()> {
        Ok(())
    }

    fn receiver_address(&self) -> IpAddr {
        self.receiver
    }

    fn counters(&self) -> Result<LinkCounters> {
        read_counters(&self.devices, &self.facts.device, self.index)
    }
}
