//! `clients`: which cells can send to clients. They are in `trial::clients`, the paths to them in
//! `path::send::clients`.

use super::effect::Effect;
use zc_run::{Cell, FixedParams, Form, LinkKind, ProxyPath, RecvPath, Unavailable};

pub(super) struct Clients;

impl Effect for Clients {
    fn refuse(&self, cell: &Cell, fixed: &FixedParams, link: LinkKind) -> Option<Unavailable> {
        fixed.clients()?;
        if link == LinkKind::Remote {
            let no = "the other machine has no far end for clients";
            return Some(Unavailable::unsupported(no).remedy("--link veth, --link null"));
        }
        if ProxyPath::of(fixed) != ProxyPath::None {
            return Some(Unavailable::unsupported("the proxy takes one connection, not clients"));
        }
        if cell.burn_softirq_ns_per_mb.is_some() {
            let no = "what burns in softirqs does so for one connection";
            return Some(Unavailable::unsupported(no));
        }
        if cell.transfer.form() != Some(Form::Stream) {
            let no = "clients are sent streams in the clear";
            return Some(Unavailable::unsupported(no).remedy("--paths read+send,sendfile"));
        }
        match cell.transfer.recv_path() {
            Some(RecvPath::Recv | RecvPath::RecvTrunc) | None => None,
            Some(other) => Some(
                Unavailable::unsupported(format!("{other} waits for one connection at a time"))
                    .remedy("--recv recv, or --recv recv-trunc, receive of many clients"),
            ),
        }
    }
}
