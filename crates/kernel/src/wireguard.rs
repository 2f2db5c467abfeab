//! WireGuard devices, over rtnetlink and generic netlink.
//!
//! The kernel computes the public key of a device from its private one, so that no curve is needed
//! here.
//!
//! # References
//! - include/uapi/linux/wireguard.h
//! - drivers/net/wireguard/netlink.c

use std::io;
use std::net::{IpAddr, SocketAddrV4};

use netlink_packet_core::{DefaultNla, NLM_F_DUMP};

use crate::attributes::{address, child, family, host_prefix_bits, nested, text, word};
use crate::generic_netlink::{Family, attributes_of};
use crate::netlink::Devices;
use crate::netlink_channel::undecodable;

// include/uapi/linux/wireguard.h
const KIND: &str = "wireguard";
const VERSION: u8 = 1;
const CMD_GET_DEVICE: u8 = 0;
const CMD_SET_DEVICE: u8 = 1;
const DEVICE_A_IFNAME: u16 = 2;
const DEVICE_A_PRIVATE_KEY: u16 = 3;
const DEVICE_A_PUBLIC_KEY: u16 = 4;
const DEVICE_A_LISTEN_PORT: u16 = 6;
const DEVICE_A_PEERS: u16 = 8;
const PEER_A_PUBLIC_KEY: u16 = 1;
const PEER_A_FLAGS: u16 = 3;
const PEER_A_ENDPOINT: u16 = 4;
const PEER_A_ALLOWEDIPS: u16 = 9;
const PEER_F_REPLACE_ALLOWEDIPS: u32 = 2;
const ALLOWEDIP_A_FAMILY: u16 = 1;
const ALLOWEDIP_A_IPADDR: u16 = 2;
const ALLOWEDIP_A_CIDR_MASK: u16 = 3;

/// A key of Curve25519, private or public.
pub type Key = [u8; 32];

impl Devices {
    /// Creates a WireGuard device with RTM_NEWLINK, without keys. It is down. Its MTU is 1420.
    ///
    /// # Errors
    /// - EPERM: CAP_NET_ADMIN is needed.
    /// - EOPNOTSUPP: the kernel has no WireGuard.
    /// - EEXIST: the name is taken.
    ///
    /// # References
    /// [ip-link(8)]
    ///
    /// [ip-link(8)]: https://man7.org/linux/man-pages/man8/ip-link.8.html
    #[doc(alias = "RTM_NEWLINK")]
    #[doc(alias = "wireguard")]
    pub fn make_wireguard(&self, name: &str) -> io::Result<()> {
        self.new_link_above(None, name, KIND, &[])
    }
}

/// A generic netlink socket for the WireGuard devices of one network namespace.
///
/// # References
/// include/uapi/linux/wireguard.h
#[doc(alias = "NETLINK_GENERIC")]
#[derive(Debug)]
pub struct Wireguard(Family);

impl Wireguard {
    /// Opens a generic netlink socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// - ENOENT: the kernel has no WireGuard, or its module is not loaded. Making a device loads
    ///   it.
    ///
    /// # References
    /// [netlink(7)]
    ///
    /// [netlink(7)]: https://man7.org/linux/man-pages/man7/netlink.7.html
    #[doc(alias = "CTRL_CMD_GETFAMILY")]
    pub fn open() -> io::Result<Self> {
        Family::open(KIND, VERSION).map(Self)
    }

