//! `zc run --kernel` from outside, with a stand-in for QEMU: what cannot be booted, what comes of
//! boots that fail, and that nothing is left behind. Kernels themselves are booted in the lab.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use zc_run::Run;
use zc_testkit::synthetic::{boot, sendfile};

use crate::support::{
    Bounded as _, ZC, failed, on_emulated_cpu, refused, stderr, text, until, with_kvm, zc_in,
};

/// The beginning of a bzImage of this release.
fn bzimage(release: &str) -> Vec<u8> {
    let mut head = vec![0; 0x400];
    head[0x202..0x206].copy_from_slice(b"HdrS");
    head[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
    head[0x236] = 1;
    head[0x300..0x300 + release.len()].copy_from_slice(release.as_bytes());
    head
}

/// Which end of a wire a stand-in for QEMU is.
const END: &str = "case \"$*\" in *mac=52:54:00:09:00:02*) end=far ;; *) end=near ;; esac";

/// Puts a script into the folder's PATH.
fn program(folder: &Path, name: &str, script: &str) {
    let path = folder.join("bin").join(name);
    std::fs::write(&path, format!("#!/bin/bash\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A folder with two kernels, and a PATH with this script as QEMU.
fn folder(qemu: Option<&str>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    if let Some(script) = qemu {
        program(folder.path(), "qemu-system-x86_64", script);
    }
    for (name, release) in [("old", "6.1.2 (a@b) #1"), ("new", "6.1.3 (a@b) #1")] {
        std::fs::write(folder.path().join(name), bzimage(release)).unwrap();
    }
    folder
}

fn compare(folder: &Path, options: &[&str]) -> Command {
    compare_of(folder, ["A=old", "B=new"], options)
}

fn compare_of(folder: &Path, [old, new]: [&str; 2], options: &[&str]) -> Command {
    let mut command = zc_in(folder, &["run", "--kernel", old, "--kernel", new]);
    let path = std::env::var("PATH").unwrap_or_default();
    command.args(options).env("PATH", format!("{}/bin:{path}", folder.display()));
    command
}

#[test]
fn without_qemu_nothing_begins() {
    let folder = folder(None);
    let mut command = compare(folder.path(), &[]);
    let output = command.env("PATH", folder.path().join("bin")).finish().unwrap();
    assert_eq!(refused(&output, 4), "no-qemu");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "no folder of runs");
}

#[test]
fn what_is_no_kernel_for_this_machine_is_refused_with_its_cause() {
    let folder = folder(Some("exit 1"));
    let place = |name: &str| folder.path().join(name);
    let mut arm = b"\x7fELF\x02".to_vec();
    arm.resize(64, 0);
    arm[18] = 183;
    std::fs::write(place("arm"), arm).unwrap();
    std::fs::write(place("text"), "no kernel").unwrap();
    std::fs::create_dir_all(place("empty")).unwrap();
    std::fs::create_dir_all(place("other/boot")).unwrap();
    std::fs::create_dir_all(place("other/lib/modules/6.9/kernel")).unwrap();
    std::fs::write(place("other/boot/vmlinuz-6.1.2"), bzimage("6.1.2 (a@b) #1")).unwrap();
    for (kernel, id) in [
        ("gone", "no-such-file"),
        ("arm", "kernel-of-another-architecture"),
        ("text", "not-a-kernel"),
        ("empty", "no-kernel-in-folder"),
        ("other", "modules-do-not-match"),
    ] {
        let kernel = format!("B={kernel}");
        let output = compare_of(folder.path(), ["A=old", &kernel], &[]).finish().unwrap();
        assert_eq!(refused(&output, 3), id);
    }
    let output = compare(folder.path(), &["--kernel", "C=gone"]).finish().unwrap();
    assert_eq!(refused(&output, 2), "not-two-kernels");
    let output = compare(folder.path(), &["--build", "true"]).finish().unwrap();
    assert_eq!(refused(&output, 2), "not-a-source-tree");
}

#[test]
fn a_tree_that_is_not_built_ends_it() {
    let folder = folder(Some("exit 1"));
    for tree in ["a", "b"] {
        std::fs::create_dir(folder.path().join(tree)).unwrap();
        std::fs::write(folder.path().join(tree).join("Kconfig"), "").unwrap();
    }
    let build = ["--build", "echo not today; exit 3"];
    let output = compare_of(folder.path(), ["A=a", "B=b"], &build).finish().unwrap();
    assert_eq!(refused(&output, 1), "build-failed");
    assert!(stderr(&output).contains("not today"), "{}", stderr(&output));
}

#[test]
fn boots_that_fail_are_dropped_and_counted_with_their_last_lines() {
    // The first boot panics, the second ends without a run, the third is no machine.
    let script = "n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n >n
case $n in
1) printf '[ 1.0] x\\n[ 1.1] Kernel panic - not syncing: out of luck\\n' >/dev/fd/5 ;;
2) echo 'error: no such path [no-path]'; echo 4 >/dev/fd/4 ;;
*) echo 'qemu: no such machine' >&2; exit 1 ;;
esac";
    let folder = folder(Some(script));
    let mut command = compare(folder.path(), &["--boots", "1", "--out", "runs", "--seed", "3"]);
    let output = command.finish().unwrap();
    assert_eq!(failed(&output, 13), "kernel-not-measured");
    let shown = text(&output.stdout);
    for said in [
        "the kernel panicked: out of luck",
        "[ 1.0] x",
        "zc run ended in it with 4: no such path [no-path]",
        "QEMU ended: qemu: no such machine",
        "0 of 2 boots measured",
        "0 of 1 boot measured",
    ] {
        assert!(shown.split_whitespace().collect::<Vec<_>>().join(" ").contains(said), "{shown}");
    }
    let kept = std::fs::read_to_string(folder.path().join("runs/kernels.json")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["boots"].as_array().unwrap().len(), 3);
    assert_eq!(kept["seed"], 3);
    let output = compare(folder.path(), &["--out", "runs"]).finish().unwrap();
    assert_eq!(refused(&output, 5), "file-exists");
}

