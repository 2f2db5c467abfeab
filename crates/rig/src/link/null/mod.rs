//! `null`: an ideal network card with an infinitely fast receiver behind it, so that only the
//! sender works, and what is sent without a copy stays uncopied.
//!
//! It is a veth pair whose sender's end discards packets at its egress (`zc_kernel::bpf`),
//! and an ACK generator that answers them (`ack_generator`). Only packets to one port are
//! discarded. Everything else, such as the connections that prove paths, travels over the pair as
//! on `veth`. docs/null-link.md lists what this leaves out.

pub(super) mod ack_generator;
pub mod answer;
pub mod segment;

use std::io::{self, Write};
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::io::Errno;
use zc_kernel::bpf::Egress;
use zc_kernel::packet::FrameSender;
use zc_kernel::process;
use zc_kernel::tcp::Unconnected;

use super::link_trait::Link;
use super::offloads;
use super::refusal::explain_bpf;
use super::sides::Sides;
use super::steering::{Steering, on_thread};
use super::veth::{Card, RECEIVER, SENDER, Veth};
use ack_generator::FrameAddresses;
use zc_run::{
    IpVersion, LinkCounters, LinkFacts, LinkKind, LinkOptions, Result, Unavailable, Warning,
};

pub use ack_generator::{AckGenerator, NotedCounts, NotedFlow};

/// Time allowed to the ACK generator in the check. It answers in microseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes that the check sends.
const CHECK_BYTES: usize = 1 << 20;

struct Null {
    facts: LinkFacts,
    // Dropped before the pair: its thread puts frames on it.
    far_end: AckGenerator,
    veth: Veth,
}

/// The card of links that are compared with one another. The BPF program sees packets before the
/// offloads of the device that it is attached to. So if one of the links has offloads switched off,
/// each has a bridge above it.
pub(super) fn card<'a>(links: impl IntoIterator<Item = &'a LinkOptions>) -> Card {
    let lesser = links
        .into_iter()
        .any(|options| !options.switched_off.is_empty() && can_be(options).is_ok());
    if lesser { Card::Bridge } else { Card::Veth }
}

/// Whether the null link can have these settings.
fn can_be(options: &LinkOptions) -> std::result::Result<(), Unavailable> {
    if !options.layer.is_plain() {
        return Err(Unavailable::unsupported(format!(
            "the null link acknowledges only TCP that is right behind Ethernet and IP, and has no \
             layer {}",
            options.layer
        ))
        .remedy("--link veth"));
    }
    if options.ip == IpVersion::V6 && options.gso_max_bytes.is_some_and(|bytes| bytes > 1 << 16) {
        return Err(Unavailable::unsupported(
            "over IPv6 a packet of more than 64 KiB has a header in front of that of TCP \
             (ip6_xmit, net/ipv6/ip6_output.c), behind which the null link does not look",
        )
        .remedy("--ip 4, or --link veth"));
    }
    match options.switched_off.iter().find(|switch| offloads::is_receivers(**switch)) {
        None => Ok(()),
        Some(switch) => Err(Unavailable::unsupported(format!(
            "\"{switch}\" is about the receiver's card, and there is no receiver on the null link"
        ))
        .remedy("--link veth")),
    }
}

