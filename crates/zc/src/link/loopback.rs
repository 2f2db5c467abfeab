//! `loopback`: the host's own `lo`. Needs nothing and changes nothing. The receive softirq of a packet runs on the CPU that
//! sent it, so the costs of the two sides cannot be told apart here, only their sum is honest.

use std::net::{IpAddr, Ipv4Addr};

use zc_sys::netlink::Devices;

use super::{Link, offloads, read_counters};
use crate::record::{LinkCounters, LinkFacts, LinkKind, No, Result};

const DEVICE: &str = "lo";

struct Loopback {
    facts: LinkFacts,
    devices: Devices,
    index: u32,
}

pub(super) fn bring_up() -> std::result::Result<Box<dyn Link>, No> {
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
    let facts = LinkFacts {
        kind: LinkKind::Loopback,
        device: DEVICE.to_owned(),
        mtu_bytes: lo.mtu_bytes,
        offloads: offloads::read(DEVICE),
        sides_apart: false,
        rps: None,
        rps_check: None,
        initial_window_packets: None,
        far_end: None,
        passed_over: Vec::new(),
    };
    Ok(Box::new(Loopback { facts, devices, index: lo.index }))
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
        IpAddr::V4(Ipv4Addr::LOCALHOST)
    }

    fn counters(&self) -> Result<LinkCounters> {
        read_counters(&self.devices, DEVICE, self.index)
    }
}
