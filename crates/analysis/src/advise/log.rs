//! A log, and resamples of its slices of time; the logs of several hosts together.

use super::mix::{BusyMinute, Counts, LoggedResponses};

/// With fewer slices of time the log is taken as it is: they say too little about how it varies.
const LEAST_SLICES: u64 = 8;

/// Slices without responses beyond this many times those with some are not drawn: they would change
/// the variance of a sum by less than an eighth.
const MOST_EMPTY: u64 = 8;

/// The log, and its resamples. What is a sequence has the whole log first and then its resamples,
/// or the whole log alone.
pub(super) struct Log<'l> {
    pub(super) counts: Vec<Counts>,
    /// Slices with responses; `None` if the log is taken as it is.
    pub(super) slices: Option<u64>,
    pub(super) span_s: f64,
    pub(super) bytes: Vec<f64>,
    pub(super) requests: Vec<f64>,
    /// The share of the bytes over TLS; empty where it is not known.
    pub(super) over_tls: Vec<f64>,
    /// The minutes that may be the busiest.
    pub(super) minutes: &'l [BusyMinute],
    /// The responses of the slices that each of them is in, and the share of their bytes over TLS.
    pub(super) around: Vec<(Counts, f64)>,
}

impl<'l> Log<'l> {
    pub(super) fn resample(responses: &'l LoggedResponses, resamples: usize, seed: u64) -> Self {
        let present = responses.slices.len() as u64;
        let most = present.saturating_mul(1 + MOST_EMPTY);
        let all = responses.slices_of_span.clamp(present, most.max(present));
        let draws = zc_stats::Bootstrap::new(all as usize, resamples, seed);
        let draws = draws.filter(|_| present >= LEAST_SLICES);
        let once = || (0..responses.slices.len()).map(|slice| (slice, 1.0));
        let tls = &responses.over_tls;
        let all_over_tls = tls.share(once());
        let drawn: Vec<(Counts, Option<f64>)> = match &draws {
            Some(draws) => draws.map_resamples(|times| {
                let weights = times.iter().map(|times| f64::from(*times));
                let weights = weights.take(responses.slices.len()).enumerate();
                // A resample of which the log does not say it is as the whole.
                let share = tls.share(weights.clone()).or(all_over_tls);
                (responses.counts(weights), share)
            }),
            None => vec![(responses.all(), all_over_tls)],
        };
        let of_minute = |slices: &[usize]| {
            let weights = || slices.iter().map(|at| (*at, 1.0));
            let share = tls.share(weights()).or(all_over_tls).unwrap_or(0.0);
            (responses.counts(weights()), share)
        };
        let (counts, shares): (Vec<Counts>, Vec<Option<f64>>) = drawn.into_iter().unzip();
        Self {
            bytes: counts.iter().map(|counts| counts.sum(&responses.size_bytes)).collect(),
            requests: counts.iter().map(Counts::requests).collect(),
            counts,
            over_tls: shares.into_iter().flatten().collect(),
            slices: draws.is_some().then_some(present),
            span_s: responses.span_s,
            minutes: &responses.busy_minutes,
            around: responses.busy_minutes.iter().map(|it| of_minute(&it.slices)).collect(),
        }
    }

    /// The hosts together: each at its own rate, however long its log is, so that all is per
    /// second. `merged` is the log of all of them in one, whose minutes are those of all hosts at
    /// the same time.
    pub(super) fn together<'h>(self, hosts: impl Iterator<Item = &'h Log<'h>> + Clone) -> Self {
        let merged = self;
        let bytes = sums(hosts.clone().map(|host| (host.bytes.as_slice(), host.span_s)));
        let requests = sums(hosts.clone().map(|host| (host.requests.as_slice(), host.span_s)));
        let slices = hosts.map(|host| host.slices).min().flatten();
        Self { bytes, requests, slices, span_s: 1.0, ..merged }
    }
}

/// The value of a resample in a sequence that has the observed one first, or that one alone.
pub(super) fn at<T>(of: &[T], resample: usize) -> &T {
    if of.len() > 1 { &of[resample] } else { &of[0] }
}

/// The first value of a sequence, which is the observed one.
pub(super) fn observed(of: &[Option<f64>]) -> Option<f64> {
    *of.first()?
}

/// Sums of the costs of hosts by resample, each divided by a span. Undefined where one of them is.
pub(super) fn sums_of_costs<'s>(
    resamples: usize,
    of: impl Iterator<Item = (&'s [Option<f64>], f64)> + Clone,
) -> Vec<Option<f64>> {
    let per_second = |(each, span_s): (&[Option<f64>], f64), resample| {
        at(each, resample).map(|cost| cost / span_s)
    };
    (0..resamples).map(|resample| of.clone().map(|host| per_second(host, resample)).sum()).collect()
}

/// Sums of sequences by resample, each divided by a span.
fn sums<'s>(of: impl Iterator<Item = (&'s [f64], f64)> + Clone) -> Vec<f64> {
    let longest = of.clone().map(|(each, _)| each.len()).max().unwrap_or(0);
    (0..longest)
        .map(|resample| of.clone().map(|(each, span_s)| at(each, resample) / span_s).sum())
        .collect()
}
