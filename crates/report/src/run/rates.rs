//! The rates of a run: cells that are compared share one, others may have another.

use crate::digits::rate;
use zc_run::{FixedParams, Run};

/// The rate, or the range of rates.
pub(crate) fn rates(run: &Run) -> String {
    let mut rates: Vec<f64> = each(run).map(|at| at.rate_bytes_per_s).collect();
    rates.sort_by(f64::total_cmp);
    match (rates.first(), rates.last()) {
        (Some(least), Some(most)) if least != most => {
            format!("{} to {}", rate(*least), rate(*most))
        }
        (Some(only), _) => rate(*only),
        _ => rate(run.header.plan.fixed.rate_bytes_per_s),
    }
}

/// Whether cells differ in their rate.
pub(crate) fn several_rates(run: &Run) -> bool {
    let mut rates = each(run).map(|at| at.rate_bytes_per_s);
    rates.next().is_some_and(|first| rates.any(|other| other != first))
}

/// The resolved configuration of each cell.
pub(crate) fn each(run: &Run) -> impl Iterator<Item = FixedParams> {
    let plan = &run.header.plan;
    plan.cells.iter().map(|cell| plan.fixed.at(&cell.levels))
}