#[test]
fn a_far_guest_that_fails_costs_the_boot_and_a_near_one_is_blamed_for_itself() {
    // In the first boot the far guest panics, in the second one it carries a frame and does not
    // answer, and in the third one the near guest panics.
    let script = format!(
        "{END}
for word; do case $word in */old|*/new) echo \"${{word##*/}}\" >>kernels.$end ;; esac; done
n=$(($(cat n.$end 2>/dev/null || echo 0) + 1)); echo $n >n.$end
# An end that is killed before it has counted would be one boot late from then on.
until [ \"$(cat n.near 2>/dev/null)$(cat n.far 2>/dev/null)\" = $n$n ]; do sleep 0.01; done
case $n$end in
1far) printf '[ 1.0] far x\\n[ 1.1] Kernel panic - not syncing: far out of luck\\n' >/dev/fd/5 ;;
2near) echo frame >&6; until [ -e heard ]; do sleep 0.01; done
    echo 'error: nobody listens [no-server]'; echo 6 >/dev/fd/4 ;;
2far) read -r line <&6; echo \"$line\" >heard.new; mv heard.new heard; exec sleep 600 ;;
3near) echo 'Kernel panic - not syncing: near' >/dev/fd/5 ;;
*) exec sleep 600 ;;
esac"
    );
    let folder = folder(Some(&script));
    let options = ["--boots", "1", "--out", "runs", "--seed", "3", "--link", "wire"];
    let output = compare(folder.path(), &options).finish().unwrap();
    assert_eq!(failed(&output, 13), "kernel-not-measured");
    let shown = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "two on a wire, of which the far one has A in every boot",
        "the far guest (A): the kernel panicked: far out of luck",
        "[ 1.0] far x",
        "the far guest (A): it was not reached: zc run ended in it with 6: nobody listens",
        ": the kernel panicked: near",
        "0 of 2 boots measured",
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("heard"), "frame\n");
    assert_eq!(read("kernels.far"), "old\nold\nold\n");
    assert_eq!(read("kernels.near").matches("new").count(), 1);
}

#[test]
fn what_was_measured_is_printed_where_a_guest_cannot_be_started_any_more() {
    let folder = folder(Some("rm bin/qemu-system-x86_64; echo 4 >/dev/fd/4"));
    let options = ["--boots", "2", "--out", "runs"];
    // No other QEMU is found instead: it was looked for at the start.
    let output = compare(folder.path(), &options).finish().unwrap();
    assert_eq!(failed(&output, 1), "system-call-failed");
    let shown = text(&output.stdout);
    assert!(shown.contains("zc run ended in it with 4"), "{shown}");
    assert!(shown.contains("this is what was measured by then"), "{shown}");
    let kept = std::fs::read_to_string(folder.path().join("runs/kernels.json")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["boots"].as_array().unwrap().len(), 1);
}

