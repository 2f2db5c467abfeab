//! `push`: when TCP sends packets that are not full: TCP_CORK, MSG_MORE, TCP_NODELAY.

use super::definition::{Definition, FactorOption, TcpOption};
use super::value::Value;
use crate::names::names;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result};

names! {
    /// When TCP sends packets that are not full.
    Push, "push", {
        /// The default, Nagle's algorithm (RFC 896): a packet that is not full is held while data
        /// is in flight.
        Plain = "plain",
        /// TCP_CORK from the first byte to the last: only full packets, or after 200 ms (tcp(7)).
        Cork = "cork",
        /// MSG_MORE on every send(2), SPLICE_F_MORE on every splice(2): corked for one call. Other
        /// calls have no such flag.
        More = "more",
        /// MSG_MORE, SPLICE_F_MORE on every call but the last of a file, or of the piece of it that
        /// is sent at once: what sendfile(2) says by itself (splice_direct_to_actor, fs/splice.c).
        File = "file",
        /// TCP_NODELAY: packets are sent at once.
        Nodelay = "nodelay",
    }
}

pub(super) struct PushFactor;

impl Definition for PushFactor {
    fn name(&self) -> &'static str {
        "push"
    }

    fn levels(&self) -> &'static str {
        "`plain`, `cork` (TCP_CORK), `more` (MSG_MORE), `file` (MSG_MORE on all calls but the last of \
         a file), `nodelay` (TCP_NODELAY)"
    }

    fn examples(&self) -> &'static [&'static str] {
        Push::NAMES
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::known::<Push>(text)
    }

    fn value_for(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Name(at.push.to_string())
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.push = level.name();
    }

    fn apply(&self, own: &Levels, at: &mut FixedParams) {
        at.push = own.push.unwrap_or(at.push);
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "When TCP sends packets that are not full: plain (Nagle's algorithm), cork, \
            more, file, nodelay [default: plain]";
        Some(FactorOption::carried("push", "NAME", "cpus", help).with_names(Push::NAMES))
    }

    fn tcp_option(&self, at: &FixedParams) -> Option<TcpOption> {
        match at.push {
            Push::Plain | Push::More | Push::File => None,
            Push::Cork => Some(TcpOption { name: "TCP_CORK", number: 3, value: 1 }),
            Push::Nodelay => Some(TcpOption { name: "TCP_NODELAY", number: 1, value: 1 }),
        }
    }
}
