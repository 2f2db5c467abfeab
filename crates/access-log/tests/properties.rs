//! Properties that hold for every input: no parser panics, an entry written as a server writes it
//! is read unchanged, and counts add up.

use proptest::prelude::*;

use zc_access_log::{
    Bytes, Entry, Format, KNOWN, MixBuilder, Protocol, Reading, Unusable, find_request, read_log,
};

/// An entry that a server could have logged.
#[derive(Debug, Clone)]
struct Logged {
    unix_ms: i64,
    method: &'static str,
    target: String,
    agent: String,
    protocol: Protocol,
    status: u16,
    bytes: u64,
    headers: u64,
    duration_ms: u64,
}

impl Logged {
    fn any() -> impl Strategy<Value = Self> {
        (
            // The year 1971 to 2100, so that a number of ms is told from one of s.
            31_536_000_000..4_102_444_800_000_i64,
            prop::sample::select(&["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"][..]),
            "/[a-z0-9/._%?=&~-]{0,40}",
            "[ -!#-\\[\\]-~]{0,40}",
            prop::sample::select(&Protocol::ALL[..]),
            100..1000_u16,
            0..=i64::MAX as u64 - 10_000,
            0..10_000_u64,
            0..10_000_000_u64,
        )
            .prop_map(
                |(
                    unix_ms,
                    method,
                    target,
                    agent,
                    protocol,
                    status,
                    bytes,
                    headers,
                    duration_ms,
                )| {
                    // Without quotes, backslashes and what else servers escape.
                    Self {
                        unix_ms,
                        method,
                        target,
                        agent,
                        protocol,
                        status,
                        bytes,
                        headers,
                        duration_ms,
                    }
                },
            )
    }

    fn clf(&self) -> String {
        self.at("%d/%b/%Y:%H:%M:%S +0000")
    }

    fn at(&self, format: &str) -> String {
        jiff::Timestamp::from_millisecond(self.unix_ms).unwrap().strftime(format).to_string()
    }

    fn request(&self) -> String {
        format!("{} {} {}", self.method, self.target, self.protocol.name())
    }

