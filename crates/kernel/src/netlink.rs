//! Network devices over rtnetlink: make a veth pair across two namespaces, give it addresses, bring it up, count what
//! it carries. One blocking socket, one request and its answer at a time.
//!
//! A netlink socket belongs to the network namespace it was made in, for good: a thread elsewhere may go on using it
//! (see [netlink(7)], [network_namespaces(7)]). The messages are typed by the netlink-packet crates, whose interface
//! changes with every few releases; nothing of it is visible outside this module and `ethtool`.
//!
//! [netlink(7)]: https://man7.org/linux/man-pages/man7/netlink.7.html
//! [network_namespaces(7)]: https://man7.org/linux/man-pages/man7/network_namespaces.7.html

use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkDeserializable,
    NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{
    InfoBridge, InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::stats::{StatsAttribute, StatsFilterMask, StatsMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// A socket of one netlink protocol, and the number of the last request.
#[derive(Debug)]
pub(crate) struct Channel {
    inner: Mutex<(Socket, u32)>,
}

impl Channel {
    pub(crate) fn open(protocol: isize) -> io::Result<Self> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // An error then comes without a copy of the request that caused it.
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
        // A link's description takes some 2 KiB; the kernel answers in buffers of at most 32 KiB.
        let mut buffer = vec![0_u8; 32 * 1024];
        loop {
            let length = socket.recv(&mut &mut buffer[..], 0)?.min(buffer.len());
            let mut rest = &buffer[..length];
            while !rest.is_empty() {
                let answer = NetlinkMessage::<P>::deserialize(rest).map_err(undecodable)?;
                // Messages stand at multiples of 4 bytes (NLMSG_ALIGNTO).
                let taken = (answer.header.length as usize).next_multiple_of(4).min(rest.len());
                rest = &rest[taken..];
                if answer.header.sequence_number != sequence {
                    continue;
                }
                match answer.payload {
                    NetlinkPayload::InnerMessage(inner) => answers.push(inner),
                    NetlinkPayload::Error(error) if error.code.is_some() => {
                        return Err(io::Error::from_raw_os_error(error.raw_code().saturating_neg()));
                    }
                    // An error of 0 is the acknowledgement.
                    NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(answers),
                    _ => {}
                }
            }
        }
    }
}

/// A message of the kernel that the netlink crates could not read.
pub(crate) fn undecodable(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("netlink answer not understood: {error}"))
}

/// A network device, as far as zc cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its number in its namespace.
    pub index: u32,
    /// Its MTU in bytes.
    pub mtu_bytes: u32,
    /// Whether it is administratively up (IFF_UP).
    pub up: bool,
    /// Its Ethernet address; null where it has none of 6 bytes.
    pub mac: Option<[u8; 6]>,
}

/// Counters of a device (struct rtnl_link_stats64), as far as zc cares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Packets sent; a GSO packet counts once.
    pub tx_packets: u64,
    /// Bytes sent, link-layer headers included.
    pub tx_bytes: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Bytes received, link-layer headers included.
    pub rx_bytes: u64,
    /// Packets dropped while sending.
    pub tx_dropped: u64,
    /// Packets dropped while receiving.
    pub rx_dropped: u64,
}

/// The network devices of the namespace in which this was opened.
#[derive(Debug)]
pub struct Devices {
    channel: Channel,
}

impl Devices {
    /// Opens an rtnetlink socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// socket(2), bind(2) or setsockopt(2) failed.
    pub fn open() -> io::Result<Self> {
        Ok(Self { channel: Channel::open(NETLINK_ROUTE)? })
    }

    /// Looks a device up by name.
    ///
    /// # Errors
    /// `ENODEV`: there is none of this name in this namespace.
    pub fn find(&self, name: &str) -> io::Result<Device> {
        let mut request = LinkMessage::default();
        request.attributes.push(LinkAttribute::IfName(name.to_owned()));
        self.describe(request)
    }

