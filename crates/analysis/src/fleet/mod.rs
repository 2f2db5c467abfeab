//! Many runs of many hosts: what each path costs in each group of hosts, which hosts and pairs are odd,
//! what their conditions explain, and how it changes from night to night.

mod facts;
mod figures;
pub mod model;

pub use facts::SharedFacts;
pub use figures::figures;
pub use model::*;
