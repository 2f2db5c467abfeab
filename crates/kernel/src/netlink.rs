//! Network devices over rtnetlink: veth pairs across two namespaces, bridges, addresses, routes,
//! MTU and counters.
//!
//! A netlink socket stays in the network namespace in which it was created, and threads in other
//! namespaces may use it. The messages are few, each a header of fixed size with attributes, and
//! are encoded here: the crate that knows them all took as long to compile as the rest of this one.
//!
//! # References
//! - netlink(7)
//! - rtnetlink(7)
//! - network_namespaces(7)

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::attributes::{
    address as address_of, bytes, child, family, host_prefix_bits, ip, nested, number, string,
    text, word,
};
use crate::netlink_channel::{Channel, Message, undecodable, word_at};

/// Size of `struct ifinfomsg`.
const LINK_BYTES: usize = 16;
/// Size of `struct rtmsg`.
const ROUTE_BYTES: usize = 12;
/// Size of `struct ifaddrmsg`.
const ADDRESS_BYTES: usize = 8;
/// Size of `struct if_stats_msg`.
const STATS_BYTES: usize = 12;
const UP: u32 = libc::IFF_UP as u32;
// include/uapi/linux/veth.h, if_link.h, rtnetlink.h
const VETH_INFO_PEER: u16 = 1;
const IFLA_BR_MCAST_SNOOPING: u16 = 23;
const IFLA_GRO_MAX_SIZE: u16 = 58;
const IFLA_GSO_IPV4_MAX_SIZE: u16 = 63;
const IFLA_GRO_IPV4_MAX_SIZE: u16 = 64;
const RTM_NEWSTATS: u16 = 92;
const RTM_GETSTATS: u16 = 94;
const IFLA_STATS_LINK_64: u16 = 1;
const RTAX_INITCWND: u16 = 11;

/// A network device, as described by RTM_NEWLINK.
///
/// # References
/// [rtnetlink(7)]
///
/// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
#[doc(alias = "RTM_NEWLINK")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Name, such as `eth0`.
    pub name: String,
    /// Interface index in its namespace.
    pub index: u32,
    /// MTU in bytes.
    pub mtu_bytes: u32,
    /// Whether it is administratively up (IFF_UP).
    pub up: bool,
    /// Ethernet address. `None` if it has no address of 6 bytes.
    pub mac: Option<[u8; 6]>,
}

/// Counters of a device, from `struct rtnl_link_stats64`.
///
/// # References
/// [Documentation/networking/statistics.rst]
///
/// [Documentation/networking/statistics.rst]: https://docs.kernel.org/networking/statistics.html
#[doc(alias = "rtnl_link_stats64")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Packets sent. A GSO packet counts once.
    pub tx_packets: u64,
    /// Bytes sent, including link-layer headers.
    pub tx_bytes: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Bytes received, including link-layer headers.
    pub rx_bytes: u64,
    /// Packets dropped on transmission.
    pub tx_dropped: u64,
    /// Packets dropped on reception.
    pub rx_dropped: u64,
}

/// An rtnetlink socket for the network devices of one network namespace.
///
/// # References
/// [rtnetlink(7)]
///
/// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
#[doc(alias = "NETLINK_ROUTE")]
#[derive(Debug)]
pub struct Devices {
    pub(crate) channel: Channel,
}

impl Devices {
    /// Opens an rtnetlink socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// - EMFILE, ENFILE: no file descriptors left.
    /// - EPROTONOSUPPORT: the kernel has no rtnetlink.
    ///
    /// # References
    /// - [rtnetlink(7)]
    /// - [socket(2)]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    /// [socket(2)]: https://man7.org/linux/man-pages/man2/socket.2.html
    #[doc(alias = "socket")]
    #[doc(alias = "NETLINK_ROUTE")]
    pub fn open() -> io::Result<Self> {
        Ok(Self { channel: Channel::open(NETLINK_ROUTE)? })
    }

    /// Looks up a device by name with RTM_GETLINK.
    ///
    /// # Errors
    /// - ENODEV: this namespace has no device of this name.
    ///
    /// # References
    /// [rtnetlink(7)]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    #[doc(alias = "RTM_GETLINK")]
    pub fn find(&self, name: &str) -> io::Result<Device> {
        self.describe(0, &[text(libc::IFLA_IFNAME, name)])
    }

