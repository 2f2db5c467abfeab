//! `zc bisect` under `git bisect run`: a planted commit in a repository of scripts, and what is
//! wrong with a commit or with all of them.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    Bounded as _, ZC, blocks_of, failed, has_costs, interrupted_when, link_is_unavailable,
    measuring, path_with_zc, refused, stderr, text, until, zc_in,
};

/// Whether these programs are here; if not, a skip.
fn has(programs: &[&str]) -> bool {
    programs.iter().all(|program| {
        let found = Command::new(program).arg("--version").finish().is_ok();
        if !found {
            eprintln!("skipped: there is no {program} here");
        }
        found
    })
}

/// A repository of scripts, in which nothing of the user's or of the host's configures git.
struct Repository(TempDir);

impl Repository {
    /// With a commit of these files in which only `state.sh` and `build.sh` change: what each
    /// commit has in them. The first is a good one.
    fn new(files: &[(&str, &str)], commits: &[(&str, &str)]) -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        repository.git(&["init", "-q", "-b", "main"]);
        let write = |name: &str, script: &str| {
            std::fs::write(repository.path().join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        };
        files.iter().for_each(|(name, script)| write(name, script));
        for (number, (state, build)) in commits.iter().enumerate() {
            write("state.sh", &format!("# commit {number}\n{state}"));
            write("build.sh", build);
            repository.git(&["add", "-A"]);
            repository.git(&["commit", "-q", "-m", &format!("commit {number}")]);
        }
        repository
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.path()).stdin(Stdio::null());
        command.env("HOME", self.path().join(".git")).env_remove("XDG_CONFIG_HOME");
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("PATH", path_with_zc()).env("COLUMNS", "120");
        command
    }

    fn zc(&self, words: &[&str]) -> Command {
        self.command(ZC, &[&["bisect"], words].concat())
    }

    fn try_git(&self, words: &[&str]) -> Output {
        let user = ["-c", "user.name=zc", "-c", "user.email=zc@zc.example"];
        self.command("git", &[&user, words].concat()).finish().unwrap()
    }

    #[track_caller]
    fn git(&self, words: &[&str]) -> String {
        let output = self.try_git(words);
        assert!(output.status.success(), "git {words:?}: {}", stderr(&output));
        text(&output.stdout).trim().to_owned()
    }

    /// The lines of the log in the git directory.
    fn log(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.path().join(".git/zc-bisect.jsonl"));
        log.unwrap_or_default().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The number of segments that a packet of the sender's device may have: few make each byte several
