//! What is compared: each path of the run, with the share over TLS encrypted in user space, and
//! what it would be with the kernel's TLS.
//!
//! In user space TLS needs the bytes in a buffer. So the share over TLS costs as much by every path
//! as by `read+send`, and encryption on top: what a path saves in the clear it saves for the others
//! alone.

use super::log::{Log, at, observed, sums_of_costs};
use super::mix::LoggedResponses;
use super::path_costs::PathCosts;
use super::tls::TlsCosts;
use crate::cost_curve::CostCurve;

/// The costs of each path of a run by resample: the curve, and the level of its blocks.
pub(super) type Curves = Vec<Vec<Option<(CostCurve, f64)>>>;

/// A row of the table.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) name: String,
    /// Of all responses, with their encryption.
    pub(super) costs: PathCosts,
    /// Of those in the clear alone, as observed.
    pub(super) clear: Parts,
    /// The place of its way of encrypting; `None` without TLS.
    pub(super) way: Option<usize>,
}

/// A quantity of all responses, and of those of each minute that may be the busiest.
#[derive(Debug, Clone, Default)]
pub(super) struct Parts {
    pub(super) all: f64,
    pub(super) minutes: Vec<f64>,
}

/// Encryption of a log's responses, by way.
#[derive(Debug, Clone)]
pub(super) struct Encryption {
    /// Bytes over TLS.
    pub(super) bytes: Parts,
    /// Costs in ns by way, in each resample.
    pub(super) all: Vec<Vec<Option<f64>>>,
    /// The same by minute.
    pub(super) minutes: Vec<Vec<Vec<Option<f64>>>>,
}

/// A log's rows, in the order of the paths, with those of the kernel's TLS behind them; `None`
/// without a cost.
pub(super) struct Rows {
    pub(super) rows: Vec<Option<Row>>,
    pub(super) encryption: Option<Encryption>,
}

impl Rows {
    pub(super) fn new(
        names: &[&str],
        curves: &Curves,
        responses: &LoggedResponses,
        log: &Log,
        tls: Option<&TlsCosts>,
    ) -> Self {
        let clear: Vec<Option<PathCosts>> =
            curves.iter().map(|curves| PathCosts::from_curves(curves, responses, log)).collect();
        let Some(tls) = tls else {
            let rows = std::iter::zip(names, clear).map(|(name, costs)| {
                let costs = costs?;
                let clear = in_the_clear(&costs, 1.0, &[]);
                Some(Row { name: (*name).to_owned(), costs, clear, way: None })
            });
            return Self { rows: rows.collect(), encryption: None };
        };
        let shares: Vec<f64> = log.around.iter().map(|(_, share)| 1.0 - share).collect();
        let row = |name: &str, own: &PathCosts, base: &PathCosts, way: usize| Row {
            name: name.to_owned(),
            costs: own.over_tls(base, &tls.ways[way], &responses.size_bytes, log),
            clear: in_the_clear(own, 1.0 - at(&log.over_tls, 0), &shares),
            way: Some(way),
        };
        let of_path = |name: &str| {
            let place = names.iter().position(|own| *own == name)?;
            clear[place].as_ref()
        };
        let base = of_path(tls.in_user_space().clear.name());
        let mut rows: Vec<Option<Row>> = std::iter::zip(names, &clear)
            .map(|(name, own)| Some(row(name, own.as_ref()?, base?, 0)))
            .collect();
        rows.extend(tls.by_the_kernel().iter().enumerate().map(|(place, way)| {
            let own = of_path(way.clear.name())?;
            Some(row(way.path.name(), own, own, place + 1))
        }));
        Self { rows, encryption: Some(Encryption::new(log, tls, curves)) }
    }

    /// The hosts together, per second; minutes are those of the logs in one, `merged`.
    pub(super) fn together(merged: Self, hosts: &[(&Self, f64)]) -> Self {
        let row = |(place, merged): (usize, Option<Row>)| {
            let merged = merged?;
            let rows: Option<Vec<(&Row, f64)>> = hosts
                .iter()
                .map(|(host, span_s)| Some((host.rows[place].as_ref()?, *span_s)))
                .collect();
            let rows = rows?;
            let costs: Vec<(&PathCosts, f64)> =
                rows.iter().map(|(row, span_s)| (&row.costs, *span_s)).collect();
            let all = rows.iter().map(|(row, span_s)| row.clear.all / span_s).sum();
            Some(Row {
                costs: PathCosts::together(&merged.costs, &costs),
                clear: Parts { all, ..merged.clear },
                ..merged
            })
        };
        let encryption = merged.encryption.and_then(|merged| {
            let each: Option<Vec<(&Encryption, f64)>> = hosts
                .iter()
                .map(|(host, span_s)| Some((host.encryption.as_ref()?, *span_s)))
                .collect();
            each.map(|each| merged.together(&each))
        });
        Self { rows: merged.rows.into_iter().enumerate().map(row).collect(), encryption }
    }
}

impl Encryption {
    fn new(log: &Log, tls: &TlsCosts, curves: &Curves) -> Self {
        // As many as costs have, so that all can be summed and compared.
        let resamples = curves.iter().map(Vec::len).max().unwrap_or(1);
        let by_way = |bytes: &dyn Fn(usize) -> f64| {
            let ways = tls.ways.iter().map(|way| {
                let ns = |resample| Some((*at(&way.added_ns, resample))? * bytes(resample));
                (0..resamples).map(ns).collect()
            });
            ways.collect::<Vec<Vec<Option<f64>>>>()
        };
        let bytes = |resample: usize| at(&log.over_tls, resample) * at(&log.bytes, resample);
        let of_minutes = std::iter::zip(log.minutes, &log.around);
        let minutes: Vec<f64> =
            of_minutes.map(|(minute, (_, share))| share * minute.bytes).collect();
        Self {
            all: by_way(&bytes),
            minutes: minutes.iter().map(|bytes| by_way(&|_| *bytes)).collect(),
            bytes: Parts { all: bytes(0), minutes },
        }
    }

    fn together(self, hosts: &[(&Self, f64)]) -> Self {
        let all = self.all.iter().enumerate().map(|(way, merged)| {
            let of_hosts = hosts.iter().map(|(host, span_s)| (host.all[way].as_slice(), *span_s));
            sums_of_costs(merged.len(), of_hosts)
        });
        let bytes = hosts.iter().map(|(host, span_s)| host.bytes.all / span_s).sum();
        Self { all: all.collect(), bytes: Parts { all: bytes, ..self.bytes }, ..self }
    }
}

/// These shares of a path's costs, as observed. A minute without a share has all of its own.
fn in_the_clear(costs: &PathCosts, share: f64, shares_of_minutes: &[f64]) -> Parts {
    let first = |of: &[Option<f64>]| observed(of).unwrap_or(0.0);
    let minutes = costs
        .minutes
        .iter()
        .enumerate()
        .map(|(minute, of)| shares_of_minutes.get(minute).copied().unwrap_or(1.0) * first(of));
    Parts { all: share * first(&costs.all), minutes: minutes.collect() }
}
