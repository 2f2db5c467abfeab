//! `zc run requests`, and `--responses` with other plans. The figures are not checked: this machine
//! may be busy.

use std::path::Path;
use std::process::Command;

use zc_run::{Factor, SendPath, Unsoaked};

use crate::server::trials;
use crate::support::{
    Bounded as _, NOTHING_KEPT, blocks_saved, interrupted_when, link_is_unavailable, measuring,
    saved, text, zc_in,
};

/// Runs until a block is saved. False: it cannot be measured here, or now.
#[track_caller]
pub(crate) fn has_a_block(folder: &Path, zc: &mut Command) -> bool {
    let output = interrupted_when("a block is saved", zc, || blocks_saved(folder) > 0);
    if link_is_unavailable(&output) {
        return false;
    }
    assert!(matches!(output.status.code(), Some(NOTHING_KEPT | 130)), "{}", text(&output.stderr));
    true
}

#[test]
fn responses_are_sent_by_each_path_that_can_be_had_and_counted() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let mut command =
        zc_in(folder.path(), &["run", "requests", "--paths", "sendfile,msg-zerocopy"]);
    command.args(["--buffer", "64k", "--congestion", "reno", "--budget", "600s"]);
    command.args(["--out", "run.json"]);
    if !has_a_block(folder.path(), &mut command) {
        return;
    }
    let run = saved(folder.path());
    let plan = &run.header.plan;
    assert_eq!(plan.fixed.congestion, "reno");
    assert_eq!(plan.factors, [Factor::Message, Factor::Send]);
    assert_eq!(plan.unsoaked, Unsoaked::None);
    assert!(plan.traffic.responses().is_some_and(|responses| responses.keepalive));
    let labels: Vec<&str> = plan.cells.iter().map(|cell| cell.label.as_str()).collect();
    let expected = ["read+send", "sendfile", "read+send (A/A)", "read+send (+burn)"];
    assert_eq!(labels, expected);
    let mut seen = 0;
    for trial in trials(&run) {
        assert_eq!(trial.whole_bytes % (64 << 10), 0, "whole responses of {}", trial.cell);
        seen += trial.closed.sent.calls - trial.opened.sent.calls;
    }
    assert!(seen > 0);
    // Zero-copy sends are copied over veth, and say so instead of having a figure.
    let rows: Vec<&str> = run.header.unavailable.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(rows, ["msg-zerocopy"]);
    let shown = zc_in(folder.path(), &["show", "-v", "run.json"]).finish().unwrap();
    assert!(text(&shown.stdout).contains("over veth the kernel copies"), "{}", text(&shown.stdout));
}

#[test]
fn a_plan_of_the_user_s_own_may_have_responses_with_a_connection_each() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let plan = r#"
name = "mine"
question = "What does a connection add?"
compare = ["send"]
rates = "by-level"
[fixed]
responses = "close"
[reference]
message = "4k"
[[factor]]
name = "message"
levels = ["4k"]
[[factor]]
name = "send"
levels = ["read+write", "read+send"]
"#;
    std::fs::write(folder.path().join("mine.toml"), plan).unwrap();
    let mut command = zc_in(folder.path(), &["run", "--plan", "mine.toml", "--budget", "600s"]);
    command.args(["--out", "run.json"]);
    if !has_a_block(folder.path(), &mut command) {
        return;
    }
    let run = saved(folder.path());
    assert!(run.header.plan.traffic.responses().is_some_and(|responses| !responses.keepalive));
    assert!(
        run.header
            .plan
            .cells
            .iter()
            .any(|cell| cell.transfer.send_path() == Some(SendPath::ReadWrite))
    );
}
