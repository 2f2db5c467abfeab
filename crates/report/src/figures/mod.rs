//! The figures of a run. Each is one entry: name, unit, how it is had, where its value comes from,
//! and the tables, columns and metrics that it appears in. Tables on terminals, in Markdown and in
//! HTML, CSV, OpenMetrics and docs/figures.md are made from the entries. JSON and its schema are
//! made from the types of `zc_analysis`; an entry names its field there.

mod cell;
mod condition;
mod counted;
mod documentation;
pub(crate) mod entry;
mod events;
mod published;
pub(crate) mod registry;
mod request;
mod sockets;
pub(crate) mod table;
#[cfg(test)]
mod tests;
mod traffic;
mod unit;

pub use documentation::table_of_figures;
