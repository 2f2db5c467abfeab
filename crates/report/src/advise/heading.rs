//! The lines above the tables: the logs, and what all of their requests have.

use super::document::{Advice, AdvisedLog};
use super::rates::{bits, moment, per_second};
use super::share::share;
use crate::digits::{bytes, significant};
use crate::terminal::note::{Note, note};
use zc_access_log::{Minute, RequestMix, Tally};
use zc_run::escape;

pub(crate) fn heading(advice: &Advice) -> Vec<Note> {
    let mix = &advice.mix;
    let mut notes: Vec<_> = advice.logs.iter().map(|log| note("log", self::log(log))).collect();
    notes.push(note("time", time(mix)));
    notes.push(note("requests", requests(mix)));
    notes.push(note("bytes", sent(mix)));
    notes.push(note("counted", counted(mix)));
    let statuses = mix.statuses.iter().map(|(status, tally)| (status.to_string(), *tally));
    notes.push(note("statuses", shares(statuses, mix.all.requests)));
    notes.push(note("methods", shares(named(&mix.methods), mix.all.requests)));
    if !mix.protocols.is_empty() {
        notes.push(note("protocols", shares(named(&mix.protocols), mix.all.requests)));
    }
    notes.extend(tls(mix).map(|tls| note("TLS", tls)));
    notes.extend(hours(mix).map(|hours| note("hours", hours)));
    notes.extend(concurrency(mix).map(|concurrency| note("concurrency", concurrency)));
    notes.extend(doubts(mix).into_iter().map(|doubt| note("doubt", doubt)));
    notes
}

fn log(log: &AdvisedLog) -> String {
    let AdvisedLog {
        log,
        host,
        format,
        compression,
        lines: _,
        requests,
        unreadable,
        is_cut,
        duration_unit,
        has_doubtful_durations,
    } = log;
    let mut text = format!("{}: {format}", escape(log, 200));
    if let Some(host) = host {
        text = format!("of {}, {text}", escape(host, 64));
    }
    if let Some(compression) = compression {
        text += &format!(", {compression}");
    }
    text += &format!(", {requests} requests");
    if *unreadable > 0 {
        let plural = if *unreadable == 1 { "" } else { "s" };
        text += &format!(", {unreadable} line{plural} that cannot be read");
    }
    if *is_cut {
        text += ", its end is missing";
    }
    if let Some(unit) = duration_unit {
        text += &format!(", durations in {unit}");
    }
    if *has_doubtful_durations {
        text += ", durations left out";
    }
    text
}

fn time(mix: &RequestMix) -> String {
    let span_s = mix.span_s();
    let long = match span_s {
        0..60 => format!("{span_s} s"),
        60..3600 => format!("{} min {} s", span_s / 60, span_s % 60),
        3600..86_400 => format!("{} h {} min", span_s / 3600, span_s % 3600 / 60),
        _ => format!("{} d {} h", span_s / 86_400, span_s % 86_400 / 3600),
    };
    let mut text = format!("{} to {}: {long}", moment(mix.first_unix_s), moment(mix.last_unix_s));
    // Rates are over all of it, so gaps count.
    let minutes = (mix.last_unix_s.div_euclid(60) - mix.first_unix_s.div_euclid(60)) as u64 + 1;
    if mix.minutes.count < minutes {
        text += &format!(", requests in {} of {minutes} minutes", mix.minutes.count);
    }
    text
}

fn requests(mix: &RequestMix) -> String {
    let Minute { begin_unix_s, all, .. } = mix.minutes.most_requests;
    format!(
        "{}: {}; at most {} in a minute, {}: {}",
        mix.all.requests,
        per_second(mix.all.requests as f64 / mix.span_s() as f64),
        all.requests,
        moment(begin_unix_s),
        per_second(all.requests as f64 / 60.0)
    )
}

fn sent(mix: &RequestMix) -> String {
    let Minute { begin_unix_s, all, .. } = mix.minutes.most_bytes;
    format!(
        "{} ({}): {}; at most {} in a minute, {}: {}",
        bytes(mix.all.bytes as f64),
        mix.all.bytes,
        bits(mix.all.bytes as f64 / mix.span_s() as f64),
        bytes(all.bytes as f64),
        moment(begin_unix_s),
        bits(all.bytes as f64 / 60.0)
    )
}

