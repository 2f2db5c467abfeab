//! Files that zc writes where other users may write, too: whose links it follows, and what it
//! leaves alone. The rules by themselves are tested in `zc_kernel::open_folder`.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, lchown, symlink};
use std::path::PathBuf;

use serde_json::Value;

use super::support::{Bounded as _, refused, saved_run, stderr, zc_in};

/// The user `daemon`, as which no test runs.
const ANOTHER: u32 = 1;

/// A line of an access log.
const LOG: &str =
    "192.0.2.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n";

/// A folder with runs to read in `zc-runs`, a log, and what no command may touch: `victim`.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("zc-runs")).unwrap();
        for name in ["one", "two"] {
            std::fs::write(at("zc-runs").join(name).with_extension("json"), saved_run()).unwrap();
        }
        std::fs::write(at("access.log"), LOG).unwrap();
        std::fs::write(at("victim"), "untouched").unwrap();
        Self(folder)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A link of another user to `victim`; `false`, and a line that says so, where that needs root.
    fn trap(&self, name: &str) -> bool {
        symlink(self.at("victim"), self.at(name)).unwrap();
        let given = lchown(self.at(name), Some(ANOTHER), Some(ANOTHER));
        given.inspect_err(|error| eprintln!("skipped: cannot give a link away: {error}")).is_ok()
    }

    fn zc(&self, words: &[&str]) -> std::process::Output {
        zc_in(self.0.path(), words).finish().unwrap()
    }

    #[track_caller]
    fn assert_untouched(&self, by: &[&str]) {
        assert_eq!(std::fs::read_to_string(self.at("victim")).unwrap(), "untouched", "{by:?}");
    }
}

/// Commands that write to the file that follows.
const TO_A_FILE: [&[&str]; 7] = [
    &["report", "zc-runs/one.json", "-o"],
    &["report", "zc-runs/one.json", "--openmetrics", "-o"],
    &["compare", "zc-runs/one.json", "zc-runs/two.json", "--html", "-o"],
    &["fleet", "report", "zc-runs", "-o"],
    &["trend", "zc-runs", "--html", "-o"],
    &["export", "zc-runs", "-o"],
    &["advise", "access.log", "--no-costs", "-o"],
];

#[test]
fn files_that_zc_names_itself_never_go_through_a_link() {
    let place = Place::new();
    for command in
        [&["export", "zc-runs"][..], &["trend", "zc-runs"], &["fleet", "report", "zc-runs"]]
    {
        let index = place.at("zc-runs/index.jsonl");
        symlink(place.at("victim"), &index).unwrap();
        let output = place.zc(command);
        assert!(!stderr(&output).contains("error"), "{}", stderr(&output));
        place.assert_untouched(command);
        assert!(index.symlink_metadata().unwrap().is_file(), "{command:?} keeps an index");
        std::fs::remove_file(index).unwrap();
    }
    for (what, file) in [("man", "zc.1"), ("completions", "_zc"), ("schema", "zc-run.schema.json")]
    {
        std::fs::create_dir(place.at(what)).unwrap();
        symlink(place.at("victim"), place.at(what).join(file)).unwrap();
        let output = place.zc(&["generate", what, what]);
        assert!(output.status.success(), "{}", stderr(&output));
        place.assert_untouched(&["generate", what]);
        assert!(place.at(what).join(file).symlink_metadata().unwrap().len() > 20);
    }
}

/// A fleet in `out` of which one measurement has come back.
fn fleet_with_a_run(place: &Place) {
    let text = "name = \"few\"\nengine = \"ssh\"\nseed = 1\n[[hosts]]\nnames = \"a,b\"\n\
                [[plans]]\nname = \"paths\"\nbudget = \"2s\"\n";
    std::fs::write(place.at("fleet.toml"), text).unwrap();
    assert!(place.zc(&["fleet", "plan", "fleet.toml", "-o", "out"]).status.success());
    let status = place.zc(&["fleet", "status", "out", "--json"]);
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let id = status["measurements"][0]["id"].as_str().unwrap();
    let run = |kind: &str| place.at("out/runs").join(format!("{id}.1.{kind}"));
    std::fs::write(run("json"), saved_run()).unwrap();
    std::fs::write(run("exit"), "0\n").unwrap();
}

