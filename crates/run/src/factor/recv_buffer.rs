//! `recv-buffer`: bytes per call of the receive path. On the command line it is part of `--recv`.

use super::definition::{Definition, Parameter};
use super::message::CALL_BYTES;
use super::value::Value;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result};

pub(super) struct RecvBufferFactor;

impl Definition for RecvBufferFactor {
    fn name(&self) -> &'static str {
        "recv-buffer"
    }

    fn levels(&self) -> &'static str {
        "bytes per call of the receive path"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["16k"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::size(text, CALL_BYTES)
    }

    fn value_for(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Bytes(at.recv_buffer_bytes)
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.recv_buffer_bytes = level.bytes();
    }

    fn apply(&self, own: &Levels, at: &mut FixedParams) {
        at.recv_buffer_bytes = own.recv_buffer_bytes.unwrap_or(at.recv_buffer_bytes);
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining("recv-buffer", "receive buffer")
    }
}
