//! `loopback`: the host's own `lo`. Needs no privilege and changes nothing. The receive softirq of
//! a packet runs on the CPU that sent it, so the costs of the two sides cannot be separated: only
//! their sum is meaningful.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use super::host::OfHost;
use super::link_trait::Link;
use zc_kernel::netlink::Devices;
use zc_run::{IpVersion, LinkKind, LinkOptions, Unavailable};

const DEVICE: &str = "lo";

pub(super) fn bring_up(options: &LinkOptions) -> std::result::Result<Box<dyn Link>, Unavailable> {
    if options.change_devices() {
        return Err(Unavailable::refused(format!(
            "device \"{DEVICE}\" is the host's own, and its settings are left alone"
        ))
        .remedy("--link veth has devices of its own"));
    }
    let open = || {
        let devices = Devices::open()?;
        let lo = devices.find(DEVICE)?;
        devices.counters(lo.index)?;
        Ok((devices, lo))
    };
    let (devices, lo) = open().map_err(|error: std::io::Error| {
        Unavailable::failed(format!("device \"{DEVICE}\" cannot be read: {error}"))
    })?;
    if !lo.up {
        return Err(Unavailable::refused(format!(
            "device \"{DEVICE}\" is down in this network namespace"
        ))
        .remedy("sudo ip link set lo up"));
    }
    // Nothing is sent: binding checks that the address exists.
    UdpSocket::bind((address(options.ip), 0)).map_err(|error| {
        Unavailable::unsupported(format!(
            "IPv{} is not available on device \"{DEVICE}\": {error}",
            options.ip
        ))
        .remedy("--ip 4")
    })?;
    Ok(Box::new(OfHost::new(LinkKind::Loopback, options.ip, devices, lo, address(options.ip))))
}

fn address(ip: IpVersion) -> IpAddr {
    match ip {
        IpVersion::V4 => Ipv4Addr::LOCALHOST.into(),
        IpVersion::V6 => Ipv6Addr::LOCALHOST.into(),
    }
}
