//! Configurations of Apache: read with their includes and conditions, copied for a trial beside the
//! live server, changed line by line, and the changes as a diff.
//!
//! It is Apache 2.4 whose rules are followed
//! (<https://httpd.apache.org/docs/2.4/configuring.html>). Macros of mod_macro are refused.

mod answer;
mod build;
mod change;
mod configured;
mod copy;
mod cursor;
mod diff;
mod if_version;
mod logs;
mod modules;
mod outside;
mod over;
mod read;
mod render;
mod site;
mod table;
mod tree;
mod try_line;
mod variables;
mod words;

pub use build::conf_path;
pub use configured::Apache;
pub use read::Start;
pub use render::render;
pub use table::candidates;
pub use tree::{Config, Line};
pub use try_line::try_line;
pub use variables::envvars;