#[test]
fn what_a_fleet_collects_never_goes_through_a_link() {
    let place = Place::new();
    fleet_with_a_run(&place);
    let collect = ["fleet", "collect", "out", "--archive", "archive"];
    let output = place.zc(&collect);
    assert_eq!(output.status.code(), Some(1), "one of two is missing: {}", stderr(&output));
    let mut entries =
        std::fs::read_dir(place.at("archive")).unwrap().map(|each| each.unwrap().path());
    let day = entries.find(|path| path.is_dir()).unwrap();
    // Its file of features is a link, and that of the run leads nowhere.
    std::fs::remove_file(place.at("archive/hosts.json")).unwrap();
    std::fs::write(place.at("victim"), "{}").unwrap();
    symlink(place.at("victim"), place.at("archive/hosts.json")).unwrap();
    let run = std::fs::read_dir(&day).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(&run).unwrap();
    symlink(place.at("new"), &run).unwrap();
    let output = place.zc(&collect);
    assert_eq!(refused(&output, 3), "cannot-read");
    assert!(stderr(&output).contains("hosts.json"), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(place.at("victim")).unwrap(), "{}");
    std::fs::remove_file(place.at("archive/hosts.json")).unwrap();
    assert_eq!(place.zc(&collect).status.code(), Some(1));
    assert!(!place.at("new").exists() && run.symlink_metadata().unwrap().is_file());
    // One that was compressed is there.
    std::fs::rename(&run, run.with_extension("json.gz")).unwrap();
    assert_eq!(place.zc(&collect).status.code(), Some(1));
    assert!(!run.exists());
    // The folder of its day is one.
    std::fs::remove_dir_all(&day).unwrap();
    std::fs::create_dir(place.at("elsewhere")).unwrap();
    symlink(place.at("elsewhere"), &day).unwrap();
    assert_eq!(refused(&place.zc(&collect), 5), "cannot-write");
    assert_eq!(std::fs::read_dir(place.at("elsewhere")).unwrap().count(), 0);
}

#[test]
fn a_result_does_not_go_through_another_user_s_link_in_a_folder_for_all() {
    let place = Place::new();
    std::fs::create_dir(place.at("all")).unwrap();
    std::fs::set_permissions(place.at("all"), Permissions::from_mode(0o1777)).unwrap();
    if !place.trap("all/x") {
        return;
    }
    symlink(place.0.path(), place.at("all/d")).unwrap();
    lchown(place.at("all/d"), Some(ANOTHER), Some(ANOTHER)).unwrap();
    for command in TO_A_FILE {
        for file in ["all/x", "all/d/victim", "all/d/new"] {
            let words = [command, &[file]].concat();
            assert_eq!(refused(&place.zc(&words), 5), "cannot-write", "{words:?}");
            place.assert_untouched(&words);
            assert!(!place.at("new").exists(), "{words:?}");
        }
    }
    // What another user has put there is not replaced, and a link of one's own is followed.
    std::fs::write(place.at("all/theirs"), "theirs").unwrap();
    lchown(place.at("all/theirs"), Some(ANOTHER), None).unwrap();
    symlink("../target", place.at("all/own")).unwrap();
    for command in TO_A_FILE {
        let theirs = place.zc(&[command, &["all/theirs"]].concat());
        assert_eq!(refused(&theirs, 5), "cannot-write");
        let output = place.zc(&[command, &["all/own"]].concat());
        let length = std::fs::metadata(place.at("target")).map(|found| found.len());
        assert!(length.is_ok_and(|bytes| bytes > 0), "{command:?}: {}", stderr(&output));
        std::fs::remove_file(place.at("target")).unwrap();
    }
    assert_eq!(std::fs::read_to_string(place.at("all/theirs")).unwrap(), "theirs");
    assert_eq!(refused(&place.zc(&["install-classic", "all/d"]), 5), "cannot-create-file");
    for what in ["man", "completions", "schema"] {
        assert_eq!(refused(&place.zc(&["generate", what, "all/d"]), 5), "cannot-write");
    }
    fleet_with_a_run(&place);
    for (words, id) in [
        (&["fleet", "collect", "out", "--archive", "all/d/a"][..], "cannot-write"),
        (&["fleet", "plan", "fleet.toml", "-o", "all/d/f"], "cannot-make-folder"),
    ] {
        assert_eq!(refused(&place.zc(words), 5), id, "{words:?}");
    }
    assert!(!place.at("a").exists() && !place.at("f").exists());
}

#[test]
fn a_run_is_not_saved_in_another_user_s_file_empty_or_not() {
    let place = Place::new();
    for (name, text) in [("empty", ""), ("full", "x")] {
        std::fs::write(place.at(name), text).unwrap();
        if let Err(error) = lchown(place.at(name), Some(ANOTHER), None) {
            return eprintln!("skipped: cannot give a file away: {error}");
        }
        assert_eq!(refused(&place.zc(&["run", "--out", name]), 5), "file-exists");
        let output = place.zc(&["soak", "--output", name, "--", "true"]);
        assert_eq!(refused(&output, 125), "cannot-write");
        assert_eq!(std::fs::read_to_string(place.at(name)).unwrap(), text);
    }
}

#[test]
fn what_cannot_be_looked_at_is_not_taken_for_absent() {
    let place = Place::new();
    let locked = place.at("locked");
    std::fs::create_dir(&locked).unwrap();
    symlink(locked.join("x"), place.at("x")).unwrap();
    let was = std::fs::metadata(&locked).unwrap().permissions();
    std::fs::set_permissions(&locked, Permissions::from_mode(0o000)).unwrap();
    if locked.join("x").metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    {
        return eprintln!("skipped: root may look into every folder");
    }
    let output = place.zc(&["report", "zc-runs/one.json", "--json", "-o", "x"]);
    std::fs::set_permissions(&locked, was).unwrap();
    assert_eq!(refused(&output, 5), "cannot-write");
    assert!(place.at("x").symlink_metadata().unwrap().is_symlink(), "the link is not replaced");
}
