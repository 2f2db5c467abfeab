//! What is above a veth pair (`layer`): a device at each end whose packets the pair carries, ESP
//! between its two addresses, or sockets of MPTCP. The addresses of the link are those of the upper
//! devices, so that what goes to them takes no other way; [`Meter`] reads how much went.
//!
//! VXLAN and WireGuard have a pair of addresses of their own below, of IPv4 whatever is above.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use rustix::io::Errno;

use super::link_trait::LayerBytes;
use super::steering;
use zc_kernel::netlink::{Device, Devices};
use zc_kernel::netns::NetNs;
use zc_kernel::wireguard::Wireguard;
use zc_kernel::xfrm::{Association, Direction, Xfrm};
use zc_kernel::{mptcp, random};
use zc_run::{IpVersion, Layer, LayerFacts, LinkOptions, Unavailable};

/// The upper device of the sender's end, and that of the receiver's.
const DEVICES: [&str; 2] = ["zcl0", "zcl1"];

/// The addresses below VXLAN and WireGuard (RFC 5737).
const UNDER: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 51, 100, 1), Ipv4Addr::new(198, 51, 100, 2)];
const UNDER_BITS: u8 = 30;

/// The network identifier of VXLAN.
const VXLAN_ID: u32 = 42;

/// WireGuard's usual port.
const WIREGUARD_PORT: u16 = 51_820;

/// What WireGuard adds to a packet, over IPv6: what its usual MTU of 1420 leaves room for
/// (drivers/net/wireguard/device.c, `wg_setup`).
const WIREGUARD_BYTES: u32 = 80;

/// SPIs of the associations of ESP: from the sender, and to it.
const SPIS: [u32; 2] = [0x7a63_0001, 0x7a63_0002];

/// The smallest MTU with IPv6 (RFC 8200).
pub(super) const LEAST_MTU_OF_IP_6: u32 = 1280;

/// One end of a pair.
#[derive(Clone, Copy)]
pub(super) struct End<'a> {
    pub(super) namespace: &'a NetNs,
    pub(super) devices: &'a Devices,
    /// The device of the pair.
    pub(super) device: &'a str,
    /// The link's address there.
    pub(super) address: IpAddr,
}

/// Where a layer counts bytes.
pub(super) enum Meter {
    /// In the upper devices: their numbers.
    Devices([u32; 2]),
    /// In the association that the sender sends by, at each end.
    Association(Box<[Xfrm; 2]>, Association),
    /// In sockets, or nowhere.
    None,
}

impl Meter {
    /// Bytes that have gone from the sender to the receiver.
    pub(super) fn read(&self, devices: [&Devices; 2]) -> io::Result<Option<LayerBytes>> {
        Ok(match self {
            Self::Devices([sender, receiver]) => Some(LayerBytes {
                sent: devices[0].counters(*sender)?.tx_bytes,
                received: devices[1].counters(*receiver)?.rx_bytes,
            }),
            Self::Association(ends, association) => Some(LayerBytes {
                sent: ends[0].bytes(association)?,
                received: ends[1].bytes(association)?,
            }),
            Self::None => None,
        })
    }
}

/// The devices of both ends that have the addresses of a link with this layer, the sender's first;
/// `None`: those of the pair.
pub(super) fn devices(layer: Layer) -> Option<[&'static str; 2]> {
    layer.has_device().then_some(DEVICES)
}