    /// Gives `device` its private key and its UDP port with WG_CMD_SET_DEVICE, and returns the
    /// public key of WG_CMD_GET_DEVICE. Any 32 random bytes are a private key.
    ///
    /// # Errors
    /// - EPERM: CAP_NET_ADMIN is needed.
    /// - ENODEV: there is no such device.
    /// - EOPNOTSUPP: it is no WireGuard device.
    ///
    /// # References
    /// `wg_set_device` in drivers/net/wireguard/netlink.c
    #[doc(alias = "WG_CMD_SET_DEVICE")]
    #[doc(alias = "WG_CMD_GET_DEVICE")]
    pub fn set_key(&self, device: &str, private: &Key, port: u16) -> io::Result<Key> {
        let name = text(DEVICE_A_IFNAME, device);
        let attributes = [
            name.clone(),
            DefaultNla::new(DEVICE_A_PRIVATE_KEY, private.to_vec()),
            DefaultNla::new(DEVICE_A_LISTEN_PORT, port.to_ne_bytes().to_vec()),
        ];
        self.0.request(CMD_SET_DEVICE, &attributes, 0)?;
        let answers = self.0.request(CMD_GET_DEVICE, &[name], NLM_F_DUMP)?;
        let answer = answers.first().ok_or_else(|| undecodable("no device in it"))?;
        let key = child(attributes_of(answer)?, DEVICE_A_PUBLIC_KEY).map_err(undecodable)?;
        key.and_then(|key| key.try_into().ok()).ok_or_else(|| undecodable("a device without a key"))
    }

    /// Gives `device` a peer with this public key at `endpoint`, which may send from `address` and
    /// is sent what goes there, with WG_CMD_SET_DEVICE.
    ///
    /// # Errors
    /// Same as for [`set_key`](Self::set_key).
    ///
    /// # References
    /// `set_peer` in drivers/net/wireguard/netlink.c
    #[doc(alias = "WG_CMD_SET_DEVICE")]
    pub fn set_peer(
        &self,
        device: &str,
        public: &Key,
        endpoint: SocketAddrV4,
        allowed: IpAddr,
    ) -> io::Result<()> {
        let range = [
            DefaultNla::new(ALLOWEDIP_A_FAMILY, u16::from(family(allowed)).to_ne_bytes().to_vec()),
            address(ALLOWEDIP_A_IPADDR, allowed),
            DefaultNla::new(ALLOWEDIP_A_CIDR_MASK, vec![host_prefix_bits(allowed)]),
        ];
        let peer = [
            DefaultNla::new(PEER_A_PUBLIC_KEY, public.to_vec()),
            word(PEER_A_FLAGS, PEER_F_REPLACE_ALLOWEDIPS),
            DefaultNla::new(PEER_A_ENDPOINT, sockaddr_in(endpoint).to_vec()),
            nested(PEER_A_ALLOWEDIPS, &[nested(0, &range)]),
        ];
        let peers = nested(DEVICE_A_PEERS, &[nested(0, &peer)]);
        self.0.request(CMD_SET_DEVICE, &[text(DEVICE_A_IFNAME, device), peers], 0)?;
        Ok(())
    }
}

/// `struct sockaddr_in`: the family, the port and the address, and eight bytes of nothing (ip(7)).
fn sockaddr_in(address: SocketAddrV4) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
    bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
    bytes[4..8].copy_from_slice(&address.ip().octets());
    bytes
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_device_has_the_public_key_that_belongs_to_its_private_one() {
        crate::testing::in_a_namespace(|_| {
            let devices = Devices::open().unwrap();
            match devices.make_wireguard("wg") {
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                    eprintln!("skipped: this kernel has no WireGuard");
                    return;
                }
                made => made.unwrap(),
            }
            let wireguard = Wireguard::open().unwrap();
            let [one, other]: [Key; 2] = std::array::from_fn(|_| crate::random::array().unwrap());
            let public = |private| wireguard.set_key("wg", private, 51_820).unwrap();
            let (of_one, of_other) = (public(&one), public(&other));
            assert!(of_one != one && of_one != of_other && of_one == public(&one));
            let endpoint = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 51_820);
            for allowed in ["198.51.100.2", "2001:db8::2"] {
                wireguard.set_peer("wg", &of_other, endpoint, allowed.parse().unwrap()).unwrap();
            }
            let error = wireguard.set_key("lo", &one, 51_820).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
        });
    }

    #[test]
    fn an_endpoint_is_a_sockaddr_in() {
        let bytes = sockaddr_in(SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 0x1234));
        assert_eq!(bytes[2..8], [0x12, 0x34, 192, 0, 2, 1]);
        assert_eq!(bytes[8..], [0; 8]);
    }
}
