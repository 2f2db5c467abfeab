//! Joint estimates from the runs of a fleet.
//!
//! A cell's cost in a run is, in logarithms, the mean of its group, plus effects of the host whose
//! cost it is, of the host at the other end and of the session, plus an error by the blocks of the
//! run ([`zc_stats::crossed_effects`]). Each cell and end is fitted on its own, its ratio to the
//! reference likewise.

use zc_stats::median;

use super::conditions;
use super::fits::{CellFit, FALSE_DISCOVERY_RATE};
use super::grouping::{Grouped, Grouping};
use super::model::{End, Fleet, GroupMean, Row, RunFigures, Spread, SpreadOf};
use super::observations::{Fitted, Observed, Quantity};
use super::odd_hosts;
use super::odd_pairs;
use super::selection::{NoFleet, select};
use crate::interim::CONFIDENCE;
use crate::parallel;

/// Analyses runs of one experiment over one link together.
///
/// Runs that cannot be used are listed with the reason: see [`Fleet::left_out`]. A part of a run is
/// used if it has enough blocks.
///
/// The time is that of a Cholesky decomposition over hosts, some ten times for each cell and end:
/// docs/performance.md, "Fleets".
///
/// # Errors
///
/// [`NoFleet`]: no run can be used, or they are of several experiments or links.
pub fn fleet(runs: &[RunFigures], grouping: &Grouping) -> Result<Fleet, NoFleet> {
    let (used, left_out) = select(runs)?;
    let grouped = Grouped::group(&used, grouping);
    let observed = Observed::new(used, grouped);
    let fits = fit_cells(&observed);
    let rows = rows(&observed, &fits);
    let (odd_hosts, hosts_examined, on_average) = odd_hosts::odd_hosts(&observed, &fits);
    let (odd_pairs, pairs_examined) = odd_pairs::odd_pairs(&observed, &on_average);
    let (conditions, conditions_examined) =
        conditions::conditions(&observed, grouping, &on_average);
    let mut zc_versions: Vec<String> =
        observed.runs.iter().map(|run| run.zc_version.clone()).collect();
    let numbers = |version: &String| -> Vec<Option<u64>> {
        version.split('.').map(|part| part.parse().ok()).collect()
    };
    zc_versions.sort_by_key(|version| (numbers(version), version.clone()));
    zc_versions.dedup();
    let (first, last) = (observed.runs.first(), observed.runs.last());
    let of_first =
        |of: fn(&RunFigures) -> &String| first.map(|run| of(run).clone()).unwrap_or_default();
    Ok(Fleet {
        experiment: of_first(|run| &run.experiment),
        link: of_first(|run| &run.link),
        reference: of_first(|run| &run.reference),
        confidence: CONFIDENCE,
        false_discovery_rate: FALSE_DISCOVERY_RATE,
        runs: observed.runs.len(),
        hosts: observed.grouped.hosts.len(),
        first_at: of_first(|run| &run.started_at),
        last_at: last.map(|run| run.started_at.clone()).unwrap_or_default(),
        zc_versions,
        shared_runs: 0,
        withheld: Vec::new(),
        left_out,
        by: grouping.by.clone(),
        spreads: fits.iter().filter_map(|fit| spread_of(fit, &observed)).collect(),
        rows,
        odd_hosts,
        hosts_examined,
        odd_pairs,
        pairs_examined,
        conditions,
        conditions_examined,
        groups: observed.grouped.groups,
    })
}

fn fit_cells(observed: &Observed<'_>) -> Vec<CellFit> {
    let cells: Vec<(usize, End)> = (0..observed.labels.len())
        .flat_map(|label| observed.ends(label).into_iter().map(move |end| (label, end)))
        .collect();
    let wanted: Vec<(usize, Quantity)> = cells
        .iter()
        .flat_map(|(label, end)| {
            let ratio = (*end != End::Receiver).then_some((*label, Quantity::Ratio(*end)));
            [Some((*label, Quantity::Cost(*end))), ratio]
        })
        .flatten()
        .collect();
    let fitted = parallel::each(wanted.len(), |at| observed.fit(wanted[at].0, wanted[at].1));
    let mut of_each = wanted.into_iter().zip(fitted).peekable();
    cells
        .into_iter()
        .map(|(label, end)| {
            let mut next = |quantity: Quantity| {
                let found = of_each.next_if(|(wanted, _)| *wanted == (label, quantity));
                found.and_then(|(_, fitted)| fitted)
            };
            let cost = next(Quantity::Cost(end));
            CellFit { label, end, cost, ratio: next(Quantity::Ratio(end)) }
        })
        .collect()
}

fn spread_of(fit: &CellFit, observed: &Observed<'_>) -> Option<Spread> {
    Some(Spread {
        label: observed.labels[fit.label].clone(),
        end: fit.end,
        cost: spread(fit.cost.as_ref()?)?,
        ratio: fit.ratio.as_ref().and_then(spread),
    })
}

fn spread(fitted: &Fitted) -> Option<SpreadOf> {
    let effects = &fitted.effects;
    let errors: Vec<f64> = fitted.values.iter().map(|value| value.error).collect();
    Some(SpreadOf {
        between_hosts: effects.unit_variance.sqrt(),
        by_far_host: effects.partner_variance.unwrap_or(0.0).sqrt(),
        between_sessions: effects.session_variance.unwrap_or(0.0).sqrt(),
        within_runs: median(&errors)?,
        heterogeneity: effects.heterogeneity,
    })
}

/// Rows in the order of the cells, then of their ends, then of groups.
fn rows(observed: &Observed<'_>, fits: &[CellFit]) -> Vec<Row> {
    let mut rows = Vec::new();
    for fit in fits {
        let Some(cost) = &fit.cost else { continue };
        for group in 0..observed.grouped.groups.len() {
            let Some(us_per_mb) = mean(cost, group) else { continue };
            rows.push(Row {
                label: observed.labels[fit.label].clone(),
                end: fit.end,
                group,
                runs: cost.values.iter().filter(|value| value.level == group).count(),
                hosts: cost.effects.means[group].map_or(0, |mean| mean.units),
                us_per_mb,
                ratio: fit.ratio.as_ref().and_then(|ratio| mean(ratio, group)),
            });
        }
    }
    rows
}

fn mean(fitted: &Fitted, group: usize) -> Option<GroupMean> {
    let mean = (*fitted.effects.means.get(group)?)?;
    let interval = mean.interval(CONFIDENCE);
    let one_more = fitted.effects.one_more(group, CONFIDENCE);
    let exp = |ln: f64| Some(ln.exp()).filter(|value| value.is_finite());
    Some(GroupMean {
        value: exp(mean.value)?,
        low: interval.and_then(|interval| exp(interval.low)),
        high: interval.and_then(|interval| exp(interval.high)),
        one_more_low: one_more.and_then(|interval| exp(interval.low)),
        one_more_high: one_more.and_then(|interval| exp(interval.high)),
    })
}
