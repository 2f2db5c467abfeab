//! `zc advise` where part of the log went over TLS, with logs of several hosts, and with a price.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use zc_run::{Run, SendPath, run_lines};
use zc_testkit::synthetic::Synthetic;
use zc_testkit::tls::tls_run;

use crate::format::is_as_described;
use crate::support::{Bounded as _, refused, stderr, text, zc_in};

/// A real run of `zc run requests --responses close`, with few of its blocks and lengths.
fn real_run() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/testdata/requests.json")
}

fn log() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../access-log/testdata/elastic-examples.log")
}

/// A run of `zc run tls` on a kernel that encrypts.
fn of_tls() -> Run {
    let cipher = "aes-128-gcm";
    let ways = [
        (SendPath::ReadSend, "clear", 300.0),
        (SendPath::Sendfile, "clear", 120.0),
        (SendPath::TlsWrite, cipher, 640.0),
        (SendPath::KtlsWrite, cipher, 520.0),
        (SendPath::KtlsSendfile, cipher, 400.0),
    ];
    tls_run(&ways, Synthetic { noise: 0.01, block_drift: 0.0, ..Synthetic::default() })
}

/// `zc advise --from-run` the real one, in a folder with a run of TLS (`tls.json`), one of streams
/// (`streams.json`) and two logs.
fn advise(args: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    advise_in(folder.path(), args)
}

fn advise_in(folder: &Path, args: &[&str]) -> Output {
    std::fs::write(folder.join("tls.json"), run_lines(&of_tls())).unwrap();
    std::fs::write(folder.join("streams.json"), run_lines(&Synthetic::default().run())).unwrap();
    for log in ["access.log", "other.log"] {
        std::fs::copy(self::log(), folder.join(log)).unwrap();
    }
    let run = real_run();
    let args = [&["advise", "--from-run", run.to_str().unwrap()], args].concat();
    zc_in(folder, &args).finish().unwrap()
}

#[track_caller]
fn document(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    let document = serde_json::from_slice(&output.stdout).unwrap();
    is_as_described("advise", &document);
    document
}

#[test]
fn a_named_run_of_tls_is_in_the_costs() {
    let args = ["access.log", "--tls-run", "tls.json", "--tls", "80%", "--json"];
    let document = document(&advise(&args));
    let costs = &document["costs"];
    assert_eq!(costs["tls"]["bytes_share"], 0.8);
    assert_eq!(costs["tls"]["cipher"], "aes-128-gcm");
    assert_eq!(costs["tls_run"]["file"], "tls.json");
    let names = costs["paths"].as_array().unwrap().iter().map(|path| path["path"].clone());
    let names: Vec<Value> = names.collect();
    assert!(names.ends_with(&["ktls-write".into(), "ktls-sendfile".into()]), "{names:?}");
    let today = ["--today", "ktls-sendfile"];
    let printed = text(&advise(&[&args[..5], &today].concat()).stdout);
    let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    for says in ["instead of ktls-sendfile costs ", "TLS in user space would take "] {
        assert!(printed.contains(says), "{says}: {printed}");
    }
}

#[test]
fn a_log_that_does_not_say_what_was_encrypted_is_answered_without() {
    let output = advise(&["access.log", "--tls-run", "tls.json"]);
    let printed = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains("--tls all, --tls none or a share"), "{printed}");
    assert!(printed.contains("sendfile instead of read+send saves"), "{printed}");
}

#[test]
fn runs_without_what_is_asked_of_them_are_refused() {
    let tls = |args: &[&str]| advise(&[&["access.log", "--tls", "all"], args].concat());
    let output = tls(&["--tls-run", "streams.json"]);
    assert_eq!(refused(&output, 3), "run-of-another-kind");
    assert!(stderr(&output).contains("hint: zc run tls "), "{}", stderr(&output));
    let args = ["--tls-run", "tls.json", "--cipher", "chacha20-poly1305"];
    assert_eq!(refused(&tls(&args), 2), "unknown-cipher");
    assert_eq!(refused(&tls(&["--tls-run", "none.json"]), 3), "cannot-read");
    assert_eq!(refused(&tls(&["--cipher", "aes-256-gcm"]), 3), "no-run-of-tls");
}