#[test]
fn configurations_of_packages_are_compared() {
    let folder = folder(Some("exit 1"));
    // dpkg-deb -x PACKAGE FOLDER
    program(
        folder.path(),
        "dpkg-deb",
        "mkdir -p \"$3/boot\" && cp old \"$3/boot/vmlinuz-6.1.2\" && \
         tail -n 1 \"$2\" >\"$3/boot/config-6.1.2\"",
    );
    for (name, option) in [("a", "CONFIG_HZ=250"), ("b", "CONFIG_HZ=1000")] {
        std::fs::write(folder.path().join(name), format!("!<arch>\n{option}\n")).unwrap();
    }
    let options = ["--boots", "1", "--out", "runs", "--config-diff"];
    let output = compare_of(folder.path(), ["A=a", "B=b"], &options).finish().unwrap();
    assert_eq!(failed(&output, 13), "kernel-not-measured");
    assert!(text(&output.stdout).contains("CONFIG_HZ"), "{}", text(&output.stdout));
    let kept = std::fs::read_to_string(folder.path().join("runs/kernels.json")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    let hz = serde_json::json!([{ "name": "CONFIG_HZ", "old": "250", "new": "1000" }]);
    assert_eq!(kept["config"], hz);
}

#[test]
fn guests_end_with_zc_and_ctrl_c_prints_what_there_is() {
    let script = format!("{END}; echo $$ >pid.$end.new; mv pid.$end.new pid.$end; exec sleep 600");
    for (link, ends) in [("auto", &["near"][..]), ("wire", &["near", "far"])] {
        for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
            let folder = folder(Some(&script));
            let mut command = compare(folder.path(), &["--boots", "1", "--link", link]);
            let zc = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
            let pid = |end: &str| {
                let file = folder.path().join(format!("pid.{end}"));
                std::fs::read_to_string(file).ok()?.trim().parse::<i32>().ok()
            };
            let running = || ends.iter().map(|end| pid(end)).collect::<Option<Vec<i32>>>();
            let guests = until("the guests run", running);
            kill_process(Pid::from_child(&zc), signal).unwrap();
            let output = zc.wait_with_output().unwrap();
            assert_eq!(output.status.code(), code, "{}", stderr(&output));
            for guest in guests {
                // Of one that has ended and that nobody has waited for yet, the command line is
                // empty.
                let line = format!("/proc/{guest}/cmdline");
                let gone = || std::fs::read(&line).map_or(true, |line| line.is_empty());
                until("the guest is gone", || gone().then_some(()));
            }
            let is_said = text(&output.stdout).contains("this is what was measured");
            assert_eq!(code.is_some(), is_said, "{link}");
        }
    }
}

/// The run of a boot in which sendfile costs so many times what it usually does.
fn run(seed: u64, factor: f64) -> Run {
    boot(seed, 8, vec![sendfile(factor)])
}

/// A stand-in for QEMU that leaves a run of each boot, by these lines; `$kernel` is old or new. A
/// kernel in which that is written panics.
fn leaves_runs(lines: &str) -> String {
    format!(
        "for word; do case $word in *mount_tag=share*) share=${{word##*path=}} ;; esac; done
case \"$*\" in *'/old -'*) kernel=old ;; *) kernel=new ;; esac
if grep -aq panics $kernel; then
    printf '[ 1.1] Kernel panic - not syncing: out of luck\\n' >/dev/fd/5
    exit
fi
{lines}
echo 0 >/dev/fd/4"
    )
}

#[test]
fn test_frameworks_and_commits_get_what_emulated_kernels_have_shown() {
    // Both boots of the old kernel leave the runs of both, of which zc looks at its own.
    let folder = folder(Some(&leaves_runs(
        "if [ $kernel = old ]; then cp run \"$share/r01-A.jsonl.gz\"; fi
[ $kernel = old ] && name=A-again || name=B
cp run \"$share/r01-$name.jsonl.gz\"",
    )));
    let mut emulated = run(1, 1.0);
    emulated.header.host.hypervisor = Some("qemu-tcg".to_owned());
    std::fs::write(folder.path().join("run"), zc_run::run_lines(&emulated)).unwrap();
    let tap = ["--boots", "1", "--out", "a", "--fail-if-worse", "5%", "--tap"];
    let output = compare(folder.path(), &tap).finish().unwrap();
    assert_eq!(output.status.code(), Some(12), "{}", stderr(&output));
    let shown = text(&output.stdout);
    assert!(
        shown.starts_with("KTAP version 1\n1..4\n# boots of A: Linux 6.1.2: 2 of 2"),
        "{shown}"
    );
    assert!(shown.contains("\nok 4 sendfile # SKIP the CPU is emulated"), "{shown}");
    let commit = ["--boots", "1", "--out", "b", "--commit-message"];
    let output = compare(folder.path(), &commit).finish().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown = text(&output.stdout);
    assert!(shown.starts_with("  $ zc run --kernel A=old --kernel B=new"), "{shown}");
    assert!(shown.contains("Linux 6.1.2 -> 6.1.3 ") && shown.lines().count() <= 8, "{shown}");
    assert!(shown.contains("so nothing has a cost") && !shown.contains("us/MB"), "{shown}");
}

