//! Synthetic runs: saved runs of a machine that does not exist, whose true costs are known. Tests of analysis and of
//! reports check their results against them. A dev-dependency of the other crates, in no product.

#![forbid(unsafe_code)]

pub mod samples;
pub mod synthetic;
