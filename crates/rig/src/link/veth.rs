//! `veth`: two network namespaces of zc's own with a veth pair between them. Root makes them
//! directly. Others need a user namespace, which is tried out in a child process first, because a
//! process cannot leave a user namespace that turns out to be useless.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::counters::read_counters;
use super::layer::{self, End, LEAST_MTU_OF_IP_6, Meter};
use super::link_trait::{LayerBytes, Link};
use super::refusal::{Policies, Stage, explain};
use super::settings::Settings;
use super::sides::Sides;
use super::steering::{self, Steering, on_thread};
use super::tcp_packets::TcpPackets;
use super::{card, offloads};
use zc_kernel::netlink::{Device, Devices};
use zc_kernel::netns::{NetNs, unshare_user};
use zc_kernel::process;
use zc_run::{
    Error, IpVersion, LinkCounters, LinkFacts, LinkKind, LinkOptions, OffloadSwitch, Result,
    Severity, Unavailable, Warning,
};

pub(super) const SENDER: &str = "zc0";
pub(super) const RECEIVER: &str = "zc1";
/// The bridge above the sender's end, with [`Card::Bridge`].
const BRIDGE: &str = "zcbr0";

/// The addresses of both ends, on one network.
#[derive(Debug, Clone, Copy)]
pub(super) struct Addresses {
    pub(super) sender: IpAddr,
    pub(super) receiver: IpAddr,
    prefix_bits: u8,
}

/// Addresses reserved for documentation (RFC 5737, RFC 3849). These namespaces have no others that
/// could collide.
pub(super) fn addresses(ip: IpVersion) -> Addresses {
    let (sender, receiver, prefix_bits): (IpAddr, IpAddr, _) = match ip {
        IpVersion::V4 => {
            (Ipv4Addr::new(192, 0, 2, 1).into(), Ipv4Addr::new(192, 0, 2, 2).into(), 30)
        }
        IpVersion::V6 => {
            let of = |last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
            (of(1).into(), of(2).into(), 64)
        }
    };
    Addresses { sender, receiver, prefix_bits }
}

/// The device that is the sender's network card: its offloads decide what packets look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Card {
    /// The sender's end of the pair.
    Veth,
    /// A bridge above it. A program at the egress of the pair sees packets after the offloads of
    /// the bridge and before those of the pair (docs/null-link.md).
    Bridge,
}

impl Card {
    fn device(self) -> &'static str {
        match self {
            Self::Veth => SENDER,
            Self::Bridge => BRIDGE,
        }
    }
}

/// Initial congestion window, in packets, of every connection over this link: more than a send
/// buffer of 4 MiB (the maximum of `tcp_wmem` by default) holds, so that the window never limits.
/// Without it, slow start ends at a random point here (HyStart takes every delay for a queue), the
/// window of an application that does not fill it stays there, and packets sent from a small window
/// are smaller: the cost of one path differs by up to a factor of 1.8 from connection to connection
/// (docs/method.md).
const INITIAL_WINDOW_PACKETS: u32 = 3000;

/// The kernel's own (TCP_INIT_CWND, include/net/tcp.h; RFC 6928).
const KERNEL_S_WINDOW_PACKETS: u32 = 10;

pub(super) struct Veth {
    facts: LinkFacts,
    warnings: Vec<Warning>,
    sender: NetNs,
    receiver: NetNs,
    devices: Devices,
    receiver_devices: Devices,
    index: u32,
    addresses: Addresses,
    layer: Meter,
    /// Those of the receiver's namespace.
    tcp_packets: Option<TcpPackets>,
}

/// The link that is to be made, for all steps.
#[derive(Clone)]
struct Wanted {
    sides: Sides,
    steering: Steering,
    card: Card,
    options: LinkOptions,
    /// The receiver's device merges what it receives (GRO), unless the options switch that off.
    merging: bool,
    /// Packets; `None` is the kernel's default.
    initial_window: Option<u32>,
    settings: Settings,
    policies: Policies,
}

/// Checks that the link can be brought up, and leaves this process unchanged.
pub(super) fn try_out(sides: Sides) -> std::result::Result<(), Unavailable> {
    let wanted = Wanted::new(sides, Steering::Best, Card::Veth, &LinkOptions::default());
    if process::may_make_namespaces() {
        wanted.build()?.checked(sides).map(drop)
    } else {
        wanted.rehearse()
    }
}

