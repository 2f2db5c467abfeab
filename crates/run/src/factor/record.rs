//! `record`: the payload of a TLS record.

use std::ops::RangeInclusive;

use super::definition::{Definition, FactorOption};
use super::value::Value;
use crate::Result;
use crate::tls::LONGEST_RECORD;

/// No implementation sends a stream in shorter ones.
const BYTES: RangeInclusive<u64> = 512..=LONGEST_RECORD as u64;

pub(super) struct RecordFactor;

impl Definition for RecordFactor {
    fn name(&self) -> &'static str {
        "record"
    }

    fn levels(&self) -> &'static str {
        "512 to `16k`: payload of a TLS record; no effect on paths that do not encrypt"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["16k", "4k"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::size(text, BYTES)
    }

    fn default(&self) -> Value {
        Value::Bytes(LONGEST_RECORD)
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "Payload of a TLS record, of paths that encrypt [default: 16k]";
        Some(FactorOption::sent("record", "SIZE", "cipher", help))
    }

    fn heading(&self) -> Option<&'static str> {
        Some("TLS records of")
    }
}
