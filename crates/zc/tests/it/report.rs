//! `zc report` from outside: every form of one run and of several, and the older file after a
//! failure to write.

use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, Output};

use tempfile::TempDir;
use zc_run::{Factor, SendPath};
use zc_testkit::synthetic::{Synthetic, size_sweep};

use crate::support::{Bounded as _, ZC, refused, zc_in};

/// A folder with two saved runs, `paths.json` and `sizes.json`, and an older report.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    put("paths.json", &zc_run::run_lines(&Synthetic { blocks: 8, ..Synthetic::default() }.run()));
    let paths = [(SendPath::ReadSend, 300.0, 400.0), (SendPath::Sendfile, 900.0, 100.0)];
    let cells = size_sweep(&paths, &[256, 4096, 65_536]);
    let factors = vec![Factor::Message, Factor::Send];
    let mut sizes = Synthetic { blocks: 8, cells, factors, ..Synthetic::default() }.run();
    sizes.header.plan.experiment = "sizes".to_owned();
    put("sizes.json", &zc_run::run_lines(&sizes));
    put("old.html", "the old report");
    folder
}

fn report(folder: &TempDir, args: &[&str]) -> Output {
    zc_in(folder.path(), &["report"]).args(args).finish().unwrap()
}

#[track_caller]
fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The id of the error, after checking that the older file is unchanged and no other file was left.
#[track_caller]
fn leaves_all(folder: &TempDir, output: &Output, code: i32) -> String {
    assert_eq!(std::fs::read_to_string(folder.path().join("old.html")).unwrap(), "the old report");
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["old.html", "paths.json", "sizes.json"]);
    refused(output, code)
}

#[test]
fn html_is_what_it_makes_unless_something_else_is_asked_for() {
    let folder = folder();
    let page = printed(&report(&folder, &["paths.json"]));
    assert!(page.to_lowercase().starts_with("<!doctype html>"), "{page}");
    assert_eq!(printed(&report(&folder, &["--html", "paths.json"])), page);
    assert_eq!(printed(&report(&folder, &["paths.json", "-o", "new.html"])), "");
    assert_eq!(std::fs::read_to_string(folder.path().join("new.html")).unwrap(), page);
}

#[test]
fn a_report_takes_the_place_of_an_older_one() {
    let folder = folder();
    let before = folder.path().join("old.html").metadata().unwrap();
    printed(&report(&folder, &["paths.json", "sizes.json", "--markdown", "-o", "old.html"]));
    let after = folder.path().join("old.html").metadata().unwrap();
    assert_ne!(before.ino(), after.ino(), "in one step");
    assert_eq!(before.mode(), after.mode());
    let text = std::fs::read_to_string(folder.path().join("old.html")).unwrap();
    assert!(text.starts_with("## zc paths\n") && text.contains("\n## zc sizes\n"), "{text}");
}

#[test]
fn one_run_is_reported_as_show_prints_it() {
    let folder = folder();
    for form in ["--csv", "--json"] {
        let shown = zc_in(folder.path(), &["show", "sizes.json", form]).finish().unwrap();
        assert_eq!(printed(&report(&folder, &["sizes.json", form])), printed(&shown), "{form}");
    }
}

#[test]
fn a_mailing_list_has_eighty_columns() {
    let folder = folder();
    let text = printed(&report(&folder, &["paths.json", "sizes.json", "--markdown"]));
    assert!(text.contains("## zc paths\n") && text.contains("## zc sizes\n"), "{text}");
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn several_runs_are_one_csv() {
    let folder = folder();
    let text = printed(&report(&folder, &["sizes.json", "paths.json", "--csv"]));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let place = |name: &str| head.iter().position(|each| each == name).unwrap();
    let lines: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), 7 + 10);
    assert_eq!(&head[0], "run");
    let line = |at: usize, name: &str| lines[at][place(name)].to_owned();
    assert_eq!(
        (line(0, "run"), line(0, "experiment"), line(0, "message")),
        ("1".into(), "sizes".into(), "256".into())
    );
    assert_eq!(
        (line(7, "run"), line(7, "experiment"), line(7, "message")),
        ("2".into(), "paths".into(), "".into())
    );
    assert!(line(7, "both_us_per_mb").parse::<f64>().is_ok());
}