impl Wanted {
    fn new(sides: Sides, steering: Steering, card: Card, options: &LinkOptions) -> Self {
        Self {
            sides,
            steering: steering.resolve(sides),
            card,
            options: options.clone(),
            merging: false,
            // Over a round trip, TCP makes packets of about a millisecond of its window
            // (tcp_tso_autosize): a window that never limits makes all of them full.
            initial_window: (options.far_end.rtt_ns == 0).then_some(INITIAL_WINDOW_PACKETS),
            settings: Settings::here(),
            policies: Policies::read(Path::new("/")),
        }
    }

    /// Brings the link up in a child process, so that this process enters a user namespace only if
    /// that leads to a link.
    fn rehearse(&self) -> std::result::Result<(), Unavailable> {
        let threads = process::threads()
            .map_err(|error| Unavailable::unknown(format!("/proc cannot be read: {error}")))?;
        if threads != 1 {
            return Err(Unavailable::refused(format!(
                "a user namespace can only be made before the first thread is started, and this \
                 process has {threads} \
                 threads"
            ))
            .remedy("run as root"));
        }
        let broke = |error: io::Error| {
            Unavailable::failed(format!(
                "the link could not be tried out in a child process: {error}"
            ))
        };
        let (mut reader, writer) = io::pipe().map_err(broke)?;
        let perform = || self.enter_user_namespace()?.build()?.checked(self.sides).map(drop);
        let status = process::in_child(|| match perform() {
            Ok(()) => 0,
            Err(no) => {
                // Much smaller than the pipe's buffer, so this does not wait for a reader.
                let _ = serde_json::to_writer(&writer, &no);
                1
            }
        })
        .map_err(broke)?;
        drop(writer);
        if status.success() {
            return Ok(());
        }
        let mut said = String::new();
        reader.read_to_string(&mut said).map_err(broke)?;
        let unsaid = || {
            Unavailable::failed(format!(
                "the child process that tried the link out ended with {status}"
            ))
        };
        Err(serde_json::from_str(&said).unwrap_or_else(|_| unsaid()))
    }

    fn enter_user_namespace(&self) -> std::result::Result<&Self, Unavailable> {
        unshare_user().map_err(|error| explain(Stage::UserNamespace, &error, &self.policies))?;
        Ok(self)
    }

    /// Makes the namespaces and their devices on a helper thread, so that the caller stays in its
    /// namespace.
    fn build(&self) -> std::result::Result<Veth, Unavailable> {
        on_thread(|| Ok(self.build_here())).unwrap_or_else(|error| {
            Err(Unavailable::failed(format!(
                "no thread could be started to bring the link up: {error}"
            )))
        })
    }

