//! `--anonymise` from outside: the saved run is searched for what identifies hosts.

use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::{
    Bounded as _, ZC, blocks_saved, interrupted_when, measuring, saved, stderr, text, zc_in,
};

/// The name of this host while zc runs, where it can be set for zc alone.
const NAME: &str = "zc-test-name-of-a-host";

/// `zc run` with these arguments in a folder, on a host of that name if this is root, until it has
/// saved a block.
fn run_in(folder: &Path, args: &[&str]) -> Output {
    let named = zc_kernel::process::euid() == 0;
    let mut command = Command::new(if named { "unshare" } else { ZC });
    if named {
        let script = format!("echo {NAME} >/proc/sys/kernel/hostname && exec \"$0\" \"$@\"");
        command.args(["--uts", "sh", "-c", &script, ZC]);
    }
    command.args(["run", "--anonymise", "--out", "run.json", "--budget", "600s"]).args(args);
    command.current_dir(folder).stdin(Stdio::null());
    interrupted_when("a block is saved", &mut command, || blocks_saved(folder) > 0)
}

/// The saved run, which has none of these words, no name of this host and no address.
#[track_caller]
fn saved_without(folder: &Path, words: &[&str]) -> String {
    let saved = std::fs::read_to_string(folder.join("run.json")).unwrap();
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let field = format!("\"hostname\":\"{}\"", own.trim());
    let place = folder.to_str().unwrap();
    for word in words.iter().copied().chain([NAME, &field, place]) {
        assert!(!saved.contains(word), "{word} in {saved}");
    }
    let is_of_an_address = |c: char| c.is_ascii_hexdigit() || c == '.' || c == ':';
    let address = saved.split(|c| !is_of_an_address(c)).find(|word| word.parse::<IpAddr>().is_ok());
    assert_eq!(address, None);
    saved
}

#[test]
fn a_run_over_a_command_names_neither_end_nor_the_command() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let bin = Path::new(ZC).parent().unwrap().display().to_string();
    let via = format!("env ZC_TEST_MARK=secret-word PATH={bin}:/usr/sbin:/usr/bin:/sbin:/bin");
    let output = run_in(folder.path(), &["--via", &via, "--paths", "sendfile"]);
    if stderr(&output).contains("[far-end-without-address]") {
        eprintln!("skipped: this machine has no address but those of the loopback interface");
        return;
    }
    saved_without(folder.path(), &["secret-word", "ZC_TEST_MARK", &bin]);
    let header = saved(folder.path()).header;
    let expected =
        "zc run --anonymise --out (left out) --budget 600s --via (left out) --paths sendfile";
    assert_eq!(header.command.join(" "), expected);
    let remote = header.remote.unwrap();
    assert_eq!(remote.address, "(left out)");
    let far = remote.machine.unwrap().host;
    assert_eq!(far.kernel_command_line.or(header.host.kernel_command_line), None);
    assert!(far.hostname.starts_with("host-") && far.hostname.len() == "host-01234567".len());
    assert_eq!(far.hostname, header.host.hostname, "it is the same machine");
    let shown = zc_in(folder.path(), &["show", "--verbose", "run.json"]).finish().unwrap();
    assert!(shown.status.success(), "{}", stderr(&shown));
    assert!(text(&shown.stdout).contains(&far.hostname), "{}", text(&shown.stdout));
}

#[test]
fn commands_of_states_and_files_are_left_out_and_the_run_can_be_shown_and_compared() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let state = |name: &str| format!("echo secret-{name} >state");
    let (one, other) = (state("one"), state("other"));
    std::fs::write(folder.path().join("secret-file"), vec![1; 1 << 20]).unwrap();
    let args = [
        "--link",
        "loopback",
        "--paths",
        "sendfile",
        "--ab",
        &one,
        "--ab",
        &other,
        "--ab-restore",
        "echo secret-none >state",
        "--verify-state",
        "cat state",
        "--files",
        "secret-file",
    ];
    run_in(folder.path(), &args);
    saved_without(folder.path(), &["secret", "cat state"]);
    for args in [&["show", "--verbose", "run.json"][..], &["report", "run.json", "-o", "run.html"]]
    {
        let output = zc_in(folder.path(), args).finish().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    }
}
