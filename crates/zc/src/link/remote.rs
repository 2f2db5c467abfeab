//! `remote`: whatever lies between this machine and another. zc brings nothing up here and changes nothing; it looks at the
//! device that the bytes leave by.

use std::net::{IpAddr, Ipv4Addr};

use zc_sys::netlink::Devices;

use super::{Link, offloads, read_counters};
use crate::record::{Fault, IpVersion, LinkCounters, LinkFacts, LinkKind, Result};

struct Remote {
    facts: LinkFacts,
    devices: Devices,
    index: u32,
}

/// The link to another machine at `address`.
///
/// # Errors
/// There is no route to it.
pub fn towards(address: IpAddr) -> Result<Box<dyn Link>> {
    let look = || {
        let devices = Devices::open()?;
        let device = devices.towards(address)?;
        Ok((devices, device))
    };
    let (devices, device) = look().map_err(|error: std::io::Error| {
        Fault::os(format!("find the way to \"{address}\""), error)
            .hint("ip route get ADDRESS tells what the kernel knows")
    })?;
    let facts = LinkFacts {
        kind: LinkKind::Remote,
        offloads: offloads::read(&device.name),
        device: device.name,
        mtu_bytes: device.mtu_bytes,
        sides_apart: true,
        rps: None,
        rps_check: None,
        ip: if address.is_ipv6() { IpVersion::V6 } else { IpVersion::V4 },
        switched_off: Default::default(),
        initial_window_packets: None,
        far_end: None,
        passed_over: Vec::new(),
    };
    Ok(Box::new(Remote { facts, devices, index: device.index }))
}

impl Link for Remote {
    fn facts(&self) -> &LinkFacts {
        &self.facts
    }

    fn enter_sender(&self) -> Result<()> {
        Ok(())
    }

    fn enter_receiver(&self) -> Result<()> {
        Ok(())
    }

    /// Where a far end cannot show what it received, bytes are proven on this machine.
    fn receiver_address(&self) -> IpAddr {
        IpAddr::V4(Ipv4Addr::LOCALHOST)
    }

    fn counters(&self) -> Result<LinkCounters> {
        read_counters(&self.devices, &self.facts.device, self.index)
    }
}