/// times as dear, as the stack is walked through for each packet.
const SET: &str = "
[ \"$(id -u)\" = 0 ] || own=\"--preserve-credentials --user=$ZC_USERNS\"
nsenter $own --net=\"$ZC_SENDER_NETNS\" ip link set dev zc0 gso_max_segs $1";

#[test]
fn a_planted_commit_of_a_repository_of_scripts_is_found() {
    if !has(&["git", "nsenter", "ip"]) || !has_costs() {
        return;
    }
    let _turn = measuring();
    let (usual, dear) = ("sh set.sh 65535", "sh set.sh 2");
    let (builds, breaks) = ("exit 0", "echo it does not build >&2; exit 3");
    let mut commits = vec![(usual, builds); 9];
    commits[4].1 = breaks;
    commits[6..].fill((dear, builds));
    let repository = Repository::new(&[("set.sh", SET), ("good.sh", usual)], &commits);
    let planted = repository.git(&["rev-parse", "HEAD~2"]);
    let broken = repository.git(&["rev-parse", "HEAD~4"]);
    repository.git(&["bisect", "start", "HEAD", "HEAD~8"]);
    let ab = ["--ab", "sh good.sh", "--ab", "sh state.sh", "--ab-settle", "1ms"];
    let asked = ["--path", "read+send", "--worse", "20%", "--link", "veth", "--budget", "25s"];
    // A commit that builds and cannot be told ends it: the test would be over in minutes only.
    let run = "\"$0\" \"$@\"; code=$?; [ $code != 125 ] || ! sh build.sh || exit 255; exit $code";
    let zc = [&["bisect", "run", "sh", "-c", run, ZC, "bisect"], &asked[..], &ab];
    let zc = [&zc[..], &[&["--", "sh", "build.sh"]]].concat();
    let output = repository.try_git(&zc.concat());
    if link_is_unavailable(&output) {
        return;
    }
    let said = text(&output.stdout);
    let log = repository.log();
    let is_broken = |line: &&Value| line["commit"] == broken.as_str();
    if let Some(line) = log.iter().find(|line| line["answer"] == "skip" && !is_broken(line)) {
        // Within the budget other programs left too little of the CPUs.
        return eprintln!("skipped: something else uses this machine: {}", line["why"]);
    }
    assert!(output.status.success(), "{said}{}", stderr(&output));
    assert!(said.contains(&format!("{planted} is the first bad commit")), "{said}");
    let suspect = format!("suspect   {} commit 6", &planted[..12]);
    assert!(said.contains(&suspect) && said.contains("wrong turn"), "{said}");

    let answer = |commit: &str| -> Vec<&str> {
        let own = log.iter().filter(|line| line["commit"] == commit);
        own.map(|line| line["answer"].as_str().unwrap()).collect()
    };
    assert_eq!((answer(&planted), answer(&broken)), (vec!["bad"], vec!["skip"]), "{log:?}");
    let skipped = log.iter().find(|line| line["answer"] == "skip").unwrap();
    assert!(skipped["why"].as_str().unwrap().contains("exit status: 3"), "{skipped}");
    let told = |line: &&Value| line["answer"] != "skip";
    assert!(log.iter().filter(told).count() >= 3, "{log:?}");
    let errors = log.iter().filter(told).map(|line| line["error"].as_f64().unwrap()).sum::<f64>();
    assert!(errors > 0.0 && errors < 0.05, "{errors}");
    let suspected = log.iter().find(|line| line["commit"] == planted.as_str()).unwrap();
    assert!(suspected["low"].as_f64().unwrap() > 1.0, "{suspected}");

    let report = repository.zc(&["--report"]).finish().unwrap();
    let report = text(&report.stdout);
    assert!(report.contains(&suspect) && report.contains("skip"), "{report}");
    repository.git(&["bisect", "reset"]);
    let none = repository.zc(&["--report"]).finish().unwrap();
    assert_eq!(refused(&none, 128), "no-bisection");
}

/// Arguments that would measure, and do not change the host.
const ASKED: [&str; 8] =
    ["--path", "sendfile", "--worse", "5%", "--link", "loopback", "--steps", "1"];
const STATES: [&str; 4] = ["--ab", "true", "--ab", "true"];

#[test]
fn what_is_wrong_with_every_commit_ends_the_bisection() {
    if !has(&["git"]) {
        return;
    }
    let repository = Repository::new(&[], &[("true", "true"), ("true", "true")]);
    let path = repository.path();
    std::fs::write(path.join("notes"), "mine\n").unwrap();
    let run = crate::support::saved_run();
    let other = run.replacen("\"experiment\":\"paths\"", "\"experiment\":\"server\"", 1);
    assert_ne!(run, other);
    std::fs::write(path.join("run.json"), run).unwrap();
    std::fs::write(path.join("other.json"), other).unwrap();
    let asked = ["--path", "sendfile", "--worse", "5%"];
    let steps = ["--steps", "1"];
    let cases: [(&[&[&str]], &str); 10] = [
        (&[&asked, &STATES], "no-bisection"),
        (&[&["--report"]], "no-bisection"),
        (&[&["--path", "sendfile", "--worse", "5x"], &STATES, &steps], "invalid-percentage"),
        (&[&["--path", "senfile", "--worse", "5%"], &STATES, &steps], "unknown-send-path"),
        (&[&asked, &STATES, &steps, &["--", "zc-no-such-command"]], "command-not-found"),
        (&[&asked, &STATES, &steps, &["--log", "notes"]], "cannot-read-log"),
        (&[&asked, &steps, &["--good", "none.json"]], "cannot-read"),
        (&[&asked, &steps, &["--good", "other.json"]], "experiment-without-plan"),
        (&[&["--path", "spilce", "--worse", "5%", "--good", "run.json"], &steps], "unknown-cell"),
        (&[&asked, &steps], "argument-missing"),
    ];
    for (words, id) in cases {
        let output = repository.zc(&words.concat()).finish().unwrap();
        assert_eq!(refused(&output, 128), id, "{words:?}");
    }
    // As git takes a repository of another user's.
    let mut others = repository.zc(&[&asked[..], &STATES].concat());
    let others = others.env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1").env("LC_ALL", "C.UTF-8");
    let others = others.finish().unwrap();
    assert_eq!(refused(&others, 128), "git-refuses");
    assert!(stderr(&others).contains("dubious ownership"), "{}", stderr(&others));
    let no_git = repository.zc(&[&asked[..], &STATES].concat()).env("PATH", path).finish();
    assert_eq!(refused(&no_git.unwrap(), 128), "no-git");
    assert!(repository.log().is_empty());
    assert_eq!(std::fs::read_to_string(path.join("notes")).unwrap(), "mine\n");
}

#[test]
fn a_commit_that_does_not_build_or_has_no_script_is_skipped_and_logged() {
    if !has(&["git"]) {
        return;
    }
    let repository = Repository::new(&[], &[("true", "true")]);
    for (build, why) in [
        (&["false"][..], "exit status: 1"),
        (&["./no-such-script"], "no such file"),
        (&["sh", "-c", "kill -9 $$"], "signal: 9"),
    ] {
        let words = [&ASKED[..], &STATES, &["--"], build].concat();
        let output = repository.zc(&words).finish().unwrap();
        assert_eq!(output.status.code(), Some(125), "{}", stderr(&output));
        assert!(text(&output.stdout).contains("skip: "), "{}", text(&output.stdout));
        let log = repository.log();
        let last = log.last().unwrap();
        assert!(last["why"].as_str().unwrap().contains(why), "{last}");
        assert_eq!(last["answer"], "skip");
    }
    let _turn = measuring();
    let words = [&ASKED[..], &["--ab", "true", "--ab", "./no-such-state"]].concat();
    let output = repository.zc(&words).finish().unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", stderr(&output));
    assert!(repository.log().last().unwrap()["why"].as_str().unwrap().contains("no-such-state"));
}

#[test]
fn a_saved_run_of_few_blocks_tells_nothing_and_says_so() {
    if !has(&["git"]) || !has_costs() {
        return;
    }
    let _turn = measuring();
    let repository = Repository::new(&[], &[("true", "true")]);
    let mut zc = zc_in(repository.path(), &["run", "--paths", "sendfile", "--link", "loopback"]);
    blocks_of(repository.path(), zc.args(["--out", "run.json"]), 1);
    let asked = ["--good", "run.json", "--path", "sendfile", "--worse", "40%", "--steps", "1"];
    let output = repository.zc(&[&asked[..], &["--budget", "2s"]].concat()).finish().unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", stderr(&output));
    let log = repository.log();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0]["reference"], "saved-run");
    assert!(!log[0]["why"].as_str().unwrap().is_empty(), "{log:?}");
}

