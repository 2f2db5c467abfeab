//! `sockbuf`: socket buffers of both ends. `--sndbuf` and `--rcvbuf` set those of one end.

use std::ops::RangeInclusive;

use super::definition::{Definition, Difference, FactorOption, Parameter, Side};
use super::value::Value;
use crate::units::size_text;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result};

/// SO_SNDBUF and SO_RCVBUF are ints that the kernel doubles (socket(7)).
pub const SOCKET_BUFFER_BYTES: RangeInclusive<u64> = 1..=1 << 30;

pub(super) struct SockbufFactor;

impl Definition for SockbufFactor {
    fn name(&self) -> &'static str {
        "sockbuf"
    }

    fn levels(&self) -> &'static str {
        "SO_SNDBUF of the sender and SO_RCVBUF of the receiver"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["32k"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::size(text, SOCKET_BUFFER_BYTES)
    }

    fn value_for(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Bytes(at.sndbuf_bytes.unwrap_or_default())
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.sockbuf_bytes = level.bytes();
    }

    fn apply(&self, own: &Levels, at: &mut FixedParams) {
        at.sndbuf_bytes = own.sockbuf_bytes.or(at.sndbuf_bytes);
        at.rcvbuf_bytes = own.sockbuf_bytes.or(at.rcvbuf_bytes);
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "Send buffer of the sockets (SO_SNDBUF) [default: as the kernel tunes it]";
        Some(FactorOption::carried("sndbuf", "SIZE", "congestion", help))
    }

    fn differences(&self, old: &Side<'_>, new: &Side<'_>) -> Vec<Difference> {
        let text = |bytes: Option<usize>| bytes.map(|bytes| size_text(bytes as u64));
        let (sndbuf, rcvbuf) = (
            Parameter::explaining("sndbuf", "SO_SNDBUF"),
            Parameter::explaining("rcvbuf", "SO_RCVBUF"),
        );
        let mut found =
            Difference::between(sndbuf, text(old.fixed.sndbuf_bytes), text(new.fixed.sndbuf_bytes));
        found.extend(Difference::between(
            rcvbuf,
            text(old.fixed.rcvbuf_bytes),
            text(new.fixed.rcvbuf_bytes),
        ));
        found
    }
}
