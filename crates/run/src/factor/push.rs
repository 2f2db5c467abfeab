//! `push`: what is asked of TCP about packets that are not full: TCP_CORK, MSG_MORE, TCP_NODELAY.

use super::{Definition, Factor, FactorOption, TcpOption, Value};
use crate::names::names;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result};

names! {
    /// What is asked of TCP about packets that are not full.
    Push, "push", {
        /// Nothing: Nagle's algorithm (RFC 896) holds a packet that is not full while another one is under way.
        Plain = "plain",
        /// TCP_CORK, from the first byte to the last: only full packets, or after 200 ms (tcp(7)).
        Cork = "cork",
        /// MSG_MORE on every send(2), SPLICE_F_MORE on every splice(2): as if corked for one call. Other calls cannot say it.
        More = "more",
        /// TCP_NODELAY: no packet waits.
        Nodelay = "nodelay",
    }
}

/// The factor.
pub(super) struct PushFactor;

impl Definition for PushFactor {
    fn factor(&self) -> Factor {
        Factor::Push
    }

    fn name(&self) -> &'static str {
        "push"
    }

    fn levels(&self) -> &'static str {
        "`plain`, `cork` (TCP_CORK), `more` (MSG_MORE), `nodelay` (TCP_NODELAY)"
    }

    fn examples(&self) -> &'static [&'static str] {
        Push::NAMES
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::known::<Push>(text)
    }

    fn of(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Name(at.push.to_string())
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.push = level.name();
    }

    fn apply(&self, own: &Levels, at: &mut FixedParams) {
        at.push = own.push.unwrap_or(at.push);
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "What is asked of TCP about packets that are not full: plain (nothing), cork, more, nodelay [default: plain]";
        Some(FactorOption::carried("push", "NAME", "cpus", help).of(Push::NAMES))
    }

    fn tcp_option(&self, at: &FixedParams) -> Option<TcpOption> {
        match at.push {
            Push::Plain | Push::More => None,
            Push::Cork => Some(TcpOption { name: "TCP_CORK", number: 3, value: 1 }),
            Push::Nodelay => Some(TcpOption { name: "TCP_NODELAY", number: 1, value: 1 }),
        }
    }
}
