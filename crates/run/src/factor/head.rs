//! `head`: the calls by which zc's own server sends the head of a response that has a body.
//!
//! Servers send the head from memory and the body by another call, often sendfile(2). TCP_NODELAY is
//! set, as nginx and others do, so the way in which the two are joined decides whether a small
//! response is one packet or two.

use super::definition::{Definition, FactorOption, Parameter};
use super::value::Value;
use crate::names::names;
use crate::{Cell, FixedParams, LinkFacts, Result};

names! {
    /// The way in which a head and the body behind it are sent.
    Head, "way to send a head", {
        /// send(2) of the head with MSG_MORE, then the body: the default.
        More = "more",
        /// send(2) of the head, then the body.
        Separate = "separate",
        /// TCP_CORK around both, as nginx's `tcp_nopush`.
        Cork = "cork",
        /// writev(2) of the head and the body's first buffer: for paths that copy through one.
        Writev = "writev",
    }
}

/// The name of the factor.
const NAME: &str = "head";

impl Head {
    /// The way of a cell with this configuration.
    pub fn of(at: &FixedParams) -> Self {
        at.more.get(NAME).and_then(Value::name).unwrap_or(Self::More)
    }
}

pub(super) struct HeadFactor;

impl Definition for HeadFactor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn levels(&self) -> &'static str {
        "how the head of a response is sent, of plans with `responses`: `more` (MSG_MORE), \
         `separate` (a call that says nothing), `cork` (TCP_CORK around head and body), `writev` \
         (one call for head and body, with `read+send` and `read+write`)"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["cork", "more"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::known::<Head>(text)
    }

    fn default(&self) -> Value {
        Value::Name(Head::More.to_string())
    }

    fn value_for(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Name(Head::of(at).to_string())
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "How the head of a response is sent (zc run requests): more, separate, cork, \
            writev [default: more]";
        Some(FactorOption::carried(NAME, "NAME", "push", help).with_names(Head::NAMES))
    }

    fn heading(&self) -> Option<&'static str> {
        Some("head")
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining(NAME, "way to send a head")
    }
}