    /// Device by which a packet to `address`, in its zone, leaves, by RTM_GETROUTE and RTM_GETLINK.
    /// The port has no meaning.
    ///
    /// # Errors
    /// - ENETUNREACH: there is no route.
    ///
    /// # References
    /// [rtnetlink(7)]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    #[doc(alias = "RTM_GETROUTE")]
    pub fn towards(&self, address: SocketAddr) -> io::Result<Device> {
        let route = self.route(address)?;
        let device = number(&route.attributes, libc::RTA_OIF).map_err(undecodable)?;
        self.describe(device.ok_or_else(|| undecodable("a route without a device"))?, &[])
    }

    /// Whether a packet to `address` is delivered in this namespace and leaves by no device, by
    /// RTM_GETROUTE: the route is of type RTN_LOCAL. False where there is no route.
    ///
    /// # Errors
    /// Errors of netlink(7).
    ///
    /// # References
    /// [rtnetlink(7)]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    #[doc(alias = "RTN_LOCAL")]
    pub fn is_local(&self, address: SocketAddr) -> io::Result<bool> {
        match self.route(address) {
            Ok(route) => Ok(route.kind == libc::RTN_LOCAL),
            Err(error) => match error.raw_os_error() {
                // fib_props in net/ipv4/fib_semantics.c: no route, or one that refuses.
                Some(libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EACCES | libc::EINVAL) => {
                    Ok(false)
                }
                _ => Err(error),
            },
        }
    }

