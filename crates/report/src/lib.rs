//! Formats saved runs and their estimates. Pure: the same document gives the same bytes; no clock,
//! no terminal, no file. Everything from outside (file names, host names, reasons) passes through
//! [`escape`] in texts and CSV; in JSON, control characters are escaped as JSON does.
//!
//! Modules are the forms (`terminal`, `csv`, `json`, `markdown`, `html`, `openmetrics`), the
//! documents (`run`, `compare`, `commit_message`, `bisect`, `kernels`, `soak`, `fleet`, `trend`,
//! `profile`, `advise`, `tune` and those of a single file), and the registry of the figures of a run
//! (`figures`).

pub mod advise;
pub mod bisect;
pub mod commit_message;
pub mod compare;
mod csv;
mod digits;
pub mod doctor;
mod experiments;
mod figures;
pub mod fleet;
mod html;
pub mod http;
mod json;
pub mod kernels;
mod ktap;
mod markdown;
pub mod memory;
mod money;
mod openmetrics;
pub mod plans;
pub mod profile;
mod run;
pub mod soak;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
pub mod trend;
pub mod tune;

pub use figures::entry::Per;
pub use figures::table_of_figures;
pub use html::{advise as advice_page, html};
pub use profile::folded;
pub use run::csv::csv;
pub use run::dma::dma;
pub use run::json::{json, json_schema};
pub use run::markdown::markdown;
pub use run::multi;
pub use run::openmetrics::openmetrics;
pub use run::per::per;
pub use run::terminal::table;
pub use terminal::layout::{Layout, TEXT_COLUMNS};
pub use zc_run::escape;