    /// A line of a format.
    fn line(&self, format: &str) -> String {
        let Self { method, target, agent, status, bytes, headers, duration_ms, .. } = self;
        let (clf, request, protocol) = (self.clf(), self.request(), self.protocol.name());
        let common = format!("192.0.2.1 - - [{clf}] \"{request}\" {status} {bytes}");
        let combined = format!("{common} \"-\" \"{agent}\"");
        let s = format!("{}.{:03}", duration_ms / 1000, duration_ms % 1000);
        let iso = self.at("%Y-%m-%dT%H:%M:%S.%3fZ");
        let day = self.at("%Y-%m-%d");
        let clock = self.at("%H:%M:%S");
        let wire = bytes + headers;
        match format {
            "common" => common,
            "combined" => combined,
            "vhost_combined" => format!("www.example.com:80 {combined}"),
            "nginx-main" => format!("{combined} \"-\""),
            "ingress-nginx" => {
                format!("{combined} 75 {s} [shop-web-80] [] 192.0.2.2:8080 {bytes} {s} {status} id")
            }
            "nginx-json" => format!(
                "{{\"time_iso8601\":\"{iso}\",\"agent\":\"{agent}\",\
                 \"request_method\":\"{method}\",\"server_protocol\":\"{protocol}\",\
                 \"status\":\"{status}\",\"body_bytes_sent\":{bytes},\"bytes_sent\":{wire},\
                 \"request_time\":{s}}}"
            ),
            "caddy" => format!(
                "{{\"ts\":{}.{:03},\"request\":{{\"method\":\"{method}\",\"uri\":\"{target}\",\
                 \"proto\":\"{protocol}\"}},\"size\":{bytes},\"status\":{status},\
                 \"duration\":{s}}}",
                self.unix_ms / 1000,
                self.unix_ms % 1000
            ),
            "haproxy" => format!(
                "192.0.2.1:3 [{}] www nginx/n1 0/0/0/0/{duration_ms} {status} {wire} - - ---- \
                 1/1/0/0/0 0/0 \"{request}\"",
                self.at("%d/%b/%Y:%H:%M:%S.%3f")
            ),
            "envoy" => format!(
                "[{iso}] \"{request}\" {status} - 0 {bytes} {duration_ms} - \"-\" \"{agent}\" \
                 \"-\" \"-\" \"-\""
            ),
            "istio" => format!(
                "[{iso}] \"{request}\" {status} - via_upstream - \"-\" 0 {bytes} {duration_ms} 1 \
                 \"-\" \"{agent}\" \"id\" \"web:80\" \"192.0.2.2:80\" inbound|80|| 192.0.2.2:1 \
                 192.0.2.2:2 192.0.2.1:3 - default"
            ),
            "envoy-json" => format!(
                "{{\"start_time\":\"{iso}\",\"method\":\"{method}\",\"protocol\":\"{protocol}\",\
                 \"response_code\":{status},\"bytes_sent\":{bytes},\"duration\":{duration_ms}}}"
            ),
            "traefik" => format!("{combined} 7 \"web\" \"http://192.0.2.2\" {duration_ms}ms"),
            "traefik-json" => format!(
                "{{\"StartUTC\":\"{iso}\",\"RequestMethod\":\"{method}\",\
                 \"RequestProtocol\":\"{protocol}\",\"DownstreamStatus\":{status},\
                 \"DownstreamContentSize\":{bytes},\"Duration\":{duration_ms}000000}}"
            ),
            "squid" => format!(
                "{}.{:03} {duration_ms:>6} 192.0.2.1 TCP_MISS/{status} {wire} {method} \
                 http://www.example.com{target} - HIER_DIRECT/192.0.2.2 text/html",
                self.unix_ms / 1000,
                self.unix_ms % 1000
            ),
            "s3" => format!(
                "owner bucket [{clf}] 192.0.2.1 - ID REST.{method}.OBJECT key \"{request}\" \
                 {status} - {bytes} - {duration_ms} - \"-\" \"{agent}\" -"
            ),
            "elb" => format!(
                "http {iso} app/web/1 192.0.2.1:2817 192.0.2.2:80 0.000 {s} 0.000 {status} \
                 {status} 34 {bytes} \"{method} http://www.example.com:80{target} {protocol}\" \
                 \"{agent}\" - - arn \"id\""
            ),
            "google-cloud" => format!(
                "{{\"httpRequest\":{{\"requestMethod\":\"{method}\",\"status\":{status},\
                 \"responseSize\":\"{wire}\",\"latency\":\"{s}s\",\"protocol\":\"{protocol}\"}},\
                 \"timestamp\":\"{iso}\"}}"
            ),
            "cloudfront" => format!(
                "#Fields: date time x-edge-location sc-bytes cs-method sc-status time-taken \
                 cs-protocol-version\n\
                 {day}\t{clock}\tLAX1\t{wire}\t{method}\t{status}\t{s}\t{protocol}"
            ),
            "iis" => format!(
                "#Fields: date time cs-method cs-version sc-status sc-bytes time-taken\n\
                 {day} {clock} {method} {protocol} {status} {wire} {duration_ms}"
            ),
            "w3c" => format!(
                "#Fields: date time cs-method cs-version sc-status sc-bytes time-taken\n\
                 {day} {clock} {method} {protocol} {status} {wire} {s}"
            ),
            "json" => format!(
                "{{\"time\":\"{iso}\",\"method\":\"{method}\",\"protocol\":\"{protocol}\",\
                 \"status\":{status},\"bytes\":{bytes}}}"
            ),
            other => panic!("no line of {other} is known"),
        }
    }

    /// The bytes that a format has of it.
    fn bytes(&self, format: &str) -> Bytes {
        let (body, wire) = (self.bytes, self.bytes + self.headers);
        match format {
            "common" | "combined" | "vhost_combined" | "elb" | "json" => {
                Bytes { unsaid: Some(body), ..Bytes::default() }
            }
            "nginx-json" => Bytes { body: Some(body), wire: Some(wire), unsaid: None },
            "haproxy" | "squid" | "google-cloud" | "cloudfront" | "iis" | "w3c" => {
                Bytes { wire: Some(wire), ..Bytes::default() }
            }
            _ => Bytes { body: Some(body), ..Bytes::default() },
        }
    }
}

/// The entry of a line, or of the last of several.
fn entry(format: &mut Format, lines: &str) -> Option<Entry> {
    lines.lines().fold(None, |_, line| match format.read(line.as_bytes()) {
        Reading::Entry(entry) => Some(entry),
        Reading::Aside | Reading::Unreadable => None,
    })
}