    /// The route of a packet to `address`.
    fn route(&self, address: SocketAddr) -> io::Result<Route> {
        let bits = host_prefix_bits(address.ip());
        // struct rtmsg
        let header = [family(address.ip()), bits, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let mut attributes = vec![address_of(libc::RTA_DST, address.ip())];
        if let SocketAddr::V6(six) = address
            && six.scope_id() != 0
        {
            let index = six.scope_id().to_ne_bytes().to_vec();
            attributes.push(DefaultNla::new(libc::RTA_OIF, index));
        }
        let request = Message::new(libc::RTM_GETROUTE, &header, &attributes);
        let answers = self.channel.request(request, 0)?;
        let route = answers.iter().find(|answer| answer.kind == libc::RTM_NEWROUTE);
        let route = route.ok_or_else(|| undecodable("no route in the answer"))?;
        let (header, attributes) = route.split::<ROUTE_BYTES>()?;
        Ok(Route { kind: header[7], attributes: attributes.to_vec() })
    }

    /// Addresses of this namespace with global or site scope, by RTM_GETADDR: neither loopback nor
    /// link-local ones.
    ///
    /// # Errors
    /// Errors of netlink(7).
    ///
    /// # References
    /// [rtnetlink(7)]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    #[doc(alias = "RTM_GETADDR")]
    pub fn addresses(&self) -> io::Result<Vec<IpAddr>> {
        let request = Message::new(libc::RTM_GETADDR, &[0; ADDRESS_BYTES], &[]);
        let mut addresses = Vec::new();
        for answer in self.channel.request(request, NLM_F_DUMP)? {
            let (header, attributes) = answer.split::<ADDRESS_BYTES>()?;
            if answer.kind != libc::RTM_NEWADDR
                || ![libc::RT_SCOPE_UNIVERSE, libc::RT_SCOPE_SITE].contains(&header[3])
            {
                continue;
            }
            // IFA_LOCAL is the address of this side. IPv6 has only IFA_ADDRESS
            // (include/uapi/linux/if_addr.h).
            let own = match child(attributes, libc::IFA_LOCAL).map_err(undecodable)? {
                Some(local) => Some(local),
                None => child(attributes, libc::IFA_ADDRESS).map_err(undecodable)?,
            };
            addresses.extend(own.and_then(|address| ip(&address)));
        }
        Ok(addresses)
    }

    /// The link number `index`, or 0 and its name in the attributes.
    pub(crate) fn link(&self, index: u32, attributes: &[DefaultNla]) -> io::Result<Link> {
        let request = Message::new(libc::RTM_GETLINK, &link_header(index, 0), attributes);
        let answers = self.channel.request(request, 0)?;
        let link = answers.iter().find(|answer| answer.kind == libc::RTM_NEWLINK);
        let link = link.ok_or_else(|| undecodable("no link in it"))?;
        let (header, attributes) = link.split::<LINK_BYTES>()?;
        Ok(Link {
            index: word_at(header, 4),
            flags: word_at(header, 8),
            attributes: attributes.to_vec(),
        })
    }

    fn describe(&self, index: u32, attributes: &[DefaultNla]) -> io::Result<Device> {
        let link = self.link(index, attributes)?;
        let value = |kind| child(&link.attributes, kind).map_err(undecodable);
        let name = value(libc::IFLA_IFNAME)?.ok_or_else(|| undecodable("a link without a name"))?;
        let mtu_bytes = number(&link.attributes, libc::IFLA_MTU).map_err(undecodable)?;
        Ok(Device {
            name: string(&name),
            mac: value(libc::IFLA_ADDRESS)?.and_then(|mac| mac.try_into().ok()),
            index: link.index,
            mtu_bytes: mtu_bytes.ok_or_else(|| undecodable("a link without an mtu"))?,
            up: link.flags & UP != 0,
        })
    }

    /// RTM_SETLINK of a device.
    fn set_link(&self, index: u32, flags: u32, attributes: &[DefaultNla]) -> io::Result<()> {
        let request = Message::new(libc::RTM_SETLINK, &link_header(index, flags), attributes);
        self.channel.request(request, 0)?;
        Ok(())
    }

    /// RTM_NEWLINK of a device of this kind, with the kind's own attributes.
    fn new_link(&self, name: &str, kind: &str, data: &[DefaultNla]) -> io::Result<()> {
        self.new_link_above(None, name, kind, data)
    }

    /// The same above the device number `lower` (IFLA_LINK), if one is given.
    pub(crate) fn new_link_above(
        &self,
        lower: Option<u32>,
        name: &str,
        kind: &str,
        data: &[DefaultNla],
    ) -> io::Result<()> {
        let info = [text(libc::IFLA_INFO_KIND, kind), nested(libc::IFLA_INFO_DATA, data)];
        let mut attributes =
            vec![text(libc::IFLA_IFNAME, name), nested(libc::IFLA_LINKINFO, &info)];
        attributes.extend(lower.map(|lower| word(libc::IFLA_LINK, lower)));
        let request = Message::new(libc::RTM_NEWLINK, &link_header(0, 0), &attributes);
        self.channel.request(request, NLM_F_CREATE | NLM_F_EXCL)?;
        Ok(())
    }

    /// Creates a veth pair with RTM_NEWLINK: `name` in this namespace and `peer` in the namespace
    /// `peer_ns`. Both are down.
    ///
    /// Each side is created in its own namespace, so it takes that namespace's defaults
    /// (`rps_default_mask`).
    ///
    /// # Errors
    /// - EPERM: CAP_NET_ADMIN is needed.
    /// - EOPNOTSUPP: the kernel has no veth.
    /// - EEXIST: a name is taken.
    ///
    /// # References
    /// - [rtnetlink(7)]
    /// - [veth(4)]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    /// [veth(4)]: https://man7.org/linux/man-pages/man4/veth.4.html
    #[doc(alias = "RTM_NEWLINK")]
    #[doc(alias = "veth")]
    pub fn make_veth(&self, name: &str, peer: &str, peer_ns: BorrowedFd<'_>) -> io::Result<()> {
        // A message within the message: header and attributes of the other side.
        let other = [text(libc::IFLA_IFNAME, peer), descriptor(libc::IFLA_NET_NS_FD, peer_ns)];
        let other = [&link_header(0, 0)[..], &bytes(&other)].concat();
        self.new_link(name, "veth", &[DefaultNla::new(VETH_INFO_PEER, other)])
    }

    /// Sets a device up (IFF_UP) with RTM_SETLINK.
    ///
    /// # Errors
    /// - EPERM: CAP_NET_ADMIN is needed.
    /// - ENODEV: the device is gone.
    ///
    /// # References
    /// [rtnetlink(7)]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    #[doc(alias = "RTM_SETLINK")]
    #[doc(alias = "IFF_UP")]
    pub fn bring_up(&self, index: u32) -> io::Result<()> {
        self.set_link(index, UP, &[])
    }

    /// Sets the MTU of a device in bytes with RTM_SETLINK.
    ///
    /// # Errors
    /// - EPERM: CAP_NET_ADMIN is needed.
    /// - EINVAL: the device does not support this MTU.
    ///
    /// # References
    /// [rtnetlink(7)]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    #[doc(alias = "RTM_SETLINK")]
    #[doc(alias = "IFLA_MTU")]
    pub fn set_mtu(&self, index: u32, mtu_bytes: u32) -> io::Result<()> {
        self.set_link(index, 0, &[word(libc::IFLA_MTU, mtu_bytes)])
    }

    /// Sets the largest packet that TCP hands to a device before segmentation, and the largest into
    /// which the device merges received ones, with RTM_SETLINK: over both versions of IP. A kernel
    /// before 6.3 ignores what is about IPv4, which [`Devices::settings`] shows.
    ///
    /// # Errors
    /// - EPERM: CAP_NET_ADMIN is needed.
    /// - EINVAL: the driver, or the kernel, has no packets as large (IFLA_TSO_MAX_SIZE). Before 5.19
    ///   that is 64 KiB.
    ///
    /// # References
    /// [rtnetlink(7)]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    #[doc(alias = "IFLA_GSO_MAX_SIZE")]
    #[doc(alias = "IFLA_GSO_IPV4_MAX_SIZE")]
    #[doc(alias = "IFLA_GRO_MAX_SIZE")]
    #[doc(alias = "IFLA_GRO_IPV4_MAX_SIZE")]
    pub fn set_gso_max(&self, index: u32, bytes: u32) -> io::Result<()> {
        let sizes = [
            libc::IFLA_GSO_MAX_SIZE,
            IFLA_GRO_MAX_SIZE,
            IFLA_GSO_IPV4_MAX_SIZE,
            IFLA_GRO_IPV4_MAX_SIZE,
        ];
        self.set_link(index, 0, &sizes.map(|kind| word(kind, bytes)))
    }

    /// Creates a bridge with RTM_NEWLINK and makes the device number `index` its only port. The
    /// bridge is down.
    ///
    /// # Errors
    /// - EPERM: CAP_NET_ADMIN is needed.
    /// - EOPNOTSUPP: the kernel has no bridges.
    /// - EEXIST: the name is taken.
    ///
    /// # References
    /// - [rtnetlink(7)]
    /// - [Documentation/networking/bridge.rst]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    /// [Documentation/networking/bridge.rst]: https://docs.kernel.org/networking/bridge.html
    #[doc(alias = "RTM_NEWLINK")]
    #[doc(alias = "bridge")]
    pub fn make_bridge(&self, name: &str, index: u32) -> io::Result<()> {
        // With one port there is no group membership to learn.
        self.new_link(name, "bridge", &[DefaultNla::new(IFLA_BR_MCAST_SNOOPING, vec![0])])?;
        self.set_link(index, 0, &[word(libc::IFLA_MASTER, self.find(name)?.index)])
    }

    /// Adds an address to a device with RTM_NEWADDR. An IPv6 address is usable at once, without
    /// duplicate address detection (IFA_F_NODAD).
    ///
    /// # Errors
    /// - EPERM: CAP_NET_ADMIN is needed.
    /// - EEXIST: the device has that address.
    /// - EOPNOTSUPP: the kernel has no IPv6.
    /// - EACCES: IPv6 is disabled for the device.
    ///
    /// # References
    /// [rtnetlink(7)]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    #[doc(alias = "RTM_NEWADDR")]
    pub fn add_address(&self, index: u32, address: IpAddr, prefix_bits: u8) -> io::Result<()> {
        let flags = if address.is_ipv6() { libc::IFA_F_NODAD as u8 } else { 0 };
        let [a, b, c, d] = index.to_ne_bytes();
        // struct ifaddrmsg
        let header: [u8; ADDRESS_BYTES] =
            [family(address), prefix_bits, flags, libc::RT_SCOPE_UNIVERSE, a, b, c, d];
        let attributes =
            [address_of(libc::IFA_LOCAL, address), address_of(libc::IFA_ADDRESS, address)];
        let request = Message::new(libc::RTM_NEWADDR, &header, &attributes);
        self.channel.request(request, NLM_F_CREATE | NLM_F_EXCL)?;
        Ok(())
    }

    /// Adds a permanent neighbour entry with RTM_NEWNEIGH: `address` has the Ethernet address
    /// `mac`, and no ARP or neighbour discovery is done.
    ///
    /// # Errors
    /// - EPERM: CAP_NET_ADMIN is needed.
    /// - ENODEV: the device is gone.
    ///
    /// # References
    /// [rtnetlink(7)]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    #[doc(alias = "RTM_NEWNEIGH")]
    pub fn add_neighbour(&self, index: u32, address: IpAddr, mac: [u8; 6]) -> io::Result<()> {
        let [a, b, c, d] = index.to_ne_bytes();
        let [s, t] = libc::NUD_PERMANENT.to_ne_bytes();
        // struct ndmsg: family, padding, device, state, flags, type
        let header = [family(address), 0, 0, 0, a, b, c, d, s, t, 0, 0];
        let attributes =
            [address_of(libc::NDA_DST, address), DefaultNla::new(libc::NDA_LLADDR, mac.to_vec())];
        let request = Message::new(libc::RTM_NEWNEIGH, &header, &attributes);
        self.channel.request(request, NLM_F_CREATE | NLM_F_REPLACE)?;
        Ok(())
    }

    /// Sets the initial congestion window, in packets, towards the network of
    /// [`add_address`](Self::add_address) with RTM_NEWROUTE. It replaces the route that the kernel
    /// made, which exists once the device is up.
    ///
    /// # Errors
    /// - EPERM: CAP_NET_ADMIN is needed.
    /// - ENODEV: the device is gone.
    /// - ENETDOWN: the device is down.
    ///
    /// # References
    /// - [rtnetlink(7)]
    /// - [ip-route(8)], initcwnd
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    /// [ip-route(8)]: https://man7.org/linux/man-pages/man8/ip-route.8.html
    #[doc(alias = "RTM_NEWROUTE")]
    #[doc(alias = "initcwnd")]
    pub fn set_initial_window(
        &self,
        index: u32,
        address: IpAddr,
        prefix_bits: u8,
        packets: u32,
    ) -> io::Result<()> {
        let network = match address {
            IpAddr::V4(address) => {
                let host_bits = u32::MAX.checked_shr(prefix_bits.into()).unwrap_or(0);
                IpAddr::from(Ipv4Addr::from(u32::from(address) & !host_bits))
            }
            IpAddr::V6(address) => {
                let host_bits = u128::MAX.checked_shr(prefix_bits.into()).unwrap_or(0);
                IpAddr::from(Ipv6Addr::from(u128::from(address) & !host_bits))
            }
        };
        // struct rtmsg: family, bits of destination and source, TOS, table, protocol, scope, type,
        // flags
        let header: [u8; ROUTE_BYTES] = [
            family(address),
            prefix_bits,
            0,
            0,
            libc::RT_TABLE_MAIN,
            libc::RTPROT_KERNEL,
            libc::RT_SCOPE_LINK,
            libc::RTN_UNICAST,
            0,
            0,
            0,
            0,
        ];
        let mut attributes = vec![
            address_of(libc::RTA_DST, network),
            address_of(libc::RTA_PREFSRC, address),
            word(libc::RTA_OIF, index),
            nested(libc::RTA_METRICS, &[word(RTAX_INITCWND, packets)]),
        ];
        if address.is_ipv6() {
            // An IPv6 route is replaced only at equal metric. The kernel's own routes have 256
            // (IP6_RT_PRIO_ADDRCONF, include/uapi/linux/ipv6_route.h).
            attributes.push(word(libc::RTA_PRIORITY, 256));
        }
        let request = Message::new(libc::RTM_NEWROUTE, &header, &attributes);
        self.channel.request(request, NLM_F_CREATE | NLM_F_REPLACE)?;
        Ok(())
    }

    /// Reads the counters of a device with RTM_GETSTATS, which leaves out the rest of the device's
    /// description.
    ///
    /// # Errors
    /// - ENODEV: the device is gone.
    ///
    /// # References
    /// - [rtnetlink(7)]
    /// - [Documentation/networking/statistics.rst]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    /// [Documentation/networking/statistics.rst]:
    ///   https://docs.kernel.org/networking/statistics.html
    #[doc(alias = "RTM_GETSTATS")]
    pub fn counters(&self, index: u32) -> io::Result<DeviceCounters> {
        // struct if_stats_msg: family, padding, device, and a bit for each attribute that is wanted
        let mut header = [0; STATS_BYTES];
        header[4..8].copy_from_slice(&index.to_ne_bytes());
        header[8..12].copy_from_slice(&(1_u32 << (IFLA_STATS_LINK_64 - 1)).to_ne_bytes());
        for answer in self.channel.request(Message::new(RTM_GETSTATS, &header, &[]), 0)? {
            if answer.kind != RTM_NEWSTATS {
                continue;
            }
            let (_, attributes) = answer.split::<STATS_BYTES>()?;
            if let Some(counted) = child(attributes, IFLA_STATS_LINK_64).map_err(undecodable)? {
                return counters_in(&counted);
            }
        }
        Err(undecodable("no counters in it"))
    }
}

/// A link as the kernel describes it: of its `struct ifinfomsg` what matters here, and its
/// attributes.
#[derive(Debug)]
pub(crate) struct Link {
    index: u32,
    flags: u32,
    pub(crate) attributes: Vec<u8>,
}

/// A route as the kernel describes it: its type, and its attributes.
#[derive(Debug)]
struct Route {
    kind: u8,
    attributes: Vec<u8>,
}

/// `struct ifinfomsg`: family, padding, type of hardware, device, flags, and which of them are
/// meant.
fn link_header(index: u32, flags: u32) -> [u8; LINK_BYTES] {
    let mut header = [0; LINK_BYTES];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..16].copy_from_slice(&flags.to_ne_bytes());
    header
}

