//! What is measured and in which order: factors x levels -> cells -> seeded, randomised complete
//! blocks.

mod builtin;
mod order;
pub mod spec;
pub mod time;
mod toml;
mod unsoaked;

pub use builtin::{builtin, text};
pub use order::{grouped, order};
pub use spec::Spec;
pub use toml::parse;
pub use unsoaked::unsoaked_in_turn;
