//! `zc run --plan` and `zc plan` from outside: a plan of the user's own, levels that are not
//! available, and files that are not plans.

use std::path::Path;
use std::process::Output;

use zc_run::{Experiment, Factor, Support};

use crate::support::{
    Bounded as _, blocks_of, link_is_unavailable, measuring, refused, saved, stderr, zc_in,
};

fn zc(folder: &Path, args: &[&str]) -> Output {
    zc_in(folder, args).finish().unwrap()
}

#[test]
fn a_plan_of_the_user_s_own_is_run_and_what_cannot_be_had_is_a_row() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let plan = "name = \"mine\"\ncompare = [\"congestion\"]\n[fixed]\nlink \
        = \"loopback\"\nrate = \"50MB/s\"\n\
        [[factor]]\nname = \"congestion\"\nlevels = [\"reno\", \"no-such-thing\"]\n\
        [[factor]]\nname = \"message\"\nlevels = [\"4k\", \"64k\"]\n";
    std::fs::write(folder.path().join("mine.toml"), plan).unwrap();
    let mut zc = zc_in(folder.path(), &["run", "--plan", "mine.toml", "--out", "run.json"]);
    let output = blocks_of(folder.path(), &mut zc, 1);
    let run = saved(folder.path());
    assert_eq!(run.header.plan.experiment, "mine");
    assert_eq!(run.header.plan.factors, [Factor::Congestion, Factor::Message]);
    let labels: Vec<&str> = run.header.plan.cells.iter().map(|cell| cell.label.as_str()).collect();
    assert_eq!(labels, ["reno 4k", "reno 64k", "reno 4k (A/A)", "reno 4k (+burn)"]);
    let missing = &run.header.unavailable;
    assert_eq!(
        missing.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(),
        ["no-such-thing 4k", "no-such-thing 64k"]
    );
    assert!(missing.iter().all(|row| matches!(row.support, Support::No(_))));
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("no-such-thing"), "{printed}");
}

#[test]
fn every_cell_sends_in_messages_of_its_size_over_its_link() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let plan = "name = \"both\"\n[fixed]\nlink = \"veth\"\nrate \
        = \"20MB/s\"\npaths = \"sendfile\"\n\
        [[factor]]\nname = \"mtu\"\nlevels = [1500, 9000]\n[[factor]]\nname = \"message\"\nlevels \
        = [\"1k\", \"64k\"]\n";
    std::fs::write(folder.path().join("both.toml"), plan).unwrap();
    let probe = zc(
        folder.path(),
        &["run", "--paths", "sendfile", "--link", "veth", "--budget", "1s", "--out", "1.json"],
    );
    if link_is_unavailable(&probe) {
        return eprintln!("skipped: {}", stderr(&probe));
    }
    blocks_of(
        folder.path(),
        &mut zc_in(folder.path(), &["run", "--plan", "both.toml", "--out", "run.json"]),
        1,
    );
    let run = saved(folder.path());
    let mut mtus: Vec<u32> = run
        .header
        .other_links
        .iter()
        .chain([&run.header.link])
        .map(|link| link.mtu_bytes)
        .collect();
    mtus.sort_unstable();
    mtus.dedup();
    assert_eq!(mtus, [1500, 9000]);
    let trials = run.blocks.iter().flat_map(|block| &block.slots).filter_map(|slot| match slot {
        zc_run::Slot::Trial(trial) => Some(trial),
        zc_run::Slot::Idle(_) => None,
    });
    let mut seen = 0;
    for trial in trials {
        let calls = trial.closed.sent.calls - trial.opened.sent.calls;
        let bytes = trial.closed.sent.bytes - trial.opened.sent.bytes;
        let size = if trial.cell.contains("1k") { 1 << 10 } else { 64 << 10 };
        assert!(bytes <= calls * size, "{}: {bytes} bytes in {calls} calls", trial.cell);
        seen += 1;
    }
    assert!(seen >= 5, "only {seen} trials");
}

#[test]
fn what_is_no_plan_is_exit_code_2_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    for (text, id, names) in [
        (
            "name = \"x\"\n[[factor]]\nname = \"color\"\nlevels = [1]\n",
            "unknown-factor",
            "line 3, \"color\"",
        ),
        (
            "name = \"x\"\n[[factor]]\nname = \"flows\"\nlevels = [0]\n",
            "invalid-count",
            "line 4, \"flows\"",
        ),
        (
            "name = \"x\"\n[fixed]\nrtt = \"fast\"\n[[factor]]\nname = \"flows\"\nlevels = [1]\n",
            "invalid-duration",
            "line 3, \"rtt\"",
        ),
        ("", "invalid-plan", "`name`"),
        ("\u{1b}[2J", "invalid-plan", "line 1"),
    ] {
        std::fs::write(folder.path().join("x.toml"), text).unwrap();
        let output = zc(folder.path(), &["run", "--plan", "x.toml", "--out", "run.json"]);
        assert_eq!(refused(&output, 2), id, "{text}");
        let said = stderr(&output);
        assert!(said.contains("\"x.toml\"") && said.contains(names), "{said}");
        assert!(!said.contains('\u{1b}'), "{said}");
    }
    assert!(!folder.path().join("run.json").exists());
}

#[test]
fn every_plan_that_is_printed_can_be_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let list = zc(folder.path(), &["plan"]);
    let list = String::from_utf8_lossy(&list.stdout);
    for experiment in Experiment::ALL {
        let name = experiment.name();
        assert!(list.contains(&format!("\n{name} ")), "{name}: {list}");
        if experiment.definition().plan.is_err() {
            continue;
        }
        let plan = zc(folder.path(), &["plan", name]);
        assert!(plan.status.success());
        std::fs::write(folder.path().join("plan.toml"), plan.stdout).unwrap();
        // A budget too small for any plan: the plan has been parsed completely by then.
        let output =
            zc(folder.path(), &["run", "--plan", "plan.toml", "--budget", "1s", "--window", "60s"]);
        assert_eq!(refused(&output, 2), "budget-too-short", "{name}");
    }
}
