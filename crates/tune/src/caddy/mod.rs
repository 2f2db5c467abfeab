//! Caddyfiles: read, copied for a trial beside the live server, changed line by line, and the
//! changes as a diff.
//!
//! They are read as Caddy reads them (<https://caddyserver.com/docs/caddyfile/concepts>,
//! `caddyconfig/caddyfile` of its source). Configurations in JSON are refused.

mod address;
mod answer;
mod change;
mod configured;
mod copy;
mod diff;
mod go;
mod lex;
mod own_words;
mod parse;
mod quote;
mod read;
mod render;
mod site;
mod table;
#[cfg(test)]
mod testing;
mod tree;
mod try_line;

pub use configured::Caddy;
pub use read::{CONF_PATH, Start};
pub use render::render;
pub use table::candidates;
pub use tree::{Config, Line};
pub use try_line::try_line;