/// Brings the link up and checks it by sending [`CHECK_BYTES`].
pub(super) fn bring_up(
    sides: Sides,
    card: Card,
    options: &LinkOptions,
) -> std::result::Result<Box<dyn Link>, Unavailable> {
    can_be(options)?;
    if sides.sender_cpu == sides.receiver_cpu {
        return Err(Unavailable::refused(
            "the far end of the null link needs a CPU of its own, and there is one for it and the \
             sender",
        )
        .remedy("give two CPUs, as in --cpus 0,1"));
    }
    if !process::may_make_namespaces() {
        return Err(Unavailable::refused(
            "the null link, on which zero-copy sends stay uncopied, needs root (CAP_BPF, \
             CAP_NET_ADMIN, CAP_NET_RAW)",
        )
        .remedy("run as root"));
    }
    let veth = Veth::bring_up(sides, Steering::Best, card, options)?;
    let egress = on_thread(|| {
        veth.sender().enter()?;
        Ok(Egress::attach(SENDER))
    })
    .map_err(|error| {
        Unavailable::failed(format!("the sender's namespace could not be entered: {error}"))
    })?
    .map_err(|error| explain_bpf(&error))?;
    let frames = on_thread(|| {
        veth.receiver().enter()?;
        FrameSender::open(veth.receiver_device()?.index)
    })
    .map_err(|error| no_frames(&error))?;
    let wire = wire(&veth).map_err(|error| {
        Unavailable::failed(format!("the veth pair could not be looked at: {error}"))
    })?;
    let far_end = AckGenerator::start(egress, frames, wire, sides.receiver_cpu, options.far_end)
        .map_err(|error| {
            Unavailable::failed(format!("the far end could not be started: {error}"))
        })?;
    let facts = LinkFacts {
        kind: LinkKind::Null,
        far_end: Some(options.far_end),
        receiver_merges: None,
        ..veth.facts().clone()
    };
    let null = Null { facts, far_end, veth };
    null.check()?;
    Ok(Box::new(null))
}

fn wire(veth: &Veth) -> io::Result<FrameAddresses> {
    let (sender, receiver) = (veth.sender_device()?, veth.receiver_device()?);
    let addresses = veth.addresses();
    let no_address = || io::Error::other("its devices have no Ethernet addresses");
    Ok(FrameAddresses {
        own_mac: receiver.mac.ok_or_else(no_address)?,
        their_mac: sender.mac.ok_or_else(no_address)?,
        own: addresses.receiver,
        theirs: addresses.sender,
        mtu_bytes: receiver.mtu_bytes,
    })
}

fn no_frames(error: &io::Error) -> Unavailable {
    match Errno::from_io_error(error) {
        Some(Errno::AFNOSUPPORT) => {
            Unavailable::unsupported("this kernel has no packet sockets (CONFIG_PACKET)")
                .remedy("sudo modprobe af_packet")
        }
        _ => Unavailable::refused(format!("frames cannot be put on {RECEIVER}: {error}"))
            .remedy("run as root"),
    }
}

impl Null {
    /// Sends bytes and checks that all of them were noted and acknowledged.
    fn check(&self) -> std::result::Result<(), Unavailable> {
        let counts = on_thread(|| {
            self.veth.sender().enter()?;
            let socket = Unconnected::bind_towards(self.far_end.address())?;
            let flow = self.far_end.expect(socket.port());
            let mut stream = socket.connect(self.far_end.address(), PATIENCE)?;
            stream.write_all(&vec![0; CHECK_BYTES])?;
            drop(stream);
            Ok(flow.wait_for_end(PATIENCE))
        })
        .map_err(|error| {
            Unavailable::failed(format!(
                "the null link is up, and nothing can be sent over it: {error}"
            ))
        })?;
        if counts.bytes == CHECK_BYTES as u64
            && counts.acked_bytes == counts.bytes
            && counts.gaps == 0
        {
            return Ok(());
        }
        Err(Unavailable::failed(format!(
            "the null link is up, and of {CHECK_BYTES} bytes sent over it {} were noted, {} \
             acknowledged",
            counts.bytes, counts.acked_bytes
        )))
    }
}

impl Link for Null {
    fn facts(&self) -> &LinkFacts {
        &self.facts
    }

    fn warnings(&self) -> &[Warning] {
        self.veth.warnings()
    }

    fn enter_sender(&self) -> Result<()> {
        self.veth.enter_sender()
    }

    fn enter_receiver(&self) -> Result<()> {
        self.veth.enter_receiver()
    }

    fn receiver_address(&self) -> IpAddr {
        self.veth.receiver_address()
    }

    fn sender_address(&self) -> IpAddr {
        self.veth.sender_address()
    }

    fn counters(&self) -> Result<LinkCounters> {
        self.veth.counters()
    }

    fn use_wide_window(&self, wide: bool) {
        self.veth.use_wide_window(wide);
    }

    fn namespaces(&self) -> Option<[BorrowedFd<'_>; 2]> {
        self.veth.namespaces()
    }

    fn far_end(&self) -> Option<&AckGenerator> {
        Some(&self.far_end)
    }
}