/// `zc bisect` of the kernel of one commit.
fn bisect(good: &str, kernel: &str, more: &str) -> String {
    format!(
        "PATH=\"$PWD/bin:$PATH\" TMPDIR=$PWD COLUMNS=200 GOOD={good} exec {ZC} bisect \
         --path sendfile --worse 20% --error 20% --steps 1 --log log --good {good} \
         --kernel {kernel} {more}"
    )
}

#[test]
fn a_commit_whose_kernel_is_dearer_is_bad_and_one_that_panics_is_skipped() {
    let folder = folder(Some(&leaves_runs(
        "round=$(printf %02d $(($(ls \"$share\" | wc -l) / 2 + 1)))
[ $kernel = $GOOD ] && name=good || name=commit
cp $kernel-$round \"$share/r$round-$name.jsonl.gz\"",
    )));
    let path = |name: &str| folder.path().join(name);
    for (round, seed) in (1..=30).zip((0..).step_by(2)) {
        for (kernel, seed, factor) in [("old", seed, 1.0), ("new", seed + 1, 1.5)] {
            let lines = zc_run::run_lines(&run(seed, factor));
            std::fs::write(path(&format!("{kernel}-{round:02}")), lines).unwrap();
        }
    }
    let bisected =
        |good: &str, kernel: &str, more: &str| with_kvm(folder.path(), &bisect(good, kernel, more));
    let Some(output) = bisected("old", "new", "") else { return };
    assert_eq!(output.status.code(), Some(1), "{}{}", text(&output.stdout), stderr(&output));
    assert!(text(&output.stdout).contains("under the good kernel"), "{}", text(&output.stdout));
    let last = || -> serde_json::Value {
        let log = std::fs::read_to_string(path("log")).unwrap();
        serde_json::from_str(log.lines().last().unwrap()).unwrap()
    };
    assert_eq!((&last()["answer"], &last()["reference"]), (&"bad".into(), &"good-kernel".into()));
    assert!(last()["low"].as_f64().unwrap() > 1.2, "{}", last());

    std::fs::write(path("new"), [bzimage("6.1.3 (a@b) #1"), b"panics".to_vec()].concat()).unwrap();
    for (kernel, more, why) in [
        ("new", "", "out of luck"),
        ("gone", "", "cannot be opened"),
        ("new", "-- sh -c 'exit 3'", "exit status: 3"),
    ] {
        let output = bisected("old", kernel, more).unwrap();
        assert_eq!(output.status.code(), Some(125), "{}", stderr(&output));
        assert!(last()["why"].as_str().unwrap().contains(why), "{}", last());
    }
    assert_eq!(refused(&bisected("old", "old", "").unwrap(), 128), "same-kernel");
    assert_eq!(refused(&bisected("new", "old", "").unwrap(), 128), "good-kernel-fails");
    let left = std::fs::read_dir(folder.path()).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!left.into_iter().any(|name| name.starts_with("zc-bisect-")), "the runs are removed");
}

#[test]
fn without_kvm_no_kernel_is_bisected_and_nothing_is_built() {
    let folder = folder(Some("exit 1"));
    let script = bisect("old", "new", "-- touch built");
    let Some(output) = on_emulated_cpu(folder.path(), &script) else { return };
    assert_eq!(refused(&output, 128), "no-costs-without-kvm");
    assert!(!folder.path().join("built").exists());
    let script = bisect("old", "new", "").replace("sendfile", "senfile");
    let output = on_emulated_cpu(folder.path(), &script).unwrap();
    assert_eq!(refused(&output, 128), "unknown-send-path");
}
