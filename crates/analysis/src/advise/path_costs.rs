//! The cost of a log's responses by one path, over joint resamples of the run and the log.

use super::log::{Log, at, observed, sums_of_costs};
use super::mix::{BusyMinute, Counts, LoggedResponses};
use super::tls::Way;
use crate::cost_curve::CostCurve;

/// Costs in ns in each resample, with the observed one first.
#[derive(Debug, Clone)]
pub(super) struct PathCosts {
    pub(super) all: Vec<Option<f64>>,
    /// Of responses no longer than the longest measured.
    pub(super) within: Vec<Option<f64>>,
    /// Bytes of these.
    bytes_within: Vec<f64>,
    /// By minute.
    pub(super) minutes: Vec<Vec<Option<f64>>>,
    /// A response of each bin, as observed.
    pub(super) of_bin: Vec<f64>,
}

impl PathCosts {
    /// `None` without a cost in the observed sample.
    pub(super) fn from_curves(
        curves: &[Option<(CostCurve, f64)>],
        responses: &LoggedResponses,
        log: &Log,
    ) -> Option<Self> {
        let sizes = &responses.size_bytes;
        let (mut all, mut within, mut bytes_within) = (Vec::new(), Vec::new(), Vec::new());
        let mut minutes = vec![Vec::new(); log.minutes.len()];
        let mut of_bin = None;
        for (resample, curve) in curves.iter().enumerate() {
            let Some((curve, level)) = curve else {
                // Without the observed one there is nothing to be said.
                of_bin.as_ref()?;
                all.push(None);
                within.push(None);
                bytes_within.push(0.0);
                minutes.iter_mut().for_each(|minute| minute.push(None));
                continue;
            };
            let ns: Vec<f64> = sizes.iter().map(|size| level * curve.at(*size)).collect();
            let counts = at(&log.counts, resample);
            all.push(Some(counts.sum(&ns)));
            let is_within = |bin: usize| sizes.get(bin).is_some_and(|size| curve.covers(*size));
            within.push(Some(counts.sum_where(&ns, is_within)));
            bytes_within.push(counts.sum_where(sizes, is_within));
            let request_ns = level * curve.at(0.0);
            for (at, minute) in log.minutes.iter().enumerate() {
                let ns = in_minute(minute, &log.around[at].0, &ns, sizes, request_ns);
                minutes[at].push(Some(ns));
            }
            of_bin.get_or_insert(ns);
        }
        Some(Self { all, within, bytes_within, minutes, of_bin: of_bin? })
    }

    /// The same where the share over TLS costs as much as `base` in the clear, and `way` adds its
    /// encryption to each of its bytes.
    pub(super) fn over_tls(&self, base: &Self, way: &Way, sizes: &[f64], log: &Log) -> Self {
        let mixed = |clear: &[Option<f64>],
                     base: &[Option<f64>],
                     share: &dyn Fn(usize) -> f64,
                     bytes: &dyn Fn(usize) -> f64| {
            let each = std::iter::zip(clear, base).enumerate();
            each.map(|(resample, (clear, base))| {
                let encrypted = (*base)? + bytes(resample) * (*at(&way.added_ns, resample))?;
                let share = share(resample);
                Some((1.0 - share) * (*clear)? + share * encrypted)
            })
            .collect::<Vec<_>>()
        };
        let share = |resample: usize| *at(&log.over_tls, resample);
        let minutes = log.minutes.iter().enumerate().map(|(minute, of)| {
            let share = |_| log.around[minute].1;
            mixed(&self.minutes[minute], &base.minutes[minute], &share, &|_| of.bytes)
        });
        let added = observed(&way.added_ns).unwrap_or(0.0);
        let of_bin = std::iter::zip(&self.of_bin, &base.of_bin).zip(sizes);
        let all = share(0);
        Self {
            all: mixed(&self.all, &base.all, &share, &|resample| *at(&log.bytes, resample)),
            within: mixed(&self.within, &base.within, &share, &|resample| {
                *at(&self.bytes_within, resample)
            }),
            bytes_within: self.bytes_within.clone(),
            minutes: minutes.collect(),
            of_bin: of_bin
                .map(|((clear, base), size)| (1.0 - all) * clear + all * (base + size * added))
                .collect(),
        }
    }

    /// The hosts together, per second; minutes are those of the logs in one, `merged`.
    pub(super) fn together(merged: &Self, hosts: &[(&Self, f64)]) -> Self {
        let sum = |of: fn(&Self) -> &[Option<f64>]| {
            let of_hosts = hosts.iter().map(|(host, span_s)| (of(host), *span_s));
            sums_of_costs(of(merged).len(), of_hosts)
        };
        Self { all: sum(|it| &it.all), within: sum(|it| &it.within), ..merged.clone() }
    }
}

/// Cost of the responses of a minute. Its number of responses and their bytes are exact; their
/// sizes are those of the slices that it is in. So each response costs `request_ns`, and each byte
/// as much more as a byte of the slices does on average.
fn in_minute(
    minute: &BusyMinute,
    of_slices: &Counts,
    ns: &[f64],
    sizes: &[f64],
    request_ns: f64,
) -> f64 {
    let for_bytes_ns = of_slices.sum(ns) - request_ns * of_slices.requests();
    let slices_bytes = of_slices.sum(sizes);
    let per_byte = if slices_bytes > 0.0 { for_bytes_ns.max(0.0) / slices_bytes } else { 0.0 };
    minute.requests * request_ns + minute.bytes * per_byte
}
