//! A link over a device of the host that zc leaves unchanged: `lo`, or the device of the route to
//! another machine. Both sides are in the network namespace in which zc was started.

use std::net::IpAddr;

use super::counters::read_counters;
use super::link_trait::Link;
use super::tcp_packets::TcpPackets;
use super::{card, offloads};
use zc_kernel::netlink::{Device, Devices};
use zc_run::{IpVersion, LinkCounters, LinkFacts, LinkKind, Result};

/// See the module.
pub(super) struct OfHost {
    facts: LinkFacts,
    devices: Devices,
    index: u32,
    receiver: IpAddr,
    tcp_packets: Option<TcpPackets>,
}

impl OfHost {
    /// A link over `device` of `devices`. A receiver on this machine listens on `receiver`.
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
            settings: card::settings(&devices, &device.name, device.index),
            receiver_merges: None,
            device: device.name,
            mtu_bytes: device.mtu_bytes,
            sides_apart: kind == LinkKind::Remote,
            rps: None,
            rps_check: None,
            ip,
            switched_off: Default::default(),
            gso_max_bytes: None,
            layer: None,
            initial_window_packets: None,
            far_end: None,
            passed_over: Vec::new(),
        };
        let tcp_packets = if kind == LinkKind::Loopback { TcpPackets::shared() } else { None };
        Self { facts, devices, index: device.index, receiver, tcp_packets }
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

    fn sender_address(&self) -> IpAddr {
        self.receiver // lo has one address
    }

    fn counters(&self) -> Result<LinkCounters> {
        read_counters(&self.devices, &self.facts.device, self.index)
    }

    fn tcp_packets(&self) -> Option<&TcpPackets> {
        self.tcp_packets.as_ref()
    }
}
