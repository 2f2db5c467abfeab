//! Many runs of many hosts: what each path costs in each group of hosts, which hosts and pairs are
//! odd, what their conditions explain, and how it changes from night to night.

mod changed_facts;
mod conditions;
mod estimate;
mod facts;
mod figures;
mod fits;
mod grouping;
mod judgement;
pub mod model;
mod observations;
mod odd_hosts;
mod odd_pairs;
#[cfg(test)]
mod recorded;
mod selection;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_long;
mod trend;

pub use estimate::fleet;
pub use facts::SharedFacts;
pub use figures::figures;
pub use fits::FALSE_DISCOVERY_RATE;
pub use grouping::Grouping;
pub use model::*;
pub use selection::{NoFleet, WITHHELD, unusable};
pub use trend::{FALSE_ALARM, day, trend};
