//! Network devices over rtnetlink: veth pairs across two namespaces, bridges, addresses, routes,
//! MTU and counters. One blocking socket, one request with its answer at a time.
//!
//! A netlink socket stays in the network namespace in which it was created, and threads in other
//! namespaces may use it. The netlink-packet crates encode the messages. Their interface changes
//! often, so it is not visible outside this module and `ethtool`.
//!
//! # References
//! - netlink(7)
//! - rtnetlink(7)
//! - network_namespaces(7)

use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST,
    NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_packet_route::address::{
    AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope,
};
use netlink_packet_route::link::{
    InfoBridge, InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol,
    RouteScope, RouteType,
};
use netlink_packet_route::stats::{StatsAttribute, StatsFilterMask, StatsMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// A netlink socket of one protocol, and the sequence number of the last request.
#[derive(Debug)]
pub(crate) struct Channel {
    inner: Mutex<(Socket, u32)>,
}

impl Channel {
    pub(crate) fn open(protocol: isize) -> io::Result<Self> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // Errors then come without a copy of the request.
        socket.set_cap_ack(true)?;
        Ok(Self { inner: Mutex::new((socket, 0)) })
    }

    /// Sends one request and returns the messages that answer it, up to its acknowledgement.
    pub(crate) fn request<P>(&self, payload: P, flags: u16) -> io::Result<Vec<P>>
    where
        P: NetlinkSerializable + NetlinkDeserializable + Debug,
    {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.1 = inner.1.wrapping_add(1);
        let sequence = inner.1;
        let socket = &inner.0;

        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        header.sequence_number = sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(payload));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        socket.send(&bytes, 0)?;

        let mut answers = Vec::new();
        // The description of a link takes about 2 KiB. The kernel answers in buffers of at most 32
        // KiB.
        let mut buffer = vec![0_u8; 32 * 1024];
        loop {
            let length = socket.recv(&mut &mut buffer[..], 0)?.min(buffer.len());
            if take(&buffer[..length], sequence, &mut answers)? {
                return Ok(answers);
            }
        }
    }
}

/// Takes the messages of one datagram that answer the request `sequence`. Returns whether the answer
/// is complete: what follows its end is ignored.
pub(crate) fn take<P>(mut datagram: &[u8], sequence: u32, answers: &mut Vec<P>) -> io::Result<bool>
where
    P: NetlinkDeserializable + Debug,
{
    while !datagram.is_empty() {
        let answer = NetlinkMessage::<P>::deserialize(datagram).map_err(undecodable)?;
        // Messages are aligned to 4 bytes (NLMSG_ALIGNTO).
        let taken = (answer.header.length as usize).next_multiple_of(4).min(datagram.len());
        datagram = &datagram[taken..];
        if answer.header.sequence_number != sequence {
            continue;
        }
        match answer.payload {
            NetlinkPayload::InnerMessage(inner) => answers.push(inner),
            NetlinkPayload::Error(error) if error.code.is_some() => {
                return Err(io::Error::from_raw_os_error(error.raw_code().saturating_neg()));
            }
            // An error of 0 is the acknowledgement.
            NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(true),
            _ => {}
        }
    }
    Ok(false)
}

