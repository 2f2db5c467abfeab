//! `mtu`: larger packets, and messages that are not page-aligned.

use super::one_factor::{apart, effect};
use super::section::Section;
use crate::run::pivot::Pivot;
use zc_analysis::Estimates;
use zc_run::Factor;

pub(super) fn section(estimates: &Estimates, pivot: &Pivot) -> Section {
    let clauses = [
        (effect(estimates, pivot, Factor::Mtu), "Of MTUs, per byte"),
        (apart(estimates, pivot, Factor::Align), "of where a message begins, at the first MTU"),
    ];
    let conclusion: Vec<String> =
        clauses.into_iter().filter_map(|(text, what)| Some(format!("{what}: {}", text?))).collect();
    Section {
        parts: Vec::new(),
        conclusion: (!conclusion.is_empty()).then(|| format!("{}.", conclusion.join("; "))),
    }
}
