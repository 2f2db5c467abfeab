//! `zc run replay`. Whether the log costs what its lengths tell is not checked: this machine may be
//! busy.

use std::path::Path;

use crate::requests::has_a_block;
use crate::server::trials;
use crate::support::{Bounded as _, measuring, refused, saved, stderr, text, zc_in};

/// A log of 40 responses in 20 s, among them one without a body, a longer one than can be sent, and
/// a line that is none.
fn write_log(folder: &Path) {
    let line = |at: usize, status: &str, bytes: &str| {
        format!(
            "192.0.2.1 - - [17/May/2015:10:05:{:02} +0000] \"GET /a HTTP/1.1\" {status} {bytes}\n",
            at / 2
        )
    };
    let mut log: String =
        (0..37).map(|at| line(at, "200", &(1000 * (at + 1)).to_string())).collect();
    log.push_str(&line(37, "304", "-"));
    log.push_str(&line(38, "200", "150000"));
    log.push_str(&line(39, "200", "5000000000"));
    log.push_str("not a line of a log\n");
    std::fs::write(folder.join("access.log"), log).unwrap();
}

const PLAN: &str = r#"
name = "mine"
rates = "by-level"
compare = ["send"]
[fixed]
responses = "keep-alive"
[reference]
message = "4k"
[[factor]]
name = "message"
levels = ["4k", "256k", "4m"]
[[factor]]
name = "send"
levels = ["read+send", "sendfile"]
"#;

#[test]
fn each_trial_of_a_replay_has_all_responses_of_the_log_whole() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    write_log(folder.path());
    std::fs::write(folder.path().join("mine.toml"), PLAN).unwrap();
    let words =
        ["run", "--plan", "mine.toml", "--log", "access.log", "--budget", "600s", "--seed", "1"];
    let mut command = zc_in(folder.path(), &words);
    command.args(["--out", "run.json"]);
    if !has_a_block(folder.path(), &mut command) {
        return;
    }
    let run = saved(folder.path());
    let plan = &run.header.plan;
    let replay = plan.replay().unwrap();
    assert_eq!((replay.log.as_str(), replay.log_requests, replay.too_long), ("access.log", 40, 1));
    assert!((replay.log_requests_per_s - 2.0).abs() < 1e-9, "{}", replay.log_requests_per_s);
    assert_eq!(replay.cells, ["log read+send", "log sendfile"]);
    // In the order of the log.
    let bytes: Vec<u64> = (1..=37).map(|thousands| 1000 * thousands).chain([0, 150_000]).collect();
    assert_eq!(replay.body_bytes, bytes);
    let labels: Vec<&str> = plan.cells.iter().map(|cell| cell.label.as_str()).collect();
    let expected = [
        "4k read+send",
        "4k sendfile",
        "256k read+send",
        "256k sendfile",
        "log read+send",
        "log sendfile",
        "4k read+send (A/A)",
        "4k read+send (+burn)",
    ];
    assert_eq!(labels, expected, "nothing in the log is as long as 4m");
    let mut seen = 0;
    for trial in trials(&run).filter(|trial| replay.cells.contains(&trial.cell)) {
        let (opened, closed) = (&trial.opened.sent, &trial.closed.sent);
        let sent = (closed.calls - opened.calls, closed.bytes - opened.bytes);
        assert_eq!(sent, (bytes.len() as u64, bytes.iter().sum()), "{}", trial.cell);
        seen += 1;
    }
    assert!(seen > 0);
    let shown = zc_in(folder.path(), &["show", "run.json"]).finish().unwrap();
    let shown = text(&shown.stdout);
    assert!(shown.contains("access.log: 39 of its 40 responses"), "{shown}");
    // The run names its log, so that it can be repeated.
    std::fs::remove_file(folder.path().join("access.log")).unwrap();
    let again = zc_in(folder.path(), &["run", "--like", "run.json"]).finish().unwrap();
    assert_eq!(refused(&again, 3), "cannot-read-log");
    assert!(stderr(&again).contains("\"access.log\""), "{}", stderr(&again));
}
