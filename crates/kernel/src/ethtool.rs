//! Settings of a network device as `ethtool` shows them, over generic netlink: its offloads (`-k`)
//! by their names, and the numbers of its rings (`-g`), channels (`-l`) and interrupt coalescing
//! (`-c`).
//!
//! A feature set is a "bitset" in its verbose form, a list of names.
//!
//! # References
//! Documentation/networking/ethtool-netlink.rst, sections "Bit sets", "FEATURES_GET", "RINGS_GET",
//! "CHANNELS_GET" and "COALESCE_GET"

use std::collections::BTreeMap;
use std::io;

use netlink_packet_core::{DecodeError, DefaultNla, NlasIterator};

use crate::attributes::{child, nested, number, string, text};
use crate::generic_netlink::{Family, attributes_of};
use crate::netlink_channel::{Message, undecodable};

// include/uapi/linux/ethtool_netlink_generated.h and ethtool_netlink.h
const FAMILY: &str = "ethtool";
const VERSION: u8 = 1;
const MSG_FEATURES_GET: u8 = 11;
const MSG_FEATURES_SET: u8 = 12;
/// Header attribute, the same in every request.
const A_HEADER: u16 = 1;
const A_FEATURES_WANTED: u16 = 3;
const A_FEATURES_ACTIVE: u16 = 4;
const A_HEADER_DEV_NAME: u16 = 2;
const A_BITSET_NOMASK: u16 = 1;
const A_BITSET_BITS: u16 = 3;
const A_BITSET_BITS_BIT: u16 = 1;
const A_BITSET_BIT_NAME: u16 = 2;
const A_BITSET_BIT_VALUE: u16 = 3;

/// A group of numbers of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// Descriptors of a queue: `rx`, `tx`.
    Rings,
    /// Queues with an interrupt: `combined`, `rx`, `tx`.
    Channels,
    /// Interrupt coalescing: `rx-usecs`, `tx-frames`, `adaptive-rx` ...
    Coalescing,
}

impl Numbers {
    /// The request, and the attributes of its answer by the names that ethtool gives them.
    fn message(self) -> (u8, &'static [(u16, &'static str)]) {
        match self {
            Self::Rings => (15, &[(6, "rx"), (9, "tx")]),
            Self::Channels => (17, &[(6, "rx"), (7, "tx"), (9, "combined")]),
            Self::Coalescing => (
                19,
                &[
                    (2, "rx-usecs"),
                    (3, "rx-frames"),
                    (6, "tx-usecs"),
                    (7, "tx-frames"),
                    (11, "adaptive-rx"),
                    (12, "adaptive-tx"),
                ],
            ),
        }
    }
}

/// A generic netlink socket for the offloads of the devices of one network namespace.
///
/// # References
/// [Documentation/networking/ethtool-netlink.rst]
///
/// [Documentation/networking/ethtool-netlink.rst]:
///   https://docs.kernel.org/networking/ethtool-netlink.html
#[doc(alias = "NETLINK_GENERIC")]
#[derive(Debug)]
pub struct Ethtool(Family);

impl Ethtool {
    /// Opens a generic netlink socket in the calling thread's network namespace, and looks up the
    /// family `ethtool`.
    ///
    /// # Errors
    /// - ENOENT: the kernel has no ethtool netlink (before 5.6, or without CONFIG_ETHTOOL_NETLINK).
    ///
    /// # References
    /// - [netlink(7)]
    /// - [Documentation/networking/ethtool-netlink.rst]
    ///
    /// [netlink(7)]: https://man7.org/linux/man-pages/man7/netlink.7.html
    /// [Documentation/networking/ethtool-netlink.rst]:
    ///   https://docs.kernel.org/networking/ethtool-netlink.html
    #[doc(alias = "socket")]
    #[doc(alias = "CTRL_CMD_GETFAMILY")]
    pub fn open() -> io::Result<Self> {
        Family::open(FAMILY, VERSION).map(Self)
    }

