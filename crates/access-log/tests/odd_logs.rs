//! Logs as others have met them: written by a format that is less usual, damaged by their rotation,
//! in another encoding, without what a reader would like to have.

use zc_access_log::{
    DurationUnit, Fields, Format, LogSummary, MixBuilder, RequestMix, Tally, Unusable, read_log,
};

fn read(log: &[u8], format: Option<Format>) -> (RequestMix, LogSummary) {
    let mut mix = MixBuilder::default();
    let summary = read_log(log, format, &mut mix).unwrap();
    (mix.finish().unwrap(), summary)
}

fn refused(log: &[u8]) -> Unusable {
    read_log(log, None, &mut MixBuilder::default()).unwrap_err()
}

/// Lines of `combined`, one a second.
fn combined(lines: usize) -> String {
    let line = |at: usize| {
        format!(
            "192.0.2.1 - - [20/Nov/2026:10:00:{:02} +0000] \"GET /a HTTP/1.1\" 200 1000 \"-\" \
             \"curl/8\"\n",
            at % 60
        )
    };
    (0..lines).map(line).collect()
}

fn described(text: &str) -> Format {
    Format::described(text).unwrap().unwrap()
}

#[test]
fn apache_s_times_are_read_however_they_are_written() {
    let rest = r#"\"%r\" %>s %b"#;
    // 2026-11-20T09:00:00Z
    let (second, zone) = (1_795_165_200, "+0100");
    for (time, written, ms) in [
        ("%t", format!("[20/Nov/2026:10:00:00 {zone}]"), 0),
        ("%t", format!("[20/Nov/2026:10:00:00.123 {zone}]"), 123),
        (
            "[%{%d/%b/%Y %T}t.%{msec_frac}t %{%z}t]",
            format!("[20/Nov/2026 10:00:00.123 {zone}]"),
            123,
        ),
        (
            "%{%d.%m.%Y %H:%M:%S}t.%{usec_frac}t %{%z}t",
            format!("20.11.2026 10:00:00.123456 {zone}"),
            123,
        ),
        ("%{%Y-%m-%dT%H:%M:%S%z}t", format!("2026-11-20T10:00:00{zone}"), 0),
        ("%{sec}t.%{msec_frac}t", "1795165200.123".to_owned(), 123),
        ("%{end:%s}t", "1795165200".to_owned(), 0),
        ("%{begin:usec}t", "1795165200123456".to_owned(), 123),
    ] {
        let line = format!("{written} \"GET /a HTTP/1.1\" 200 5\n");
        let mut format = described(&format!("{time} {rest}"));
        let zc_access_log::Reading::Entry(entry) = format.read(line.trim_end().as_bytes()) else {
            panic!("{time}: {line}")
        };
        assert_eq!(entry.time.unix_ms, second * 1000 + ms, "{time}: {line}");
    }
    // The first of two times of different moments counts as the time of the entry.
    let both = described(r#"%{end:%FT%T%z}t %{begin:sec}t \"%r\" %>s %b"#);
    assert_eq!(both.stamp(), zc_access_log::Stamp::End);
    let (mix, _) = read(b"2026-11-20T10:00:05+0100 1 \"GET / HTTP/1.1\" 200 5\n", Some(both));
    assert_eq!(mix.first_unix_s, second + 5);
    // An incomplete time is refused when the format is read.
    for (time, says) in [("%{%H:%M:%S}t", "day, year or second"), ("%{%E}t", "%{%E}t")] {
        let error = Format::described(&format!("{time} {rest}")).unwrap().unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn times_with_milliseconds_are_told_without_a_name() {
    let log = combined(40).replace(" +0000]", ".123 +0100]");
    let (mix, summary) = read(log.as_bytes(), None);
    assert_eq!((summary.format, mix.all), ("combined", Tally { requests: 40, bytes: 40_000 }));
}

#[test]
fn a_dash_is_0_bytes_only_where_the_format_writes_it_so() {
    // Envoy writes a number.
    let line = r#"[2020-11-25T21:26:18.409Z] "GET / HTTP/1.1" 200 - 0 - 3 1 "-" "-" "-" "-" "-""#;
    assert!(matches!(refused(format!("{line}\n").as_bytes()), Unusable::Unknown));
    // 200 with a dash: morgan of Express, for a chunked response.
    let log = combined(40).replacen(" 200 1000 ", " 200 - ", 10);
    let log = log.replacen(" 200 1000 ", " 304 - ", 5);
    let (mix, _) = read(log.as_bytes(), None);
    assert_eq!(mix.classes.unmeasured, Tally { requests: 10, bytes: 0 });
    assert_eq!(mix.classes.not_modified, Tally { requests: 5, bytes: 0 });
    assert_eq!(mix.classes.whole, Tally { requests: 25, bytes: 25_000 });
    assert_eq!(mix.all, Tally { requests: 40, bytes: 25_000 });
}

#[test]
fn a_log_with_a_hole_at_its_beginning_is_read_from_its_first_line() {
    for hole in [1, 5000, 3 << 20] {
        let log = [vec![0; hole], combined(30).into_bytes()].concat();
        let (mix, summary) = read(&log, None);
        assert_eq!((mix.all.requests, summary.nuls, summary.unreadable), (30, hole as u64, 0));
        let (mix, summary) = read(&log, Format::named("combined"));
        assert_eq!((mix.all.requests, summary.nuls, summary.unreadable), (30, hole as u64, 0));
    }
    assert!(matches!(refused(&[0; 5000]), Unusable::Empty));
}

#[test]
fn a_first_line_that_is_too_long_ends_no_log() {
    let log = format!("{}\n{}", "x".repeat(3 << 20), combined(30));
    let (mix, summary) = read(log.as_bytes(), None);
    assert_eq!((mix.all.requests, summary.lines, summary.unreadable), (30, 31, 1));
    assert!(matches!(refused("x".repeat(3 << 20).as_bytes()), Unusable::Unknown));
}

#[test]
fn a_mark_of_utf_8_is_passed_over_and_utf_16_is_named() {
    let marked = |log: &str| ["\u{feff}", log].concat();
    let (mix, summary) = read(marked(&combined(30)).as_bytes(), None);
    assert_eq!((mix.all.requests, summary.unreadable), (30, 0));
    let iis = "#Software: Microsoft Internet Information Services 10.0\r\n\
               #Fields: date time cs-method sc-status sc-bytes time-taken\r\n\
               2026-11-20 10:00:00 GET 200 1000 12\r\n";
    let (mix, summary) = read(marked(iis).as_bytes(), None);
    assert_eq!((summary.format, mix.all.bytes), ("iis", 1000));
    let utf_16 = |mark: &[u8]| {
        let units = combined(3).encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        [mark, &units].concat()
    };
    for log in [utf_16(b"\xff\xfe"), utf_16(b"")] {
        assert!(matches!(refused(&log), Unusable::Utf16));
        assert!(matches!(
            read_log(&log[..], Format::named("combined"), &mut MixBuilder::default()),
            Err(Unusable::Utf16)
        ));
    }
}

#[test]
fn the_unit_of_caddy_s_durations_is_found_or_they_are_left_out() {
    let units_of = |durations: &[&str]| {
        let line = |(at, duration): (usize, &&str)| {
            format!(
                "{{\"ts\":{}.25,\"request\":{{\"method\":\"GET\",\"proto\":\"HTTP/2.0\"}},\
                 \"duration\":{duration},\"size\":1000,\"status\":200}}\n",
                1_795_168_800 + at
            )
        };
        let log: String = durations.iter().enumerate().map(line).collect();
        let (mix, summary) = read(log.as_bytes(), None);
        let named = read(log.as_bytes(), Format::named("caddy"));
        assert_eq!((&named.0, named.1.durations), (&mix, summary.durations));
        (summary.durations, mix.durations.map(|durations| durations.sum_us))
    };
    let seconds = ["0.000929675", "0.012512345", "1.5", "0.25", "2"];
    assert_eq!(units_of(&seconds), (DurationUnit::OfFormat, Some(3_763_441)));
    assert_eq!(units_of(&["12500000"; 40]), (DurationUnit::Found("ns"), Some(40 * 12_500)));
    assert_eq!(units_of(&["12"; 40]), (DurationUnit::Found("ms"), Some(40 * 12_000)));
    assert_eq!(units_of(&["\"12.5ms\""; 40]), (DurationUnit::OfFormat, Some(40 * 12_500)));
    // They could be seconds, if nothing were measured below a millisecond.
    assert_eq!(units_of(&["12.5"; 40]), (DurationUnit::Doubtful, None));
    // Whoever names the unit is believed.
    let mut fields = Fields::default();
    assert!(fields.add("duration_ms=duration"));
    let caddy = Format::named("caddy").unwrap().with_fields(&fields).unwrap();
    let line =
        br#"{"ts":1795168800.25,"request":{"method":"GET"},"duration":12.5,"size":1,"status":200}"#;
    let (mix, summary) = read(&[&line[..], b"\n"].concat().repeat(9), Some(caddy));
    assert_eq!(mix.durations.unwrap().sum_us, 9 * 12_500);
    assert_eq!(summary.durations, DurationUnit::OfFormat);
}

#[test]
fn durations_that_are_longer_than_the_log_make_no_concurrency() {
    let line = |duration: &str| {
        format!(
            "{{\"time\":\"2026-11-20T10:00:00Z\",\"method\":\"GET\",\"status\":200,\"bytes\":1,\
             \"request_time\":{duration}}}\n"
        )
    };
    let (mix, _) = read(line("12500.5").repeat(3).as_bytes(), None);
    assert!(mix.durations_exceed_the_log() && mix.concurrency().is_none());
    let (mix, _) = read(line("0.5").repeat(3).as_bytes(), None);
    assert_eq!((mix.durations_exceed_the_log(), mix.concurrency()), (false, Some(1.5)));
}

#[test]
fn a_key_that_was_named_and_is_never_there_is_told() {
    let mut fields = Fields::default();
    assert!(fields.add("duration_ms=took") && fields.add("bytes=sent"));
    let json = Format::named("json").unwrap().with_fields(&fields).unwrap();
    let line =
        r#"{"time":"2026-11-20T10:00:00Z","method":"GET","status":200,"sent":5,"took":"slow"}"#;
    let (_, summary) = read(format!("{line}\n").as_bytes(), Some(json.clone()));
    assert_eq!(summary.without_value, ["duration_ms=took"]);
    let log = format!("{line}\n{}\n", line.replace("\"slow\"", "\"12.5ms\""));
    let (mix, summary) = read(log.as_bytes(), Some(json));
    assert_eq!((summary.without_value.len(), mix.durations.unwrap().sum_us), (0, 12_500));
}

#[test]
fn durations_behind_a_known_format_are_offered() {
    let log: String =
        combined(20).lines().map(|line| format!("{line} rt=0.012 uct=\"-\" [a]\n")).collect();
    let (mix, summary) = read(log.as_bytes(), None);
    let offer = summary.offer.unwrap();
    assert_eq!((summary.format, mix.durations), ("combined", None));
    assert_eq!(offer.behind, "rt=0.012 uct=\"-\" [a]");
    assert!(offer.log_format.ends_with(r#" rt=$request_time uct="$other" [$other]"#), "{offer:?}");
    let (mix, summary) = read(log.as_bytes(), Some(described(&offer.log_format)));
    assert_eq!((mix.durations.unwrap().sum_us, summary.unreadable), (20 * 12_000, 0));
    // Only numbers that must be durations are taken for them.
    for behind in ["", " 12", " \"-\"", " 0.5", " a.123"] {
        let log: String = combined(20).lines().map(|line| format!("{line}{behind}\n")).collect();
        assert_eq!(read(log.as_bytes(), None).1.offer, None, "{behind}");
    }
}

#[test]
fn requests_over_tls_are_counted_where_the_log_says_it() {
    let sample = |name: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
        read(&std::fs::read(path).unwrap(), None).0.tls
    };
    let request_counts = |name: &str| (sample(name).with.requests, sample(name).without.requests);
    assert_eq!(request_counts("elb.log"), (2, 3));
    assert_eq!(request_counts("google-cloud.log"), (1, 1));
    assert_eq!(request_counts("cloudfront.log").0 + request_counts("cloudfront.log").1, 4);
    assert_eq!(request_counts("istio.log"), (1, 0)); // HTTP/2
    let nginx = described(r#"$msec "$request" $status $bytes_sent $ssl_protocol $scheme"#);
    let log = b"1.5 \"GET / HTTP/1.1\" 200 5 TLSv1.3 https\n1.5 \"GET / HTTP/1.1\" 200 5 - http\n";
    let tls = read(log, Some(nginx)).0.tls;
    assert_eq!((tls.with.requests, tls.without.requests), (1, 1));
}
