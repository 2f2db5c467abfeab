//! Configurations of HAProxy: read, copied for a trial beside the live server with an origin of
//! zc's behind them, changed line by line, and the changes as a diff.
//!
//! It is HAProxy 2.6's manual that is followed (<https://docs.haproxy.org/2.6/configuration.html>).
//! Conditional blocks (`.if`) are refused.

mod answer;
mod change;
mod configured;
mod copy;
mod diff;
mod own_words;
mod read;
mod render;
mod site;
mod table;
#[cfg(test)]
mod testing;
mod tree;
mod try_line;
mod words;

pub use configured::HAProxy;
pub use read::{CONF_PATH, Start};
pub use render::render;
pub use table::candidates;
pub use tree::{Config, Line, Section};
pub use try_line::try_line;
