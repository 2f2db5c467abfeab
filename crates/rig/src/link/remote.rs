//! `remote`: the network between this machine and another. zc changes nothing; it reads the device
//! of the route.

use std::net::{Ipv4Addr, SocketAddr};

use super::host::OfHost;
use super::link_trait::Link;
use super::{card, offloads};
use zc_kernel::netlink::Devices;
use zc_run::address::ip_text;
use zc_run::{DeviceFacts, Error, IpVersion, LinkKind, Result};

/// The link to another machine at `address`, whatever its port.
///
/// # Errors
/// There is no route to it.
pub fn towards(address: SocketAddr) -> Result<Box<dyn Link>> {
    let look = || {
        let devices = Devices::open()?;
        let device = devices.towards(address)?;
        Ok((devices, device))
    };
    let (devices, device) = look().map_err(|error: std::io::Error| {
        Error::os(format!("find the way to \"{}\"", ip_text(address)), error)
            .help("ip route get ADDRESS tells what the kernel knows")
    })?;
    let ip = if address.is_ipv6() { IpVersion::V6 } else { IpVersion::V4 };
    // A server that cannot check bytes (iperf3, a discard port) is not asked to: they are proven on
    // this machine.
    Ok(Box::new(OfHost::new(LinkKind::Remote, ip, devices, device, Ipv4Addr::LOCALHOST.into())))
}

/// The device by which packets to `address` leave; `None` where there is no route.
pub fn device_towards(address: SocketAddr) -> Option<DeviceFacts> {
    let devices = Devices::open().ok()?;
    let device = devices.towards(address).ok()?;
    Some(DeviceFacts {
        mtu_bytes: device.mtu_bytes,
        offloads: offloads::read(&device.name),
        settings: card::settings(&devices, &device.name, device.index),
        name: device.name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_of_a_route_has_its_settings() {
        let device = device_towards((Ipv4Addr::LOCALHOST, 9).into()).unwrap();
        assert!(device.name == "lo" && device.mtu_bytes > 0, "{device:?}");
        assert!(!device.settings.is_empty(), "{device:?}");
    }
}
