//! `congestion`: TCP congestion control of the sender.

use super::definition::{Definition, FactorOption, Parameter};
use super::value::Value;
use crate::{Cell, Error, FixedParams, Levels, LinkFacts, Result, escape};

pub(super) struct CongestionFactor;

impl Definition for CongestionFactor {
    fn name(&self) -> &'static str {
        "congestion"
    }

    fn levels(&self) -> &'static str {
        "names of congestion controls, or `unset` (net.ipv4.tcp_congestion_control applies)"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["bbr", "reno", "unset"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        // Only the form of the name is checked here (TCP_CA_NAME_MAX is 16 with its NUL,
        // include/net/tcp.h). The measurement finds out whether the kernel has it.
        let plain =
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        if plain && (1..=15).contains(&text.len()) {
            return Ok(Value::Name(text.to_owned()));
        }
        Err(Error::usage(
            "invalid-congestion-control",
            format!("\"{}\" cannot be a congestion control", escape(text, 40)),
        )
        .help("/proc/sys/net/ipv4/tcp_available_congestion_control lists those of the kernel"))
    }

    fn value_for(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Name(at.congestion.clone())
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.congestion = level.name();
    }

    fn apply(&self, own: &Levels, at: &mut FixedParams) {
        if let Some(congestion) = &own.congestion {
            at.congestion.clone_from(congestion);
        }
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "TCP congestion control of the sender: a name, or unset for that of \
            net.ipv4.tcp_congestion_control [default: cubic if available, and unset where --ab \
            sets that]";
        Some(FactorOption::carried("congestion", "NAME", "flows", help))
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining("congestion", "congestion control")
    }
}
