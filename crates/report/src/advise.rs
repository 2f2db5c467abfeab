//! `zc advise` as text and as JSON: what access logs have.

use schemars::JsonSchema;
use serde::Serialize;

use super::digits::{bytes, percent, significant, size};
use super::grid::{Column, Grid};
use super::layout::Layout;
use super::note::{self, Note, note};
use super::text::wrap;
use zc_access_log::{Classes, Minute, RequestMix, SizeBin, Sizes, Tally};
use zc_run::escape;

/// Output of `zc advise --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Output of zc advise --json")]
pub struct Advice {
    /// The logs that were read.
    pub logs: Vec<AdvisedLog>,
    /// What all of them have.
    pub mix: RequestMix,
}

/// A log that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AdvisedLog {
    /// Its name.
    pub log: String,
    /// Its format.
    pub format: &'static str,
    /// How it is compressed: `gzip`, `zstd`, or not: null.
    pub compression: Option<&'static str>,
    /// Its lines, without empty ones.
    pub lines: u64,
    /// Those with a request.
    pub requests: u64,
    /// Those that could not be read.
    pub unreadable: u64,
    /// Whether its end is missing.
    pub is_cut: bool,
}

/// As one JSON document, indented, with a line feed at its end.
pub fn json(advice: &Advice) -> String {
    super::json::text(advice)
}

/// The JSON Schema (draft 2020-12) of [`json`].
pub fn json_schema() -> String {
    super::json::schema_of::<Advice>()
}

/// For a terminal: the logs, their rates, the kinds of responses, and those of whole representations
/// by size.
pub fn text(advice: &Advice, layout: Layout) -> String {
    let mix = &advice.mix;
    let mut out = note::terminal(&heading(advice), layout);
    out.push('\n');
    out.push_str(&kinds(mix).terminal(layout));
    let whole = &mix.sizes.whole;
    if whole.total().requests > 0 {
        out.push('\n');
        out.push_str(&by_size(whole).terminal(layout));
    }
    out.push('\n');
    out.push_str(&wrap("", &conclusion(whole), 0, layout.columns));
    out
}

fn heading(advice: &Advice) -> Vec<Note> {
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
    notes.extend(hours(mix).map(|hours| note("hours", hours)));
    notes.extend(concurrency(mix).map(|concurrency| note("concurrency", concurrency)));
    notes.extend(doubts(mix).into_iter().map(|doubt| note("doubt", doubt)));
    notes
}

fn log(log: &AdvisedLog) -> String {
    let AdvisedLog { log, format, compression, requests, unreadable, is_cut, .. } = log;
    let mut text = format!("{}: {format}", escape(log, 200));
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

/// `2015-05-17T10:05:03Z`.
fn moment(unix_s: i64) -> String {
    jiff::Timestamp::from_second(unix_s).map_or_else(|_| unix_s.to_string(), |at| at.to_string())
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
        "{}: {}; at most {} in a minute, {}: {}",
        mix.all.bytes,
        bits(mix.all.bytes as f64 / mix.span_s() as f64),
        bytes(all.bytes as f64),
        moment(begin_unix_s),
        bits(all.bytes as f64 / 60.0)
    )
}

/// `12.3/s`.
fn per_second(per_s: f64) -> String {
    if per_s > 0.0 && per_s < 0.001 {
        "< 0.001/s".to_owned()
    } else {
        format!("{}/s", significant(per_s))
    }
}

/// Bytes per second as bits: `9.8 Gbit/s`.
fn bits(bytes_per_s: f64) -> String {
    let bits_per_s = 8.0 * bytes_per_s;
    match bits_per_s {
        ..999.5 => format!("{bits_per_s:.0} bit/s"),
        ..999.5e3 => format!("{} kbit/s", significant(bits_per_s / 1e3)),
        ..999.5e6 => format!("{} Mbit/s", significant(bits_per_s / 1e6)),
        _ => format!("{} Gbit/s", significant(bits_per_s / 1e9)),
    }
}

