//! Effects of another user's folder, another process or a full disk on `zc fleet`, and its messages
//! about runs that no report uses.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use zc_run::{Severity, Warning};
use zc_testkit::synthetic::{Synthetic, two_machines};

use super::{fleet_by_kubernetes, fleet_by_ssh, saved_in, saved_in_folder};
use crate::support::{Bounded as _, ZC, on_small_disk, refused, stderr, text, until, zc_in};

/// A user that is neither root nor nobody, as whom these tests are run.
const OTHER: u32 = 65_533;

/// Gives a folder and all that is in it to another user; false, and a skip, where this user cannot.
fn given_away(path: &Path) -> bool {
    if let Err(error) = chown(path, Some(OTHER), Some(OTHER)) {
        eprintln!("skipped: this user cannot give files away: {error}");
        return false;
    }
    if path.is_dir() {
        return fs::read_dir(path).unwrap().all(|entry| given_away(&entry.unwrap().path()));
    }
    true
}

/// A script that leaves a trace beside itself.
fn script_that_leaves_a_trace(path: &Path) {
    fs::write(path, "#!/bin/sh\n: >\"$(dirname \"$0\")/started\"\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn changed(path: &Path, change: impl Fn(&mut Value)) {
    let mut plan: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    change(&mut plan);
    fs::write(path, plan.to_string()).unwrap();
}

const COMMANDS: [&str; 5] = ["submit", "status", "collect", "cancel", "report"];

#[test]
fn another_user_s_folder_is_not_used_unless_it_is_trusted() {
    let at = fleet_by_kubernetes();
    let here = at.path();
    let run = |words: &[&str]| zc_in(here, &[&["fleet"], words].concat()).finish().unwrap();
    let is_asked = || fs::remove_file(here.join("calls")).is_ok();
    let all_refused = |what: &str| {
        for command in COMMANDS {
            let output = run(&[command, "out"]);
            assert_eq!(refused(&output, 3), "folder-not-trusted", "{what}");
            let said = stderr(&output);
            assert!(said.contains(" 65533)") && said.contains("--trust"), "{what}: {said}");
        }
        assert!(!is_asked(), "{what}");
    };
    for part in ["out/fleet.json", "out/runs"] {
        if !given_away(&here.join(part)) {
            return;
        }
        all_refused(part);
        chown(here.join(part), Some(0), Some(0)).unwrap();
    }
    // One of the jobs is enough: it is what would be run.
    let jobs = here.join("out/jobs");
    let job = fs::read_dir(&jobs).unwrap().map(|entry| entry.unwrap().path());
    let job = job.filter(|path| !path.ends_with("fleet.json")).min().unwrap();
    given_away(&job);
    assert_eq!(refused(&run(&["submit", "out"]), 3), "folder-not-trusted");
    assert!(!fs::read_to_string(here.join("calls")).unwrap().contains("create"));
    chown(&job, Some(0), Some(0)).unwrap();
    given_away(&here.join("out"));
    is_asked();
    all_refused("all of it");
    let status = run(&["status", "out", "--trust"]);
    assert!(status.status.success(), "{}", stderr(&status));
    assert!(is_asked());
    assert_eq!(refused(&run(&["report", "out", "--trust"]), 13), "no-usable-run");
}

#[test]
fn no_folder_says_which_programs_are_started() {
    let at = fleet_by_kubernetes();
    let here = at.path();
    let evil = here.join("evil");
    fs::create_dir(&evil).unwrap();
    script_that_leaves_a_trace(&evil.join("program"));
    let program = evil.join("program").display().to_string();
    let plan = here.join("out/fleet.json");
    let own = fs::read_to_string(&plan).unwrap();
    assert!(!own.contains("kubectl"), "{own}");
    // What stands for kubectl is on the PATH, and the folder names another one in every way there
    // is.
    let path = format!("{}:{}", here.display(), std::env::var("PATH").unwrap());
    let run = |words: &[&str]| {
        zc_in(here, &[&["fleet"], words].concat()).env("PATH", &path).finish().unwrap()
    };
    changed(&plan, |plan| {
        plan["kubernetes"]["kubectl"] = program.clone().into();
        plan["ssh"] = json!({ "command": program });
        plan["programs"] = json!({ "ssh": program, "kubectl": program });
        plan["programs_by"] = Value::Null;
    });
    for command in COMMANDS {
        run(&[command, "out", "--trust"]);
    }
    // Nobody is reached in this test.
    fs::write(here.join("ssh"), "#!/bin/sh\nexit 255\n").unwrap();
    fs::set_permissions(here.join("ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    changed(&plan, |plan| plan["engine"] = "ssh".into());
    run(&["submit", "out"]);
    assert!(!evil.join("started").exists());
    assert!(here.join("calls").exists(), "the one of the PATH was");
    // A file that came with the folder names none, as it was not there when the fleet was planned.
    let file = fs::read_to_string(here.join("fleet.toml")).unwrap();
    let kubectl = here.join("kubectl").display().to_string();
    fs::write(evil.join("fleet.toml"), file.replace(&kubectl, &program)).unwrap();
    fs::write(&plan, &own).unwrap();
    changed(&plan, |plan| plan["programs_by"]["path"] = evil.join("fleet.toml").to_str().into());
    let output = run(&["status", "out"]);
    assert_eq!(refused(&output, 3), "program-changed");
    assert!(stderr(&output).contains("--programs FLEET.toml"), "{}", stderr(&output));
    assert!(!evil.join("started").exists());
}

#[test]
fn the_programs_of_a_fleet_are_those_of_its_file_each_time() {
    let at = fleet_by_kubernetes();
    let here = at.path();
    let path = format!("{}:{}", here.display(), std::env::var("PATH").unwrap());
    let run = |words: &[&str]| {
        zc_in(here, &[&["fleet"], words].concat()).env("PATH", &path).finish().unwrap()
    };
    let file = fs::read_to_string(here.join("fleet.toml")).unwrap();
    let kubectl = here.join("kubectl").display().to_string();
    let lab = file.replace(&kubectl, "kubectl --context lab");
    fs::write(here.join("fleet.toml"), &lab).unwrap();
    // What stands for kubectl takes the verb first.
    let stand_in = fs::read_to_string(&kubectl).unwrap();
    let takes = "echo \"$*\" >>\"$here/calls\"\n[ \"$1\" != --context ] || shift 2\n";
    fs::write(&kubectl, stand_in.replace("echo \"$*\" >>\"$here/calls\"\n", takes)).unwrap();
    assert!(run(&["plan", "fleet.toml", "-o", "lab"]).status.success());
    let calls = || fs::read_to_string(here.join("calls")).unwrap_or_default();
    for command in ["submit", "status", "cancel"] {
        let _ = fs::remove_file(here.join("calls"));
        let output = run(&[command, "lab"]);
        assert!(output.status.success(), "{command}: {}", stderr(&output));
        assert!(calls().lines().all(|call| call.starts_with("--context lab ")), "{}", calls());
        assert!(!calls().is_empty());
    }
    fs::rename(here.join("fleet.toml"), here.join("moved.toml")).unwrap();
    let gone = run(&["status", "lab"]);
    assert_eq!(refused(&gone, 3), "program-changed");
    assert!(stderr(&gone).contains("fleet.toml\""), "{}", stderr(&gone));
    let _ = fs::remove_file(here.join("calls"));
    assert!(run(&["status", "lab", "--programs", "moved.toml"]).status.success());
    assert!(calls().starts_with("--context lab "), "{}", calls());
}

/// Puts into a folder's runs and logs whatever its owner could to make others wait or to see what
/// they may.
fn traps(folder: &Path, ids: &[String], secret: &Path) {
    let run = |at: usize, kind: &str| folder.join(format!("runs/{}.9.{kind}", ids[at]));
    let fifo = |path: &Path| rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o600.into()).unwrap();
    symlink("/dev/zero", run(0, "exit")).unwrap();
    symlink("/dev/zero", run(0, "jsonl.gz")).unwrap();
    File::create(run(1, "exit")).unwrap().set_len(5 << 30).unwrap();
    File::create(run(1, "jsonl.gz")).unwrap().set_len(5 << 30).unwrap();
    fifo(&run(2, "exit"));
    fifo(&run(2, "jsonl.gz"));
    fs::write(run(3, "exit"), "6\n").unwrap();
    symlink(secret, folder.join(format!("logs/{}.9.txt", ids[3]))).unwrap();
    fifo(&folder.join("logs/0000.0.9.txt"));
    fifo(&folder.join("index.jsonl"));
}

#[test]
fn what_lies_in_a_folder_ends_no_command_and_shows_no_other_file() {
    let at = fleet_by_ssh("../../zc");
    let here = at.path();
    let run = |words: &[&str]| zc_in(here, &[&["fleet"], words].concat()).finish().unwrap();
    assert!(run(&["plan", "fleet.toml", "-o", "out"]).status.success());
    let status = run(&["status", "out", "--json"]);
    let document: Value = serde_json::from_slice(&status.stdout).unwrap();
    let cells = document["measurements"].as_array().unwrap();
    let ids: Vec<String> = cells.iter().map(|cell| cell["id"].as_str().unwrap().into()).collect();
    fs::write(here.join("secret"), "hunter2\n").unwrap();
    traps(&here.join("out"), &ids, &here.join("secret"));
    let all = |output: &Output| text(&output.stdout) + &stderr(output);
    for command in ["status", "collect", "report", "cancel"] {
        let said = all(&run(&[command, "out"]));
        assert!(!said.contains("hunter2"), "{said}");
    }
    let said = all(&run(&["status", "out"]));
    for says in [
        "its run cannot be read: it is a symbolic link (job 9)",
        "its run cannot be read: it is not a regular file (job 9)",
        "exit code 6: its log cannot be read: it is a symbolic link (job 9)",
    ] {
        assert!(said.contains(says), "no {says} in:\n{said}");
    }
    assert!(
        said.contains("it was killed, or its host vanished") || said.contains("more than 65536")
    );
    // All of them are measured anew.
    fs::create_dir(here.join("hosts/c")).unwrap();
    let submitted = run(&["submit", "out"]);
    assert_eq!(submitted.status.code(), Some(0), "{}", stderr(&submitted));
}

#[test]
fn what_lies_in_an_archive_ends_no_command_and_is_named() {
    let at = tempfile::tempdir().unwrap();
    let here = at.path();
    super::archive_of_twelve_nights(&here.join("archive"), 1.0);
    let day = here.join("archive/2026-11-03");
    fs::rename(day.join("0.json"), here.join("elsewhere.json")).unwrap();
    symlink("../../elsewhere.json", day.join("0.json")).unwrap();
    symlink("/dev/zero", day.join("zero.json")).unwrap();
    symlink("2026-11-03", here.join("archive/latest")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, day.join("fifo.json"), 0o600.into()).unwrap();
    File::create(day.join("sparse.json")).unwrap().set_len(5 << 30).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, here.join("archive/index.jsonl"), 0o600.into()).unwrap();
    let run = |words: &[&str]| zc_in(here, words).finish().unwrap();
    let output = run(&["fleet", "report", "archive", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["runs"], 35);
    let left_out = document["left_out"].as_array().unwrap();
    for (name, why) in [
        ("2026-11-03/0.json", "it cannot be read: it is a symbolic link"),
        ("2026-11-03/zero.json", "it cannot be read: it is a symbolic link"),
        ("2026-11-03/fifo.json", "it cannot be read: it is not a regular file"),
        ("2026-11-03/sparse.json", "it cannot be read: it is larger than any saved run"),
        ("latest", "it cannot be read: it is a symbolic link"),
    ] {
        assert!(left_out.contains(&json!({ "name": name, "why": why })), "{name}: {left_out:?}");
    }
    assert!(run(&["trend", "archive"]).status.success());
    assert!(run(&["export", "archive"]).status.success());
    // The features of hosts are no less anybody's.
    symlink("/dev/zero", here.join("archive/hosts.json")).unwrap();
    for command in
        [&["trend", "archive"][..], &["export", "archive"], &["fleet", "report", "archive"]]
    {
        let output = run(command);
        assert_eq!(refused(&output, 3), "cannot-read");
        assert!(stderr(&output).contains("hosts.json\""), "{}", stderr(&output));
    }
}

#[test]
fn two_submits_do_not_measure_at_the_same_time() {
    let at = fleet_by_ssh("../../zc");
    let here = at.path();
    fs::create_dir(here.join("hosts/c")).unwrap();
    let run = |words: &[&str]| zc_in(here, &[&["fleet"], words].concat()).finish().unwrap();
    assert!(run(&["plan", "fleet.toml", "-o", "out"]).status.success());
    fs::write(here.join("hold/run"), "").unwrap();
    let mut submit = zc_in(here, &["fleet", "submit", "out"]);
    let mut first = submit.stdout(Stdio::null()).stderr(Stdio::null()).start().unwrap();
    until("the first one measures", || here.join("held-run").exists().then_some(()));
    let second = run(&["submit", "out"]);
    assert_eq!(refused(&second, 5), "folder-in-use");
    let who = format!(" {} on ", first.id());
    assert!(stderr(&second).contains(&who), "{}", stderr(&second));
    assert!(run(&["submit", "out", "--dry-run"]).status.success());
    assert!(run(&["status", "out"]).status.success());
    assert_eq!(fs::read_dir(here.join("out/logs")).unwrap().count(), 1);
    // The kernel lets go of the lock of one that is killed.
    first.kill().unwrap();
    first.wait().unwrap();
    fs::remove_file(here.join("hold/run")).unwrap();
    let third = run(&["submit", "out"]);
    assert_eq!(third.status.code(), Some(0), "{}", stderr(&third));
    assert!(stderr(&third).ends_with("4 of 4 done\n"), "{}", stderr(&third));
}

#[test]
fn a_plan_that_found_a_full_disk_is_made_by_the_same_command_once_there_is_room() {
    let at = tempfile::tempdir().unwrap();
    let file = "name = \"many\"\n[pairs]\nchoose = \"all\"\n[[hosts]]\nnames = \"n[1-20]\"\n\
                [[plans]]\nname = \"paths\"\nbudget = \"2s\"\n";
    fs::write(at.path().join("fleet.toml"), file).unwrap();
    let disk = tempfile::tempdir().unwrap();
    let plan = format!("{ZC} fleet plan {}/fleet.toml -o out", at.path().display());
    let script = format!(
        "{plan} >/dev/null; echo $?; ls out; mount -o remount,size=64M . || exit 77; {plan} \
         >/dev/null; echo $?; {ZC} fleet submit out --dry-run | wc -l; {plan}; echo $?"
    );
    let Some(output) = on_small_disk(disk.path(), "200k", &script) else { return };
    let (said, printed) = (stderr(&output), text(&output.stdout));
    assert!(said.contains("[cannot-write]"), "{said}");
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.first(), Some(&"5"), "{said}");
    assert!(lines.contains(&"lock") && !lines.contains(&"fleet.json"), "{printed}");
    let end = ["0", "191", "5"];
    assert_eq!(lines[lines.len() - 3..], end, "190 pairs, and a report: {printed}{said}");
    assert!(said.contains("[cannot-make-folder]"), "{said}");
}

/// Replaces the run that the nodes of [`fleet_by_ssh`] measure by one with a warning for which
/// verdicts are withheld.
fn doubtful_run(folder: &Path) {
    let mut run = two_machines(Synthetic { blocks: 8, ..Synthetic::default() }.run());
    run.header.host.hostname = "@NEAR@".to_owned();
    run.end.as_mut().unwrap().warnings.push(Warning::new("sniffer", Severity::Withhold, "x"));
    fs::write(folder.join("run.json"), zc_run::run_lines(&run)).unwrap();
}

#[test]
fn runs_that_no_report_uses_are_not_done_are_measured_again_and_can_be_included() {
    let at = fleet_by_ssh("../../zc");
    let here = at.path();
    fs::create_dir(here.join("hosts/c")).unwrap();
    let run = |words: &[&str]| zc_in(here, &[&["fleet"], words].concat()).finish().unwrap();
    let usable = fs::read_to_string(here.join("run.json")).unwrap();
    doubtful_run(here);
    assert!(run(&["plan", "fleet.toml", "-o", "out"]).status.success());
    let submitted = run(&["submit", "out"]);
    assert_eq!(submitted.status.code(), Some(1), "{}", stderr(&submitted));
    let status = text(&run(&["status", "out"]).stdout);
    assert!(status.ends_with("few: 0 of 4 done, 4 unusable\n"), "{status}");
    let why = "its own verdicts are withheld: sniffer";
    assert_eq!(status.matches(&format!("unusable {why} (job 1)")).count(), 4, "{status}");

    // The report says which and why, and what can be done.
    let report = run(&["report", "out"]);
    assert_eq!(refused(&report, 13), "no-usable-run");
    let said = stderr(&report);
    assert!(said.contains(&format!("{why} (00000-")) && said.contains(" 1 more)"), "{said}");
    assert!(stderr(&report).contains("--include-withheld"), "{}", stderr(&report));
    let included = run(&["report", "out", "--include-withheld"]);
    let page = text(&included.stdout).replace('\n', " ");
    assert!(page.contains("The own verdicts of 4 of 4 runs are withheld"), "{page}");
    let json = run(&["report", "out", "--include-withheld", "--json"]);
    let document: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (document["runs"].as_u64(), document["withheld"].as_array().map(Vec::len)),
        (Some(4), Some(4))
    );

    // They are kept, and counted as what they are.
    let collected = run(&["collect", "out", "--archive", "archive"]);
    assert_eq!(collected.status.code(), Some(1), "{}", text(&collected.stdout));
    assert!(text(&collected.stdout).contains(&format!("4 unusable: {why}")));
    assert_eq!(saved_in(&here.join("archive")).len(), 4);

    // The same command measures them again, and a later attempt counts.
    fs::write(here.join("run.json"), usable).unwrap();
    let again = run(&["submit", "out"]);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(stderr(&again).ends_with("4 of 4 done\n"), "{}", stderr(&again));
    assert_eq!(saved_in_folder(&here.join("out/runs")).len(), 8);
    let json = run(&["report", "out", "--json"]);
    let document: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (document["runs"].as_u64(), document["left_out"].as_array().map(Vec::len)),
        (Some(4), Some(0))
    );
    assert!(text(&run(&["status", "out"]).stdout).ends_with("few: 4 of 4 done\n"));
}
