//! Links: where the bytes travel. A link is brought up, entered by threads, counted, and gone when it is dropped or
//! when the process dies: its namespaces are anonymous, held by file descriptors alone.

mod host;
mod loopback;
mod null;
mod offloads;
mod refusal;
mod remote;
mod settings;
mod steering;
mod veth;

use std::net::IpAddr;
use std::os::fd::BorrowedFd;

use zc_run::{
    LinkCounters, LinkFacts, LinkKind, LinkOptions, Result, Support, Unavailable, Warning,
};

pub use null::{AckCounts, AckGenerator, AckedFlow};
pub use remote::towards;
pub use steering::Steering;

/// A link that is up.
pub trait Link: Send + Sync {
    /// As it was brought up, with what was checked about it.
    fn facts(&self) -> &LinkFacts;

    /// What a reader of its figures must know about how it was brought up.
    fn warnings(&self) -> &[Warning] {
        &[]
    }

    /// Moves the calling thread to the sender's side (its network namespace). Sockets it makes from now on live there.
    ///
    /// # Errors
    /// setns(2) failed.
    fn enter_sender(&self) -> Result<()>;

    /// Moves the calling thread to the receiver's side.
    ///
    /// # Errors
    /// setns(2) failed.
    fn enter_receiver(&self) -> Result<()>;

    /// Where a receiver listens and a sender connects to.
    fn receiver_address(&self) -> IpAddr;

    /// Counters of the sending device, from any thread and namespace.
    ///
    /// # Errors
    /// Netlink failed.
    fn counters(&self) -> Result<LinkCounters>;

    /// The network namespaces of sender and receiver, where they are the link's own.
    fn namespaces(&self) -> Option<[BorrowedFd<'_>; 2]> {
        None
    }

    /// The far end of a link that has no receiver; null where the receiver is a path of zc's own.
    fn far_end(&self) -> Option<&AckGenerator> {
        None
    }
}

/// Which CPUs the two sides are to run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sides {
    /// The sender's CPU.
    pub sender_cpu: usize,
    /// The receiver's CPU.
    pub receiver_cpu: usize,
}

/// Brings a link up. For `veth` without root this makes a user namespace, which only a process with a single thread can
/// do: call it before the first thread is started. The calling thread stays in the network namespace it is in.
///
/// # Errors
/// Why this user cannot have it here; nothing is left behind.
pub fn bring_up(kind: LinkKind, sides: Sides) -> std::result::Result<Box<dyn Link>, Unavailable> {
    bring_up_with(kind, sides, Steering::Best, &LinkOptions::default())
}

/// [`bring_up`], with a say in how receive work is steered to the two CPUs of a veth pair, and in what the link is.
///
/// # Errors
/// As [`bring_up`].
pub fn bring_up_with(
    kind: LinkKind,
    sides: Sides,
    steering: Steering,
    options: &LinkOptions,
) -> std::result::Result<Box<dyn Link>, Unavailable> {
    bring_up_several(kind, sides, steering, options, &[]).map(|several| several.link)
}

/// Links of one kind that are up at the same time.
pub struct Several {
    /// The one that must be had.
    pub link: Box<dyn Link>,
    /// The others, in the order in which they were asked for.
    pub others: Vec<std::result::Result<Box<dyn Link>, Unavailable>>,
}

/// [`bring_up_with`] for several links at once, each between namespaces of its own: one as `options` say, and one for each of
/// `others`, which that one may do without. They compare with one another: all have the same card, also where for one alone a
/// simpler one would do (docs/null-link.md).
///
/// # Errors
/// As [`bring_up`], of the first link.
pub fn bring_up_several(
    kind: LinkKind,
    sides: Sides,
    steering: Steering,
    options: &LinkOptions,
    others: &[LinkOptions],
) -> std::result::Result<Several, Unavailable> {
    match kind {
        LinkKind::Loopback => several(options, others, loopback::bring_up),
        LinkKind::Veth => {
            let card = veth::Card::Veth;
            let (link, others) =
                veth::Veth::bring_up_several(sides, steering, card, options, others)?;
            let others = others
                .into_iter()
                .map(|link| link.map(|link| Box::new(link) as Box<dyn Link>))
                .collect();
            Ok(Several { link: Box::new(link), others })
        }
        LinkKind::Null => {
            let card = null::card([options].into_iter().chain(others));
            several(options, others, |options| null::bring_up(sides, card, options))
        }
        LinkKind::Remote => Err(elsewhere()),
    }
}

fn several(
    options: &LinkOptions,
    others: &[LinkOptions],
    bring_up: impl Fn(&LinkOptions) -> std::result::Result<Box<dyn Link>, Unavailable>,
) -> std::result::Result<Several, Unavailable> {
    Ok(Several { link: bring_up(options)?, others: others.iter().map(bring_up).collect() })
}

/// Another machine is there or not: nothing of this host can bring it up.
fn elsewhere() -> Unavailable {
    Unavailable::unknown("the link \"remote\" leads to another machine, which has to be named")
        .remedy("zc run --remote HOST")
}

/// Whether this user can have a link here: it is really brought up, and dropped. Without root that happens in a child
/// process, for which this one must have a single thread; it is left as it was.
pub fn try_out(kind: LinkKind, sides: Sides) -> Support {
    let options = LinkOptions::default();
    let tried = match kind {
        LinkKind::Loopback => loopback::bring_up(&options).map(drop),
        LinkKind::Veth => veth::try_out(sides),
        LinkKind::Null => null::bring_up(sides, null::card([&options]), &options).map(drop),
        LinkKind::Remote => Err(elsewhere()),
    };
    tried.map_or_else(Support::No, |()| Support::Yes)
}

/// The counters of a device as the record has them, with the time of reading.
fn read_counters(
    devices: &zc_kernel::netlink::Devices,
    name: &str,
    index: u32,
) -> Result<LinkCounters> {
    let at_ns = zc_kernel::clock::monotonic_ns();
    let counted = devices.counters(index).map_err(|error| {
        zc_run::Error::os(format_args!("read the counters of device \"{name}\""), error)
    })?;
    Ok(LinkCounters {
        at_ns,
        tx_packets: counted.tx_packets,
        tx_bytes: counted.tx_bytes,
        rx_packets: counted.rx_packets,
        rx_bytes: counted.rx_bytes,
        dropped: counted.tx_dropped.saturating_add(counted.rx_dropped),
    })
}
