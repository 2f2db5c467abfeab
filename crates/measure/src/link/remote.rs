//! `remote`: the network between this machine and another. zc changes nothing; it reads the device
//! of the route.

use std::net::{Ipv4Addr, SocketAddr};

use zc_kernel::netlink::Devices;

use super::host::OfHost;
use super::link_trait::Link;
use zc_run::address::ip_text;
use zc_run::{Error, IpVersion, LinkKind, Result};

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
