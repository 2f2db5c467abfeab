//! The report of a run: its documents (terminal, Markdown, CSV, JSON, OpenMetrics; the page is in
//! `html`), and the tables, notes and sentences that they share.

pub(crate) mod account;
pub(crate) mod answer;
pub(crate) mod baseline;
pub(crate) mod csv;
pub(crate) mod dma;
pub(crate) mod json;
pub(crate) mod markdown;
pub mod multi;
pub(crate) mod notes_above;
pub(crate) mod notes_below;
pub(crate) mod openmetrics;
pub(crate) mod per;
pub(crate) mod pivot;
pub(crate) mod pivot_tables;
pub(crate) mod rates;
pub(crate) mod rough;
pub(crate) mod rows;
pub(crate) mod short;
pub(crate) mod speed;
pub(crate) mod terminal;
pub(crate) mod verdict;
pub(crate) mod verdict_by_level;
