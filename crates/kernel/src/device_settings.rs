//! Settings of a network device that change what a packet costs, over rtnetlink: the kind of the
//! device, its queues and qdiscs, the largest packets that it is given and gives, and XDP.
//!
//! # References
//! - rtnetlink(7)
//! - Documentation/netlink/specs/rt-link.yaml and tc.yaml

use std::io;

use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoKind, LinkAttribute, LinkInfo, LinkMessage, LinkXdp, XdpAttached,
};
use netlink_packet_route::tc::{TcAttribute, TcMessage};

use crate::netlink::{Devices, undecodable};

/// Settings of a device. What the kernel does not tell is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceSettings {
    /// Kind of a device that is made of software, such as `veth`; `None` for a card and for `lo`.
    pub kind: Option<String>,
    /// Kinds of its qdiscs, each once, the root first: `mq`, `fq_codel`.
    pub qdiscs: Vec<String>,
    /// Largest packet in bytes that it is given to segment, over IPv6 and (before 6.3) IPv4.
    pub gso_max_bytes: Option<u32>,
    /// The same over IPv4.
    pub gso_ipv4_max_bytes: Option<u32>,
    /// Largest packet in bytes into which received ones are merged, over IPv6 and (before 6.3)
    /// IPv4.
    pub gro_max_bytes: Option<u32>,
    /// The same over IPv4.
    pub gro_ipv4_max_bytes: Option<u32>,
    /// Number of queues that send.
    pub tx_queues: Option<u32>,
    /// Number of queues that receive.
    pub rx_queues: Option<u32>,
    /// Whether received packets pass an XDP program.
    pub xdp: bool,
}

impl Devices {
    /// Settings of a device, with RTM_GETLINK and RTM_GETQDISC.
    ///
    /// # Errors
    /// - ENODEV: the device is gone.
    ///
    /// # References
    /// [rtnetlink(7)]
    ///
    /// [rtnetlink(7)]: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
    #[doc(alias = "RTM_GETLINK")]
    #[doc(alias = "RTM_GETQDISC")]
    pub fn settings(&self, index: u32) -> io::Result<DeviceSettings> {
        let mut request = LinkMessage::default();
        request.header.index = index;
        let answers = self.channel.request(RouteNetlinkMessage::GetLink(request), 0)?;
        let link = answers.into_iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewLink(link) => Some(link),
            _ => None,
        });
        let mut found = DeviceSettings { qdiscs: self.qdiscs(index)?, ..Default::default() };
        for attribute in link.ok_or_else(|| undecodable("no link in it"))?.attributes {
            match attribute {
                LinkAttribute::GsoMaxSize(bytes) => found.gso_max_bytes = Some(bytes),
                LinkAttribute::GsoIpv4MaxSize(bytes) => found.gso_ipv4_max_bytes = Some(bytes),
                LinkAttribute::GroMaxSize(bytes) => found.gro_max_bytes = Some(bytes),
                LinkAttribute::GroIpv4MaxSize(bytes) => found.gro_ipv4_max_bytes = Some(bytes),
                LinkAttribute::NumTxQueues(queues) => found.tx_queues = Some(queues),
                LinkAttribute::NumRxQueues(queues) => found.rx_queues = Some(queues),
                LinkAttribute::Xdp(xdp) => found.xdp = is_attached(&xdp),
                LinkAttribute::LinkInfo(info) => found.kind = kind(info),
                _ => {}
            }
        }
        Ok(found)
    }

    fn qdiscs(&self, index: u32) -> io::Result<Vec<String>> {
        let request = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default());
        let mut kinds = Vec::new();
        // The kernel has no request for one device that also lists the qdiscs below the root.
        for answer in self.channel.request(request, NLM_F_DUMP)? {
            let RouteNetlinkMessage::NewQueueDiscipline(qdisc) = answer else { continue };
            if u32::try_from(qdisc.header.index) != Ok(index) {
                continue;
            }
            for attribute in qdisc.attributes {
                match attribute {
                    TcAttribute::Kind(kind) if !kinds.contains(&kind) => kinds.push(kind),
                    _ => {}
                }
            }
        }
        Ok(kinds)
    }
}

fn is_attached(xdp: &[LinkXdp]) -> bool {
    xdp.iter().any(|each| matches!(each, LinkXdp::Attached(how) if *how != XdpAttached::None))
}

fn kind(info: Vec<LinkInfo>) -> Option<String> {
    info.into_iter().find_map(|info| match info {
        LinkInfo::Kind(InfoKind::Other(name)) => Some(name),
        LinkInfo::Kind(kind) => Some(kind.to_string()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lo_has_no_queue_discipline_and_segments_in_software() {
        let devices = Devices::open().unwrap();
        let lo = devices.settings(devices.find("lo").unwrap().index).unwrap();
        assert_eq!((lo.kind, lo.xdp), (None, false));
        assert!(lo.gso_max_bytes.is_none_or(|bytes| bytes >= 65_536), "{:?}", lo.gso_max_bytes);
        assert!(lo.tx_queues.is_none_or(|queues| queues >= 1));
    }

    #[test]
    fn a_pair_of_virtual_devices_is_named_as_one() {
        // In a thread of its own, because a namespace belongs to a thread.
        std::thread::spawn(|| {
            if crate::netns::NetNs::unshare().is_err() {
                eprintln!("skipped: needs CAP_SYS_ADMIN");
                return;
            }
            let devices = Devices::open().unwrap();
            let here = crate::netns::NetNs::current().unwrap();
            devices.make_veth("zc0", "zc1", std::os::fd::AsFd::as_fd(&here)).unwrap();
            let index = devices.find("zc0").unwrap().index;
            devices.bring_up(index).unwrap();
            let found = devices.settings(index).unwrap();
            assert_eq!(
                (found.kind.as_deref(), &found.qdiscs[..]),
                (Some("veth"), &["noqueue".to_owned()][..])
            );
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_device_that_is_not_there_is_enodev() {
        let error = Devices::open().unwrap().settings(i32::MAX as u32).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }
}
