//! `clients`: paced connections at a time, all of one thread on either side.

use std::ops::RangeInclusive;

use super::definition::{Definition, FactorOption, Parameter};
use super::value::Value;
use crate::{Result, units};

const NUMBER: RangeInclusive<u64> = 1..=100_000;

const NONE: &str = "none";

pub(super) struct ClientsFactor;

impl Definition for ClientsFactor {
    fn name(&self) -> &'static str {
        "clients"
    }

    fn levels(&self) -> &'static str {
        "paced connections at a time, 1 to 100000, which one thread sends to and one receives from \
         ([clients](experiments/clients.md)); `none`: flows, with threads of their own"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["1000", "none"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        if text.trim() == NONE {
            return Ok(Value::Name(NONE.to_owned()));
        }
        units::count("number of clients", text, NUMBER).map(Value::Number)
    }

    fn default(&self) -> Value {
        Value::Name(NONE.to_owned())
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "Paced connections at a time, of one thread on either side, separated by \
            commas [default: none, or the plan's]";
        Some(FactorOption::carried("clients", "N", "flows", help).several())
    }

    fn typed(&self, text: &str) -> Result<Vec<(&'static str, Value)>> {
        let numbers = text.split(',').map(|number| self.parse(number.trim()));
        let named = numbers.map(|value| value.map_err(|error| error.prefixed("--clients: ")));
        named.map(|value| value.map(|value| (self.name(), value))).collect()
    }

    fn heading(&self) -> Option<&'static str> {
        Some("clients")
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining("clients", "clients:")
    }
}