/// The first eight counters of `struct rtnl_link_stats64`: packets, bytes, errors and dropped
/// packets, received and sent.
fn counters_in(counted: &[u8]) -> io::Result<DeviceCounters> {
    let mut counters = [0; 8];
    for (place, counter) in counters.iter_mut().enumerate() {
        let bytes = counted.get(place * 8..).and_then(|rest| rest.first_chunk());
        let bytes = bytes.ok_or_else(|| undecodable("counters in too few bytes"))?;
        *counter = u64::from_ne_bytes(*bytes);
    }
    let [rx_packets, tx_packets, rx_bytes, tx_bytes, _, _, rx_dropped, tx_dropped] = counters;
    Ok(DeviceCounters { tx_packets, tx_bytes, rx_packets, rx_bytes, tx_dropped, rx_dropped })
}

/// A file descriptor.
fn descriptor(kind: u16, file: BorrowedFd<'_>) -> DefaultNla {
    DefaultNla::new(kind, file.as_raw_fd().to_ne_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lo_is_found_and_has_an_mtu() {
        let lo = Devices::open().unwrap().find("lo").unwrap();
        assert!(lo.index > 0);
        assert!(lo.mtu_bytes > 0);
    }

    #[test]
    fn what_goes_to_this_host_itself_leaves_by_lo() {
        let devices = Devices::open().unwrap();
        if !devices.find("lo").unwrap().up {
            eprintln!("skipped: lo is down in this namespace");
            return;
        }
        assert_eq!(devices.towards(([127, 0, 0, 1], 0).into()).unwrap().name, "lo");
        assert!(devices.addresses().unwrap().iter().all(|address| !address.is_loopback()));
    }

    #[test]
    fn only_addresses_of_this_host_are_local() {
        let devices = Devices::open().unwrap();
        let mut own = devices.addresses().unwrap();
        if devices.find("lo").unwrap().up {
            own.extend(["127.0.0.1", "127.9.9.9"].map(|text| text.parse::<IpAddr>().unwrap()));
        }
        for address in own {
            assert!(devices.is_local((address, 0).into()).unwrap(), "{address}");
        }
        // TEST-NET-2 and the prefix of documentation, all hosts, nobody.
        for text in ["198.51.100.7", "2001:db8::7", "224.0.0.1", "255.255.255.255"] {
            let address = text.parse::<IpAddr>().unwrap();
            assert!(!devices.is_local((address, 0).into()).unwrap(), "{text}");
        }
    }

    #[test]
    fn a_device_that_is_not_there_is_enodev() {
        let error = Devices::open().unwrap().find("zc-no-such").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn what_is_sent_over_lo_is_counted() {
        let devices = Devices::open().unwrap();
        let lo = devices.find("lo").unwrap();
        if !lo.up {
            eprintln!("skipped: lo is down in this namespace");
            return;
        }
        let before = devices.counters(lo.index).unwrap();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&[0; 1000], socket.local_addr().unwrap()).unwrap();
        let after = devices.counters(lo.index).unwrap();
        assert!(after.tx_packets > before.tx_packets);
        assert!(after.tx_bytes - before.tx_bytes >= 1000);
        assert!(after.rx_bytes - before.rx_bytes >= 1000);
    }

    #[test]
    fn a_veth_pair_is_made_in_two_namespaces_and_given_an_address_and_an_mtu() {
        crate::testing::in_a_namespace(|peer_ns| {
            let peer_side = Devices::open().unwrap();
            crate::netns::NetNs::unshare().unwrap();
            let devices = Devices::open().unwrap();
            devices.make_veth("zc0", "zc1", std::os::fd::AsFd::as_fd(&peer_ns)).unwrap();
            assert_eq!(devices.find("zc1").unwrap_err().raw_os_error(), Some(libc::ENODEV));
            let index = devices.find("zc0").unwrap().index;
            devices.add_address(index, Ipv4Addr::new(192, 0, 2, 1).into(), 30).unwrap();
            devices.set_mtu(index, 9000).unwrap();
            devices.bring_up(index).unwrap();
            let device = devices.find("zc0").unwrap();
            assert_eq!((device.index, device.mtu_bytes, device.up), (index, 9000, true));
            assert!(device.mac.is_some());
            assert!(!peer_side.find("zc1").unwrap().up);
            std::net::UdpSocket::bind("192.0.2.1:0").unwrap();
        });
    }

    #[test]
    fn the_largest_packet_of_a_device_is_set_and_one_that_no_kernel_knows_is_refused() {
        crate::testing::in_a_namespace(|namespace| {
            let devices = Devices::open().unwrap();
            devices.make_veth("zc0", "zc1", std::os::fd::AsFd::as_fd(&namespace)).unwrap();
            let index = devices.find("zc0").unwrap().index;
            for bytes in [32_768, 65_536, 131_072, 524_280] {
                match devices.set_gso_max(index, bytes) {
                    Err(error) if bytes > 65_536 && error.raw_os_error() == Some(libc::EINVAL) => {
                        eprintln!("skipped: this kernel has no packets of {bytes} bytes");
                        continue;
                    }
                    set => set.unwrap(),
                }
                let found = devices.settings(index).unwrap();
                assert_eq!(found.gso_max_bytes, Some(bytes));
                for ipv4 in [found.gso_ipv4_max_bytes, found.gro_ipv4_max_bytes] {
                    assert!(ipv4.is_none_or(|ipv4| ipv4 == bytes), "{found:?}");
                }
            }
            let error = devices.set_gso_max(index, 524_281).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        });
    }

    #[test]
    fn counters_in_too_few_bytes_are_an_error() {
        let counted: Vec<u8> = (1_u64..=9).flat_map(u64::to_ne_bytes).collect();
        let counters = counters_in(&counted).unwrap();
        assert_eq!((counters.rx_packets, counters.tx_packets, counters.tx_dropped), (1, 2, 8));
        assert!(counters_in(&counted[..63]).is_err());
    }

    #[test]
    fn two_threads_may_ask_at_once() {
        let devices = Devices::open().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        devices.find("lo").unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn a_bridge_a_neighbour_and_an_initial_window_can_be_configured() {
        crate::testing::in_a_namespace(|namespace| {
            let devices = Devices::open().unwrap();
            devices.make_veth("zc0", "zc1", std::os::fd::AsFd::as_fd(&namespace)).unwrap();
            let index = devices.find("zc0").unwrap().index;
            devices.add_address(index, Ipv4Addr::new(192, 0, 2, 1).into(), 30).unwrap();
            for name in ["zc0", "zc1"] {
                devices.bring_up(devices.find(name).unwrap().index).unwrap();
            }
            let peer = Ipv4Addr::new(192, 0, 2, 2);
            devices.add_neighbour(index, peer.into(), [2, 0, 0, 0, 0, 9]).unwrap();
            assert_eq!(devices.towards((peer, 0).into()).unwrap().name, "zc0");
            assert_eq!(devices.addresses().unwrap(), [IpAddr::from([192, 0, 2, 1])]);
            devices.set_initial_window(index, Ipv4Addr::new(192, 0, 2, 1).into(), 30, 40).unwrap();
            assert_eq!(
                devices.towards((peer, 0).into()).unwrap().name,
                "zc0",
                "the route was replaced and not removed"
            );
            let gone = devices.add_neighbour(9999, peer.into(), [2, 0, 0, 0, 0, 9]).unwrap_err();
            assert_eq!(gone.raw_os_error(), Some(libc::ENODEV));
            match devices.make_bridge("zcbr", devices.find("zc1").unwrap().index) {
                Ok(()) => assert!(!devices.find("zcbr").unwrap().up),
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                    eprintln!("skipped: the kernel has no bridges");
                }
                Err(error) => panic!("{error}"),
            }
        });
    }
}