/// What the bytes are of.
fn counted(mix: &RequestMix) -> String {
    let counted = &mix.counted;
    let mut parts = Vec::new();
    let of = |tally: Tally, what: &str| match tally.requests {
        requests if requests == mix.all.requests => what.to_owned(),
        requests => format!("{what} ({} of the requests)", share(requests, mix.all.requests)),
    };
    if counted.body.requests > 0 {
        parts.push(of(counted.body, "bodies without headers"));
    }
    if counted.wire.requests > 0 {
        parts.push(of(counted.wire, "responses with their headers"));
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
        parts.push(of(counted.unsaid, what));
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

/// The five with most requests, with their shares.
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

fn share(part: u64, of: u64) -> String {
    match part as f64 / of as f64 {
        little if little > 0.0 && little < 0.0005 => "< 0.1 %".to_owned(),
        much if much >= 0.995 && part < of => "> 99 %".to_owned(),
        share if share.is_finite() => percent(share),
        _ => "-".to_owned(),
    }
}

/// The busiest hour and the quietest one, where a log has a day.
fn hours(mix: &RequestMix) -> Option<String> {
    if mix.span_s() < 86_400 {
        return None;
    }
    let of = |hour: usize| mix.hours.get(hour).map_or(0, |tally| tally.requests);
    let busiest = (0..24).max_by_key(|hour| (of(*hour), 24 - hour))?;
    let quietest = (0..24).min_by_key(|hour| (of(*hour), *hour))?;
    Some(format!(
        "by the server's clock {busiest:02}:00 has {} of the requests, {quietest:02}:00 {}",
        share(of(busiest), mix.all.requests),
        share(of(quietest), mix.all.requests)
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

/// What may be wrong with the figures.
fn doubts(mix: &RequestMix) -> Vec<String> {
    let mut doubts = Vec::new();
    if mix.without_zone > 0 {
        doubts.push(format!(
            "the times of {} of the requests have no zone and are read as UTC",
            share(mix.without_zone, mix.all.requests)
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

fn kinds(mix: &RequestMix) -> Grid {
    let Classes { whole, range, not_modified, head, other } = &mix.classes;
    let rows = [
        ("whole (GET, 200)", whole),
        ("range (206)", range),
        ("not modified (304)", not_modified),
        ("HEAD", head),
        ("other", other),
    ];
    let rows = rows.into_iter().filter(|(_, tally)| tally.requests > 0).map(|(name, tally)| {
        vec![
            name.to_owned(),
            tally.requests.to_string(),
            share(tally.requests, mix.all.requests),
            bytes(tally.bytes as f64),
            share(tally.bytes, mix.all.bytes),
        ]
    });
    let columns = vec![
        Column::left("responses", ""),
        Column::right("requests", ""),
        Column::right("share", ""),
        Column::right("bytes", ""),
        Column::right("share", ""),
    ];
    Grid::new(columns, rows.collect())
}

/// A size class of the table: sizes from four to the power of `n`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SizeClass {
    from_bytes: u64,
    tally: Tally,
}

/// The least size that has a class for more than itself.
const SMALL: u64 = 256;

/// Sizes in classes of a factor of four, from the smallest to the largest that there is.
fn size_classes(sizes: &Sizes) -> Vec<SizeClass> {
    let mut classes: Vec<SizeClass> = Vec::new();
    for bin in sizes.bins() {
        let from_bytes = class_of(bin.from_bytes);
        // Empty ones between are rows too.
        while let Some(last) = classes.last().filter(|last| last.from_bytes < from_bytes) {
            classes.push(SizeClass { from_bytes: next(last.from_bytes), tally: Tally::default() });
        }
        if classes.is_empty() {
            classes.push(SizeClass { from_bytes, tally: Tally::default() });
        }
        if let Some(class) = classes.last_mut() {
            class.tally.requests += bin.requests;
            class.tally.bytes = class.tally.bytes.saturating_add(bin.bytes);
        }
    }
    classes
}

/// The least size of the class that a size is in.
fn class_of(bytes: u64) -> u64 {
    match bytes {
        0 => 0,
        1..SMALL => 1,
        _ => 1 << (bytes.ilog2() / 2 * 2),
    }
}

/// The least size of the class above.
fn next(from_bytes: u64) -> u64 {
    match from_bytes {
        0 => 1,
        1 => SMALL,
        _ => from_bytes.saturating_mul(4),
    }
}

fn by_size(sizes: &Sizes) -> Grid {
    let all = sizes.total();
    let classes = size_classes(sizes);
    let mut above = all;
    let mut rows = Vec::new();
    for SizeClass { from_bytes, tally } in classes {
        rows.push(vec![
            match from_bytes {
                0 => "0".to_owned(),
                from if next(from) == u64::MAX => format!("{} or more", size(from as usize)),
                from => format!("{} to {}", size(from as usize), size(next(from) as usize)),
            },
            tally.requests.to_string(),
            share(tally.requests, all.requests),
            share(above.requests, all.requests),
            bytes(tally.bytes as f64),
            share(tally.bytes, all.bytes),
            share(above.bytes, all.bytes),
        ]);
        above.requests -= tally.requests;
        above.bytes = above.bytes.saturating_sub(tally.bytes);
    }
    let columns = vec![
        Column::left("size of", "whole ones"),
        Column::right("requests", ""),
        Column::right("share", ""),
        Column::right("this or", "larger"),
        Column::right("bytes", ""),
        Column::right("share", ""),
        Column::right("this or", "larger"),
    ];
    Grid::new(columns, rows)
}

/// Where half of the bytes are.
fn conclusion(whole: &Sizes) -> String {
    let all = whole.total();
    let bins: Vec<SizeBin> = whole.bins().collect();
    let mut above = Tally::default();
    for bin in bins.iter().rev().filter(|_| all.bytes > 0) {
        above.requests += bin.requests;
        above.bytes = above.bytes.saturating_add(bin.bytes);
        if above.bytes >= all.bytes - all.bytes / 2 {
            return format!(
                "Half of the bytes of whole responses ({}) are in those of at least {}, which are \
                 {} of them.",
                share(above.bytes, all.bytes),
                bytes(bin.from_bytes as f64),
                share(above.requests, all.requests)
            );
        }
    }
    "No byte was sent in a whole response.".to_owned()
}

#[cfg(test)]
mod tests {
    use zc_access_log::{Format, MixBuilder, read_log};

    use super::*;

    fn advice(log: &str, format: Option<&str>) -> Advice {
        let mut mix = MixBuilder::default();
        let format = format.and_then(Format::named);
        let summary = read_log(log.as_bytes(), format, &mut mix).unwrap();
        let log = AdvisedLog {
            log: "a\u{1b}.log".to_owned(),
            format: summary.format,
            compression: Some("gzip"),
            lines: summary.lines,
            requests: summary.requests,
            unreadable: summary.unreadable,
            is_cut: false,
        };
        Advice { logs: vec![log], mix: mix.finish().unwrap() }
    }

    /// A line of the common log format, `second` s after noon.
    fn line(second: u64, request: &str, status: u16, bytes: &str) -> String {
        let (minutes, seconds) = (second / 60, second % 60);
        let at = format!("17/May/2015:12:{minutes:02}:{seconds:02} +0200");
        format!("192.0.2.1 - - [{at}] \"{request} /a HTTP/1.1\" {status} {bytes}\n")
    }

    #[test]
    fn what_a_log_has_is_told() {
        let log = [
            line(0, "GET", 200, "0"),
            line(1, "GET", 200, "100"),
            line(2, "GET", 200, "70000"),
            line(3, "GET", 200, "1000000"),
            line(100, "GET", 206, "1000"),
            line(101, "GET", 304, "-"),
            line(102, "HEAD", 200, "-"),
            line(103, "POST", 404, "153"),
            "nonsense\n".to_owned(),
        ];
        let expected = "\
log           a\\u{1b}.log: common, gzip, 8 requests, 1 line that cannot be read
time          2015-05-17T10:00:00Z to 2015-05-17T10:01:43Z: 1 min 44 s
requests      8: 0.0769/s; at most 4 in a minute, 2015-05-17T10:00:00Z: 0.0667/s
bytes         1071253: 82.4 kbit/s; at most 1.07 MB in a minute, 2015-05-17T10:00:00Z: 143 kbit/s
counted       bodies without headers, as responses without a body (304, HEAD) have none
statuses      200 62 %, 206 12 %, 304 12 %, 404 12 %
methods       GET 75 %, HEAD 12 %, POST 12 %
protocols     HTTP/1.1 100 %

responses           requests  share    bytes    share
─────────────────────────────────────────────────────
whole (GET, 200)           4   50 %  1.07 MB   > 99 %
range (206)                1   12 %     1 kB    0.1 %
not modified (304)         1   12 %      0 B    0.0 %
HEAD                       1   12 %      0 B    0.0 %
other                      1   12 %    153 B  < 0.1 %

size of      requests  share  this or  bytes    share  this or
whole ones                     larger                   larger
──────────────────────────────────────────────────────────────
0                   1   25 %    100 %    0 B    0.0 %    100 %
1 to 256            1   25 %     75 %  100 B  < 0.1 %    100 %
256 to 1k           0  0.0 %     50 %    0 B    0.0 %   > 99 %
1k to 4k            0  0.0 %     50 %    0 B    0.0 %   > 99 %
4k to 16k           0  0.0 %     50 %    0 B    0.0 %   > 99 %
16k to 64k          0  0.0 %     50 %    0 B    0.0 %   > 99 %
64k to 256k         1   25 %     50 %  70 kB    6.5 %   > 99 %
256k to 1m          1   25 %     25 %   1 MB     93 %     93 %

Half of the bytes of whole responses (93 %) are in those of at least 983 kB, which are 25 % of them.
";
        assert_eq!(text(&advice(&log.concat(), None), Layout::plain(100)), expected);
    }

    #[test]
    fn a_log_without_a_whole_response_is_no_error() {
        let told = text(&advice(&line(0, "POST", 500, "0"), None), Layout::plain(100));
        assert!(told.contains("requests      1: 1.00/s; at most 1 in a minute"), "{told}");
        assert!(
            told.contains("bodies or whole responses: the format does not say which"),
            "{told}"
        );
        assert!(told.ends_with("\nNo byte was sent in a whole response.\n"), "{told}");
    }

    #[test]
    fn sizes_up_to_the_largest_have_a_class() {
        let log = line(0, "GET", 200, "9223372036854775807").repeat(3);
        let advice = advice(&log, None);
        assert!(advice.mix.is_saturated());
        let told = text(&advice, Layout::plain(100));
        assert!(told.contains("there are more than 2^64 bytes, so sums are too small"), "{told}");
        assert!(told.contains("4294967296g or more  "), "{told}");
    }

    #[test]
    fn a_request_takes_time_where_the_log_says_it() {
        let log = "#Fields: date time cs-method sc-status sc-bytes time-taken\n\
                   2014-01-01 02:00:30 GET 200 100 30000\n\
                   2014-01-01 02:01:29 GET 200 100 59000\n";
        let told = text(&advice(log, Some("iis")), Layout::plain(100));
        let expected =
            "1.48 requests at a time on average; 1.00 in the busiest minute, 2014-01-01T02:00:00Z";
        assert!(told.contains(expected), "{told}");
        assert!(told.contains("counted       responses with their headers\n"), "{told}");
    }

    #[test]
    fn the_document_is_as_its_schema_names_it() {
        let advice = advice(&line(0, "GET", 200, "5"), None);
        let document: serde_json::Value = serde_json::from_str(&json(&advice)).unwrap();
        let schema: serde_json::Value = serde_json::from_str(&json_schema()).unwrap();
        assert_eq!(document["mix"]["sizes"]["whole"][0]["bytes"], 5);
        assert_eq!(document["mix"]["slices"][0]["all"]["requests"], 1);
        for (of, described) in [
            (&document, &schema["properties"]),
            (&document["mix"], &schema["$defs"]["RequestMix"]["properties"]),
        ] {
            for name in of.as_object().unwrap().keys() {
                assert!(described.get(name).is_some(), "{name}");
            }
        }
    }
}
