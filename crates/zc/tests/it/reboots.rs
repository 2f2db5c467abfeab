//! `zc run --kernel ... --remote root@box` from outside: the machine is a folder that a stand-in
//! for ssh leads to. Its shell has the programs of that folder alone, of which those that boot are
//! scripts, so that nothing can be booted here.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Bounded as _, ZC, assert_ended, failed, measuring, refused, stderr, text, until, zc_in,
};

/// Programs of this machine that scripts take.
const TOOLS: [&str; 10] = ["awk", "cat", "cut", "dd", "head", "od", "sh", "sleep", "stat", "tr"];

/// What is of the machine lies in its folder: /boot, and its boot id.
const MAP: &str = "s,/proc/sys/kernel/random/boot_id,AT/boot_id,
s,/proc/sys/kernel/kexec_load_disabled,AT/locked,
s,/run/systemd/system,AT/systemd,
s,\\(['\" ]\\)/boot,\\1AT/boot,g
";

/// Programs of the machine, each in its folder.
const SCRIPTS: [(&str, &str); 6] = [
    ("box/bin/id", "echo 0"),
    ("box/bin/reboot", "exit 1"),
    ("box/bin/uname", "case $1 in -r) cat release;; -v) echo '#1 Sat';; -n) echo box;; esac"),
    ("box/bin/kexec", "[ $1 = -l ] && echo ${2##*/vmlinuz-} >loaded"),
    // A boot: the release of what was loaded, and another boot id.
    (
        "box/bin/systemctl",
        "[ $1 = kexec ] || exit 0; cat loaded >>boots; cat loaded >release
echo b$(tr -cd '\\n' <boots | tr '\\n' x) >boot_id",
    ),
    (
        "bin/ssh",
        "case \"$*\" in *' root@box sh') ;; *) echo \"ssh: no host: $*\" >&2; exit 255;; esac
[ ! -e down ] || { echo 'ssh: connect to host box port 22: Connection refused' >&2; exit 255; }
sed -u -f map | /usr/bin/env -i HOME=$PWD TMPDIR=$PWD/tmp PATH=$PWD/bin $PWD/bin/sh",
    ),
];

/// A folder with a machine in it, which has Linux 6.1.0, 6.1.2 and 6.1.3 and runs the first.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        for name in ["bin", "box/bin", "box/boot", "box/tmp", "box/systemd"] {
            std::fs::create_dir_all(machine.at(name)).unwrap();
        }
        for (name, script) in SCRIPTS {
            let file = machine.at(name);
            let script = format!("#!/bin/sh\ncd '{}'\n{script}\n", machine.at("box"));
            std::fs::write(&file, script).unwrap();
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        for release in ["6.1.0", "6.1.2", "6.1.3"] {
            machine.write(&format!("box/boot/vmlinuz-{release}"), "");
        }
        machine.write("box/map", &MAP.replace("AT", &machine.at("box")));
        machine.write("box/boot_id", "first\n");
        machine.write("box/release", "6.1.0\n");
        machine.write("box/boots", "");
        for tool in TOOLS {
            let at = ["/bin", "/usr/bin"].map(|bin| Path::new(bin).join(tool));
            let here = at.into_iter().find(|path| path.exists()).unwrap();
            symlink(here, machine.at(&format!("box/bin/{tool}"))).unwrap();
        }
        symlink(ZC, machine.at("box/bin/zc")).unwrap();
        machine
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.at(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.at(name)).unwrap_or_default().trim().to_owned()
    }

    /// `zc run` with these kernels and options.
    fn compare(&self, kernels: [&str; 2], options: &[&str]) -> Command {
        let [old, new] = kernels;
        let mut command = zc_in(self.0.path(), &["run", "--kernel", old, "--kernel", new]);
        command.args(["--remote", "root@box", "--paths", "sendfile", "--out", "runs"]);
        let path = std::env::var("PATH").unwrap_or_default();
        command.args(options).env("PATH", format!("{}:{path}", self.at("bin")));
        command
    }
}

const BOTH: [&str; 2] = ["A=6.1.2", "B=/boot/vmlinuz-6.1.3"];