    /// The device that a packet to `address` leaves by.
    ///
    /// # Errors
    /// `ENETUNREACH`: there is no route.
    ///
    /// # References
    /// rtnetlink(7) "RTM_GETROUTE".
    pub fn towards(&self, address: IpAddr) -> io::Result<Device> {
        let mut request = RouteMessage::default();
        let destination = match address {
            IpAddr::V4(address) => RouteAddress::Inet(address),
            IpAddr::V6(address) => RouteAddress::Inet6(address),
        };
        request.header.address_family = family(address);
        request.header.destination_prefix_length = if address.is_ipv4() { 32 } else { 128 };
        request.attributes.push(RouteAttribute::Destination(destination));
        let answers = self.channel.request(RouteNetlinkMessage::GetRoute(request), 0)?;
        let device = answers.into_iter().find_map(|answer| {
            let RouteNetlinkMessage::NewRoute(route) = answer else { return None };
            route.attributes.into_iter().find_map(|attribute| match attribute {
                RouteAttribute::Oif(index) => Some(index),
                _ => None,
            })
        });
        let mut request = LinkMessage::default();
        request.header.index = device.ok_or_else(|| undecodable("a route without a device"))?;
        self.describe(request)
    }

    /// The addresses of this namespace that other machines may know: neither of loopback nor link-local.
    ///
    /// # Errors
    /// Netlink failed.
    pub fn addresses(&self) -> io::Result<Vec<IpAddr>> {
        let answers = self.channel.request(RouteNetlinkMessage::GetAddress(AddressMessage::default()), NLM_F_DUMP)?;
        let mut addresses = Vec::new();
        for answer in answers {
            let RouteNetlinkMessage::NewAddress(address) = answer else { continue };
            if !matches!(address.header.scope, AddressScope::Universe | AddressScope::Site) {
                continue;
            }
            // IFA_LOCAL is this end's; IPv6 has only IFA_ADDRESS (include/uapi/linux/if_addr.h).
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

    /// Makes a veth pair: `near` in this namespace, `far` in the namespace `far_ns`. Both are down. Each end is created
    /// where it is to live, so each takes the defaults (`rps_default_mask`) of its own namespace.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_ADMIN, `EOPNOTSUPP` when the kernel has no veth, `EEXIST` when a name is taken.
    pub fn make_veth(&self, near: &str, far: &str, far_ns: BorrowedFd<'_>) -> io::Result<()> {
        let mut peer = LinkMessage::default();
        peer.attributes.push(LinkAttribute::IfName(far.to_owned()));
        peer.attributes.push(LinkAttribute::NetNsFd(far_ns.as_raw_fd()));
        let mut request = LinkMessage::default();
        request.attributes.push(LinkAttribute::IfName(near.to_owned()));
        request.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        self.channel.request(RouteNetlinkMessage::NewLink(request), NLM_F_CREATE | NLM_F_EXCL)?;
        Ok(())
    }

    /// Brings a device up.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_ADMIN, `ENODEV` when it is gone.
    pub fn bring_up(&self, index: u32) -> io::Result<()> {
        let mut request = LinkMessage::default();
        request.header.index = index;
        request.header.flags = LinkFlags::Up;
        request.header.change_mask = LinkFlags::Up;
        self.channel.request(RouteNetlinkMessage::SetLink(request), 0)?;
        Ok(())
    }

    /// Sets the MTU of a device, in bytes.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_ADMIN, `EINVAL` when the device cannot have this MTU.
    pub fn set_mtu(&self, index: u32, mtu_bytes: u32) -> io::Result<()> {
        let mut request = LinkMessage::default();
        request.header.index = index;
        request.attributes.push(LinkAttribute::Mtu(mtu_bytes));
        self.channel.request(RouteNetlinkMessage::SetLink(request), 0)?;
        Ok(())
    }

    /// Puts a bridge above the device number `index`, which becomes its only port. The bridge is down.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_ADMIN, `EOPNOTSUPP` when the kernel has no bridges, `EEXIST` when the name is taken.
    pub fn make_bridge(&self, name: &str, index: u32) -> io::Result<()> {
        let mut request = LinkMessage::default();
        request.attributes.push(LinkAttribute::IfName(name.to_owned()));
        request.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Bridge),
            // With one port there is nothing to find out about who listens to what.
            LinkInfo::Data(InfoData::Bridge(vec![InfoBridge::MulticastSnooping(false)])),
        ]));
        self.channel.request(RouteNetlinkMessage::NewLink(request), NLM_F_CREATE | NLM_F_EXCL)?;
        let mut request = LinkMessage::default();
        request.header.index = index;
        request.attributes.push(LinkAttribute::Controller(self.find(name)?.index));
        self.channel.request(RouteNetlinkMessage::SetLink(request), 0)?;
        Ok(())
    }

    /// Gives a device an address. One of IPv6 can be used at once: nobody is asked whether he has it (IFA_F_NODAD).
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_ADMIN, `EEXIST` when it has that address. IPv6: `EOPNOTSUPP` when the kernel has it not,
    /// `EACCES` when it is switched off for the device.
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
        self.channel.request(RouteNetlinkMessage::NewAddress(request), NLM_F_CREATE | NLM_F_EXCL)?;
        Ok(())
    }

    /// Tells a device which Ethernet address its neighbour `address` has, for good: nobody is asked.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_ADMIN, `ENODEV` when the device is gone.
    pub fn add_neighbour(&self, index: u32, address: IpAddr, mac: [u8; 6]) -> io::Result<()> {
        let destination = match address {
            IpAddr::V4(address) => NeighbourAddress::Inet(address),
            IpAddr::V6(address) => NeighbourAddress::Inet6(address),
        };
        let mut request = NeighbourMessage::default();
        request.header.family = family(address);
        request.header.ifindex = index;
        request.header.state = NeighbourState::Permanent;
        request.attributes =
            vec![NeighbourAttribute::Destination(destination), NeighbourAttribute::LinkLayerAddress(mac.to_vec())];
        self.channel.request(RouteNetlinkMessage::NewNeighbour(request), NLM_F_CREATE | NLM_F_REPLACE)?;
        Ok(())
    }

    /// Lets TCP begin with a congestion window of `packets` towards the network that [`add_address`](Self::add_address)
    /// has made reachable: replaces the route that the kernel made for it, which is there once the device is up.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_ADMIN, `ENODEV` when the device is gone, `ENETDOWN` when it is down.
    pub fn set_initial_window(&self, index: u32, address: IpAddr, prefix_bits: u8, packets: u32) -> io::Result<()> {
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
            // Of IPv6's routes to a network the one of this metric is replaced; the kernel's own have 256
            // (IP6_RT_PRIO_ADDRCONF, include/uapi/linux/ipv6_route.h).
            request.attributes.push(RouteAttribute::Priority(256));
        }
        self.channel.request(RouteNetlinkMessage::NewRoute(request), NLM_F_CREATE | NLM_F_REPLACE)?;
        Ok(())
    }

    /// Reads the counters of a device by RTM_GETSTATS, which is spared the rest of the device's description.
    ///
    /// # Errors
    /// `ENODEV` when it is gone.
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
        // In a thread of its own: a namespace belongs to a thread.
        std::thread::spawn(|| {
            let Ok(far_ns) = crate::netns::NetNs::unshare() else {
                eprintln!("skipped: needs CAP_SYS_ADMIN");
                return;
            };
            let far = Devices::open().unwrap();
            crate::netns::NetNs::unshare().unwrap();
            let near = Devices::open().unwrap();
            near.make_veth("near0", "far0", std::os::fd::AsFd::as_fd(&far_ns)).unwrap();
            assert_eq!(near.find("far0").unwrap_err().raw_os_error(), Some(libc::ENODEV));
            let index = near.find("near0").unwrap().index;
            near.add_address(index, Ipv4Addr::new(192, 0, 2, 1).into(), 30).unwrap();
            near.set_mtu(index, 9000).unwrap();
            near.bring_up(index).unwrap();
            let device = near.find("near0").unwrap();
            assert_eq!((device.index, device.mtu_bytes, device.up), (index, 9000, true));
            assert!(device.mac.is_some());
            assert!(!far.find("far0").unwrap().up);
            std::net::UdpSocket::bind("192.0.2.1:0").unwrap();
        })
        .join()
        .unwrap();
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
}
