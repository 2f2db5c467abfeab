//! `proxy`: which cells can have a proxy. The proxy is in `trial::proxying`, its paths are in
//! `path::proxy`.

use super::effect::Effect;
use zc_run::{Cell, FixedParams, Form, LinkKind, ProxyPath, Unavailable};

pub(super) struct Proxy;

impl Effect for Proxy {
    fn refuse(&self, cell: &Cell, fixed: &FixedParams, link: LinkKind) -> Option<Unavailable> {
        if ProxyPath::of(fixed) == ProxyPath::None {
            return None;
        }
        match link {
            LinkKind::Null => {
                let no = "the null link has no receiver that a proxy could send to";
                return Some(Unavailable::unsupported(no).remedy("--link veth"));
            }
            LinkKind::Remote => {
                let no = "the other machine is no proxy, and both ends would have to be here";
                return Some(Unavailable::unsupported(no).remedy("--link veth"));
            }
            LinkKind::Loopback | LinkKind::Veth => {}
        }
        let (what, remedy) = match cell.transfer.form()? {
            Form::Stream => return None,
            Form::Records => ("what is encrypted", "--paths sendfile sends in the clear"),
            Form::Datagrams | Form::SealedDatagrams => {
                ("datagrams", "--paths sendfile sends a stream")
            }
        };
        Some(Unavailable::unsupported(format!("the proxy does not take {what}")).remedy(remedy))
    }
}