    /// Active features of `device` with ETHTOOL_MSG_FEATURES_GET, by ethtool's names
    /// (`tx-tcp-segmentation`, `rx-gro` ...). A feature that is not listed is off.
    ///
    /// # Errors
    /// - ENODEV: there is no such device.
    ///
    /// # References
    /// [Documentation/networking/ethtool-netlink.rst]
    ///
    /// [Documentation/networking/ethtool-netlink.rst]:
    ///   https://docs.kernel.org/networking/ethtool-netlink.html
    #[doc(alias = "ETHTOOL_MSG_FEATURES_GET")]
    pub fn active(&self, device: &str) -> io::Result<Vec<String>> {
        let answers = self.request(MSG_FEATURES_GET, header(device))?;
        let answer = answers.first().ok_or_else(|| undecodable("no features in it"))?;
        active_in(attributes_of(answer)?)
    }

    /// Switches features of `device` with ETHTOOL_MSG_FEATURES_SET, by ethtool's names. A feature
    /// that the device cannot change stays as it is: read it back with [`Ethtool::active`].
    ///
    /// # Errors
    /// - EPERM: CAP_NET_ADMIN is needed.
    /// - EOPNOTSUPP: unknown name.
    /// - ENODEV: there is no such device.
    ///
    /// # References
    /// [Documentation/networking/ethtool-netlink.rst]
    ///
    /// [Documentation/networking/ethtool-netlink.rst]:
    ///   https://docs.kernel.org/networking/ethtool-netlink.html
    #[doc(alias = "ETHTOOL_MSG_FEATURES_SET")]
    pub fn set(&self, device: &str, wanted: &BTreeMap<String, bool>) -> io::Result<()> {
        let bits = wanted.iter().map(|(name, on)| {
            let mut bit = vec![text(A_BITSET_BIT_NAME, name)];
            if *on {
                // A flag: its presence is its value.
                bit.push(DefaultNla::new(A_BITSET_BIT_VALUE, Vec::new()));
            }
            nested(A_BITSET_BITS_BIT, &bit)
        });
        let bits = nested(A_BITSET_BITS, &bits.collect::<Vec<_>>());
        let mut attributes = header(device);
        attributes.push(nested(A_FEATURES_WANTED, &[bits]));
        self.request(MSG_FEATURES_SET, attributes)?;
        Ok(())
    }

    /// The numbers of a group that `device` has, by ethtool's names, in ethtool's order, with
    /// ETHTOOL_MSG_RINGS_GET, ETHTOOL_MSG_CHANNELS_GET or ETHTOOL_MSG_COALESCE_GET. A switch is 1
    /// (on) or 0 (off).
    ///
    /// # Errors
    /// - EOPNOTSUPP: the device has no such group.
    /// - ENODEV: there is no such device.
    ///
    /// # References
    /// [Documentation/networking/ethtool-netlink.rst]
    ///
    /// [Documentation/networking/ethtool-netlink.rst]:
    ///   https://docs.kernel.org/networking/ethtool-netlink.html
    #[doc(alias = "ETHTOOL_MSG_RINGS_GET")]
    #[doc(alias = "ETHTOOL_MSG_CHANNELS_GET")]
    #[doc(alias = "ETHTOOL_MSG_COALESCE_GET")]
    pub fn numbers(&self, device: &str, group: Numbers) -> io::Result<Vec<(&'static str, u32)>> {
        let (command, names) = group.message();
        // All three messages have their header at the same place.
        let answers = self.request(command, header(device))?;
        let answer = answers.first().ok_or_else(|| undecodable("no numbers in it"))?;
        let attributes = attributes_of(answer)?;
        let mut found = Vec::new();
        for (attribute, name) in names {
            let value = number(attributes, *attribute).map_err(undecodable)?;
            found.extend(value.map(|value| (*name, value)));
        }
        Ok(found)
    }

    fn request(&self, command: u8, attributes: Vec<DefaultNla>) -> io::Result<Vec<Message>> {
        self.0.request(command, &attributes, 0)
    }
}

/// The active features in the attributes of an answer to ETHTOOL_MSG_FEATURES_GET: what
/// [`Ethtool::active`] returns of it.
///
/// # Errors
/// The bytes are not attributes.
#[doc(alias = "ETHTOOL_MSG_FEATURES_GET_REPLY")]
pub fn active_in(attributes: &[u8]) -> io::Result<Vec<String>> {
    let active = child(attributes, A_FEATURES_ACTIVE).map_err(undecodable)?;
    names_that_are_on(&active.unwrap_or_default()).map_err(undecodable)
}

