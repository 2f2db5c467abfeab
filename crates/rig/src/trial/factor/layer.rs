//! `layer`: the sockets of MPTCP, and what is not sent over them. All other layers belong to the
//! link (`link::layer`).

use super::effect::Effect;
use zc_run::{Cell, FixedParams, Layer, LinkKind, ProxyPath, Unavailable};

pub(super) struct LayerEffect;

impl Effect for LayerEffect {
    fn refuse(&self, cell: &Cell, fixed: &FixedParams, _link: LinkKind) -> Option<Unavailable> {
        if Layer::of(fixed) != Layer::Mptcp {
            return None;
        }
        let what = if fixed.datagrams(cell.transfer).is_some() {
            "datagrams"
        } else if fixed.clients().is_some() {
            "paced clients"
        } else if ProxyPath::of(fixed) != ProxyPath::None {
            "a proxy's connections"
        } else {
            return None;
        };
        Some(Unavailable::unsupported(format!("zc does not support MPTCP for {what}")))
    }
}
