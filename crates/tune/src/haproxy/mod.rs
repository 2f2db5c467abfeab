//! Configurations of HAProxy: read with their conditions, copied for a trial beside the live server
//! with an origin of zc's behind them, changed line by line, and the changes as a diff.
//!
//! It is HAProxy 2.6's manual that is followed (<https://docs.haproxy.org/2.6/configuration.html>).

mod answer;
mod build;
mod change;
mod condition;
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

pub use build::CONF_PATH;
pub use configured::HAProxy;
pub use read::Start;
pub use render::render;
pub use table::candidates;
pub use tree::{Config, Line, Section};
pub use try_line::try_line;
