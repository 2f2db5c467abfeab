//! `loopback`: the host's own `lo`. Needs nothing and changes nothing. The receive softirq of a packet runs on the CPU that
//! sent it, so the costs of the two sides cannot be told apart here, only their sum is honest.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use zc_sys::netlink::Devices;

use super::{Link, offloads, read_counters};
use crate::record::{IpVersion, LinkCounters, LinkFacts, LinkKind, LinkOptions, No, Result};

const DEVICE: &str = "lo";

struct Loopback {
    facts: LinkFacts,
    devices: Devices,
    index: u32,
}

pub(super) fn bring_up(options: &LinkOptions) -> std::result::Result<Box<dyn Link>, No> {
    if options.mtu_bytes.is_some() || !options.switched_off.is_empty() {
        return Err(No::refused(format!(
            "device \"{DEVICE}\" is the host's own, and its MTU and offloads are left alone"
        ))
        .remedy("--link veth has devices of its own"));
    }
    let open = || {
        let devices = Devices::open()?;
        let lo = devices.find(DEVICE)?;
        devices.counters(lo.index)?;
        Ok((devices, lo))
    };
    let (devices, lo) =
        open().map_err(|error: std::io::Error| No::failed(format!("device \"{DEVICE}\" cannot be read: {error}")))?;
    if !lo.up {
        return Err(No::refused(format!("device \"{DEVICE}\" is down in this network namespace"))
            .remedy("sudo ip link set lo up"));
    }
    // Nothing is sent: binding asks whether the address is there.
    UdpSocket::bind((address(options.ip), 0)).map_err(|error| {
        No::unsupported(format!("IPv{} cannot be had on device \"{DEVICE}\": {error}", options.ip)).remedy("--ip 4")
    })?;
    let facts = LinkFacts {
        kind: LinkKind::Loopback,
        device: DEVICE.to_owned(),
        mtu_bytes: lo.mtu_bytes,
        offloads: offloads::read(DEVICE),
        sides_apart: false,
        rps: None,
        rps_check: None,
        ip: options.ip,
        switched_off: options.switched_off.clone(),
        initial_window_packets: None,
        far_end: None,
        passed_over: Vec::new(),
    };
    Ok(Box::new(Loopback { facts, devices, index: lo.index }))
}

fn address(ip: IpVersion) -> IpAddr {
    match ip {
        IpVersion::V4 => Ipv4Addr::LOCALHOST.into(),
        IpVersion::V6 => Ipv6Addr::LOCALHOST.into(),
    }
}

impl Link for Loopback {
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
        address(self.facts.ip)
    }

    fn counters(&self) -> Result<LinkCounters> {
        read_counters(&self.devices, DEVICE, self.index)
    }
}
