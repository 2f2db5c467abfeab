//! `zc compare` from outside: how it parses runs and cells, its messages, and its exit codes
//! (docs/exit-codes.md).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Output;

use zc_run::{Run, SendPath};
use zc_testkit::synthetic::TrueCell;

use crate::support::{Bounded as _, refused, stderr, three_paths, zc_in};

/// A run of three paths, saved under a name; sendfile's costs times `factor`.
fn save(folder: &Path, name: &str, seed: u64, factor: f64, change: impl FnOnce(&mut Run)) {
    let mut run = three_paths(seed, factor, TrueCell::new(SendPath::Splice, 210.0, 390.0));
    change(&mut run);
    std::fs::write(folder.join(name), zc_run::run_lines(&run)).unwrap();
}

fn compare(folder: &Path, args: &[&str]) -> Output {
    zc_in(folder, &["compare"]).args(args).finish().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_exit_code_answers_whether_any_cell_is_worse() {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "old.json", 1, 1.0, |_| {});
    save(folder.path(), "same.json", 2, 1.0, |_| {});
    save(folder.path(), "worse.json", 3, 1.5, |_| {});
    save(folder.path(), "slightly.json", 4, 1.1, |_| {});
    save(folder.path(), "rate.json", 5, 1.0, |run| run.header.plan.fixed.rate_bytes_per_s = 1e8);
    save(folder.path(), "empty.json", 6, 1.0, |run| run.blocks.clear());
    let code = |args: &[&str]| {
        let output = compare(folder.path(), args);
        (output.status.code(), stdout(&output).lines().last().unwrap_or_default().to_owned())
    };
    let judged = |new: &str| code(&["--fail-if-worse", "10%", "old.json:sendfile", new]);
    assert_eq!(judged("same.json"), (Some(0), "No cell is worse by more than 10 %.".to_owned()));
    assert_eq!(
        judged("worse.json"),
        (Some(1), "Worse by more than 10 %: worse.json: sendfile.".to_owned())
    );
    let undecided = "Undecided whether any is worse by more than 10 %: slightly.json: sendfile.";
    assert_eq!(judged("slightly.json"), (Some(10), undecided.to_owned()));
    assert_eq!(judged("rate.json"), (Some(14), "Cannot be compared.".to_owned()));
    assert_eq!(judged("empty.json"), (Some(13), "Cannot be compared.".to_owned()));
    // git takes every code but 0 and 125 for a bad commit.
    let bisected =
        |new: &str| code(&["--bisect", "--fail-if-worse", "10%", "old.json:sendfile", new]).0;
    assert_eq!((bisected("same.json"), bisected("worse.json")), (Some(0), Some(1)));
    for cannot_be_told in ["slightly.json", "rate.json", "empty.json", "none.json"] {
        assert_eq!(bisected(cannot_be_told), Some(125), "{cannot_be_told}");
    }
    // Without --fail-if-worse a difference is not a failure; what cannot be compared still is one.
    assert_eq!(code(&["old.json", "worse.json"]).0, Some(0));
    assert_eq!(code(&["old.json", "rate.json"]).0, Some(14));
    assert_eq!(code(&["old.json", "rate.json", "same.json"]).0, Some(0));
    let old = compare(folder.path(), &["old.json", "empty.json"]);
    assert!(
        stdout(&old).contains("Cannot be compared: \"empty.json\" has no block that counts."),
        "{}",
        stdout(&old)
    );
}

#[test]
fn a_cell_is_named_behind_the_last_colon_that_follows_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let colon = |run: &mut Run| {
        run.header.plan.cells[2].label = "splice: 64k, a/b".to_owned();
        for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
            if let zc_run::Slot::Trial(trial) = slot
                && trial.cell == "splice"
            {
                trial.cell = "splice: 64k, a/b".to_owned();
            }
        }
    };
    save(folder.path(), "a:b.json", 1, 1.0, colon);
    let output = compare(folder.path(), &["a:b.json:sendfile", "a:b.json:splice: 64k, a/b"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(stdout(&output).contains("sendfile -> splice: 64k, a/b"), "{}", stdout(&output));
    assert!(stdout(&output).contains("in the same blocks"), "{}", stdout(&output));

    let unknown = compare(folder.path(), &["a:b.json:sendfile", "a:b.json:spilce"]);
    assert_eq!(refused(&unknown, 11), "unknown-cell");
    let twice = compare(folder.path(), &["a:b.json", "a:b.json"]);
    assert_eq!(twice.status.code(), Some(14));
    assert!(stdout(&twice).contains("name two of its cells"), "{}", stdout(&twice));
}

#[test]
fn a_file_whose_name_is_no_utf8_is_compared_and_so_is_a_cell_of_it() {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "old.json", 1, 1.0, |_| {});
    save(folder.path(), "new.json", 2, 1.0, |_| {});
    let at = |name: &[u8]| folder.path().join(OsStr::from_bytes(name));
    std::fs::rename(at(b"new.json"), at(b"n\xff:w.json")).unwrap();
    for new in [&b"n\xff:w.json"[..], b"n\xff:w.json:sendfile"] {
        let mut zc = zc_in(folder.path(), &["compare", "old.json"]);
        let output = zc.arg(OsStr::from_bytes(new)).finish().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stdout(&output).contains("n\u{fffd}:w.json"), "{}", stdout(&output));
    }
    let mut zc = zc_in(folder.path(), &["compare", "old.json"]);
    let output = zc.arg(OsStr::from_bytes(b"n\xfe:a")).finish().unwrap();
    assert_eq!(refused(&output, 3), "cannot-read");
    assert!(stderr(&output).contains("\"n\u{fffd}:a\""), "{}", stderr(&output));
}

