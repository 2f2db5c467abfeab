//! `gso-max`: the sizes of packets that the paths reckon with. The devices have it set when the link
//! is brought up (`link::veth`).

use super::effect::Effect;
use crate::path::SendSetup;
use zc_run::{Cell, Factor, FixedParams, LinkKind};

/// The largest packet that a kernel has (GSO_MAX_SIZE in include/linux/netdevice.h), rounded up.
const LARGEST: usize = 512 << 10;

pub(super) struct GsoMax;

impl Effect for GsoMax {
    fn set_up(&self, _cell: &Cell, fixed: &FixedParams, setup: &mut SendSetup) {
        let asked = fixed.more.get(Factor::GsoMax.name()).and_then(|level| level.bytes());
        setup.packet_bytes = match (fixed.link, asked) {
            (LinkKind::Veth | LinkKind::Null, Some(bytes)) => bytes,
            // A new device has the kernel's default, which is no BIG TCP.
            (LinkKind::Veth | LinkKind::Null, None) => setup.packet_bytes,
            (LinkKind::Loopback | LinkKind::Remote, _) => LARGEST,
        };
    }
}
