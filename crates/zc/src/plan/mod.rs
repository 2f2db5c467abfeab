//! What is measured and in which order: factors x levels -> cells -> seeded, randomised complete blocks; and what is fixed
//! before the first block: when a block counts, what a trial's cost is, when the intervals are looked at.

mod builtin;
mod order;

pub mod costs;
pub mod looks;
pub mod machine;
pub mod ratios;
pub mod rules;
pub mod spec;
pub mod time;
mod toml;

pub use builtin::{builtin, text};
pub use order::{grouped, order};
pub use spec::Spec;
pub use toml::parse;