proptest! {
    #[test]
    fn what_a_server_writes_is_read_as_it_was(logged in Logged::any()) {
        for known in KNOWN {
            let line = logged.line(known.name);
            let Some(entry) = entry(&mut known.format(), &line) else {
                return Err(TestCaseError::fail(format!("{}: {line}", known.name)));
            };
            prop_assert_eq!(entry.method.name(), logged.method, "{}", line);
            prop_assert_eq!(entry.status, Some(logged.status), "{}", line);
            prop_assert_eq!(entry.bytes, logged.bytes(known.name), "{}", line);
            let has_protocol = known.name != "squid";
            prop_assert_eq!(entry.protocol, has_protocol.then_some(logged.protocol), "{}", line);
            // Fractions of JSON are floats, which have 15 digits.
            prop_assert!((entry.time.unix_ms - logged.unix_ms).abs() < 1000, "{}", line);
            if let Some(duration_us) = entry.duration_us {
                prop_assert!(duration_us.abs_diff(1000 * logged.duration_ms) <= 1, "{}", line);
            }
        }
    }

    #[test]
    fn a_line_that_is_changed_anywhere_is_read_or_not(
        logged in Logged::any(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        cut in any::<prop::sample::Index>(),
    ) {
        for known in KNOWN {
            let mut line = logged.line(known.name).into_bytes();
            for (place, byte) in &edits {
                let place = place.index(line.len());
                line[place] = *byte;
            }
            let cut = &line[..cut.index(line.len())];
            for bytes in [&line[..], cut] {
                let mut format = known.format();
                for line in bytes.split(|byte| *byte == b'\n') {
                    if let Reading::Entry(entry) = format.read(line) {
                        prop_assert!(entry.bytes.size().is_some());
                        let is_status = |status| (100..1000).contains(&status);
                        prop_assert!(entry.status.is_none_or(is_status));
                    }
                }
            }
        }
    }

    #[test]
    fn whatever_the_bytes_no_parser_panics(line: Vec<u8>) {
        for known in KNOWN {
            let mut format = known.format();
            for line in line.split(|byte| *byte == b'\n') {
                let _ = format.read(line);
            }
        }
        let _ = find_request(&line);
    }

    #[test]
    fn whatever_a_description_is_it_reads_or_is_refused(
        text in "([$%]([a-zA-Z_{}>^]{0,4}|time_local|request|status|bytes_sent|t|r|>s|b)\
                 |[ \"\\[\\]]|\\PC){0,12}",
        line in "\\PC{0,80}",
    ) {
        if let Some(Ok(mut format)) = Format::described(&text) {
            let _ = format.read(line.as_bytes());
        }
    }

    #[test]
    fn counts_add_up(log in prop::collection::vec(prop_oneof![
        4 => Logged::any().prop_map(|logged| logged.line("combined").into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ], 0..40), named: bool) {
        let log = log.join(&b'\n');
        let mut builder = MixBuilder::default();
        let format = if named { Format::named("combined") } else { None };
        match read_log(&log[..], format, &mut builder) {
            Ok(summary) => {
                let mix = builder.finish().unwrap();
                prop_assert_eq!(mix.all.requests, summary.requests);
                let of_classes: u64 = zc_access_log::Class::ALL
                    .iter()
                    .map(|class| mix.sizes.get(*class).total().requests)
                    .sum();
                prop_assert_eq!(of_classes, mix.all.requests);
                let sum = |tallies: &mut dyn Iterator<Item = u64>| tallies.sum::<u64>();
                prop_assert_eq!(sum(&mut mix.hours.iter().map(|t| t.requests)), mix.all.requests);
                let all = mix.all.requests;
                prop_assert_eq!(sum(&mut mix.methods.values().map(|t| t.requests)), all);
                prop_assert_eq!(sum(&mut mix.slices.iter().map(|s| s.all.requests)), all);
                let counted = [mix.counted.body, mix.counted.wire, mix.counted.unsaid];
                prop_assert_eq!(sum(&mut counted.iter().map(|tally| tally.requests)), all);
                let cut = u64::from(summary.is_cut);
                prop_assert!(summary.requests + summary.unreadable + cut <= summary.lines);
            }
            Err(Unusable::Io(error)) => return Err(TestCaseError::fail(error.to_string())),
            Err(_) => prop_assert!(builder.finish().is_none()),
        }
    }
}
