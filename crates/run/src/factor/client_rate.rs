//! `client-rate`: payload bytes per second of each client, which the kernel paces
//! (SO_MAX_PACING_RATE).

use super::definition::{Definition, FactorOption, Parameter};
use super::value::Value;
use crate::{Cell, Error, FixedParams, LinkFacts, Result, units};

pub(super) struct ClientRateFactor;

impl Definition for ClientRateFactor {
    fn name(&self) -> &'static str {
        "client-rate"
    }

    fn levels(&self) -> &'static str {
        "rate at which each of the `clients` is paced: `1Mbit/s`"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["1Mbit/s", "20Mbit/s"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        units::rate(text)?.map(Value::BitRate).ok_or_else(|| {
            Error::usage("invalid-rate", "the rate of a client is a rate, not \"auto\"")
        })
    }

    fn value_for(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        let of_clients = || at.clients().map(|clients| Value::BitRate(clients.rate_bytes_per_s));
        at.more.get(self.name()).cloned().or_else(of_clients).unwrap_or(Value::Unset)
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "Rate at which each client is paced, separated by commas [default: 5Mbit/s, or \
            the plan's]";
        Some(FactorOption::carried("client-rate", "RATE", "clients", help).several())
    }

    fn typed(&self, text: &str) -> Result<Vec<(&'static str, Value)>> {
        let rates = text.split(',').map(|rate| self.parse(rate.trim()));
        let named = rates.map(|value| value.map_err(|error| error.prefixed("--client-rate: ")));
        named.map(|value| value.map(|value| (self.name(), value))).collect()
    }

    fn parameter(&self) -> Parameter {
        Parameter::disqualifying("client_rate", "rate of a client:")
    }
}
