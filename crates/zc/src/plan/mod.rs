//! What is measured and in which order: factors x levels -> cells -> seeded, randomised complete blocks; and what is fixed
//! before the first block: when a block counts, what a trial's cost is, when the intervals are looked at.

mod order;
mod paths;

pub mod costs;
pub mod looks;
pub mod machine;
pub mod ratios;
pub mod rules;

pub use order::order;
pub use paths::{CONTROL_SUFFIX, cells};
