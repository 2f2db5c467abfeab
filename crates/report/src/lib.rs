//! Formats saved runs and their estimates. Pure: the same document gives the same bytes; no clock,
//! no terminal, no file. Everything from outside (file names, host names, reasons) passes through
//! [`escape`] in texts and CSV; in JSON, control characters are escaped as JSON does.

mod account;
pub mod advise;
mod advise_costs;
mod answer;
mod baseline;
mod block;
mod brief;
pub mod compare;
mod csv;
mod csv_text;
mod digits;
mod dma;
pub mod doctor;
mod experiments;
mod figures;
pub mod fleet;
mod grid;
mod grids;
mod heading;
mod html;
pub mod http;
mod json;
mod json_text;
mod layout;
mod markdown;
pub mod memory;
pub mod multi;
mod note;
mod notes;
mod openmetrics;
mod pivot;
pub mod plans;
pub mod profile;
mod prose;
mod rates;
mod rates_in_words;
mod rough;
mod rows;
pub mod soak;
mod speed;
mod summary;
mod table;
mod text;
pub mod trend;
mod width;

pub use csv::csv;
pub use dma::dma;
pub use figures::table_of_figures;
pub use html::{advise as advice_page, html};
pub use json::{json, json_schema};
pub use layout::{Layout, TEXT_COLUMNS};
pub use markdown::markdown;
pub use openmetrics::openmetrics;
pub use profile::folded;
pub use table::table;
pub use zc_run::escape;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod fixture_plans;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_brief;
#[cfg(test)]
mod tests_emulated;
#[cfg(test)]
mod tests_forms;
#[cfg(test)]
mod tests_plans;
#[cfg(test)]
mod tests_sentences;
#[cfg(test)]
mod tests_server;
