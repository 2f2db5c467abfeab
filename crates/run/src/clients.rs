//! Paced clients: connections of one sender, each of which takes its bytes at a rate of its own.

use super::{Factor, FixedParams, Levels, Value};

/// Rate of a client where no other is asked for, in bytes per second: 5 Mbit/s, a video in HD.
const USUAL_RATE: f64 = 5e6 / 8.0;

/// The clients of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clients {
    /// Connections at a time.
    pub count: usize,
    /// Payload bytes per second of each, which the kernel paces.
    pub rate_bytes_per_s: f64,
}

impl Clients {
    /// Payload bytes per second of all together.
    pub fn total_bytes_per_s(self) -> f64 {
        self.count as f64 * self.rate_bytes_per_s
    }
}

impl FixedParams {
    /// The clients of a cell; `None` if it sends over flows.
    pub fn clients(&self) -> Option<Clients> {
        clients(|factor| self.more.get(factor))
    }
}

impl Levels {
    /// The clients of a cell with these levels in a run that holds those of `held`.
    pub fn clients(&self, held: &Self) -> Option<Clients> {
        clients(|factor| self.more.get(factor).or_else(|| held.more.get(factor)))
    }
}

fn clients<'l>(level: impl Fn(&'static str) -> Option<&'l Value>) -> Option<Clients> {
    let count = level(Factor::Clients.name())?.number()?;
    let rate = match level(Factor::ClientRate.name()) {
        Some(Value::BitRate(bytes_per_s)) => *bytes_per_s,
        _ => USUAL_RATE,
    };
    Some(Clients { count, rate_bytes_per_s: rate })
}
