//! `zc profile` from outside. Its figures are not checked closely: other tests run at the same
//! time.

use std::path::Path;
use std::process::Output;

use zc_run::Run;

use crate::support::{Bounded as _, interrupted_when, measuring, refused, saved, text, zc_in};

fn zc(folder: &Path, args: &[&str]) -> Output {
    zc_in(folder, args).env("COLUMNS", "120").finish().unwrap()
}

/// Whether threads were sampled while each path sent.
fn all_sampled(run: &Run) -> bool {
    ["read+send", "sendfile"].iter().all(|cell| {
        let mut windows =
            run.blocks.iter().filter_map(|block| block.samples.as_ref()).flat_map(|s| &s.windows);
        windows.any(|window| window.cell.as_deref() == Some(*cell) && !window.tasks.is_empty())
    })
}

#[test]
fn a_profile_is_saved_and_shown_again_or_refused_with_what_would_help() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let args = "profile read+send sendfile --link loopback --rate 100MB/s --folded stacks \
        --out run.json";
    let mut command = zc_in(folder.path(), &args.split(' ').collect::<Vec<_>>());
    let output = interrupted_when("both paths are sampled", command.env("COLUMNS", "120"), || {
        let text = std::fs::read_to_string(folder.path().join("run.json")).unwrap_or_default();
        zc_run::parse(&text).is_ok_and(|(run, _)| all_sampled(&run))
    });
    let said = text(&output.stderr);
    if output.status.code() == Some(4) {
        eprintln!("skipped: {said}");
        assert!(said.contains("hint: run as root"), "{said}");
        assert!(!folder.path().join("run.json").exists());
        return;
    }
    assert_eq!(output.status.code(), Some(130), "{said}");
    let table = text(&output.stdout);
    assert!(table.contains("sampled"), "{table}");
    let run = saved(folder.path());
    assert!(run.header.sampling.is_some());
    assert!(all_sampled(&run));
    let symbols: Vec<&String> = run
        .blocks
        .iter()
        .filter_map(|block| block.samples.as_ref())
        .flat_map(|block| &block.symbols)
        .collect();
    assert!(symbols.iter().any(|name| name.contains("tcp_")), "{symbols:?}");

    let shown = zc(folder.path(), &["show", "run.json"]);
    assert_eq!(text(&shown.stdout), table);
    let json = zc(folder.path(), &["show", "run.json", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["profile"]["cells"][1]["label"], "sendfile");
    let folded = std::fs::read_to_string(folder.path().join("stacks")).unwrap();
    assert_eq!(text(&zc(folder.path(), &["show", "run.json", "--folded"]).stdout), folded);
    // A busy machine drops blocks, and stacks contain no samples of dropped blocks.
    let all_dropped = run.blocks.iter().all(|block| block.dropped.is_some());
    assert_eq!(folded.is_empty(), all_dropped, "{folded}");
    for line in folded.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        assert!(stack.starts_with("read+send;") || stack.starts_with("sendfile;"), "{line}");
        assert!(count.parse::<u64>().unwrap() > 0, "{line}");
    }
}

#[test]
fn folded_stacks_take_no_saved_run_s_place() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("old.json"), "{\"zc_run\":1}").unwrap();
    let output = zc(folder.path(), &["profile", "--folded", "old.json", "--out", "run.json"]);
    assert_eq!(refused(&output, 5), "file-is-a-run");
    assert!(!folder.path().join("run.json").exists());
}
