//! Links: where the bytes travel. A link is brought up, threads enter it, and its devices count.
//! Dropping it, or the end of the process, removes it: its namespaces are anonymous and held only
//! by file descriptors.

mod card;
mod counters;
mod host;
mod layer;
mod link_trait;
mod loopback;
pub mod null;
mod offloads;
mod refusal;
mod remote;
mod settings;
mod sides;
mod steering;
mod tcp_packets;
mod veth;

use std::net::IpAddr;

use zc_run::{IpVersion, LinkKind, LinkOptions, Support, Unavailable};

pub use link_trait::{LayerBytes, Link};
pub use null::{AckGenerator, NotedCounts, NotedFlow};
pub use refusal::explain_bpf;
pub use remote::{device_towards, towards};
pub use sides::Sides;
pub use steering::Steering;
pub use tcp_packets::{TcpCounts, TcpPackets};

/// The address of the receiver's side of a veth pair with IPv4, before there is one.
pub fn receiver_of_veth() -> IpAddr {
    veth::addresses(IpVersion::V4).receiver
}

/// Brings a link up. For `veth` without root this makes a user namespace, which only a process with
/// a single thread can do: call it before the first thread is started. The calling thread stays in
/// its network namespace.
///
/// # Errors
/// Why this user cannot have the link here. Nothing is left behind.
pub fn bring_up(kind: LinkKind, sides: Sides) -> std::result::Result<Box<dyn Link>, Unavailable> {
    bring_up_with(kind, sides, Steering::Best, &LinkOptions::default())
}

/// [`bring_up`] with a choice of how receive work is steered to the two CPUs of a veth pair, and
/// with the options of the link.
///
/// # Errors
/// Same as [`bring_up`].
pub fn bring_up_with(
    kind: LinkKind,
    sides: Sides,
    steering: Steering,
    options: &LinkOptions,
) -> std::result::Result<Box<dyn Link>, Unavailable> {
    bring_up_several(kind, sides, steering, options, &[]).map(|several| several.link)
}

/// Links of one kind that are up together.
pub struct Several {
    /// The one without which there is no run.
    pub link: Box<dyn Link>,
    /// The others, in the order in which they were asked for.
    pub others: Vec<std::result::Result<Box<dyn Link>, Unavailable>>,
}

/// [`bring_up_with`] for several links at once, each between namespaces of its own: one with
/// `options`, and one for each of `others`, any of which may be unavailable. They are compared with
/// one another, so all have the same card, even where a simpler one would do for one of them
/// (docs/null-link.md).
///
/// # Errors
/// Same as [`bring_up`], for the first link.
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

/// The reason why `remote` cannot be brought up: it needs the address of another machine.
fn elsewhere() -> Unavailable {
    Unavailable::unknown("the link \"remote\" leads to another machine, which has to be named")
        .remedy("zc run --remote HOST")
}

/// Whether this user can have a link here, found out by bringing it up and dropping it. Without
/// root that happens in a child process, for which this one must have a single thread. This process
/// is left unchanged.
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
