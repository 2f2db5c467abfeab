//! Settings of a network device that change what a packet costs, over rtnetlink: the kind of the
//! device, its queues and qdiscs, the largest packets that it is given and gives, and XDP.
//!
//! # References
//! - rtnetlink(7)
//! - Documentation/netlink/specs/rt-link.yaml and tc.yaml

use std::io;

use netlink_packet_core::NLM_F_DUMP;

use crate::attributes::{child, number, string};
use crate::netlink::Devices;
use crate::netlink_channel::{Message, undecodable, word_at};

// include/uapi/linux/if_link.h
const IFLA_GSO_IPV4_MAX_SIZE: u16 = 63;
const IFLA_GRO_IPV4_MAX_SIZE: u16 = 64;
const IFLA_XDP_ATTACHED: u16 = 2;
const XDP_ATTACHED_NONE: u32 = 0;

/// Settings of a device. A setting that the kernel does not report is `None`.
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
        let link = self.link(index, &[])?;
        let value = |kind| number(&link.attributes, kind).map_err(undecodable);
        Ok(DeviceSettings {
            kind: kind(&link.attributes)?,
            qdiscs: self.qdiscs(index)?,
            gso_max_bytes: value(libc::IFLA_GSO_MAX_SIZE)?,
            gso_ipv4_max_bytes: value(IFLA_GSO_IPV4_MAX_SIZE)?,
            gro_max_bytes: value(libc::IFLA_GRO_MAX_SIZE)?,
            gro_ipv4_max_bytes: value(IFLA_GRO_IPV4_MAX_SIZE)?,
            tx_queues: value(libc::IFLA_NUM_TX_QUEUES)?,
            rx_queues: value(libc::IFLA_NUM_RX_QUEUES)?,
            xdp: is_xdp_attached(&link.attributes)?,
        })
    }

    fn qdiscs(&self, index: u32) -> io::Result<Vec<String>> {
        // struct tcmsg: family, padding, the device, and three words that do not matter here.
        const HEADER_BYTES: usize = 20;
        let request = Message::new(libc::RTM_GETQDISC, &[0; HEADER_BYTES], &[]);
        let mut kinds = Vec::new();
        // The kernel has no request for one device that also lists the qdiscs below the root.
        for answer in self.channel.request(request, NLM_F_DUMP)? {
            let (header, attributes) = answer.split::<HEADER_BYTES>()?;
            if answer.kind != libc::RTM_NEWQDISC || word_at(header, 4) != index {
                continue;
            }
            let kind = child(attributes, libc::TCA_KIND).map_err(undecodable)?;
            kinds.extend(kind.map(|kind| string(&kind)).filter(|kind| !kinds.contains(kind)));
        }
        Ok(kinds)
    }
}

fn is_xdp_attached(link: &[u8]) -> io::Result<bool> {
    let xdp = child(link, libc::IFLA_XDP).map_err(undecodable)?.unwrap_or_default();
    let how = number(&xdp, IFLA_XDP_ATTACHED).map_err(undecodable)?;
    Ok(how.is_some_and(|how| how != XDP_ATTACHED_NONE))
}

fn kind(link: &[u8]) -> io::Result<Option<String>> {
    let info = child(link, libc::IFLA_LINKINFO).map_err(undecodable)?.unwrap_or_default();
    let kind = child(&info, libc::IFLA_INFO_KIND).map_err(undecodable)?;
    Ok(kind.map(|kind| string(&kind)))
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
