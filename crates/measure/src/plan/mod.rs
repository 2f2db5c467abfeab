//! Order of measurement: factors x levels -> cells -> seeded, randomised complete blocks.

mod order;
mod schedule;
pub mod spec;
pub mod time;
mod toml;
mod unsoaked;

pub use order::order;
pub use schedule::{Turn, lead_in, schedule};
pub use spec::Spec;
pub use toml::parse;
