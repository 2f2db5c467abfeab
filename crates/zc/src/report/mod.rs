//! A saved run as text. Pure: the same document in, the same bytes out; no clock, no terminal, no file.

mod escape;

pub use escape::escape;

use crate::estimate::Estimates;
use crate::record::{Host, Run, SupportRow, Warning};

/// For people.
pub fn table(_run: &Run, _estimates: &Estimates, _columns: usize) -> String {
    String::new()
}
/// JSON
pub fn json(_run: &Run, _estimates: &Estimates) -> String {
    String::new()
}
/// CSV
pub fn csv(_run: &Run, _estimates: &Estimates) -> String {
    String::new()
}
/// Markdown
pub fn markdown(_run: &Run, _estimates: &Estimates) -> String {
    String::new()
}
/// Doctor
pub fn doctor(_host: &Host, _rows: &[SupportRow], _warnings: &[Warning], _columns: usize) -> String {
    String::new()
}
