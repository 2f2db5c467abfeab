//! The counts of a log as the estimator takes them.

use std::collections::BTreeMap;

use zc_access_log::{Minute, RequestMix};
use zc_analysis::advise::{BusyMinute, LoggedResponses, OverTls, TlsBytes};

/// All responses of a mix, of whatever kind, by size and slice of time; `over_tls` is the share
/// that is stated of them.
pub(super) fn logged_responses(mix: &RequestMix, over_tls: Option<f64>) -> LoggedResponses {
    let together = mix.sizes.together();
    let places: BTreeMap<u64, usize> =
        together.bins().enumerate().map(|(place, bin)| (bin.from_bytes, place)).collect();
    let in_bins = |slice: &zc_access_log::Slice| {
        let sizes = slice.sizes.together();
        sizes
            .bins()
            .filter_map(|bin| Some((*places.get(&bin.from_bytes)?, bin.requests as f64)))
            .collect()
    };
    let slice_s = mix.slice_s.max(1) as i64;
    let slice_at = |unix_s: i64| unix_s.div_euclid(slice_s);
    let minutes = &mix.minutes;
    let mut busy_minutes = vec![busy(mix, &minutes.most_requests, slice_s)];
    if minutes.most_bytes != minutes.most_requests {
        busy_minutes.push(busy(mix, &minutes.most_bytes, slice_s));
    }
    LoggedResponses {
        span_s: mix.span_s() as f64,
        size_bytes: together.bins().map(|bin| bin.bytes as f64 / bin.requests as f64).collect(),
        slices: mix.slices.iter().map(in_bins).collect(),
        slices_of_span: slice_at(mix.last_unix_s).abs_diff(slice_at(mix.first_unix_s)) + 1,
        busy_minutes,
        over_tls: match over_tls {
            Some(share) => OverTls::Stated(share),
            None if mix.tls.told() > 0 => OverTls::Logged(mix.slices.iter().map(tls).collect()),
            None => OverTls::Unknown,
        },
    }
}

fn tls(slice: &zc_access_log::Slice) -> TlsBytes {
    let with = slice.tls.with.bytes as f64;
    TlsBytes { with, told: with + slice.tls.without.bytes as f64 }
}

/// A minute with the slices that it is in.
fn busy(mix: &RequestMix, minute: &Minute, slice_s: i64) -> BusyMinute {
    let Minute { begin_unix_s, all, .. } = *minute;
    let end_unix_s = begin_unix_s.saturating_add(60);
    let overlaps = |begin: i64| begin < end_unix_s && begin.saturating_add(slice_s) > begin_unix_s;
    let slices = mix.slices.iter().enumerate();
    BusyMinute {
        begin_unix_s,
        requests: all.requests as f64,
        bytes: all.bytes as f64,
        slices: slices
            .filter(|(_, slice)| overlaps(slice.begin_unix_s))
            .map(|(place, _)| place)
            .collect(),
    }
}
