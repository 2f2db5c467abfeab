//! `zc advise` on samples of logs, on bad ones, and on logs that are compressed, cut or growing.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::Value;

use crate::format::is_as_described;
use crate::support::{Bounded as _, ZC, refused, stderr, text, zc};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../access-log/testdata").join(name)
}

fn content(name: &str) -> Vec<u8> {
    std::fs::read(sample(name)).unwrap()
}

fn advise(args: &[&str]) -> Output {
    zc(&[&["advise", "--no-costs"], args].concat()).finish().unwrap()
}

/// `zc advise -` with this on stdin.
fn of_stdin(bytes: &[u8], args: &[&str]) -> Output {
    let mut command = zc(&[&["advise", "--no-costs", "-"], args].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut zc = command.start().unwrap();
    let mut stdin = zc.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    // It may end before it has read all.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
    let output = zc.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

#[track_caller]
fn document(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_real_log_is_counted_to_the_byte() {
    // awk '{n++; if ($10 != "-") b += $10} END {print n, b}' of these lines.
    let log = sample("elastic-examples.log");
    let log = log.to_str().unwrap();
    let document = document(&advise(&[log, "--json"]));
    assert_eq!(document["mix"]["all"]["requests"], 500);
    assert_eq!(document["mix"]["all"]["bytes"], 24_037_113);
    assert_eq!(document["logs"][0]["format"], "combined");
    // Lines break by how long the path of the log is.
    let printed = text(&advise(&[log]).stdout);
    let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    for says in [
        ": combined, 500",
        "(24037113): ",
        "statuses 200 87 %",
        "whole (GET, 200) ",
        "1m to 4m",
        "Half of the bytes of whole responses",
    ] {
        assert!(printed.contains(says), "{says}: {printed}");
    }
    // Nothing of what is personal: an address, a path, an agent of its first line.
    let first = String::from_utf8(content("elastic-examples.log")).unwrap();
    let first = first.lines().next().unwrap();
    let address = first.split(' ').next().unwrap();
    for personal in [address, "kibana-search", "Mozilla"] {
        assert!(first.contains(personal) && !printed.contains(personal), "{personal}");
        assert!(!document.to_string().contains(personal), "{personal}");
    }
}

#[test]
fn the_document_is_valid() {
    let log = sample("nginx-json.log");
    let document = document(&advise(&[log.to_str().unwrap(), "--json"]));
    is_as_described("advise", &document);
    assert_eq!(document["mix"]["counted"]["headers"]["requests"], 20);
    assert!(document["mix"]["durations"]["requests"].as_u64() == Some(20));
}

#[test]
fn compressed_logs_are_told_by_their_first_bytes() {
    let plain = content("nginx-combined.log");
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = plain.split_at(plain.len() / 2);
    let logs = [
        ("access.log", plain.clone()),
        ("gz.txt", gzip(&plain)),
        ("two.gz", [gzip(first), gzip(second)].concat()),
        ("zst.gz", zstd(&plain)),
        ("two.zst", [zstd(first), zstd(second)].concat()),
    ];
    let paths = logs.each_ref().map(|(name, bytes)| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let mut args: Vec<_> = paths.iter().map(String::as_str).collect();
    args.push("--json");
    let document = document(&advise(&args));
    assert_eq!(document["mix"]["all"]["requests"], 100);
    assert_eq!(document["mix"]["all"]["bytes"], 5 * 2_084_213);
    let how: Vec<_> = document["logs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|log| log["compression"].as_str())
        .collect();
    assert_eq!(how, [None, Some("gzip"), Some("gzip"), Some("zstd"), Some("zstd")]);
    let of_stdin = self::document(&of_stdin(&gzip(&plain), &["--json"]));
    assert_eq!(of_stdin["mix"]["all"]["requests"], 20);
    assert_eq!(of_stdin["logs"][0]["log"], "stdin");

    let output = self::of_stdin(b"BZh91AY&SY", &[]);
    assert_eq!(refused(&output, 3), "compression-unknown");
    assert!(stderr(&output).contains("bzip2 -dc LOG"), "{}", stderr(&output));
}

#[test]
fn of_a_log_that_is_cut_off_what_was_read_counts() {
    let plain = content("nginx-combined.log").repeat(2000);
    for whole in [gzip(&plain), zstd(&plain)] {
        let output = of_stdin(&whole[..whole.len() / 2], &["--json"]);
        let said = stderr(&output);
        assert!(said.contains("warning: the log \"stdin\" cannot be read to its end"), "{said}");
        let document = document(&output);
        assert_eq!(document["logs"][0]["is_cut"], true);
        let requests = document["mix"]["all"]["requests"].as_u64().unwrap();
        assert!((1..40_000).contains(&requests), "{requests}");
    }
    // Nothing at all can be had of this one.
    assert_eq!(refused(&of_stdin(&gzip(&plain)[..5], &[]), 3), "cannot-read-log");

    let output = of_stdin(&plain[..plain.len() - 40], &["--json"]);
    assert!(stderr(&output).contains("the last line of \"stdin\" has no end"));
    let document = document(&output);
    assert_eq!(document["mix"]["all"]["requests"], 40_000 - 1);
    assert_eq!(document["logs"][0]["unreadable"], 0);
}

#[test]
fn memory_does_not_depend_on_what_a_log_has() {
    // Every line of another minute between 1970 and 9999, of a size of its own, and as long as a
    // request can be made.
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("hostile.log");
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut lines = String::new();
    for _ in 0..150_000 {
        let at = jiff::Timestamp::from_second(random.random_range(0..253_402_207_200)).unwrap();
        let at = at.strftime("%d/%b/%Y:%H:%M:%S +0000");
        let method = ["GET", "HEAD", "POST"][random.random_range(0..3)];
        let status = [200, 206, 304, 404][random.random_range(0..4)];
        let size = random.random::<u64>() >> random.random_range(1..64);
        lines += &format!("- - - [{at}] \"{method} / HTTP/1.1\" {status} {size} \"-\" \"-\"\n");
    }
    lines += &"x".repeat(20 << 20);
    std::fs::write(&log, lines).unwrap();
    // What it allocates is limited, in KiB (setrlimit(2), RLIMIT_DATA). The size of the process
    // that wait4(2) tells has that of its parent in it.
    let limited = |kib: u32| {
        let script = format!("ulimit -d {kib}; exec \"$0\" advise --no-costs \"$1\"");
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg(ZC).arg(&log).stdin(Stdio::null());
        shell.finish().unwrap()
    };
    let output = limited(64 << 10);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!limited(4 << 10).status.success(), "the limit does not hold");
}

#[test]
fn what_cannot_be_read_is_counted_and_the_first_lines_are_shown() {
    let mut log = content("nginx-combined.log").repeat(10);
    log.extend(b"first \x1b[2J\nsecond\n");
    let output = of_stdin(&log, &["--json"]);
    let said = stderr(&output);
    assert!(said.starts_with("2 of 202 lines of \"stdin\" (0.99 %) cannot be read as combined\n"));
    assert!(said.contains("\nstdin:201: first \\u{1b}[2J\nstdin:202: second\n"), "{said}");
    // They may be personal: they are in no document.
    let document = document(&output);
    assert!(!document.to_string().contains("second"));
    assert_eq!(document["logs"][0]["unreadable"], 2);

    log.extend(b"third\nfourth\n");
    let said = stderr(&of_stdin(&log, &[]));
    assert!(said.starts_with("warning: 4 of 204 lines of \"stdin\" (1.96 %)"), "{said}");
    assert!(
        said.contains("hint: ") && said.contains("third") && !said.contains("fourth"),
        "{said}"
    );
}

#[test]
fn a_format_that_was_named_is_used() {
    let timed = sample("apache-timed.log");
    let timed = timed.to_str().unwrap();
    assert_eq!(refused(&advise(&[timed]), 3), "log-format-unknown");
    let output = advise(&[timed, "--json", "--format", r#"%{msec}t %m %H %>s %b %O %D "%r""#]);
    let document = document(&output);
    assert_eq!(document["logs"][0]["format"], "LogFormat");
    assert_eq!(document["mix"]["counted"]["body"]["bytes"], 2_084_456);

    let json = br#"{"at":"2015-05-17T10:05:03Z","code":200,"req":{"verb":"GET"},"sent":5,"took":12}
"#;
    assert_eq!(refused(&of_stdin(json, &[]), 3), "log-format-unknown");
    let fields =
        ["time=at", "status=code", "method=req.verb", "wire_bytes=sent", "duration_ms=took"];
    let mut args: Vec<_> = fields.iter().flat_map(|field| ["--field", *field]).collect();
    args.push("--json");
    let document = self::document(&of_stdin(json, &args));
    assert_eq!(document["mix"]["counted"]["wire"]["bytes"], 5);
    assert_eq!(document["mix"]["classes"]["whole"]["requests"], 1);
    assert_eq!(document["mix"]["durations"]["sum_us"], 12_000);
}

#[test]
fn what_cannot_be_used_is_refused() {
    let binary: Vec<u8> =
        (0..100_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let w3c = |columns: &str, rest: &str| {
        format!(
            "#Fields: date time cs-method sc-status{columns}\n2014-01-01 02:01:09 GET 200{rest}\n"
        )
    };
    for (log, id, names) in [
        (&binary[..], "log-format-unknown", "\"stdin\""),
        (b"", "empty-log", "\"stdin\""),
        (w3c(" sc-bytes time-taken", " 5 4").as_bytes(), "log-format-ambiguous", "iis or w3c"),
        (w3c("", "").as_bytes(), "log-column-missing", "sc-bytes"),
    ] {
        let output = of_stdin(log, &[]);
        assert_eq!(refused(&output, 3), id);
        assert!(stderr(&output).contains(names), "{}", stderr(&output));
    }
    let combined = sample("nginx-combined.log");
    let combined = combined.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.log");
    std::fs::write(&empty, "").unwrap();
    let empty = empty.to_str().unwrap();
    // An empty one beside others is no reason to refuse them.
    let output = advise(&[empty, combined]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).starts_with("warning: the log ") && !output.stdout.is_empty());
}

#[test]
fn what_is_odd_about_a_log_is_said() {
    let plain = content("nginx-combined.log");
    let hole = [vec![0; 3 << 20], plain.clone()].concat();
    let said = stderr(&of_stdin(&hole, &["--json"]));
    assert!(said.contains("has 3145728 NULs before lines"), "{said}");

    let units = String::from_utf8(plain.clone()).unwrap();
    let units: Vec<u8> = units.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let output = of_stdin(&[&b"\xff\xfe"[..], &units].concat(), &[]);
    assert_eq!(refused(&output, 3), "log-encoding");
    assert!(stderr(&output).contains("iconv -f UTF-16"), "{}", stderr(&output));

    let timed = String::from_utf8(plain).unwrap().replace('\n', " rt=0.012\n");
    let said = stderr(&of_stdin(timed.as_bytes(), &[]));
    assert!(said.contains("looks like a duration, and is not read: rt=0.012"), "{said}");
    let offered = said.split("--format '").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
    let document = document(&of_stdin(timed.as_bytes(), &["--json", "--format", offered]));
    assert_eq!(document["mix"]["durations"]["sum_us"], 20 * 12_000);

    let caddy = |duration: &str| {
        let line = format!(
            "{{\"ts\":1795168800.25,\"request\":{{\"method\":\"GET\"}},\"duration\":{duration},\
             \"size\":1,\"status\":200}}\n"
        );
        of_stdin(line.repeat(9).as_bytes(), &[])
    };
    let output = caddy("12500000");
    assert!(stderr(&output).contains("(caddy) are read as ns"), "{}", stderr(&output));
    assert!(text(&output.stdout).contains("caddy, 9 requests, durations in ns"));
    let output = caddy("12.5");
    let said = stderr(&output);
    assert!(said.contains("left out") && said.contains("--field duration_ms=duration"), "{said}");
    assert!(!text(&output.stdout).contains("concurrency"));

    let json = br#"{"time":"2015-05-17T10:05:03Z","status":200,"method":"GET","bytes":5}
"#;
    let said = stderr(&of_stdin(json, &["--field", "duration_ms=took"]));
    assert!(said.contains("has a value for --field duration_ms=took"), "{said}");
}

#[test]
fn a_format_may_begin_with_a_dash() {
    let line = b"- 192.0.2.1 [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5\n";
    let format = "- $remote_addr [$time_local] \"$request\" $status $bytes_sent";
    let document = document(&of_stdin(line, &["--json", "--format", format]));
    assert_eq!(document["mix"]["all"]["bytes"], 5);
}
