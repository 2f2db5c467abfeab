//! `zc advise --server-run`: costs from a saved run of `zc run server`.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::format::is_as_described;
use crate::support::{Bounded as _, refused, stderr, text, zc_in};

/// A real run of nginx with sendfile off and on, each with responses of 1k, 64k and 1m.
fn real_run() -> PathBuf {
    testdata("server.json")
}

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/testdata").join(name)
}

/// `zc advise LOG ...` in a folder of its own, in which nothing may be left.
fn advise(args: &[&str]) -> Output {
    let log =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../access-log/testdata/elastic-examples.log");
    let folder = tempfile::tempdir().unwrap();
    let args = [&["advise", log.to_str().unwrap()], args].concat();
    let output = zc_in(folder.path(), &args).finish().unwrap();
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing is measured");
    output
}

fn from_run(args: &[&str]) -> Output {
    let run = real_run();
    advise(&[&["--server-run", run.to_str().unwrap()], args].concat())
}

/// A copy of the real run with another plan.
fn changed(change: impl Fn(&mut Value)) -> (tempfile::TempDir, String) {
    let mut run: Value = serde_json::from_slice(&std::fs::read(real_run()).unwrap()).unwrap();
    change(&mut run["plan"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changed.json");
    std::fs::write(&path, run.to_string()).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn each_configuration_is_a_row_and_the_verdict_is_the_last_line() {
    let output = from_run(&["--rate", "2000/s"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let printed = text(&output.stdout);
    // The name of the file decides where this line breaks.
    let unbroken = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unbroken.contains("; 7 blocks, responses of 1k to 1m"), "{printed}");
    for says in [
        "\ncosts  ",
        "\nserver        started by \"contrib/servers/nginx\"",
        "\nconfiguration ",
        "\noff  ",
        "\non  ",
        "files in caches",
    ] {
        assert!(printed.contains(says), "{says}: {printed}");
    }
    let last = printed.trim_end().rsplit("\n\n").next().unwrap();
    // Its controls are too wide to see anything.
    assert!(last.contains("What other configurations than off save cannot be told"), "{last}");
    assert!(last.contains("3.5 % was added to the reference and found as -63 % to 97 %"), "{last}");
    // It is of another machine, which is said and not refused.
    let said = stderr(&output);
    assert!(said.contains("is of another machine or kernel than this one"), "{said}");
    assert!(said.contains("host example"), "{said}");
    let today_on = text(&from_run(&["--today", "on"]).stdout);
    let last = today_on.trim_end().rsplit("\n\n").next().unwrap();
    assert!(last.contains("What other configurations than on save cannot be told"), "{last}");
}

/// Its A/A control is 0.98 ±82 %, its positive control found -63 to 97 % of 3.5 %.
#[test]
fn controls_that_could_have_seen_nothing_leave_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let output = zc_in(folder.path(), &["show", real_run().to_str().unwrap()]).finish().unwrap();
    let printed = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    for says in [
        "off-1k against itself 0.98 ±82 %: TOO WIDE to see differences of up to 65 %",
        "found as 3.6 % (-63 % to 97 %): TOO WIDE to see it",
        "Verdict withheld: 3.5 % was added to the reference and found as -63 % to 97 %",
    ] {
        assert!(printed.contains(says), "{says}: {printed}");
    }
    for word in ["as expected", "30 % more", "less CPU"] {
        assert!(!printed.contains(word), "{word}: {printed}");
    }
    // Nor is one state compared with another.
    let states = ["off-1k", "on-1k"].map(|state| format!("{}:{state}", real_run().display()));
    let output = zc_in(folder.path(), &["compare", &states[0], &states[1]]).finish().unwrap();
    let printed = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains("could not have seen differences of up to 132 % "), "{printed}");
    assert!(printed.contains(" Verdicts withheld: ") && !printed.contains("0.0 %"), "{printed}");
}

#[test]
fn costs_of_a_server_are_in_the_document_which_is_valid() {
    let output = from_run(&["--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    is_as_described("advise", &document);
    let costs = &document["costs"];
    assert_eq!(costs["run"]["server"]["started_by"], "contrib/servers/nginx");
    assert_eq!(costs["run"]["lengths_bytes"], json!([1024, 65_536, 1_048_576]));
    let paths: Vec<&Value> =
        costs["paths"].as_array().unwrap().iter().map(|it| &it["path"]).collect();
    assert_eq!(paths, ["off", "on"]);
    assert_eq!((&costs["today"], &costs["left_out"]), (&json!("off"), &json!([])));
}

#[test]
fn a_run_of_a_server_and_one_of_zc_s_own_are_not_taken_for_each_other() {
    let (server, own) = (real_run(), testdata("requests.json"));
    let output = advise(&["--from-run", server.to_str().unwrap()]);
    assert_eq!(refused(&output, 3), "run-of-another-kind");
    assert!(stderr(&output).contains("hint: --server-run "), "{}", stderr(&output));
    let output = advise(&["--server-run", own.to_str().unwrap()]);
    assert_eq!(refused(&output, 3), "run-of-another-kind");
    assert!(stderr(&output).contains("hint: --from-run "), "{}", stderr(&output));
    let (_folder, path) = changed(|plan| plan["server"] = Value::Null);
    let output = advise(&["--server-run", &path]);
    assert_eq!(refused(&output, 3), "run-of-another-kind");
    assert!(stderr(&output).contains("hint: zc run server "), "{}", stderr(&output));
}

#[test]
fn states_that_tell_no_lengths_apart_are_refused_by_name() {
    let (_folder, path) = changed(|plan| {
        for state in plan["server"]["states"].as_array_mut().unwrap() {
            state["url"] = json!("http://localhost/by-path");
        }
    });
    let output = advise(&["--server-run", &path]);
    assert_eq!(refused(&output, 3), "states-ask-the-same");
    assert!(stderr(&output).contains(" off-1k and on-1k "), "{}", stderr(&output));
    let (_folder, path) = changed(|plan| {
        let states = plan["server"]["states"].as_array_mut().unwrap();
        states.retain(|state| state["response"]["body_bytes"] == 65_536);
    });
    assert_eq!(refused(&advise(&["--server-run", &path]), 3), "run-lengths-missing");
    // One of them has several: the other is left out, and named.
    let (_folder, path) = changed(|plan| {
        let states = plan["server"]["states"].as_array_mut().unwrap();
        states.retain(|state| state["state"] != "on-1k" && state["state"] != "on-1m");
    });
    let output = advise(&["--server-run", &path]);
    let printed = text(&output.stdout);
    assert!(printed.contains("doubt         the run has one length of on-64k"), "{printed}");
}

#[test]
fn a_configuration_that_the_run_does_not_have_is_refused() {
    assert_eq!(refused(&from_run(&["--today", "of"]), 2), "unknown-configuration");
}