fn header(device: &str) -> Vec<DefaultNla> {
    vec![nested(A_HEADER, &[text(A_HEADER_DEV_NAME, device)])]
}

/// Names of the set bits of a verbose bitset. Without a mask, every listed bit is set.
fn names_that_are_on(bitset: &[u8]) -> Result<Vec<String>, DecodeError> {
    let listed_is_set = child(bitset, A_BITSET_NOMASK)?.is_some();
    let bits = child(bitset, A_BITSET_BITS)?.unwrap_or_default();
    let mut names = Vec::new();
    for bit in NlasIterator::new(&bits[..]) {
        let bit = bit?;
        let set = listed_is_set || child(bit.value(), A_BITSET_BIT_VALUE)?.is_some();
        if let (true, Some(name)) = (set, child(bit.value(), A_BITSET_BIT_NAME)?) {
            names.push(string(&name));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::bytes;

    fn open() -> Option<Ethtool> {
        Ethtool::open().inspect_err(|error| eprintln!("skipped: no ethtool netlink: {error}")).ok()
    }

    #[test]
    fn lo_can_segment() {
        let Some(ethtool) = open() else { return };
        let active = ethtool.active("lo").unwrap();
        assert!(active.iter().any(|name| name == "tx-generic-segmentation"), "{active:?}");
    }

    #[test]
    fn a_device_that_is_not_there_is_enodev() {
        let Some(ethtool) = open() else { return };
        let error = ethtool.active("zc-no-such").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
        let error = ethtool.numbers("zc-no-such", Numbers::Rings).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn lo_has_no_rings_and_a_pair_of_virtual_devices_has_channels() {
        let Some(ethtool) = open() else { return };
        let error = ethtool.numbers("lo", Numbers::Rings).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
        std::thread::spawn(|| {
            if crate::netns::NetNs::unshare().is_err() {
                eprintln!("skipped: needs CAP_SYS_ADMIN");
                return;
            }
            let ethtool = open().unwrap();
            let devices = crate::netlink::Devices::open().unwrap();
            let here = crate::netns::NetNs::current().unwrap();
            devices.make_veth("zc0", "zc1", std::os::fd::AsFd::as_fd(&here)).unwrap();
            // Since Linux 5.13, one or more of each.
            match ethtool.numbers("zc0", Numbers::Channels) {
                Ok(found) => assert!(found.contains(&("rx", 1)), "{found:?}"),
                Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP)),
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn segmentation_can_be_switched_off_and_on() {
        // In a thread of its own, because a namespace belongs to a thread.
        std::thread::spawn(|| {
            if crate::netns::NetNs::unshare().is_err() {
                eprintln!("skipped: needs CAP_SYS_ADMIN");
                return;
            }
            let Some(ethtool) = open() else { return };
            let devices = crate::netlink::Devices::open().unwrap();
            let here = crate::netns::NetNs::current().unwrap();
            devices.make_veth("zc0", "zc1", std::os::fd::AsFd::as_fd(&here)).unwrap();
            const TSO: &str = "tx-tcp-segmentation";
            let is_on = || ethtool.active("zc0").unwrap().iter().any(|name| name == TSO);
            assert!(is_on());
            for on in [false, true] {
                ethtool.set("zc0", &BTreeMap::from([(TSO.to_owned(), on)])).unwrap();
                assert_eq!(is_on(), on);
            }
            let unknown = ethtool
                .set("zc0", &BTreeMap::from([("no-such-offload".to_owned(), true)]))
                .unwrap_err();
            assert_eq!(unknown.raw_os_error(), Some(libc::EOPNOTSUPP));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_bitset_without_a_mask_lists_what_is_set() {
        let bit = |name: &str| nested(A_BITSET_BITS_BIT, &[text(A_BITSET_BIT_NAME, name)]);
        let bits = nested(A_BITSET_BITS, &[bit("one"), bit("two")]);
        assert_eq!(names_that_are_on(&bytes(std::slice::from_ref(&bits))).unwrap(), [""; 0]);
        let nomask = DefaultNla::new(A_BITSET_NOMASK, Vec::new());
        assert_eq!(names_that_are_on(&bytes(&[nomask, bits])).unwrap(), ["one", "two"]);
    }
}