/// Describes which bytes are counted: bodies without headers, or responses with them.
fn counted(mix: &RequestMix) -> String {
    let counted = &mix.counted;
    let mut parts = Vec::new();
    let described = |tally: Tally, what: &str| match tally.requests {
        requests if requests == mix.all.requests => what.to_owned(),
        requests => format!("{what} ({} of the requests)", share(requests, mix.all.requests)),
    };
    if counted.body.requests > 0 {
        parts.push(described(counted.body, "bodies without headers"));
    }
    if counted.wire.requests > 0 {
        parts.push(described(counted.wire, "responses with their headers"));
    }
    if counted.unsaid.requests > 0 {
        let what = match mix.unsaid_are_bodies() {
            Some(true) => {
                "bodies without headers, as responses without a body (304, HEAD) have none"
            }
            Some(false) => {
                "responses with their headers, as those without a body (304, HEAD) have some"
            }
            None => "bodies or whole responses: the format does not say which",
        };
        parts.push(described(counted.unsaid, what));
    }
    if counted.headers.requests > 0 {
        let each = counted.headers.bytes as f64 / counted.headers.requests as f64;
        parts.push(format!("headers have {} on average", bytes(each)));
    }
    parts.join("; ")
}

fn named<'m>(
    tallies: &'m std::collections::BTreeMap<&'static str, Tally>,
) -> impl Iterator<Item = (String, Tally)> + 'm {
    tallies.iter().map(|(name, tally)| ((*name).to_owned(), *tally))
}

/// The five entries with most requests, with their shares.
fn shares(tallies: impl Iterator<Item = (String, Tally)>, of: u64) -> String {
    const SHOWN: usize = 5;
    let mut tallies: Vec<_> = tallies.collect();
    tallies.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.requests));
    let (shown, others) = tallies.split_at(tallies.len().min(SHOWN));
    let mut parts: Vec<_> =
        shown.iter().map(|(name, tally)| format!("{name} {}", share(tally.requests, of))).collect();
    if !others.is_empty() {
        let requests = others.iter().map(|(_, tally)| tally.requests).sum();
        parts.push(format!("{} others {}", others.len(), share(requests, of)));
    }
    parts.join(", ")
}

/// Share of the requests that were encrypted, if the log has that for some.
fn tls(mix: &RequestMix) -> Option<String> {
    let told = mix.tls.told();
    let mut text = format!("{} of the requests", share(mix.tls.with.requests, told));
    if told < mix.all.requests {
        text += &format!(" of which the log says it ({})", share(told, mix.all.requests));
    }
    (told > 0).then_some(text)
}

/// The busiest hour and the quietest one, where a log has a day.
fn hours(mix: &RequestMix) -> Option<String> {
    if mix.span_s() < 86_400 {
        return None;
    }
    let requests_in = |hour: usize| mix.hours.get(hour).map_or(0, |tally| tally.requests);
    let busiest = (0..24).max_by_key(|hour| (requests_in(*hour), 24 - hour))?;
    let quietest = (0..24).min_by_key(|hour| (requests_in(*hour), *hour))?;
    Some(format!(
        "by the server's clock {busiest:02}:00 has {} of the requests, {quietest:02}:00 {}",
        share(requests_in(busiest), mix.all.requests),
        share(requests_in(quietest), mix.all.requests)
    ))
}

fn concurrency(mix: &RequestMix) -> Option<String> {
    let shown = |at_a_time: f64| match at_a_time {
        few if few > 0.0 && few < 0.001 => "< 0.001".to_owned(),
        others => significant(others),
    };
    let mut text = format!("{} requests at a time on average", shown(mix.concurrency()?));
    if let Some(busiest) = mix.minutes.most_busy {
        text += &format!(
            "; {} in the busiest minute, {}",
            shown(busiest.busy_us as f64 / 60e6),
            moment(busiest.begin_unix_s)
        );
    }
    Some(text)
}

/// Reasons to doubt the figures.
fn doubts(mix: &RequestMix) -> Vec<String> {
    let mut doubts = Vec::new();
    if mix.without_zone > 0 {
        doubts.push(format!(
            "the times of {} of the requests have no zone and are read as UTC",
            share(mix.without_zone, mix.all.requests)
        ));
    }
    let unmeasured = mix.classes.unmeasured.requests;
    if unmeasured * 100 >= mix.all.requests && unmeasured > 0 {
        doubts.push(format!(
            "{} of the requests have no length (-) and count as 0 bytes: a server writes that for \
             an empty body, or where it did not know the length (chunked)",
            share(unmeasured, mix.all.requests)
        ));
    }
    if let Some(durations) = mix.durations.filter(|_| mix.durations_exceed_the_log()) {
        doubts.push(format!(
            "requests took {} s on average, longer than the log is: durations may have another \
             unit",
            significant(durations.sum_us as f64 / 1e6 / durations.requests as f64)
        ));
    }
    if mix.is_saturated() {
        doubts.push("there are more than 2^64 bytes, so sums are too small".to_owned());
    }
    if mix.minutes.reopened > 0 {
        doubts.push(format!(
            "{} minutes came back after more than 65,536 others, so one of them may be busier than \
             the busiest here",
            mix.minutes.reopened
        ));
    }
    doubts
}
