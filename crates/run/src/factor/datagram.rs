//! `datagram`: the payload of a UDP datagram.

use std::ops::RangeInclusive;

use super::definition::{Definition, FactorOption, Parameter};
use super::value::Value;
use crate::Result;
use crate::datagrams::{LONGEST_DATAGRAM, USUAL_DATAGRAM};

/// With fewer bytes a call would send hardly anything, and an encrypted one has 29 around them.
const BYTES: RangeInclusive<u64> = 64..=LONGEST_DATAGRAM as u64;

pub(super) struct DatagramFactor;

impl Definition for DatagramFactor {
    fn name(&self) -> &'static str {
        "datagram"
    }

    fn levels(&self) -> &'static str {
        "64 to 65507: payload of a UDP datagram; no effect on paths that send a stream"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["1452", "1200"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::size(text, BYTES)
    }

    fn default(&self) -> Value {
        Value::Bytes(USUAL_DATAGRAM)
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "Payload of a UDP datagram [default: 1200]";
        Some(FactorOption::sent("datagram", "SIZE", "tls", help))
    }

    fn heading(&self) -> Option<&'static str> {
        Some("datagrams of")
    }

    fn parameter(&self) -> Parameter {
        Parameter::disqualifying("datagram", "payload of a datagram:")
    }
}
