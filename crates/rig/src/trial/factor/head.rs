//! `head`: streams have no heads. What it does to a response is in crates/servers.

use super::effect::Effect;
use zc_run::factor::Head as Level;
use zc_run::{Cell, FixedParams, LinkKind, Unavailable};

pub(super) struct Head;

impl Effect for Head {
    fn refuse(&self, _cell: &Cell, fixed: &FixedParams, _link: LinkKind) -> Option<Unavailable> {
        (Level::of(fixed) != Level::More).then(|| {
            Unavailable::unsupported("there is no head in front of the bytes of a stream")
                .remedy("zc run requests measures responses")
        })
    }
}