/// The newest one of this machine is taken, and one of another is not.
#[test]
fn a_run_of_this_folder_and_machine_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let of_another = run_lines(&of_tls());
    std::fs::write(folder.path().join("zc-a.json"), of_another).unwrap();
    let args = ["access.log", "--tls", "all"];
    let said = stderr(&advise_in(folder.path(), &args));
    assert!(!said.contains("what TLS costs is from"), "{said}");
    let mut tls = of_tls();
    tls.header.host = zc_rig::meter::host();
    std::fs::write(folder.path().join("zc-b.json"), run_lines(&tls)).unwrap();
    let output = advise_in(folder.path(), &args);
    let said = stderr(&output);
    assert!(said.contains("what TLS costs is from \"zc-b.json\""), "{said}");
    // The named run of responses is of another machine, to which these nanoseconds say nothing.
    assert!(!text(&output.stdout).contains("zc-b.json"), "{}", text(&output.stdout));
    // As if it had been measured here.
    let mut responses: Value = serde_json::from_slice(&std::fs::read(real_run()).unwrap()).unwrap();
    responses["host"] = serde_json::to_value(zc_rig::meter::host()).unwrap();
    std::fs::write(folder.path().join("zc-c.json"), responses.to_string()).unwrap();
    let args = ["advise", "access.log", "--tls", "all", "--json"];
    let document = document(&zc_in(folder.path(), &args).finish().unwrap());
    assert_eq!(document["costs"]["run"]["file"], "zc-c.json");
    assert_eq!(document["costs"]["tls_run"]["file"], "zc-b.json");
}

#[test]
fn hosts_are_rows_and_their_cores_add_up() {
    let hosts = ["--host", "web1=access.log", "--host", "web2=other.log"];
    let args = [&hosts[..], &["--money", "$0.04/core-hour", "--json"]].concat();
    let document = document(&advise(&args));
    let costs = &document["costs"];
    let cores = |of: &Value| of["paths"][0]["cores"]["value"]["value"].as_f64().unwrap();
    let [first, second] = &costs["hosts"].as_array().unwrap()[..] else { panic!("{costs}") };
    assert_eq!((&first["host"], &second["host"]), (&"web1".into(), &"web2".into()));
    assert!((cores(costs) / (cores(first) + cores(second)) - 1.0).abs() < 1e-9, "{costs}");
    assert_eq!((&costs["currency"], &costs["price_per_core_hour"]), (&"$".into(), &0.04.into()));
    let month = &costs["paths"][0]["money_per_month"]["value"]["value"];
    assert!((month.as_f64().unwrap() / (cores(costs) * 730.0 * 0.04) - 1.0).abs() < 1e-9);
    assert_eq!(document["logs"][1]["host"], "web2");
    // Both logs of one host are one row.
    let of_one = ["--host", "web1=access.log", "--host", "web1=other.log"];
    let printed = text(&advise(&of_one).stdout);
    let rows = printed.lines().filter(|line| line.starts_with("web1 ")).count();
    assert_eq!(rows, 1, "{printed}");
    assert!(printed.lines().any(|line| line.starts_with("together ")), "{printed}");
}

#[test]
fn what_is_no_host_no_share_and_no_price_is_refused() {
    for (args, id) in [
        (&["--host", "web1"][..], "invalid-host"),
        (&["--host", "=access.log"], "invalid-host"),
        (&["--host", "web1="], "invalid-host"),
        (&["--host", "a/b=access.log"], "invalid-host"),
        (&["access.log", "--tls", "some"], "invalid-share"),
        (&["access.log", "--tls", "1.5"], "invalid-share"),
        (&["access.log", "--money", "0.04"], "invalid-price"),
        (&["access.log", "--cipher", "clear"], "unknown-cipher"),
    ] {
        assert_eq!(refused(&advise(args), 2), id, "{args:?}");
    }
    let both = advise(&["access.log", "--host", "web1=other.log"]);
    assert_eq!(both.status.code(), Some(2), "{}", stderr(&both));
    let output = advise(&["--host", "web1=none.log"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
}