    fn build_here(&self) -> std::result::Result<Veth, Unavailable> {
        if let (IpVersion::V6, Some(bytes @ ..LEAST_MTU_OF_IP_6)) =
            (self.options.ip, self.options.mtu_bytes)
        {
            return Err(Unavailable::unsupported(format!(
                "IPv6 has no MTU of {bytes} bytes: at least {LEAST_MTU_OF_IP_6} (RFC 8200)"
            )));
        }
        let no = |stage| move |error| explain(stage, &error, &self.policies);
        let mut steered = Ok(());
        let mut left = Vec::new();
        let mut side = |cpu| {
            let namespace = NetNs::unshare().map_err(no(Stage::NetworkNamespace))?;
            // The same for both sides.
            left = self.settings.apply(self.options.ip);
            if self.steering == Steering::Best && steered.is_ok() {
                // Before there is a device: a device takes the mask when it is made.
                steered = steering::set_default_mask(cpu);
            }
            let devices = Devices::open().map_err(no(Stage::Veth))?;
            Ok((namespace, devices))
        };
        let (receiver, receiver_devices) = side(self.sides.receiver_cpu)?;
        let (sender, devices) = side(self.sides.sender_cpu)?;
        // This thread is in the sender's namespace now.
        devices.make_veth(SENDER, RECEIVER, receiver.as_fd()).map_err(no(Stage::Veth))?;
        let index = devices.find(SENDER).map_err(no(Stage::Veth))?.index;
        if let Some(bytes) = self.options.mtu_bytes {
            devices.set_mtu(index, bytes).map_err(no(Stage::Mtu(bytes)))?;
            let far = receiver_devices.find(RECEIVER).map_err(no(Stage::Veth))?;
            receiver_devices.set_mtu(far.index, bytes).map_err(no(Stage::Mtu(bytes)))?;
        }
        if self.card == Card::Bridge {
            // Packets that the pair's end has steered to this CPU must not be steered again. If
            // this fails, they stay on it.
            let _ = steering::unset_default_mask();
            devices.make_bridge(BRIDGE, index).map_err(no(Stage::Bridge))?;
            devices.bring_up(index).map_err(no(Stage::Bridge))?;
        }
        offloads::switch_off(self.card.device(), &self.options.switched_off)?;
        if let Some(bytes) = self.options.gso_max_bytes {
            for (devices, device) in
                [(&devices, SENDER), (&devices, self.card.device()), (&receiver_devices, RECEIVER)]
            {
                set_gso_max(devices, device, bytes, self.options.ip)?;
            }
        }
        let addresses = addresses(self.options.ip);
        let both = [
            End {
                namespace: &sender,
                devices: &devices,
                device: SENDER,
                address: addresses.sender,
            },
            End {
                namespace: &receiver,
                devices: &receiver_devices,
                device: RECEIVER,
                address: addresses.receiver,
            },
        ];
        let (layer, layer_facts) = layer::build(&self.options, both)?;
        let stage = if self.options.ip == IpVersion::V6 { Stage::Ipv6 } else { Stage::Veth };
        let [near, far] =
            layer::devices(self.options.layer).unwrap_or([self.card.device(), RECEIVER]);
        let ends =
            [(&devices, near, addresses.sender), (&receiver_devices, far, addresses.receiver)];
        for (devices, device, _) in ends {
            devices
                .find("lo")
                .and_then(|lo| devices.bring_up(lo.index))
                .map_err(no(Stage::Veth))?;
            devices
                .find(device)
                .and_then(|found| devices.bring_up(found.index))
                .map_err(no(Stage::Veth))?;
        }
        for (end, (devices, device, address)) in ends.into_iter().enumerate() {
            let (others, other, neighbour) = ends[1 - end];
            let set_up = || {
                let index = set_up(
                    devices,
                    device,
                    address,
                    addresses.prefix_bits,
                    &others.find(other)?,
                    neighbour,
                    self.options.layer.has_device(),
                )?;
                self.initial_window.map_or(Ok(()), |packets| {
                    devices.set_initial_window(index, address, addresses.prefix_bits, packets)
                })
            };
            set_up().map_err(no(stage))?;
        }
        let card = devices.find(self.card.device()).map_err(no(Stage::Veth))?;
        let mtu_bytes = card.mtu_bytes;
        if let Some(bytes) = self.options.mtu_bytes.filter(|bytes| *bytes != mtu_bytes) {
            let device = self.card.device();
            return Err(Unavailable::unsupported(format!(
                "\"{device}\" has an MTU of {mtu_bytes} and not of {bytes} bytes"
            )));
        }
        receiver.enter().map_err(no(Stage::NetworkNamespace))?;
        let receiver_merges = self.merge()?;
        let tcp_packets = TcpPackets::own();
        sender.enter().map_err(no(Stage::NetworkNamespace))?;
        if self.steering == Steering::Sysfs {
            steered =
                steering::set_by_sysfs(&sender, SENDER, self.sides.sender_cpu).and_then(|()| {
                    steering::set_by_sysfs(&receiver, RECEIVER, self.sides.receiver_cpu)
                });
        }

        let (rps, rps_check) = match (self.steering, steered) {
            (Steering::Off, _) => (None, None),
            (Steering::Best, Ok(())) => (Some("rps_default_mask".to_owned()), None),
            (Steering::Sysfs, Ok(())) => (Some("sysfs".to_owned()), None),
            // A sysfs requires CAP_NET_ADMIN on the host, even of the owner of the namespace
            // (store_rps_map, net/core/net-sysfs.c).
            (Steering::Sysfs, Err(error)) if error.kind() == io::ErrorKind::PermissionDenied => (
                None,
                Some("receive packet steering is for root alone on kernels before 6.3".to_owned()),
            ),
            (_, Err(error)) => {
                (None, Some(format!("receive packet steering could not be set: {error}")))
            }
        };
        let facts = LinkFacts {
            kind: LinkKind::Veth,
            device: self.card.device().to_owned(),
            mtu_bytes,
            offloads: offloads::read(self.card.device()),
            settings: card::settings(&devices, &card.name, card.index),
            receiver_merges,
            sides_apart: false,
            rps,
            rps_check,
            ip: self.options.ip,
            switched_off: self.options.switched_off.clone(),
            gso_max_bytes: self.options.gso_max_bytes,
            layer: layer_facts,
            initial_window_packets: self.initial_window,
            far_end: None,
            passed_over: Vec::new(),
        };
        let warnings = (!left.is_empty()).then(|| settings_left(&left)).into_iter().collect();
        Ok(Veth {
            facts,
            warnings,
            sender,
            receiver,
            devices,
            receiver_devices,
            index,
            addresses,
            layer,
            tcp_packets,
        })
    }