#[test]
fn both_kernels_of_a_machine_are_booted_and_it_is_left_as_it_was() {
    let _turn = measuring();
    let machine = Machine::new();
    let options = ["--boots", "1", "--boot-budget", "2s"];
    let output = machine.compare(BOTH, &options).finish().unwrap();
    assert_ended(&output);
    let mut booted: Vec<String> = machine.read("box/boots").lines().map(str::to_owned).collect();
    assert_eq!(booted.pop().as_deref(), Some("6.1.0"), "{}", stderr(&output));
    booted.sort();
    assert_eq!(booted, ["6.1.2", "6.1.2", "6.1.3"]);
    let kept: serde_json::Value = serde_json::from_str(&machine.read("runs/kernels.json")).unwrap();
    assert_eq!(kept["machine"]["kind"], "machine");
    assert_eq!(kept["machine"]["release"], "6.1.0");
    assert_eq!(kept["kernels"][1]["release"], "6.1.3");
    // On a machine that others use, two seconds may be too short for a block.
    let boots = kept["boots"].as_array().unwrap();
    assert_eq!(boots.len(), 3, "{kept}");
    let is_spent = |why: &str| why.contains("[budget-spent]");
    for boot in boots {
        assert!(boot["file"].is_string() || boot["why"].as_str().is_some_and(is_spent), "{boot}");
    }
    // All boots send at the rate that the first has chosen.
    let files = boots.iter().filter_map(|boot| boot["file"].as_str());
    let rate = |file: &str| {
        let file = std::fs::File::open(machine.at(&format!("runs/{file}"))).unwrap();
        zc_run::header(file).unwrap().plan.fixed.rate_bytes_per_s
    };
    let mut rates: Vec<f64> = files.map(rate).collect();
    rates.dedup();
    assert!(rates.len() <= 1, "{rates:?}");
    assert!(text(&output.stdout).contains("box by ssh"), "{}", text(&output.stdout));
    assert_eq!(std::fs::read_dir(machine.at("box/tmp")).unwrap().count(), 0, "nothing is left");
}

#[test]
fn ctrl_c_leaves_the_machine_as_it_was() {
    let _turn = measuring();
    let machine = Machine::new();
    let mut command = machine.compare(BOTH, &["--boots", "1", "--boot-budget", "600s"]);
    let zc = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    until("a kernel is booted", || (!machine.read("box/boots").is_empty()).then_some(()));
    kill_process(Pid::from_child(&zc), Signal::INT).unwrap();
    let output = zc.wait_with_output().unwrap();
    assert_eq!(failed(&output, 130), "interrupted");
    assert!(stderr(&output).contains("\"box\" has Linux 6.1.0 again"), "{}", stderr(&output));
    assert_eq!(machine.read("box/release"), "6.1.0");
    assert!(text(&output.stdout).contains("this is what was measured"));
}

#[test]
fn a_machine_that_stays_away_ends_it_with_what_there_is() {
    let machine = Machine::new();
    machine.write("box/bin/systemctl", &format!("#!/bin/sh\n: >'{}'\n", machine.at("box/down")));
    let output = machine.compare(BOTH, &["--boots", "2", "--boot-wait", "1s"]).finish().unwrap();
    assert_eq!(failed(&output, 6), "machine-gone");
    let said = stderr(&output);
    assert!(said.contains("\"box\" is not left with Linux 6.1.0"), "{said}");
    let shown = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("not back after 1 s: ssh: connect to host box port 22"), "{shown}");
}

#[test]
fn what_cannot_be_booted_there_is_refused_before_anything_is() {
    let machine = Machine::new();
    let refused = |kernels, code, id| {
        let output = machine.compare(kernels, &[]).finish().unwrap();
        assert_eq!(refused(&output, code), id, "{}", stderr(&output));
        assert!(!Path::new(&machine.at("runs")).exists() && machine.read("box/boots").is_empty());
    };
    refused(["A=6.1.2", "B=6.1.9"], 3, "no-such-kernel-there");
    refused(["A=6.1.2", "B=bzImage/x"], 2, "invalid-kernel");
    std::fs::remove_file(machine.at("box/bin/kexec")).unwrap();
    refused(BOTH, 4, "no-kexec");
    machine
        .write("box/boot_id", &std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap());
    refused(BOTH, 2, "boots-this-machine");
    machine.write("box/down", "");
    refused(BOTH, 6, "machine-unreachable");
}
