//! `proxy-buffer`: the bytes that a proxy moves at a time.

use std::ops::RangeInclusive;

use super::definition::{Definition, FactorOption, Parameter};
use super::proxy::ProxyPath;
use super::value::Value;
use crate::{Cell, FixedParams, LinkFacts, Result};

/// From a pipe of one page to the default of fs.pipe-max-size.
const BYTES: RangeInclusive<u64> = 4 << 10..=1 << 20;

/// The size that is used if nothing is said about it: that of pipes.
pub const PROXY_BUFFER_BYTES: usize = 64 << 10;

/// The level of proxies that have no buffer.
const NO_BUFFER: &str = "none";

/// The name of the factor.
const NAME: &str = "proxy-buffer";

/// The size of the proxy's buffer, or of its pipe, in cells with this configuration.
pub fn proxy_buffer_bytes(at: &FixedParams) -> usize {
    at.more.get(NAME).and_then(Value::bytes).unwrap_or(PROXY_BUFFER_BYTES)
}

pub(super) struct ProxyBufferFactor;

impl Definition for ProxyBufferFactor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn levels(&self) -> &'static str {
        "bytes that a proxy moves at a time, 4k to 1m: the size of the buffer of `recv+send`, and \
         of the pipe of `splice` and `uring-splice`; `none`, which is the level of `sockmap` and of \
         cells without a proxy. Cells whose proxy and level do not go together are left out"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["16k", "none"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        match text {
            NO_BUFFER => Ok(Value::Name(NO_BUFFER.to_owned())),
            _ => Value::size(text, BYTES),
        }
    }

    fn default(&self) -> Value {
        Value::Bytes(PROXY_BUFFER_BYTES)
    }

    fn value_for(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        at.more.get(NAME).cloned().unwrap_or_else(|| self.default())
    }

    /// A cell without a proxy of its own has that of its plan, which may be any.
    fn suits(&self, level: &Value, cell: &Cell) -> bool {
        let own = ProxyPath::own(&cell.levels);
        own.is_none_or(|proxy| proxy.has_buffer() == level.bytes().is_some())
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "Bytes that a proxy moves at a time (its buffer, or its pipe), separated by \
            commas [default: 64k, or the plan's]";
        Some(FactorOption::carried(NAME, "SIZE", "proxy", help).several())
    }

    fn typed(&self, text: &str) -> Result<Vec<(&'static str, Value)>> {
        let sizes = text.split(',').map(|size| self.parse(size.trim()));
        let named = sizes.map(|value| value.map_err(|error| error.prefixed("--proxy-buffer: ")));
        named.map(|value| value.map(|value| (NAME, value))).collect()
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining(NAME, "buffer of the proxy")
    }
}
