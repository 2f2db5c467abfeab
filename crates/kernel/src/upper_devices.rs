//! Devices above another one, over rtnetlink: macvlan and VXLAN.
//!
//! # References
//! - ip-link(8)
//! - include/uapi/linux/if_link.h

use std::io;
use std::net::Ipv4Addr;

use netlink_packet_core::DefaultNla;

use crate::attributes::{address, word};
use crate::netlink::Devices;

const IFLA_MACVLAN_MODE: u16 = 1;
const MACVLAN_MODE_BRIDGE: u32 = 4;
const IFLA_VXLAN_ID: u16 = 1;
/// The remote address, if it is no group.
const IFLA_VXLAN_GROUP: u16 = 2;
const IFLA_VXLAN_LINK: u16 = 3;
const IFLA_VXLAN_LOCAL: u16 = 4;
const IFLA_VXLAN_PORT: u16 = 15;

/// The port of VXLAN (RFC 7348). The kernel's own default is 8472 (`vxlan_port` in
/// drivers/net/vxlan/vxlan_core.c).
const VXLAN_PORT: u16 = 4789;

impl Devices {
    /// Creates a macvlan device with RTM_NEWLINK above the device number `lower`, in the mode
    /// `bridge`. It has an Ethernet address of its own, and is down.
    ///
    /// # Errors
    /// - EPERM: CAP_NET_ADMIN is needed.
    /// - EOPNOTSUPP: the kernel has no macvlan.
    /// - EEXIST: the name is taken.
    /// - EBUSY: `lower` is the port of a bridge.
    ///
    /// # References
    /// [ip-link(8)], macvlan
    ///
    /// [ip-link(8)]: https://man7.org/linux/man-pages/man8/ip-link.8.html
    #[doc(alias = "RTM_NEWLINK")]
    #[doc(alias = "macvlan")]
    pub fn make_macvlan(&self, name: &str, lower: u32) -> io::Result<()> {
        let mode = word(IFLA_MACVLAN_MODE, MACVLAN_MODE_BRIDGE);
        self.new_link_above(Some(lower), name, "macvlan", &[mode])
    }

    /// Creates a VXLAN device with RTM_NEWLINK, whose packets go from `local` on the device number
    /// `lower` to `remote`, with the network identifier `id`. Its MTU is that of `lower` less 50
    /// bytes. It is down.
    ///
    /// # Errors
    /// - EPERM: CAP_NET_ADMIN is needed.
    /// - EOPNOTSUPP: the kernel has no VXLAN.
    /// - EEXIST: the name is taken, or a device with this identifier.
    ///
    /// # References
    /// - [ip-link(8)], vxlan
    /// - [Documentation/networking/vxlan.rst]
    ///
    /// [ip-link(8)]: https://man7.org/linux/man-pages/man8/ip-link.8.html
    /// [Documentation/networking/vxlan.rst]: https://docs.kernel.org/networking/vxlan.html
    #[doc(alias = "RTM_NEWLINK")]
    #[doc(alias = "vxlan")]
    pub fn make_vxlan(
        &self,
        name: &str,
        id: u32,
        lower: u32,
        local: Ipv4Addr,
        remote: Ipv4Addr,
    ) -> io::Result<()> {
        let data = [
            word(IFLA_VXLAN_ID, id),
            word(IFLA_VXLAN_LINK, lower),
            address(IFLA_VXLAN_LOCAL, local.into()),
            address(IFLA_VXLAN_GROUP, remote.into()),
            DefaultNla::new(IFLA_VXLAN_PORT, VXLAN_PORT.to_be_bytes().to_vec()),
        ];
        self.new_link_above(None, name, "vxlan", &data)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn a_macvlan_has_the_mtu_of_the_device_below_and_a_vxlan_has_room_for_its_header() {
        crate::testing::in_a_namespace(|namespace| {
            let devices = Devices::open().unwrap();
            devices.make_veth("zc0", "zc1", namespace.as_fd()).unwrap();
            let lower = devices.find("zc0").unwrap();
            let made = |name: &str, made: io::Result<()>| match made {
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                    eprintln!("skipped: this kernel has no {name}");
                    None
                }
                made => {
                    made.unwrap();
                    Some(devices.find(name).unwrap())
                }
            };
            if let Some(macvlan) = made("macvlan", devices.make_macvlan("macvlan", lower.index)) {
                assert_eq!(macvlan.mtu_bytes, lower.mtu_bytes);
                assert!(macvlan.mac.is_some() && macvlan.mac != lower.mac, "{macvlan:?}");
            }
            let [local, remote] = [1, 2].map(|last| Ipv4Addr::new(192, 0, 2, last));
            let vxlan = devices.make_vxlan("vxlan", 7, lower.index, local, remote);
            if let Some(vxlan) = made("vxlan", vxlan) {
                assert_eq!(vxlan.mtu_bytes, lower.mtu_bytes - 50);
                let again = devices.make_vxlan("vxlan", 7, lower.index, local, remote);
                assert_eq!(again.unwrap_err().raw_os_error(), Some(libc::EEXIST));
            }
        });
    }
}
