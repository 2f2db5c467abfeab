//! `zc advise` as text and as JSON: what access logs have.

pub(crate) mod costs;
mod document;
mod heading;
pub(crate) mod rates;
mod share;
mod tables;

pub use crate::advise::costs::{Assumption, CostRun, Costs, Requests, TlsRun, machine_differences};
use crate::terminal::layout::Layout;
use crate::terminal::note;
use crate::text::wrap;
pub use document::{Advice, AdvisedLog};
pub(crate) use heading::heading;
pub(crate) use tables::{by_size, conclusion, kinds, size_classes, size_range};

/// Returns one JSON document, indented, with a line feed at its end.
pub fn json(advice: &Advice) -> String {
    crate::json::text(advice)
}

/// The JSON Schema (draft 2020-12) of [`json`].
pub fn json_schema() -> String {
    crate::json::schema_of::<Advice>()
}

/// Renders for a terminal: the logs, their rates, the kinds of responses, those of whole
/// representations by size, and the costs of requests by each path.
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
    if let Some(costs) = &advice.costs {
        out.push('\n');
        out.push_str(&costs.terminal(layout));
        out.push('\n');
        out.push_str(&costs.conclusion(layout));
    }
    out
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
            host: None,
            format: summary.format,
            compression: Some("gzip"),
            lines: summary.lines,
            requests: summary.requests,
            unreadable: summary.unreadable,
            is_cut: false,
            duration_unit: None,
            has_doubtful_durations: false,
        };
        Advice { logs: vec![log], mix: mix.finish().unwrap(), host_mixes: Vec::new(), costs: None }
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
bytes         1.07 MB (1071253): 82.4 kbit/s; at most 1.07 MB in a minute, 2015-05-17T10:00:00Z:
              143 kbit/s
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
