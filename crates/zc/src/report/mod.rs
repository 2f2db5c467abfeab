//! A saved run as text. Pure: the same document in, the same bytes out; no clock, no terminal, no file. Everything that
//! comes from outside (file names, host names, reasons) goes through [`escape`] on its way to people; JSON and CSV have
//! quoting of their own.

mod csv;
mod digits;
mod doctor;
mod grid;
mod heading;
mod json;
mod markdown;
pub mod memory;
mod notes;
pub mod plans;
mod rows;
pub mod soak;
mod table;
mod words;

pub use crate::record::escape;
pub use csv::csv;
pub use doctor::doctor;
pub use json::json;
pub use markdown::markdown;
pub use table::table;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