/// The error for a message of the kernel that the netlink crates could not decode.
pub(crate) fn undecodable(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("netlink answer not understood: {error}"))
}

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
        let mut request = LinkMessage::default();
        request.attributes.push(LinkAttribute::IfName(name.to_owned()));
        self.describe(request)
    }

    /// Device by which a packet to `address` leaves, by RTM_GETROUTE and RTM_GETLINK.
    ///
    /// # Errors
    /// - ENETUNREACH: there is no route.
    ///
    /// # References
    /// [rtnetlink(7)]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    #[doc(alias = "RTM_GETROUTE")]
    pub fn towards(&self, address: IpAddr) -> io::Result<Device> {
        let route = self.route(address)?;
        let device = route.attributes.into_iter().find_map(|attribute| match attribute {
            RouteAttribute::Oif(index) => Some(index),
            _ => None,
        });
        let mut request = LinkMessage::default();
        request.header.index = device.ok_or_else(|| undecodable("a route without a device"))?;
        self.describe(request)
    }

    /// Whether a packet to `address` is delivered in this namespace and leaves by no device, by
    /// RTM_GETROUTE: the route is of type RTN_LOCAL. False where there is no route.
    ///
    /// # Errors
    /// Those of netlink(7).
    ///
    /// # References
    /// [rtnetlink(7)]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    #[doc(alias = "RTN_LOCAL")]
    pub fn is_local(&self, address: IpAddr) -> io::Result<bool> {
        match self.route(address) {
            Ok(route) => Ok(route.header.kind == RouteType::Local),
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
    fn route(&self, address: IpAddr) -> io::Result<RouteMessage> {
        let mut request = RouteMessage::default();
        let destination = match address {
            IpAddr::V4(address) => RouteAddress::Inet(address),
            IpAddr::V6(address) => RouteAddress::Inet6(address),
        };
        request.header.address_family = family(address);
        request.header.destination_prefix_length = if address.is_ipv4() { 32 } else { 128 };
        request.attributes.push(RouteAttribute::Destination(destination));
        let answers = self.channel.request(RouteNetlinkMessage::GetRoute(request), 0)?;
        let route = answers.into_iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewRoute(route) => Some(route),
            _ => None,
        });
        route.ok_or_else(|| undecodable("no route in the answer"))
    }

    /// Addresses of this namespace with global or site scope, by RTM_GETADDR: neither loopback nor
    /// link-local ones.
    ///
    /// # Errors
    /// Those of netlink(7).
    ///
    /// # References
    /// [rtnetlink(7)]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    #[doc(alias = "RTM_GETADDR")]
    pub fn addresses(&self) -> io::Result<Vec<IpAddr>> {
        let answers = self
            .channel
            .request(RouteNetlinkMessage::GetAddress(AddressMessage::default()), NLM_F_DUMP)?;
        let mut addresses = Vec::new();
        for answer in answers {
            let RouteNetlinkMessage::NewAddress(address) = answer else { continue };
            if !matches!(address.header.scope, AddressScope::Universe | AddressScope::Site) {
                continue;
            }
            // IFA_LOCAL is the address of this side. IPv6 has only IFA_ADDRESS
            // (include/uapi/linux/if_addr.h).
            let local = address.attributes.iter().find_map(|attribute| match attribute {
                AddressAttribute::Local(address) => Some(*address),
                _ => None,
            });
            let own = local.or_else(|| {
                address.attributes.iter().find_map(|attribute| match attribute {
                    AddressAttribute::Address(address) => Some(*address),
                    _ => None,
                })
            });
            addresses.extend(own);
        }
        Ok(addresses)
    }

    fn describe(&self, request: LinkMessage) -> io::Result<Device> {
        let answers = self.channel.request(RouteNetlinkMessage::GetLink(request), 0)?;
        for answer in answers {
            if let RouteNetlinkMessage::NewLink(link) = answer {
                let mtu_bytes = link.attributes.iter().find_map(|attribute| match attribute {
                    LinkAttribute::Mtu(mtu) => Some(*mtu),
                    _ => None,
                });
                let name = link.attributes.iter().find_map(|attribute| match attribute {
                    LinkAttribute::IfName(name) => Some(name.clone()),
                    _ => None,
                });
                let mac = link.attributes.iter().find_map(|attribute| match attribute {
                    LinkAttribute::Address(address) => address.as_slice().try_into().ok(),
                    _ => None,
                });
                return Ok(Device {
                    name: name.ok_or_else(|| undecodable("a link without a name"))?,
                    mac,
                    index: link.header.index,
                    mtu_bytes: mtu_bytes.ok_or_else(|| undecodable("a link without an mtu"))?,
                    up: link.header.flags.contains(LinkFlags::Up),
                });
            }
        }
        Err(undecodable("no link in it"))
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
        let mut other = LinkMessage::default();
        other.attributes.push(LinkAttribute::IfName(peer.to_owned()));
        other.attributes.push(LinkAttribute::NetNsFd(peer_ns.as_raw_fd()));
        let mut request = LinkMessage::default();
        request.attributes.push(LinkAttribute::IfName(name.to_owned()));
        request.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(other))),
        ]));
        self.channel.request(RouteNetlinkMessage::NewLink(request), NLM_F_CREATE | NLM_F_EXCL)?;
        Ok(())
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
        let mut request = LinkMessage::default();
        request.header.index = index;
        request.header.flags = LinkFlags::Up;
        request.header.change_mask = LinkFlags::Up;
        self.channel.request(RouteNetlinkMessage::SetLink(request), 0)?;
        Ok(())
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
        let mut request = LinkMessage::default();
        request.header.index = index;
        request.attributes.push(LinkAttribute::Mtu(mtu_bytes));
        self.channel.request(RouteNetlinkMessage::SetLink(request), 0)?;
        Ok(())
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
        let mut request = LinkMessage::default();
        request.attributes.push(LinkAttribute::IfName(name.to_owned()));
        request.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Bridge),
            // With one port there is no group membership to learn.
            LinkInfo::Data(InfoData::Bridge(vec![InfoBridge::MulticastSnooping(false)])),
        ]));
        self.channel.request(RouteNetlinkMessage::NewLink(request), NLM_F_CREATE | NLM_F_EXCL)?;
        let mut request = LinkMessage::default();
        request.header.index = index;
        request.attributes.push(LinkAttribute::Controller(self.find(name)?.index));
        self.channel.request(RouteNetlinkMessage::SetLink(request), 0)?;
        Ok(())
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
        let mut request = AddressMessage::default();
        request.header.family = family(address);
        if address.is_ipv6() {
            request.header.flags = AddressHeaderFlags::Nodad;
        }
        request.header.prefix_len = prefix_bits;
        request.header.index = index;
        request.attributes.push(AddressAttribute::Local(address));
        request.attributes.push(AddressAttribute::Address(address));
        self.channel
            .request(RouteNetlinkMessage::NewAddress(request), NLM_F_CREATE | NLM_F_EXCL)?;
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
        let destination = match address {
            IpAddr::V4(address) => NeighbourAddress::Inet(address),
            IpAddr::V6(address) => NeighbourAddress::Inet6(address),
        };
        let mut request = NeighbourMessage::default();
        request.header.family = family(address);
        request.header.ifindex = index;
        request.header.state = NeighbourState::Permanent;
        request.attributes = vec![
            NeighbourAttribute::Destination(destination),
            NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
        ];
        self.channel
            .request(RouteNetlinkMessage::NewNeighbour(request), NLM_F_CREATE | NLM_F_REPLACE)?;
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
        let (network, source) = match address {
            IpAddr::V4(address) => {
                let host_bits = u32::MAX.checked_shr(prefix_bits.into()).unwrap_or(0);
                let network = Ipv4Addr::from(u32::from(address) & !host_bits);
                (RouteAddress::Inet(network), RouteAddress::Inet(address))
            }
            IpAddr::V6(address) => {
                let host_bits = u128::MAX.checked_shr(prefix_bits.into()).unwrap_or(0);
                let network = Ipv6Addr::from(u128::from(address) & !host_bits);
                (RouteAddress::Inet6(network), RouteAddress::Inet6(address))
            }
        };
        let mut request = RouteMessage::default();
        request.header.address_family = family(address);
        request.header.destination_prefix_length = prefix_bits;
        request.header.table = RouteHeader::RT_TABLE_MAIN;
        request.header.protocol = RouteProtocol::Kernel;
        request.header.scope = RouteScope::Link;
        request.header.kind = RouteType::Unicast;
        request.attributes = vec![
            RouteAttribute::Destination(network),
            RouteAttribute::PrefSource(source),
            RouteAttribute::Oif(index),
            RouteAttribute::Metrics(vec![RouteMetric::InitCwnd(packets)]),
        ];
        if address.is_ipv6() {
            // An IPv6 route is replaced only at equal metric. The kernel's own routes have 256
            // (IP6_RT_PRIO_ADDRCONF, include/uapi/linux/ipv6_route.h).
            request.attributes.push(RouteAttribute::Priority(256));
        }
        self.channel
            .request(RouteNetlinkMessage::NewRoute(request), NLM_F_CREATE | NLM_F_REPLACE)?;
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
    /// [Documentation/networking/statistics.rst]: https://docs.kernel.org/networking/statistics.html
    #[doc(alias = "RTM_GETSTATS")]
    pub fn counters(&self, index: u32) -> io::Result<DeviceCounters> {
        let mut request = StatsMessage::default();
        request.header.ifindex = index;
        request.header.filter_mask = StatsFilterMask::Link64;
        let answers = self.channel.request(RouteNetlinkMessage::GetStats(request), 0)?;
        for answer in answers {
            let RouteNetlinkMessage::NewStats(stats) = answer else { continue };
            for attribute in stats.attributes {
                let StatsAttribute::Link64(counted) = attribute else { continue };
                return Ok(DeviceCounters {
                    tx_packets: counted.tx_packets,
                    tx_bytes: counted.tx_bytes,
                    rx_packets: counted.rx_packets,
                    rx_bytes: counted.rx_bytes,
                    tx_dropped: counted.tx_dropped,
                    rx_dropped: counted.rx_dropped,
                });
            }
        }
        Err(undecodable("no counters in it"))
    }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv6() { AddressFamily::Inet6 } else { AddressFamily::Inet }
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
        assert_eq!(devices.towards(IpAddr::V4(Ipv4Addr::LOCALHOST)).unwrap().name, "lo");
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
            assert!(devices.is_local(address).unwrap(), "{address}");
        }
        // TEST-NET-2 and the prefix of documentation, all hosts, nobody.
        for text in ["198.51.100.7", "2001:db8::7", "224.0.0.1", "255.255.255.255"] {
            assert!(!devices.is_local(text.parse().unwrap()).unwrap(), "{text}");
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
            assert_eq!(devices.towards(peer.into()).unwrap().name, "zc0");
            assert_eq!(devices.addresses().unwrap(), [IpAddr::from([192, 0, 2, 1])]);
            devices.set_initial_window(index, Ipv4Addr::new(192, 0, 2, 1).into(), 30, 40).unwrap();
            assert_eq!(
                devices.towards(peer.into()).unwrap().name,
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