#[test]
fn ctrl_c_ends_the_build_or_the_measurement_and_leaves_nothing_behind() {
    if !has(&["git"]) {
        return;
    }
    let _turn = measuring();
    let repository = Repository::new(&[], &[("true", "true")]);
    let path = repository.path();
    let build = ["--", "sh", "-c", "sleep 1000 & echo $! > pid; wait"];
    let mut zc = repository.zc(&[&ASKED[..], &STATES, &build].concat());
    let has_pid = || std::fs::read_to_string(path.join("pid")).is_ok_and(|pid| pid.ends_with('\n'));
    let output = interrupted_when("it builds", &mut zc, has_pid);
    assert_eq!(failed(&output, 130), "interrupted");
    let pid = std::fs::read_to_string(path.join("pid")).unwrap();
    until("what the build started is gone", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        stat.map_or(true, |stat| stat.contains(") Z ")).then_some(())
    });

    let states = ["--ab", "echo A >> states", "--ab", "echo B >> states"];
    let restore = ["--ab-settle", "1ms", "--ab-restore", "echo restored >> states"];
    let mut zc = repository.zc(&[&ASKED[..], &states, &restore].concat());
    let states = || std::fs::read_to_string(path.join("states")).unwrap_or_default();
    let output = interrupted_when("it measures", &mut zc, || states().lines().count() > 4);
    // A busy machine leaves it time to end by itself, with an answer.
    if output.status.code() == Some(130) {
        assert_eq!(failed(&output, 130), "interrupted");
        assert!(repository.log().is_empty(), "{:?}", repository.log());
    }
    assert!(states().ends_with("restored\n"), "{}", states());
}
