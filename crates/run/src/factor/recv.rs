//! `recv`: the receive path. The list of receive paths is here, crates/measure/src/path/recv/ has a file for each.

use super::message::CALL_BYTES;
use super::{Definition, Factor, FactorOption, Level, Parameter, Value};
use crate::names::names;
use crate::nearest::unknown;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result};

names! {
    /// One way of getting bytes out of a TCP socket.
    RecvPath, "receive path", {
        /// `recv(2)` into a buffer.
        Recv = "recv",
        /// `recv(2)` with `MSG_TRUNC`: the bytes are dropped uncopied. An upper bound, not a receiver.
        RecvTrunc = "recv-trunc",
        /// `splice(2)` socket to pipe, pipe to /dev/null.
        Splice = "splice",
        /// `TCP_ZEROCOPY_RECEIVE`, and `recv(2)` for what the kernel will not map.
        ZerocopyReceive = "zerocopy-receive",
        /// `IORING_OP_RECV`.
        UringRecv = "uring-recv",
        /// `IORING_OP_RECV` multishot with a ring of provided buffers.
        UringMultishot = "uring-multishot",
    }
}

/// The factor.
pub(super) struct RecvFactor;

impl Definition for RecvFactor {
    fn factor(&self) -> Factor {
        Factor::Recv
    }

    fn name(&self) -> &'static str {
        "recv"
    }

    fn levels(&self) -> &'static str {
        "names of receive paths"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["zerocopy-receive", "recv"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::known::<RecvPath>(text)
    }

    fn of(&self, cell: &Cell, _at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Name(cell.recv.to_string())
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.recv = level.name().unwrap_or(cell.recv);
    }

    fn apply(&self, _own: &Levels, _at: &mut FixedParams) {}

    fn option(&self) -> Option<FactorOption> {
        let help = "Receive path, and the bytes of its buffer if not 64k [default: recv]";
        Some(FactorOption::sent("recv", "NAME[:SIZE]", "paths", help).of(RecvPath::NAMES))
    }

    /// `NAME`, or `NAME:SIZE` with a level of the factor `recv-buffer`.
    fn typed(&self, text: &str) -> Result<Vec<Level>> {
        let (name, size) =
            text.split_once(':').map_or((text, None), |(name, size)| (name, Some(size)));
        let path = name.trim().parse::<RecvPath>().map_err(unknown)?;
        let mut levels = vec![Level::named(Factor::Recv, path.name())];
        if let Some(size) = size {
            let value =
                Value::size(size, CALL_BYTES).map_err(|error| error.prefixed("--recv: "))?;
            levels.push(Level { factor: Factor::RecvBuffer, value });
        }
        Ok(levels)
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining("recv-path", "receive path")
    }
}