/// Puts the layer of `options` above a pair whose devices are down, the sender's end first. The
/// calling thread is in the sender's namespace, and is left there.
pub(super) fn build(
    options: &LinkOptions,
    ends: [End<'_>; 2],
) -> std::result::Result<(Meter, Option<LayerFacts>), Unavailable> {
    let layer = options.layer;
    if layer.has_device() && options.gso_max_bytes.is_some() {
        return Err(Unavailable::unsupported(format!(
            "{layer} has a device of its own, and the largest packet is one of the pair's"
        ))
        .remedy("leave --gso-max out"));
    }
    let no = |error: io::Error| explain(layer, &error);
    let meter = match layer {
        Layer::Plain => return Ok((Meter::None, None)),
        Layer::Esp => associate(ends).map_err(no)?,
        Layer::Mptcp => {
            mptcp::listen((Ipv4Addr::UNSPECIFIED, 0).into()).map_err(no)?;
            Meter::None
        }
        Layer::Bridge | Layer::Macvlan | Layer::Vxlan | Layer::Wireguard => {
            make_devices(layer, ends).map_err(no)?
        }
    };
    let device = devices(layer).map(|[near, _]| near);
    let upper = device.map(|name| ends[0].devices.find(name)).transpose().map_err(no)?;
    let mtu_bytes = upper.map(|upper| upper.mtu_bytes);
    if let (IpVersion::V6, Some(bytes @ ..LEAST_MTU_OF_IP_6)) = (options.ip, mtu_bytes) {
        return Err(Unavailable::unsupported(format!(
            "{layer} leaves packets of {bytes} bytes, and IPv6 needs {LEAST_MTU_OF_IP_6}"
        ))
        .remedy("a larger --mtu"));
    }
    let device = device.map(str::to_owned);
    Ok((meter, Some(LayerFacts { name: layer, device, mtu_bytes })))
}

/// Makes the upper devices, and brings the lower ones up.
fn make_devices(layer: Layer, ends: [End<'_>; 2]) -> io::Result<Meter> {
    let lower = lower_devices(layer, ends)?;
    for (at, end) in ends.into_iter().enumerate() {
        // What a lower device has steered to a CPU stays there: see `Card::Bridge`.
        end.namespace.enter()?;
        let _ = steering::unset_default_mask();
        let (name, devices) = (DEVICES[at], end.devices);
        match layer {
            Layer::Bridge => devices.make_bridge(name, lower[at].index)?,
            Layer::Macvlan => devices.make_macvlan(name, lower[at].index)?,
            Layer::Vxlan => {
                devices.make_vxlan(name, VXLAN_ID, lower[at].index, UNDER[at], UNDER[1 - at])?;
            }
            Layer::Wireguard => {
                devices.make_wireguard(name)?;
                let mtu_bytes = lower[at].mtu_bytes.saturating_sub(WIREGUARD_BYTES);
                devices.set_mtu(devices.find(name)?.index, mtu_bytes)?;
            }
            Layer::Plain | Layer::Esp | Layer::Mptcp => {}
        }
    }
    if layer == Layer::Wireguard {
        introduce(ends)?;
    }
    ends[0].namespace.enter()?;
    let index = |at: usize| Ok::<_, io::Error>(ends[at].devices.find(DEVICES[at])?.index);
    Ok(Meter::Devices([index(0)?, index(1)?]))
}

/// Brings the devices of the pair up, with addresses where packets of the layer are sent to some.
fn lower_devices(layer: Layer, ends: [End<'_>; 2]) -> io::Result<[Device; 2]> {
    let up = |at: usize| {
        let End { devices, device, .. } = ends[at];
        let lower = devices.find(device)?;
        if matches!(layer, Layer::Vxlan | Layer::Wireguard) {
            devices.add_address(lower.index, UNDER[at].into(), UNDER_BITS)?;
        }
        devices.bring_up(lower.index)?;
        Ok::<_, io::Error>(lower)
    };
    Ok([up(0)?, up(1)?])
}

/// Gives each WireGuard device a random key, and that of the other end. The kernel knows the public
/// ones.
fn introduce(ends: [End<'_>; 2]) -> io::Result<()> {
    let prepare = |at: usize| {
        ends[at].namespace.enter()?;
        let wireguard = Wireguard::open()?;
        let public = wireguard.set_key(DEVICES[at], &random::array()?, WIREGUARD_PORT)?;
        Ok::<_, io::Error>((wireguard, public))
    };
    let both = [prepare(0)?, prepare(1)?];
    for (at, (wireguard, _)) in both.iter().enumerate() {
        let (other, public) = (1 - at, &both[1 - at].1);
        let endpoint = SocketAddrV4::new(UNDER[other], WIREGUARD_PORT);
        wireguard.set_peer(DEVICES[at], public, endpoint, ends[other].address)?;
    }
    Ok(())
}

/// Encrypts what the two addresses send each other: an association and a policy for each direction,
/// at both ends.
fn associate(ends: [End<'_>; 2]) -> io::Result<Meter> {
    let associations = [0, 1].map(|at| Association {
        from: ends[at].address,
        to: ends[1 - at].address,
        spi: SPIS[at],
    });
    let keys = [random::array()?, random::array()?];
    let of_end = |at: usize| {
        ends[at].namespace.enter()?;
        let xfrm = Xfrm::open()?;
        for (from, (association, key)) in associations.iter().zip(&keys).enumerate() {
            xfrm.add_state(association, key)?;
            let direction = if from == at { Direction::Out } else { Direction::In };
            xfrm.add_policy(association.from, association.to, direction)?;
        }
        Ok::<_, io::Error>(xfrm)
    };
    let both = [of_end(0)?, of_end(1)?];
    ends[0].namespace.enter()?;
    Ok(Meter::Association(Box::new(both), associations[0]))
}

/// What the kernel needs for a layer, its option, and how to get it.
fn needs(layer: Layer) -> (&'static str, &'static str, &'static str) {
    match layer {
        Layer::Plain => ("veth devices", "CONFIG_VETH", "sudo modprobe veth"),
        Layer::Bridge => ("bridges", "CONFIG_BRIDGE", "sudo modprobe bridge"),
        Layer::Macvlan => ("macvlan devices", "CONFIG_MACVLAN", "sudo modprobe macvlan"),
        Layer::Vxlan => ("VXLAN devices", "CONFIG_VXLAN", "sudo modprobe vxlan"),
        Layer::Wireguard => ("WireGuard", "CONFIG_WIREGUARD", "sudo modprobe wireguard"),
        Layer::Esp => (
            "IPsec with ESP and AES-GCM",
            "CONFIG_XFRM_USER, CONFIG_INET_ESP, CONFIG_CRYPTO_GCM",
            "sudo modprobe -a xfrm_user esp4 esp6 gcm",
        ),
        Layer::Mptcp => ("MPTCP", "CONFIG_MPTCP", "a kernel that has it: Linux 5.16 or later"),
    }
}

/// The reason and the remedy for a layer that could not be built.
fn explain(layer: Layer, error: &io::Error) -> Unavailable {
    let (what, option, remedy) = needs(layer);
    match Errno::from_io_error(error) {
        Some(
            Errno::OPNOTSUPP
            | Errno::PROTONOSUPPORT
            | Errno::NOPROTOOPT
            | Errno::AFNOSUPPORT
            | Errno::NOENT
            | Errno::NOSYS,
        ) => {
            Unavailable::unsupported(format!("this kernel has no {what} ({option})")).remedy(remedy)
        }
        Some(Errno::PERM | Errno::ACCESS) => Unavailable::refused(format!(
            "the kernel does not let this user have {what} in a namespace of its own"
        ))
        .remedy("run as root"),
        _ => Unavailable::failed(format!("{layer} could not be put above the veth pair: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_lacks_is_named_with_what_brings_it() {
        for layer in Layer::ALL {
            for errno in [Errno::OPNOTSUPP, Errno::PROTONOSUPPORT] {
                let no = explain(*layer, &errno.into());
                assert_eq!(no.kind.name(), "unsupported");
                assert!(no.reason.contains("CONFIG_"), "{no:?}");
                assert!(no.remedy.is_some(), "{layer}");
            }
        }
        assert_eq!(explain(Layer::Esp, &Errno::PERM.into()).kind.name(), "refused");
        let no = explain(Layer::Vxlan, &Errno::NOMEM.into());
        assert_eq!(no.kind.name(), "failed");
        assert!(no.reason.starts_with("vxlan could not"), "{no:?}");
    }
}
