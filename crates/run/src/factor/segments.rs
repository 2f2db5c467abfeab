//! `segments`: the datagrams that one call takes.

use std::ops::RangeInclusive;

use super::definition::{Definition, FactorOption, Parameter};
use super::value::Value;
use crate::{Cell, Result, units};

/// UDP_MAX_SEGMENTS (include/linux/udp.h), 64 before Linux 6.9.
const NUMBER: RangeInclusive<u64> = 1..=128;

pub(super) struct SegmentsFactor;

impl Definition for SegmentsFactor {
    fn name(&self) -> &'static str {
        "segments"
    }

    fn levels(&self) -> &'static str {
        "UDP datagrams that a call takes, `2` to `128`; `1`, which is the level of all paths whose \
         call takes one, and of those that send a stream. Cells whose path and level do not go \
         together are left out"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["16", "1"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        units::count("number of datagrams", text, NUMBER).map(Value::Number)
    }

    fn suits(&self, level: &Value, cell: &Cell) -> bool {
        let joins = cell.transfer.send_path().is_some_and(|send| send.joins_datagrams());
        joins == (*level != Value::Number(1))
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "UDP datagrams that a call takes, of paths that take several, separated by \
            commas [default: 16, or the plan's]";
        Some(FactorOption::sent("segments", "N", "datagram", help).several())
    }

    fn typed(&self, text: &str) -> Result<Vec<(&'static str, Value)>> {
        let numbers = text.split(',').map(|number| self.parse(number.trim()));
        let named = numbers.map(|value| value.map_err(|error| error.prefixed("--segments: ")));
        named.map(|value| value.map(|value| (self.name(), value))).collect()
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining("segments", "datagrams of a call:")
    }
}
