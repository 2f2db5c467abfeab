//! `mtu`: larger packets, and messages that do not begin on a page.

use super::one_factor::along;
use super::section::Section;
use crate::pivot::Cross;
use zc_analysis::Estimates;
use zc_run::Factor;

pub(super) fn section(estimates: &Estimates, cross: &Cross) -> Section {
    let clauses = [(Factor::Mtu, "Of MTUs, per byte"), (Factor::Align, "of where a message begins, at the first MTU")];
    let says: Vec<String> = clauses
        .into_iter()
        .filter_map(|(factor, what)| Some(format!("{what}: {}", along(estimates, cross, factor)?)))
        .collect();
    Section { parts: Vec::new(), says: (!says.is_empty()).then(|| format!("{}.", says.join("; "))) }
}
