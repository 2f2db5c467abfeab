//! `proxy`: how a proxy between sender and receiver moves bytes from one connection to the other.
//!
//! The sender then connects to the proxy, which is on the receiver's side of the link, and the
//! proxy to a receiver on the sender's side. So both connections cross the link, and what the
//! receiver's side costs is what the proxy costs.

use super::definition::{Definition, FactorOption, Parameter};
use super::value::Value;
use crate::names::names;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result};

names! {
    /// How a proxy moves bytes from one connection to another.
    ProxyPath, "way of a proxy", {
        /// There is no proxy.
        None = "none",
        /// recv(2) into a buffer, and send(2) out of it.
        RecvSend = "recv+send",
        /// splice(2) from the socket into a pipe, and from the pipe into the other socket.
        Splice = "splice",
        /// The same two as linked `IORING_OP_SPLICE`.
        UringSplice = "uring-splice",
        /// A BPF program that redirects packets from one socket to the other
        /// (`BPF_MAP_TYPE_SOCKMAP`); no thread moves them.
        Sockmap = "sockmap",
    }
}

/// The name of the factor.
const NAME: &str = "proxy";

impl ProxyPath {
    /// The way of cells with this configuration.
    pub fn of(at: &FixedParams) -> Self {
        at.more.get(NAME).and_then(Value::name).unwrap_or(Self::None)
    }

    /// The own level of a cell, if it has one.
    pub(super) fn own(levels: &Levels) -> Option<Self> {
        levels.more.get(NAME).and_then(Value::name)
    }

    /// Whether it moves bytes through a buffer or a pipe, whose size is the factor `proxy-buffer`.
    pub fn has_buffer(self) -> bool {
        match self {
            Self::RecvSend | Self::Splice | Self::UringSplice => true,
            Self::None | Self::Sockmap => false,
        }
    }
}

pub(super) struct ProxyFactor;

impl Definition for ProxyFactor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn levels(&self) -> &'static str {
        "what is between sender and receiver: `none`, or a proxy that moves bytes by `recv+send`, \
         `splice`, `uring-splice` or `sockmap` ([proxy](experiments/proxy.md))"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["splice", "none"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::known::<ProxyPath>(text)
    }

    fn default(&self) -> Value {
        Value::Name(ProxyPath::None.to_string())
    }

    fn value_for(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Name(ProxyPath::of(at).to_string())
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "How a proxy between sender and receiver moves bytes, separated by commas: \
            recv+send, splice, uring-splice, sockmap [default: none, or the plan's]";
        let option = FactorOption::carried(NAME, "NAME", "push", help);
        Some(option.with_names(ProxyPath::NAMES).several())
    }

    fn typed(&self, text: &str) -> Result<Vec<(&'static str, Value)>> {
        let named = text.split(',').map(|name| self.parse(name.trim()));
        let named = named.map(|value| value.map_err(|error| error.prefixed("--proxy: ")));
        named.map(|value| value.map(|value| (NAME, value))).collect()
    }

    fn heading(&self) -> Option<&'static str> {
        Some("proxy")
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining(NAME, "proxy")
    }
}
