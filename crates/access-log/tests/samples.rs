//! Every format is detected from a sample of it, and its counts equal independent ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use zc_access_log::{Fields, Format, KNOWN, MixBuilder, RequestMix, Tally, Unusable, read_log};

fn sample(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The mix of a log, the name of its format, and its lines that could not be read.
fn mix(log: &[u8], format: Option<Format>) -> (RequestMix, &'static str, u64) {
    let mut mix = MixBuilder::default();
    let summary = read_log(log, format, &mut mix).unwrap();
    assert!(summary.broken.is_none() && !summary.is_cut);
    (mix.finish().unwrap(), summary.format, summary.unreadable)
}

fn tally(requests: u64, bytes: u64) -> Tally {
    Tally { requests, bytes }
}

#[test]
fn every_sample_is_told_and_counted() {
    // Counted by hand, and with awk: requests and bytes of all responses.
    let expected: &[(&str, &str, u64, u64)] = &[
        ("nginx-combined.log", "combined", 20, 2_084_213),
        ("nginx-main.log", "nginx-main", 20, 2_084_213),
        ("nginx-json.log", "nginx-json", 20, 2_084_213),
        ("apache-common.log", "common", 20, 2_084_456),
        ("apache-combined.log", "combined", 20, 2_084_456),
        ("apache-combined-debian.log", "combined", 20, 2_088_528),
        ("apache-vhost_combined.log", "vhost_combined", 20, 2_088_528),
        ("caddy.log", "caddy", 19, 2_083_789),
        ("haproxy-raw.log", "haproxy", 20, 2_087_595),
        ("haproxy-rfc3164.log", "haproxy", 20, 2_087_595),
        ("squid.log", "squid", 21, 2_093_631),
        ("varnish.log", "combined", 19, 2_083_899),
        ("s3.log", "s3", 5, 765),
        ("cloudfront.log", "cloudfront", 4, 2_076),
        ("iis.log", "iis", 5, 106_322),
        ("envoy.log", "envoy", 3, 15_232),
        ("envoy-json.log", "envoy-json", 3, 15_232),
        ("istio.log", "istio", 3, 4_322),
        ("ingress-nginx.log", "ingress-nginx", 3, 203_169),
        ("elb.log", "elb", 5, 6_018),
        ("google-cloud.log", "google-cloud", 2, 1_180),
        ("traefik.log", "traefik", 3, 1_253),
        ("traefik-json.log", "traefik-json", 2, 1_253),
        ("elastic-examples.log", "combined", 500, 24_037_113),
    ];
    for (file, format, requests, bytes) in expected {
        let (mix, told, unreadable) = mix(&sample(file), None);
        assert_eq!((told, mix.all, unreadable), (*format, tally(*requests, *bytes), 0), "{file}");
    }
    let samples = std::fs::read_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata"));
    let logs = samples.unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let timed = 2; // formats that have to be described
    assert_eq!(logs.filter(|name| name.ends_with(".log")).count(), expected.len() + timed);
    let told: Vec<_> = expected.iter().map(|(_, format, ..)| *format).collect();
    let without_sample: Vec<_> =
        KNOWN.iter().map(|known| known.name).filter(|name| !told.contains(name)).collect();
    assert_eq!(without_sample, ["w3c", "json"]);
}

#[test]
fn formats_that_are_described_read_their_samples() {
    let described = |text: &str| Format::described(text).unwrap().unwrap();
    let nginx = described(
        "$time_iso8601 $request_method $scheme $status $bytes_sent $body_bytes_sent $request_time \
         $server_protocol \"$request_uri\"",
    );
    let (timed, name, unreadable) = mix(&sample("nginx-timed.log"), Some(nginx));
    let (json, ..) = mix(&sample("nginx-json.log"), None);
    assert_eq!((name, unreadable), ("log_format", 0));
    assert_eq!(timed.all, json.all);
    assert_eq!(timed.sizes, json.sizes);
    assert_eq!((timed.durations, timed.counted), (json.durations, json.counted));
    assert!(timed.counted.headers.requests == 20 && timed.counted.headers.bytes > 20 * 100);

    let apache = described(r#"%{msec}t %m %H %>s %b %O %D \"%r\""#);
    let (timed, name, unreadable) = mix(&sample("apache-timed.log"), Some(apache));
    let (bodies, ..) = mix(&sample("apache-combined.log"), None);
    let (wire, ..) = mix(&sample("apache-combined-debian.log"), None);
    assert_eq!((name, unreadable), ("LogFormat", 0));
    assert_eq!(timed.counted.body, bodies.all);
    assert_eq!(timed.counted.headers.bytes, wire.all.bytes - bodies.all.bytes);
}

#[test]
fn bytes_that_were_named_count_alone() {
    let mut fields = Fields::default();
    assert!(fields.add("bytes=bytes_sent") && !fields.add("bytes=") && !fields.add("size=a"));
    let format = Format::named("nginx-json").unwrap().with_fields(&fields).unwrap();
    let (named, ..) = mix(&sample("nginx-json.log"), Some(format));
    let (known, ..) = mix(&sample("nginx-json.log"), None);
    assert_eq!(named.counted.unsaid, named.all);
    assert_eq!(named.all.bytes, known.all.bytes + known.counted.headers.bytes);
    assert!(Format::named("squid").unwrap().with_fields(&fields).is_none());
}

#[test]
fn whether_combined_counts_headers_is_told_by_responses_without_a_body() {
    let mix_of = |file| mix(&sample(file), None).0.unsaid_are_bodies();
    assert_eq!(mix_of("apache-combined.log"), Some(true));
    assert_eq!(mix_of("nginx-combined.log"), Some(true));
    assert_eq!(mix_of("apache-combined-debian.log"), Some(false));
    assert_eq!(mix_of("nginx-json.log"), None);
}

#[test]
fn kinds_of_responses_are_apart() {
    let (mix, ..) = mix(&sample("nginx-combined.log"), None);
    // grep -c for each: GET with 200; 206; 304; HEAD; the rest.
    assert_eq!(mix.classes.whole, tally(10, 2_082_588));
    assert_eq!(mix.classes.range, tally(2, 1_001));
    assert_eq!(mix.classes.not_modified, tally(2, 0));
    assert_eq!(mix.classes.head, tally(2, 0));
    assert_eq!(mix.classes.other, tally(4, 624));
    assert_eq!(mix.statuses[&404], tally(2, 153));
    assert_eq!(mix.methods["other"], tally(2, 314)); // PROPFIND and a TLS handshake
    assert_eq!(mix.protocols["HTTP/1.0"], tally(1, 4_096));
}

#[test]
fn durations_are_in_us_whatever_the_server_writes() {
    let counted = |file| {
        let durations = mix(&sample(file), None).0.durations.unwrap();
        (durations.requests, durations.sum_us)
    };
    assert_eq!(counted("envoy.log"), (3, 15_229_000));
    assert_eq!(counted("envoy-json.log"), (3, 15_229_000));
    assert_eq!(counted("traefik.log"), (3, 15_000));
    assert_eq!(counted("traefik-json.log"), (2, 15_095));
    assert_eq!(counted("iis.log"), (5, 94_000));
    assert_eq!(counted("cloudfront.log"), (4, 105_000));
    assert_eq!(counted("s3.log"), (5, 41_843_000));
    assert_eq!(counted("istio.log"), (3, 20_000));
    assert_eq!(counted("ingress-nginx.log"), (3, 13_000));
    assert_eq!(counted("elb.log"), (4, 175_178));
    assert_eq!(counted("google-cloud.log"), (2, 13_345));
}

#[test]
fn a_known_format_with_more_behind_it_is_still_told() {
    for (file, format) in [
        ("apache-common.log", "common"),
        ("nginx-combined.log", "combined"),
        ("apache-vhost_combined.log", "vhost_combined"),
        ("nginx-main.log", "nginx-main"),
    ] {
        let log = String::from_utf8(sample(file)).unwrap();
        let longer: String = log.lines().map(|line| format!("{line} rt=0.003 -\n")).collect();
        let (longer, told, unreadable) = mix(longer.as_bytes(), None);
        assert_eq!((told, unreadable), (format, 0));
        assert_eq!(longer, mix(log.as_bytes(), None).0);
    }
}

#[test]
fn several_logs_of_different_formats_make_one_mix() {
    let mut builder = MixBuilder::default();
    let mut formats = BTreeMap::<_, u64>::new();
    for file in ["squid.log", "caddy.log", "nginx-combined.log"] {
        let summary = read_log(&sample(file)[..], None, &mut builder).unwrap();
        *formats.entry(summary.format).or_default() += summary.requests;
    }
    let mix = builder.finish().unwrap();
    assert_eq!(formats, BTreeMap::from([("caddy", 19), ("combined", 20), ("squid", 21)]));
    assert_eq!(mix.counted.wire, tally(21, 2_093_631));
    assert_eq!(mix.counted.body, tally(19, 2_083_789));
    assert_eq!(mix.counted.unsaid, tally(20, 2_084_213));
    assert_eq!(mix.all.requests, 60);
}

#[test]
fn nothing_that_is_personal_is_kept() {
    const MARK: &str = "hunter2";
    let marked = |line: &str| line.replace('@', MARK);
    for line in [
        r#"@ @ @ [17/May/2015:10:05:03 +0000] "GET /@ HTTP/1.1" 200 5 "@" "@""#,
        r#"@:80 @ - @ [17/May/2015:10:05:03 +0000] "@ /@ HTTP/1.1" 200 5 "@" "@""#,
        r#"{"ts":1.5,"status":200,"size":1,"request":{"method":"@","uri":"/@","@":"@"},"@":"@"}"#,
        r#"{"time":"2015-05-17T10:05:03Z","status":200,"bytes":1,"method":"@","protocol":"@"}"#,
        r#"@: @ [17/May/2015:10:05:03.000] @ @/@ 0/0/0/0/5 200 5 @ @ @ @ @ {@} "@ /@ @""#,
        r#"1286536309.450 216 @ @/200 4507 @ http://@/ @ @/@ @"#,
        r#"@ @ [17/May/2015:10:05:03 +0000] @ @ @ REST.@ @ "@ /@ @" 200 @ 5 - 3 @ "@" "@" @"#,
        "#Fields: date time cs-method cs-uri sc-status sc-bytes\n2015-05-17 10:05:03 @ /@ 200 5",
        r#"[2016-04-15T20:17:00.310Z] "@ /@ HTTP/2" 204 @ 154 0 226 @ "@" "@" "@" "@" "@""#,
        r#"@ - @ [10/Oct/2025:13:55:36 +0000] "@ /@ @" 200 1234 "@" "@" 1 "@" "@" 15ms"#,
    ] {
        let mut builder = MixBuilder::default();
        let log = marked(line) + "\n";
        let summary = read_log(log.as_bytes(), None, &mut builder).unwrap();
        assert_eq!((summary.requests, summary.unreadable), (1, 0), "{line}");
        let mix = builder.finish().unwrap();
        let document = serde_json::to_string(&mix).unwrap();
        let inside = format!("{mix:?}{summary:?}{document}");
        assert!(document.contains("\"requests\":1") && !inside.contains(MARK), "{line}");
    }
}

/// Reason why a log of this text cannot be used.
fn unusable(log: &str, format: Option<Format>) -> Unusable {
    let mut mix = MixBuilder::default();
    let unusable = read_log(log.as_bytes(), format, &mut mix).unwrap_err();
    assert!(mix.finish().is_none());
    unusable
}

#[test]
fn what_cannot_be_read_is_told_apart() {
    assert!(matches!(unusable("", None), Unusable::Empty));
    assert!(matches!(unusable("\n\r\n", None), Unusable::Empty));
    assert!(matches!(unusable("#Fields: date time sc-bytes\n", None), Unusable::Lacks { .. }));
    let heading = "#Fields: date time cs-method sc-status sc-bytes\n";
    assert!(matches!(unusable(heading, None), Unusable::Empty));
    assert!(matches!(unusable("\0\u{1}\u{2}\n\0\n", None), Unusable::Unknown));
    assert!(matches!(unusable("lorem ipsum\n", None), Unusable::Unknown));
    let combined = String::from_utf8(sample("nginx-combined.log")).unwrap();
    match unusable(&combined, Format::named("caddy")) {
        Unusable::DoesNotFit(summary) => {
            assert_eq!((summary.format, summary.unreadable), ("caddy", 20));
            assert_eq!(summary.first_unreadable.len(), 3);
        }
        other => panic!("{other:?}"),
    }
    let iis = "#Software: Microsoft Internet Information Services 8.0\n\
               #Fields: date time cs-method sc-status time-taken\n\
               2014-01-01 02:01:09 GET 200 46\n";
    for format in [None, Format::named("iis")] {
        match unusable(iis, format) {
            Unusable::Lacks { format, column } => assert_eq!((format, column), ("iis", "sc-bytes")),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_could_be_two_is_asked_for() {
    // By the draft time-taken is in s; IIS writes ms, and mostly says who it is.
    let log = "#Fields: date time cs-method sc-status sc-bytes time-taken\n\
               2014-01-01 02:01:09 GET 200 53175 46\n";
    match unusable(log, None) {
        Unusable::Ambiguous(names) => assert_eq!(names, ["iis", "w3c"]),
        other => panic!("{other:?}"),
    }
    let (iis, ..) = mix(log.as_bytes(), Format::named("iis"));
    let (w3c, ..) = mix(log.as_bytes(), Format::named("w3c"));
    assert_eq!(iis.durations.unwrap().sum_us, 46_000);
    assert_eq!(w3c.durations.unwrap().sum_us, 46_000_000);
    // Without it both say the same, and nobody is asked.
    let (without, ..) = mix(
        b"#Fields: date time cs-method sc-status sc-bytes\n2014-01-01 02:01:09 GET 200 53175\n",
        None,
    );
    assert_eq!(without.all, tally(1, 53_175));
}

#[test]
fn lines_that_cannot_be_read_are_counted_and_the_first_kept() {
    let mut log = sample("nginx-combined.log");
    log.extend(b"\n\n");
    log.extend(b"nonsense \x1b[2J\n".repeat(5));
    log.extend(
        b"192.0.2.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 -1 \"-\" \"-\"\n",
    );
    log.extend(
        b"192.0.2.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 9223372036854775808 \
          \"-\" \"-\"\n",
    );
    log.extend(vec![b'x'; 10 << 20]);
    log.extend(b"\n192.0.2.1 - - [17/May/2015:10:05:03 +0000] \"GET / HT");
    let mut mix = MixBuilder::default();
    let summary = read_log(&log[..], None, &mut mix).unwrap();
    assert_eq!((summary.lines, summary.requests, summary.unreadable), (29, 20, 8));
    assert!(summary.is_cut);
    let first: Vec<_> = summary.first_unreadable.iter().map(|line| line.number).collect();
    assert_eq!(first, [23, 24, 25]);
    assert_eq!(summary.first_unreadable[0].text, "nonsense \u{1b}[2J");
}
