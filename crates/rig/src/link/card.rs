//! The device that packets leave by and its settings, in words: two runs are comparable only where
//! they are the same. What cannot be read is absent, never guessed.
//!
//! References: Documentation/ABI/testing/sysfs-class-net, Documentation/ABI/testing/sysfs-bus-pci,
//! Documentation/networking/napi.rst, Documentation/networking/scaling.rst,
//! Documentation/core-api/irq/irq-affinity.rst.

use std::collections::BTreeMap;
use std::path::Path;

use crate::root::read;
use zc_kernel::device_settings::DeviceSettings;
use zc_kernel::driver_info;
use zc_kernel::ethtool::{Ethtool, Numbers};
use zc_kernel::netlink::Devices;

/// The settings of device number `index` of `devices`, which the calling thread's network namespace
/// has under the name `name`.
pub(super) fn settings(devices: &Devices, name: &str, index: u32) -> BTreeMap<String, String> {
    let device = devices.settings(index).unwrap_or_default();
    let ethtool = Ethtool::open().ok();
    let numbers = |group| ethtool.as_ref()?.numbers(name, group).ok();
    let firmware = driver_info::firmware(name).ok();
    in_words(&device, &numbers, firmware, &OfSysfs::read(Path::new("/"), name, index))
}

fn in_words(
    device: &DeviceSettings,
    numbers: &dyn Fn(Numbers) -> Option<Vec<(&'static str, u32)>>,
    firmware: Option<String>,
    sysfs: &OfSysfs,
) -> BTreeMap<String, String> {
    let size = |all: Option<u32>, of_version_4: Option<u32>| match (all?, of_version_4) {
        (all, Some(of_version_4)) if of_version_4 != all => {
            Some(format!("{of_version_4} B over IPv4, {all} B over IPv6"))
        }
        (all, _) => Some(format!("{all} B")),
    };
    let queues = || Some(format!("rx {}, tx {}", device.rx_queues?, device.tx_queues?));
    let found = [
        ("driver", sysfs.driver.clone().or_else(|| device.kind.clone())),
        // Drivers of cards without one write nothing, or this.
        ("firmware", firmware.filter(|version| !version.is_empty() && version != "N/A")),
        ("PCI id", sysfs.pci_id.clone()),
        ("speed", sysfs.speed.clone()),
        ("qdisc", (!device.qdiscs.is_empty()).then(|| device.qdiscs.join(" of "))),
        ("largest packet to segment", size(device.gso_max_bytes, device.gso_ipv4_max_bytes)),
        ("largest merged packet", size(device.gro_max_bytes, device.gro_ipv4_max_bytes)),
        ("queues", numbers(Numbers::Channels).and_then(listed).or_else(queues)),
        ("rings", numbers(Numbers::Rings).and_then(listed)),
        ("interrupt coalescing", numbers(Numbers::Coalescing).and_then(listed)),
        ("interrupts on CPUs", sysfs.interrupts.clone()),
        ("NUMA node", sysfs.numa_node.clone()),
        ("threaded NAPI", sysfs.threaded.clone()),
        ("deferred interrupts", sysfs.deferred.clone()),
        ("receive packet steering", sysfs.receive_steering.clone()),
        ("receive flow steering", sysfs.flow_steering.clone()),
        ("transmit packet steering", sysfs.transmit_steering.clone()),
        ("XDP", device.xdp.then(|| "on".to_owned())),
    ];
    found.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// `rx 4, tx 4`: those that are not 0.
fn listed(numbers: Vec<(&'static str, u32)>) -> Option<String> {
    let set: Vec<String> = numbers
        .iter()
        .filter(|(_, number)| *number != 0)
        .map(|(name, number)| format!("{name} {number}"))
        .collect();
    match (numbers.is_empty(), set.is_empty()) {
        (true, _) => None,
        (_, true) => Some("off".to_owned()),
        _ => Some(set.join(", ")),
    }
}

/// Properties of a card that only sysfs and /proc show.
#[derive(Debug, Default, PartialEq, Eq)]
struct OfSysfs {
    driver: Option<String>,
    pci_id: Option<String>,
    speed: Option<String>,
    interrupts: Option<String>,
    numa_node: Option<String>,
    threaded: Option<String>,
    deferred: Option<String>,
    receive_steering: Option<String>,
    flow_steering: Option<String>,
    transmit_steering: Option<String>,
}

impl OfSysfs {
    /// Reads them for the device of this name and number. A sysfs shows the devices of the network
    /// namespace in which it was mounted; for a device of another one nothing is found.
    fn read(root: &Path, name: &str, index: u32) -> Self {
        let place = format!("sys/class/net/{name}");
        let of =
            |file: &str| read(root, &format!("{place}/{file}")).filter(|text| !text.is_empty());
        if of("ifindex").and_then(|number| number.parse().ok()) != Some(index) {
            return Self::default();
        }
        let driver = std::fs::read_link(root.join(format!("{place}/device/driver"))).ok();
        let named = |path: std::path::PathBuf| Some(path.file_name()?.to_str()?.to_owned());
        let deferred = || {
            let (times, ns) = (of("napi_defer_hard_irqs")?, of("gro_flush_timeout")?);
            (times != "0" || ns != "0").then(|| format!("{times} times, {ns} ns"))
        };
        let on = |text: String| if text == "0" { "off" } else { "on" }.to_owned();
        Self {
            driver: driver.and_then(named),
            pci_id: pci_id(&of),
            // Without a carrier it is -1 or an error, for a virtual device an error or a fiction.
            speed: of("speed")
                .filter(|_| root.join(&place).join("device").exists())
                .and_then(|speed| speed.parse().ok())
                .filter(|&mbit_per_s: &u32| mbit_per_s != u32::MAX)
                .map(|mbit_per_s| format!("{mbit_per_s} Mbit/s")),
            interrupts: interrupts(root, &place),
            // -1 is a machine without nodes.
            numa_node: of("device/numa_node").filter(|node| node != "-1"),
            threaded: of("threaded").map(on),
            deferred: deferred(),
            receive_steering: of_queues(root, &place, "rx-", "rps_cpus"),
            flow_steering: of_queues(root, &place, "rx-", "rps_flow_cnt"),
            transmit_steering: of_queues(root, &place, "tx-", "xps_cpus"),
        }
    }
}

/// `15b3:1017 (15b3:0008)`: vendor and device, and in parentheses those of the card that the chip
/// is on. A virtio device has numbers of its own under the same names; the PCI ones are above it.
fn pci_id(of: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let is_pci = |folder: &&str| {
        of(&format!("{folder}/modalias")).is_some_and(|modalias| modalias.starts_with("pci:"))
    };
    let folder = ["device", "device/.."].into_iter().find(is_pci)?;
    let digits = |file: &str| Some(of(&format!("{folder}/{file}"))?.strip_prefix("0x")?.to_owned());
    let pair = |vendor, device| Some(format!("{}:{}", digits(vendor)?, digits(device)?));
    let chip = pair("vendor", "device")?;
    Some(match pair("subsystem_vendor", "subsystem_device") {
        Some(card) => format!("{chip} ({card})"),
        None => chip,
    })
}

/// `3 3 0`: this file of each queue, in the order of the queues; `off` where all are 0.
fn of_queues(root: &Path, place: &str, kind: &str, file: &str) -> Option<String> {
    let entries = std::fs::read_dir(root.join(place).join("queues")).ok()?;
    let mut queues: Vec<u32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix(kind)?.parse().ok())
        .collect();
    queues.sort_unstable();
    // A transmit queue that is alone has no mask of its own (ENOENT).
    let of = |queue: &u32| read(root, &format!("{place}/queues/{kind}{queue}/{file}"));
    let values: Vec<String> = queues.iter().filter_map(of).collect();
    let is_off = |value: &String| value.chars().all(|digit| matches!(digit, '0' | ','));
    match values.first() {
        None => None,
        Some(_) if values.iter().all(is_off) => Some("off".to_owned()),
        Some(first) if values.iter().all(|value| value == first) => Some(first.clone()),
        Some(_) => Some(values.join(" ")),
    }
}

/// The CPUs to which the interrupts of a card go, in the order of the interrupts. Those of a virtio
/// device belong to the device above it.
fn interrupts(root: &Path, place: &str) -> Option<String> {
    let numbers = |folder: &str| -> Option<Vec<u32>> {
        let entries = std::fs::read_dir(root.join(place).join(folder)).ok()?;
        let mut numbers: Vec<u32> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        numbers.sort_unstable();
        (!numbers.is_empty()).then_some(numbers)
    };
    let numbers = numbers("device/msi_irqs").or_else(|| numbers("device/../msi_irqs"))?;
    let cpus: Vec<String> = numbers
        .iter()
        .filter_map(|number| {
            let of = |file: &str| read(root, &format!("proc/irq/{number}/{file}"));
            of("effective_affinity_list").or_else(|| of("smp_affinity_list"))
        })
        .filter(|cpus| !cpus.is_empty())
        .collect();
    (!cpus.is_empty()).then(|| cpus.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::root;

    fn of_a_card(folder: &Path) -> OfSysfs {
        OfSysfs::read(folder, "eth0", 2)
    }

    #[test]
    fn a_card_s_settings_are_read_from_its_files() {
        let files = root(&[
            ("sys/class/net/eth0/ifindex", "2\n"),
            ("sys/class/net/eth0/threaded", "1\n"),
            ("sys/class/net/eth0/napi_defer_hard_irqs", "2\n"),
            ("sys/class/net/eth0/gro_flush_timeout", "20000\n"),
            ("sys/class/net/eth0/speed", "25000\n"),
            ("sys/class/net/eth0/device/modalias", "pci:v000015B3d00001017sv000015B3sd00000008\n"),
            ("sys/class/net/eth0/device/vendor", "0x15b3\n"),
            ("sys/class/net/eth0/device/device", "0x1017\n"),
            ("sys/class/net/eth0/device/subsystem_vendor", "0x15b3\n"),
            ("sys/class/net/eth0/device/subsystem_device", "0x0008\n"),
            ("sys/class/net/eth0/device/numa_node", "1\n"),
            ("sys/class/net/eth0/device/msi_irqs/130", "msix\n"),
            ("sys/class/net/eth0/device/msi_irqs/99", "msix\n"),
            ("sys/class/net/eth0/queues/rx-0/rps_cpus", "3\n"),
            ("sys/class/net/eth0/queues/rx-0/rps_flow_cnt", "0\n"),
            ("sys/class/net/eth0/queues/rx-10/rps_cpus", "00000000,00000000\n"),
            ("sys/class/net/eth0/queues/rx-2/rps_cpus", "1\n"),
            ("sys/class/net/eth0/queues/tx-0/xps_cpus", "2\n"),
            ("sys/class/net/eth0/queues/tx-1/xps_cpus", "2\n"),
            ("proc/irq/99/smp_affinity_list", "0-3\n"),
            ("proc/irq/99/effective_affinity_list", "0\n"),
            ("proc/irq/130/smp_affinity_list", "1\n"),
        ]);
        let driver = files.path().join("sys/class/net/eth0/device/driver");
        std::os::unix::fs::symlink("../../../../bus/pci/drivers/mlx5_core", driver).unwrap();
        let sysfs = of_a_card(files.path());
        let device = DeviceSettings {
            kind: None,
            qdiscs: vec!["mq".to_owned(), "fq_codel".to_owned()],
            gso_max_bytes: Some(524_280),
            gso_ipv4_max_bytes: Some(65_536),
            gro_max_bytes: Some(65_536),
            gro_ipv4_max_bytes: Some(65_536),
            tx_queues: Some(96),
            rx_queues: Some(8),
            xdp: true,
        };
        let numbers = |group| match group {
            Numbers::Channels => Some(vec![("rx", 0), ("tx", 0), ("combined", 8)]),
            Numbers::Rings => Some(vec![("rx", 1024), ("tx", 512)]),
            Numbers::Coalescing => Some(vec![("rx-usecs", 0), ("adaptive-rx", 0)]),
        };
        let firmware = Some("16.35.4030 (MT_0000000008)".to_owned());
        let found = in_words(&device, &numbers, firmware, &sysfs);
        let expected = [
            ("NUMA node", "1"),
            ("PCI id", "15b3:1017 (15b3:0008)"),
            ("XDP", "on"),
            ("deferred interrupts", "2 times, 20000 ns"),
            ("driver", "mlx5_core"),
            ("firmware", "16.35.4030 (MT_0000000008)"),
            ("interrupt coalescing", "off"),
            ("interrupts on CPUs", "0 1"),
            ("largest merged packet", "65536 B"),
            ("largest packet to segment", "65536 B over IPv4, 524280 B over IPv6"),
            ("qdisc", "mq of fq_codel"),
            ("queues", "combined 8"),
            ("receive flow steering", "off"),
            ("receive packet steering", "3 1 00000000,00000000"),
            ("rings", "rx 1024, tx 512"),
            ("speed", "25000 Mbit/s"),
            ("threaded NAPI", "on"),
            ("transmit packet steering", "2"),
        ];
        let found: Vec<(&str, &str)> =
            found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn interrupts_and_pci_id_of_a_virtio_device_are_those_of_the_device_above_it() {
        let files = root(&[
            ("sys/devices/pci/virtio2/net/eth0/ifindex", "2\n"),
            ("sys/devices/pci/virtio2/modalias", "virtio:d00000001v00001AF4\n"),
            ("sys/devices/pci/virtio2/vendor", "0x1af4\n"),
            ("sys/devices/pci/virtio2/device", "0x0001\n"),
            ("sys/devices/pci/modalias", "pci:v00001AF4d00001041sv00001AF4sd00000040\n"),
            ("sys/devices/pci/vendor", "0x1af4\n"),
            ("sys/devices/pci/device", "0x1041\n"),
            ("sys/devices/pci/msi_irqs/30", "msix\n"),
            ("proc/irq/30/smp_affinity_list", "0-1\n"),
        ]);
        let place = |path: &str| files.path().join("sys").join(path);
        std::fs::create_dir_all(place("class/net")).unwrap();
        let link = std::os::unix::fs::symlink::<_, std::path::PathBuf>;
        link("../../devices/pci/virtio2/net/eth0", place("class/net/eth0")).unwrap();
        link("../..", place("devices/pci/virtio2/net/eth0/device")).unwrap();
        let found = of_a_card(files.path());
        assert_eq!(found.interrupts.as_deref(), Some("0-1"));
        assert_eq!(found.pci_id.as_deref(), Some("1af4:1041"));
    }

    #[test]
    fn a_device_has_a_speed_only_with_a_carrier_and_only_if_it_is_a_card() {
        let speed = |card: bool, text: &str| {
            let device = card.then_some(("sys/class/net/eth0/device/numa_node", "-1\n"));
            let of_all =
                [("sys/class/net/eth0/ifindex", "2\n"), ("sys/class/net/eth0/speed", text)];
            of_a_card(root(&[&of_all[..], device.as_slice()].concat()).path()).speed
        };
        assert_eq!(speed(true, "100000\n").as_deref(), Some("100000 Mbit/s"));
        assert_eq!(speed(true, "-1\n"), None);
        assert_eq!(speed(true, "4294967295\n"), None);
        assert_eq!(speed(true, ""), None);
        assert_eq!(speed(false, "10000\n"), None, "that of a veth is made up");
    }

    #[test]
    fn a_driver_without_a_firmware_writes_nothing_or_that_it_has_none() {
        for version in ["", "N/A"] {
            let firmware = Some(version.to_owned());
            let found =
                in_words(&DeviceSettings::default(), &|_| None, firmware, &OfSysfs::default());
            assert_eq!(found, BTreeMap::new());
        }
    }

    #[test]
    fn a_device_of_another_namespace_has_nothing_of_sysfs_and_what_is_not_there_is_absent() {
        let files =
            root(&[("sys/class/net/eth0/ifindex", "3\n"), ("sys/class/net/eth0/threaded", "1\n")]);
        assert_eq!(of_a_card(files.path()), OfSysfs::default());
        let found = in_words(&DeviceSettings::default(), &|_| None, None, &OfSysfs::default());
        assert_eq!(found, BTreeMap::new());
        let veth = DeviceSettings { kind: Some("veth".to_owned()), ..Default::default() };
        let found = in_words(&veth, &|_| Some(Vec::new()), None, &OfSysfs::default());
        assert_eq!(found, BTreeMap::from([("driver".to_owned(), "veth".to_owned())]));
    }
}
