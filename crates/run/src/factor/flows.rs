//! `flows`: connections at a time.

use std::ops::RangeInclusive;

use super::definition::{Definition, FactorOption, Parameter};
use super::value::Value;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result, units};

/// More threads than these would be a test of the scheduler.
const FLOWS: RangeInclusive<u64> = 1..=1024;

pub(super) struct FlowsFactor;

impl Definition for FlowsFactor {
    fn name(&self) -> &'static str {
        "flows"
    }

    fn levels(&self) -> &'static str {
        "connections at a time"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["1000", "1"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        units::count("number of flows", text, FLOWS).map(Value::Number)
    }

    fn value_for(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Number(at.flows as u64)
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.flows = level.number();
    }

    fn apply(&self, own: &Levels, at: &mut FixedParams) {
        at.flows = own.flows.unwrap_or(at.flows);
    }

    fn option(&self) -> Option<FactorOption> {
        Some(FactorOption::carried("flows", "N", "rtt", "Connections at a time [default: 1]"))
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining("flows", "flows:")
    }
}
