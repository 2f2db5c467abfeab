//! `message`: bytes per call of the send path.

use std::ops::RangeInclusive;

use super::definition::{Definition, FactorOption, Parameter};
use super::value::Value;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result};

/// Sizes of call buffers. One byte is of little use but works; above 1 GiB a buffer would be larger
/// than most file sets.
pub(super) const CALL_BYTES: RangeInclusive<u64> = 1..=1 << 30;

pub(super) struct MessageFactor;

impl Definition for MessageFactor {
    fn name(&self) -> &'static str {
        "message"
    }

    fn levels(&self) -> &'static str {
        "bytes per call of the send path: the buffer of paths that have one, the piece of the file \
         for paths that have none"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["5m", "64", "4k"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::size(text, CALL_BYTES)
    }

    fn value_for(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Bytes(at.buffer_bytes)
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.message_bytes = level.bytes();
    }

    fn apply(&self, own: &Levels, at: &mut FixedParams) {
        if let Some(message) = own.message_bytes {
            at.buffer_bytes = message;
            at.piece_bytes = at.piece_bytes.max(message);
        }
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "Bytes per call of the paths that have a buffer: 64k is 65,536 [default: 64k]";
        Some(FactorOption::sent("buffer", "SIZE", "recv", help))
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining("buffer", "buffer")
    }
}