#[test]
fn a_calibration_widens_or_narrows_what_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let factors = [0.9, 1.0, 1.1, 0.95, 1.05, 1.0];
    for (factor, seed) in factors.into_iter().zip(1..) {
        save(folder.path(), &format!("{seed}.json"), seed, factor, |_| {});
    }
    save(folder.path(), "old.json", 11, 1.0, |_| {});
    save(folder.path(), "new.json", 12, 1.1, |_| {});
    save(folder.path(), "other.json", 13, 1.0, |run| {
        run.header.link.kind = zc_run::LinkKind::Loopback;
    });
    let files = ["1.json", "2.json", "3.json", "4.json", "5.json", "6.json"];
    let calibrated = zc_in(folder.path(), &["calibrate"]).args(files).finish().unwrap();
    assert_eq!(calibrated.status.code(), Some(0), "{calibrated:?}");
    assert!(stdout(&calibrated).contains("a path's own part of it"), "{}", stdout(&calibrated));
    let with = |pair: &[&str], files: &[&str]| {
        compare(folder.path(), &[pair, &["--calibration"], files].concat())
    };
    let cells = ["old.json:sendfile", "new.json:sendfile"];
    assert!(stdout(&compare(folder.path(), &cells)).contains("\nworse: sendfile."));
    // By 7 % from run to run where nothing changed, and 4 % over all paths.
    let knowing = stdout(&with(&cells, &files));
    assert!(knowing.contains("\nundecided: sendfile."), "{knowing}");
    assert!(knowing.contains("from 6 runs"), "{knowing}");
    // What is compared as new is left out, the old one may be of them.
    let among = stdout(&with(&["1.json", "new.json"], &[&files[..], &["new.json"]].concat()));
    assert!(among.contains("from 6 runs"), "{among}");

    let few = with(&["old.json", "1.json"], &files[..3]);
    assert_eq!(refused(&few, 14), "cannot-calibrate");
    let unlike = with(&["other.json", "new.json"], &files);
    assert_eq!(refused(&unlike, 14), "calibration-of-another-machine");
    assert!(stderr(&unlike).contains("\"other.json\""), "{}", stderr(&unlike));
    let absent = with(&["old.json", "new.json"], &["nothing.json"]);
    assert_eq!(refused(&absent, 3), "cannot-read");
}

#[test]
fn a_test_framework_and_a_commit_get_forms_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "old.json", 1, 1.0, |_| {});
    save(folder.path(), "worse.json", 3, 1.5, |run| {
        run.header.host.kernel_release = "6.19.0".to_owned();
    });
    let pair = ["old.json:sendfile", "worse.json"];
    let tap = compare(folder.path(), &[&pair[..], &["--fail-if-worse", "10%", "--tap"]].concat());
    assert_eq!(tap.status.code(), Some(1), "{tap:?}");
    let text = stdout(&tap);
    assert!(text.starts_with("KTAP version 1\n1..1\n# sendfile: "), "{text}");
    assert!(text.ends_with("\nnot ok 1 sendfile\n"), "{text}");
    let without = compare(folder.path(), &[&pair[..], &["--tap"]].concat());
    assert_eq!(without.status.code(), Some(2), "a test needs a margin: {without:?}");

    let commit = compare(folder.path(), &["old.json", "worse.json", "--commit-message"]);
    assert_eq!(commit.status.code(), Some(0), "{commit:?}");
    let text = stdout(&commit);
    assert!(text.lines().count() <= 8 && text.contains(" -> 6.19.0 "), "{text}");
    let several = ["old.json", "worse.json", "worse.json", "--commit-message"];
    assert_eq!(refused(&compare(folder.path(), &several), 2), "one-commit-message");
}
