//! Runs as one page of HTML that needs nothing beside itself.

use crate::estimate::Estimates;
use crate::record::Run;

/// The whole page.
pub fn html(runs: &[(&Run, &Estimates)]) -> String {
    format!("<!doctype html>\n<html lang=\"en\"><title>zc</title><p>{} runs</p></html>\n", runs.len())
}
