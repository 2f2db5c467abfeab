//! `congestion`: TCP congestion control of both ends.

use super::{Definition, Factor, FactorOption, Parameter, Value};
use crate::{Cell, Error, FixedParams, Levels, LinkFacts, Result, escape};

/// The factor.
pub(super) struct CongestionFactor;

impl Definition for CongestionFactor {
    fn factor(&self) -> Factor {
        Factor::Congestion
    }

    fn name(&self) -> &'static str {
        "congestion"
    }

    fn levels(&self) -> &'static str {
        "names of congestion controls"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["bbr", "reno"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        // Whether the kernel has it is for those who measure to find out; what cannot be a name is refused here (TCP_CA_NAME_MAX is
        // 16 with its NUL, include/net/tcp.h).
        let plain =
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        if plain && (1..=15).contains(&text.len()) {
            return Ok(Value::Name(text.to_owned()));
        }
        Err(Error::usage(format!("\"{}\" cannot be a congestion control", escape(text, 40)))
            .help("the kernel's own are in /proc/sys/net/ipv4/tcp_available_congestion_control"))
    }

    fn of(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
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
        let help = "TCP congestion control of both ends [default: cubic where there is one]";
        Some(FactorOption::carried("congestion", "NAME", "flows", help))
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining("congestion", "congestion control")
    }
}
