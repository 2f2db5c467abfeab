//! `zc advise` with costs: from a named run, from one of the folder, and from one that is measured.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::format::is_as_described;
use crate::support::{
    Bounded as _, NOTHING_KEPT, interrupted_when, link_is_unavailable, measuring, refused, stderr,
    text, zc_in,
};

/// A real run of `zc run requests --responses close`, with few of its blocks and lengths.
fn real_run() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/testdata/requests.json")
}

fn log() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../access-log/testdata/elastic-examples.log")
}

/// `zc advise LOG ...` in a folder.
fn advise(folder: &Path, args: &[&str]) -> Output {
    let log = log();
    zc_in(folder, &[&["advise", log.to_str().unwrap()], args].concat()).finish().unwrap()
}

/// The same from the real run, in a folder of its own.
fn from_run(args: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let run = real_run();
    let named = [&["--from-run", run.to_str().unwrap()], args].concat();
    let output = advise(folder.path(), &named);
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing is measured");
    output
}

#[test]
fn a_named_run_gives_costs_and_the_verdict_is_the_last_line() {
    let output = from_run(&["--rate", "2000/s"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let printed = text(&output.stdout);
    let last = printed.trim_end().rsplit("\n\n").next().unwrap();
    assert!(last.starts_with("At 2000/s sendfile instead of read+send saves "), "{printed}");
    assert!(!last.contains("us of CPU time per second"), "{last}");
    for says in
        ["\ncosts  ", "\nbusiest  ", "\nrate          2000/s", "\nassumed  ", "connections closed"]
    {
        assert!(printed.contains(says), "{says}: {printed}");
    }
    // It is of another machine, which is said and not refused.
    let said = stderr(&output);
    assert!(said.contains("is of another machine or kernel than this one"), "{said}");
    assert!(said.contains("host example"), "{said}");
}

#[test]
fn costs_are_in_the_document_which_is_valid() {
    let output = from_run(&["--json", "--rate", "1Gbit/s", "--today", "sendfile"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    is_as_described("advise", &document);
    let costs = &document["costs"];
    assert_eq!(costs["today"], "sendfile");
    assert_eq!(costs["rates"]["asked"]["bytes_per_s"], 1.25e8);
    assert_eq!(costs["paths"][0]["path"], "read+send");
    assert_eq!(costs["paths"][0]["verdict"]["is"], "costs-more");
    assert!(costs["assumptions"].as_array().unwrap().len() > 5);
    // The requests are those of the mix, and the rate is theirs.
    let (mix, log) = (&document["mix"], &costs["rates"]["log"]["requests_per_s"]);
    let span_s = mix["last_unix_s"].as_f64().unwrap() - mix["first_unix_s"].as_f64().unwrap() + 1.0;
    let per_s = mix["all"]["requests"].as_f64().unwrap() / span_s;
    assert!((log.as_f64().unwrap() / per_s - 1.0).abs() < 1e-9);
}

#[test]
fn a_page_is_written_and_neither_a_log_nor_a_run_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let run = real_run();
    let run = run.to_str().unwrap();
    let output = advise(folder.path(), &["--from-run", run, "-o", "page.html"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), String::new()));
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("sendfile instead of read+send"));
    let log = folder.path().join("access.log");
    std::fs::copy(self::log(), &log).unwrap();
    let args = ["advise", "access.log", "--from-run", run, "-o", "access.log"];
    let output = zc_in(folder.path(), &args).finish().unwrap();
    assert_eq!(refused(&output, 2), "output-is-input");
    std::fs::copy(real_run(), folder.path().join("zc-run.json")).unwrap();
    let output = advise(folder.path(), &["--from-run", run, "-o", "zc-run.json"]);
    assert_eq!(refused(&output, 5), "file-is-a-run");
}

#[test]
fn a_path_that_the_run_does_not_have_is_refused() {
    assert_eq!(refused(&from_run(&["--today", "sendfil"]), 2), "unknown-path");
}

#[test]
fn a_run_that_has_no_responses_is_refused_with_the_command_that_measures_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut run: Value = serde_json::from_slice(&std::fs::read(real_run()).unwrap()).unwrap();
    run["plan"].as_object_mut().unwrap().remove("responses");
    std::fs::write(folder.path().join("sizes.json"), run.to_string()).unwrap();
    let output = advise(folder.path(), &["--from-run", "sizes.json"]);
    assert_eq!(refused(&output, 3), "run-of-another-kind");
    assert!(stderr(&output).contains("hint: zc run requests "), "{}", stderr(&output));
}

/// Nothing is measured for a log that cannot be read.
#[test]
fn a_log_of_no_format_is_found_before_a_minute_is_spent() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("access.log"), "no log\n".repeat(200)).unwrap();
    let output = zc_in(folder.path(), &["advise", "access.log"]).finish().unwrap();
    assert_eq!(refused(&output, 3), "log-format-unknown");
    assert!(!stderr(&output).contains("measuring"), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_run_of_this_folder_and_machine_is_taken_and_one_of_another_is_not() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    // Of another machine: it is passed over, and a measurement begins.
    std::fs::copy(real_run(), folder.path().join("zc-a.json")).unwrap();
    let log = log();
    let args = ["advise", log.to_str().unwrap(), "--budget", "60s"];
    let output = interrupted_when("a measurement begins", &mut zc_in(folder.path(), &args), || {
        let names = std::fs::read_dir(folder.path()).unwrap();
        names.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("zc-2"))
    });
    let said = stderr(&output);
    if link_is_unavailable(&output) {
        return;
    }
    assert!([Some(130), Some(NOTHING_KEPT)].contains(&output.status.code()), "{said}");
    // Where nothing could be measured, what the log has is printed all the same.
    let is_printed = !output.stdout.is_empty();
    assert_eq!(is_printed, output.status.code() == Some(NOTHING_KEPT), "{said}");
    assert!(said.contains("measuring what a response costs here"), "{said}");
    // As if it had been measured here.
    let mut run: Value = serde_json::from_slice(&std::fs::read(real_run()).unwrap()).unwrap();
    run["host"] = serde_json::to_value(zc_rig::meter::host()).unwrap();
    std::fs::write(folder.path().join("zc-b.json"), run.to_string()).unwrap();
    std::fs::write(folder.path().join("zc-c.json"), "{\"zc_run\":3, no run").unwrap();
    let output = advise(folder.path(), &[]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("costs are from \"zc-b.json\""), "{said}");
    assert!(!said.contains("another machine") && !said.contains("measuring"), "{said}");
    assert!(text(&output.stdout).contains("sendfile instead of read+send saves"), "{said}");
}
