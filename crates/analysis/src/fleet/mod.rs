//! Many runs of many hosts: what each path costs in each group of hosts, which hosts and pairs are odd,
//! what their conditions explain, and how it changes from night to night.

pub mod model;

pub use model::*;