    /// Switches merging by the receiver's device, in whose namespace the calling thread is. Returns
    /// whether it merges.
    fn merge(&self) -> std::result::Result<Option<bool>, Unavailable> {
        let refused = self.options.switched_off.contains(&OffloadSwitch::NoGro);
        match offloads::merge(RECEIVER, self.merging && !refused) {
            Ok(Some(true)) if refused => Err(Unavailable::unsupported(format!(
                "the kernel does not let \"{RECEIVER}\" receive without merging"
            ))),
            Ok(merges) => Ok(merges),
            Err(error) if refused => Err(Unavailable::failed(format!(
                "merging by \"{RECEIVER}\" could not be switched off: {error}"
            ))),
            Err(_) => Ok(None),
        }
    }
}

fn settings_left(names: &[String]) -> Warning {
    Warning::new(
        "settings-left",
        Severity::Doubt,
        format!(
            "these settings could not be made in the namespaces of the link, which have the \
             kernel's own: {}",
            names.join(", ")
        ),
    )
    .remedy("run as root")
}

/// The largest packet that the kernel knows (GSO_MAX_SIZE in include/linux/netdevice.h).
const LARGEST_PACKET: u32 = 8 * 65_535;

/// Sets the largest packet of `device`, and checks that it has it.
fn set_gso_max(
    devices: &Devices,
    device: &str,
    bytes: u32,
    ip: IpVersion,
) -> std::result::Result<(), Unavailable> {
    let bytes = bytes.min(LARGEST_PACKET);
    let no = |error: io::Error| {
        Unavailable::unsupported(format!(
            "\"{device}\" cannot have packets of {bytes} bytes before segmentation: {error}"
        ))
        .remedy("--gso-max 64k; larger ones (BIG TCP) are for Linux 5.19, over IPv4 6.3")
    };
    let found = devices.find(device).and_then(|found| {
        devices.set_gso_max(found.index, bytes)?;
        devices.settings(found.index)
    });
    let found = found.map_err(no)?;
    // A kernel without the second has one size for both, of at most 64 KiB.
    let has = match ip {
        IpVersion::V4 if bytes > 1 << 16 => found.gso_ipv4_max_bytes,
        IpVersion::V4 => found.gso_ipv4_max_bytes.or(found.gso_max_bytes),
        IpVersion::V6 => found.gso_max_bytes,
    };
    if has == Some(bytes) {
        return Ok(());
    }
    Err(no(io::Error::other(match has {
        Some(has) => format!("they have {has}"),
        None => "this kernel has none over IPv4".to_owned(),
    })))
}

/// Sets the address and the neighbour of `device`, which is up; returns its number. `is_upper` says
/// whether it is above another one.
fn set_up(
    devices: &Devices,
    device: &str,
    address: IpAddr,
    prefix_bits: u8,
    other: &Device,
    neighbour: IpAddr,
    is_upper: bool,
) -> io::Result<u32> {
    let index = devices.find(device)?.index;
    devices.add_address(index, address, prefix_bits)?;
    // Neighbour discovery begins when the kernel's link watch has seen the device come up, and
    // sends one request per second. And ARP for an address of a macvlan device is answered by the
    // device below, too (ip-sysctl.rst, arp_ignore), to which packets would go then.
    if let Some(mac) = other.mac.filter(|_| is_upper || address.is_ipv6()) {
        devices.add_neighbour(index, neighbour, mac)?;
    }
    Ok(index)
}

impl Veth {
    pub(super) fn bring_up(
        sides: Sides,
        steering: Steering,
        card: Card,
        options: &LinkOptions,
    ) -> std::result::Result<Self, Unavailable> {
        Self::bring_up_several(sides, steering, card, options, &[]).map(|(link, _)| link)
    }

    /// One link, and others in the same user namespace, if one is needed. If the kernel refuses one
    /// of the others, only that one is unavailable.
    #[allow(clippy::type_complexity)] // one that is there, and others that may be
    pub(super) fn bring_up_several(
        sides: Sides,
        steering: Steering,
        card: Card,
        options: &LinkOptions,
        others: &[LinkOptions],
    ) -> std::result::Result<(Self, Vec<std::result::Result<Self, Unavailable>>), Unavailable> {
        // Cards that do not merge are compared with cards that do. If no link has `no-gro`, veth
        // keeps the kernel's default.
        let merging = others.iter().any(|each| each.switched_off.contains(&OffloadSwitch::NoGro));
        let wanted = Wanted { merging, ..Wanted::new(sides, steering, card, options) };
        if !process::may_make_namespaces() {
            wanted.rehearse()?;
            wanted.enter_user_namespace()?;
        }
        let link = wanted.build()?.checked(sides)?;
        let other = |options: &LinkOptions| {
            let wanted = Wanted { options: options.clone(), ..wanted.clone() };
            wanted.build()?.checked(sides)
        };
        Ok((link, others.iter().map(other).collect()))
    }