#[test]
fn several_runs_are_an_array_of_documents() {
    let folder = folder();
    let text = printed(&report(&folder, &["sizes.json", "paths.json", "--json"]));
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let alone: serde_json::Value =
        serde_json::from_str(&printed(&report(&folder, &["paths.json", "--json"]))).unwrap();
    assert_eq!((all.as_array().map(Vec::len), &all[1]), (Some(2), &alone));
}

#[test]
fn a_report_never_takes_the_place_of_a_run() {
    let folder = folder();
    let output = report(&folder, &["paths.json", "sizes.json", "-o", "./sizes.json"]);
    assert_eq!(leaves_all(&folder, &output, 2), "output-is-input");
    // What a shell makes of `-o *.json`, when the name of the report was forgotten.
    let output = report(&folder, &["-o", "paths.json", "sizes.json"]);
    assert_eq!(leaves_all(&folder, &output, 5), "file-is-a-run");
}

#[test]
fn where_nothing_can_be_written_nothing_is_lost() {
    let folder = folder();
    for out in [".", "none/r.html", "/dev/null", "/proc/r.html"] {
        let output = report(&folder, &["paths.json", "-o", out]);
        assert_eq!(leaves_all(&folder, &output, 5), "cannot-write");
    }
}

#[test]
fn a_disk_that_is_full_half_way_leaves_the_old_report() {
    let folder = folder();
    // A limit of file sizes (in blocks of 512 bytes) is as a full disk: SIGXFSZ must not end zc.
    let words = "ulimit -f 4; exec \"$0\" report paths.json --json -o old.html";
    let output =
        Command::new("sh").args(["-c", words, ZC]).current_dir(folder.path()).finish().unwrap();
    assert_eq!(leaves_all(&folder, &output, 5), "cannot-write");
}

#[test]
fn runs_that_cannot_be_read_leave_the_old_report() {
    let folder = folder();
    let output = report(&folder, &["paths.json", "missing.json", "-o", "old.html"]);
    assert_eq!(leaves_all(&folder, &output, 3), "cannot-read");
}

#[test]
fn what_is_huge_and_no_run_is_refused_at_once() {
    let folder = folder();
    let sized = |name: &str, start: &str, bytes: u64| {
        std::fs::write(folder.path().join(name), start).unwrap();
        std::fs::OpenOptions::new()
            .write(true)
            .open(folder.path().join(name))
            .unwrap()
            .set_len(bytes)
            .unwrap();
        let output = report(&folder, &[name]);
        std::fs::remove_file(folder.path().join(name)).unwrap();
        leaves_all(&folder, &output, 3)
    };
    assert_eq!(sized("holes.json", "", 5 << 30), "cannot-read");
    assert_eq!(sized("holes.json", "", 1 << 30), "not-a-run");
    assert_eq!(sized("holes.json", "{\"zc_run\":2,", 1 << 30), "run-damaged");
    let text = std::fs::read_to_string(folder.path().join("paths.json")).unwrap();
    assert_eq!(sized("holes.json", &text, 1 << 30), "run-damaged");
}

#[test]
fn a_run_that_was_cut_off_is_shown_with_a_warning() {
    let folder = folder();
    let path = folder.path().join("paths.json");
    let text = std::fs::read(&path).unwrap();
    std::fs::write(&path, &text[..text.len() / 2]).unwrap();
    let output = report(&folder, &["paths.json", "--csv"]);
    assert!(printed(&output).starts_with("path,"));
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .starts_with("warning: file \"paths.json\" is cut off: ")
    );
}