    pub(super) fn sender(&self) -> &NetNs {
        &self.sender
    }

    pub(super) fn receiver(&self) -> &NetNs {
        &self.receiver
    }

    /// The receiver's end, as its namespace sees it.
    pub(super) fn receiver_device(&self) -> io::Result<Device> {
        self.receiver_devices.find(RECEIVER)
    }

    pub(super) fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// The sender's end.
    pub(super) fn sender_device(&self) -> io::Result<Device> {
        self.devices.find(SENDER)
    }

    /// Sends packets over the link and records where they were received.
    fn checked(mut self, sides: Sides) -> std::result::Result<Self, Unavailable> {
        let check = steering::check(
            &self.sender,
            &self.receiver,
            (self.addresses.sender, self.addresses.receiver),
            sides,
        )
        .map_err(|error| {
            Unavailable::failed(format!("the veth pair is up and carries no packets: {error}"))
        })?;
        self.facts.sides_apart = check.apart;
        self.facts.rps_check = Some(match self.facts.rps_check.take() {
            Some(before) => format!("{before}; {}", check.message),
            None => check.message,
        });
        // veth_xmit() leaves merging to a NAPI that is scheduled on the CPU on which it runs.
        let segments = self.facts.offloads.as_ref().is_none_or(offloads::segments);
        if self.facts.receiver_merges == Some(true) && !segments {
            self.facts.sides_apart = false;
            let merged = format!(
                "the receiver's device merges segments on CPU {}, the sender's",
                sides.sender_cpu
            );
            self.facts.rps_check = Some(merged);
        }
        Ok(self)
    }
}

impl Link for Veth {
    fn facts(&self) -> &LinkFacts {
        &self.facts
    }

    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn enter_sender(&self) -> Result<()> {
        self.sender
            .enter()
            .map_err(|error| Error::os("enter the sender's network namespace", error))
    }

    fn enter_receiver(&self) -> Result<()> {
        self.receiver
            .enter()
            .map_err(|error| Error::os("enter the receiver's network namespace", error))
    }

    fn receiver_address(&self) -> IpAddr {
        self.addresses.receiver
    }

    fn sender_address(&self) -> IpAddr {
        self.addresses.sender
    }

    fn counters(&self) -> Result<LinkCounters> {
        read_counters(&self.devices, SENDER, self.index)
    }

    fn use_wide_window(&self, wide: bool) {
        let Some(packets) = self.facts.initial_window_packets else { return };
        let packets = if wide { packets } else { KERNEL_S_WINDOW_PACKETS };
        let Addresses { sender, prefix_bits, .. } = self.addresses;
        let upper = layer::devices(self.facts.layer()).map(|[near, _]| near);
        let card = self.devices.find(upper.unwrap_or(&self.facts.device));
        let _ = card.and_then(|card| {
            self.devices.set_initial_window(card.index, sender, prefix_bits, packets)
        });
    }

    fn layer_bytes(&self) -> Result<Option<LayerBytes>> {
        let read = self.layer.read([&self.devices, &self.receiver_devices]);
        read.map_err(|error| {
            Error::os(format_args!("read the counters of {}", self.facts.layer()), error)
        })
    }

    fn tcp_packets(&self) -> Option<&TcpPackets> {
        self.tcp_packets.as_ref()
    }

    fn namespaces(&self) -> Option<[BorrowedFd<'_>; 2]> {
        Some([self.sender.as_fd(), self.receiver.as_fd()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_root_a_process_with_threads_gets_the_reason() {
        if process::may_make_namespaces() {
            eprintln!("skipped: this user needs no user namespace");
            return;
        }
        // The harness runs this one in a thread.
        let sides = Sides { sender_cpu: 0, receiver_cpu: 0 };
        let Err(no) = Veth::bring_up(sides, Steering::Best, Card::Veth, &LinkOptions::default())
        else {
            panic!("a user namespace was made in a process with threads");
        };
        assert_eq!(no.kind.name(), "refused");
        assert!(no.reason.contains("threads"), "{no:?}");
    }
}
