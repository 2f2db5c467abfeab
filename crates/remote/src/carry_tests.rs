//! A program is carried through real shells, and through every failure on the way; nothing of it is
//! left at the far end.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::carry::{Carry, Program, Wanted};
use super::far_host::{
    Host, SHELLS, SOON, answering, carried_script, ends, installed, program, start,
};
use super::handshake::{PROTOCOL, VERSION};
use super::server::Duties;
use super::via::{Start, Via, script};
use zc_run::{Error, ErrorKind};

/// Size of a program that no pipe holds.
const LARGE: usize = 1 << 20;

/// Path under which a carried program runs.
const CARRIED: &str = "/proc/self/fd/8";

/// Tools that taking a program needs, besides a shell. (mksh has no printf of its own, and yash
/// uses its own only where there is another.)
const TOOLS: [&str; 9] =
    ["mktemp", "chmod", "rm", "head", "cat", "sha256sum", "uname", "printf", "["];

fn failed(command: &str, carry: &Carry) -> Error {
    let error = start(command, None, carry, SOON).map(drop).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Remote, "{error}");
    error
}

#[test]
fn every_shell_takes_a_program_and_nothing_is_left_of_it() {
    for shell in SHELLS {
        let Some(path) = installed(shell) else { continue };
        // With gzip and without it. (busybox has its own.)
        for more in [&["gzip"][..], &[]] {
            let host = Host::new();
            host.with_only(&path, &TOOLS).with(more);
            let began = start(&host.bare_command(), None, &program(LARGE), SOON)
                .unwrap_or_else(|error| panic!("{shell}: {error}"));
            let (via, connection, name, pid) = answering(began);
            assert_eq!(name, CARRIED, "{shell}");
            let carried = via.carried().unwrap();
            assert_eq!(carried.place, host.path("tmp"));
            assert!(carried.bytes > LARGE);
            assert_eq!(host.left(), [""; 0], "{shell}: while it runs");
            drop(connection);
            assert!(via.ends_within(SOON), "{shell}");
            assert!(ends(pid), "{shell}");
            assert_eq!(host.left(), [""; 0], "{shell}");
        }
    }
}

#[test]
fn a_zc_that_is_there_is_used_unless_it_speaks_another_protocol() {
    let host = Host::new();
    host.zc("bin/zc", "0.0.9");
    let (via, _connection, name, _) =
        answering(start(&host.command(), None, &program(0), SOON).unwrap());
    assert_eq!((name, via.carried()), (host.path("bin/zc"), None));
    // Of the same version, too: the protocol decides.
    for version in [VERSION, "9"] {
        let other = format!(
            "case $1 in --version) echo zc {version};; *) echo \
             '{{\"zc\":\"serve\",\"protocol\":{PROTOCOL}9,\"version\":\"9\"}}'; cat;; esac"
        );
        host.script("bin/zc", &other);
        let (via, _connection, name, _) =
            answering(start(&host.command(), None, &program(0), SOON).unwrap());
        assert!(name == CARRIED && via.carried().is_some());
        let error = failed(&host.command(), &Carry::Never);
        assert_eq!(error.id, "far-end-version");
        assert!(error.message.contains(&format!("{PROTOCOL}9")), "{error}");
        let help = error.help.unwrap();
        assert!(help.contains(&host.path("bin/zc")) && help.contains("--no-carry"), "{help}");
    }
    host.script("bin/zc", "exit 126");
    let (_via, _connection, name, _) =
        answering(start(&host.command(), None, &program(0), SOON).unwrap());
    assert_eq!(name, CARRIED);
}

#[test]
fn what_is_not_carried_is_an_error_with_its_reason_and_remedy() {
    let host = Host::new();
    let error = failed(&host.command(), &Carry::Never);
    assert_eq!(error.id, "far-end-without-zc");
    assert!(error.help.unwrap().starts_with("leave out --no-carry"));
    host.script("bin/uname", "echo Linux pdp11");
    let own = Carry::Named(Program::of_file("/proc/self/exe".as_ref()).unwrap());
    if let Err(error) = start(&host.command(), None, &own, SOON).map(drop) {
        assert!(error.message.contains("Linux pdp11"), "{error}");
        assert!(error.help.unwrap().starts_with("name a static zc for Linux pdp11 by --carry"));
    }
    let dash = installed("dash").or_else(|| installed("sh")).unwrap();
    let host = Host::new();
    host.with_only(&dash, &["rm", "head", "uname"]);
    let error = failed(&host.bare_command(), &program(0));
    assert!(error.message.contains("mktemp, chmod, sha256sum"), "{error}");
}

/// A command to a host where every place for a program is a file system mounted with `options`;
/// `None`, with the reason on stderr, where that cannot be had.
fn with_places(options: &str) -> Option<String> {
    let unshare = if zc_kernel::process::euid() == 0 { "unshare -m" } else { "unshare -Urm" };
    let mounted = format!(
        "for dir in /dev/shm /var/tmp /tmp; do mount -t tmpfs -o {options} tmpfs $dir || exit 77; \
         done; [ ! -e /usr/bin/zc ] || mount --bind /dev/null /usr/bin/zc || exit 77"
    );
    let command = format!(
        "{unshare} sh -c '{mounted}; HOME=/tmp TMPDIR=/tmp XDG_RUNTIME_DIR= PATH=/usr/bin:/bin \
         exec \"$0\"'"
    );
    let works = Command::new("sh").args(["-c", &format!("{command} true")]).output().unwrap();
    if !works.status.success() {
        eprintln!("skipped: {}", String::from_utf8_lossy(&works.stderr).trim_end());
        return None;
    }
    Some(command)
}

#[test]
fn where_no_folder_takes_a_program_each_is_named_with_what_it_lacks() {
    for (options, lacks) in [("noexec", "forbids programs"), ("size=64k", "has no room")] {
        let Some(command) = with_places(options) else { return };
        let error = failed(&command, &program(LARGE));
        assert_eq!(error.id, "no-place-to-carry");
        let named = ["/tmp", "/dev/shm"].map(|place| format!("{place} {lacks}"));
        let named = named.iter().all(|what| error.message.contains(what));
        assert!(named && error.help.unwrap().contains("TMPDIR="));
    }
}

#[test]
fn a_folder_that_forbids_programs_or_is_full_is_passed_over() {
    let host = Host::new();
    let unshare = if zc_kernel::process::euid() == 0 { "unshare -m" } else { "unshare -Urm" };
    for options in ["noexec", "size=64k"] {
        let command = format!(
            "{unshare} sh -c 'mount -t tmpfs -o {options} tmpfs {} || exit 77; exec {} \
             XDG_RUNTIME_DIR={} \"$0\"'",
            host.path("tmp"),
            host.command(),
            host.path("bin"),
        );
        let works = Command::new("sh").args(["-c", &format!("{command} true")]).output().unwrap();
        if !works.status.success() {
            return eprintln!("skipped: {}", String::from_utf8_lossy(&works.stderr).trim_end());
        }
        let (via, _connection, name, _) =
            answering(start(&command, None, &program(LARGE), SOON).unwrap());
        assert_eq!(name, CARRIED);
        assert_eq!(via.carried().unwrap().place, host.path("bin"));
        assert_eq!(std::fs::read_dir(host.path("bin")).unwrap().count(), 0);
    }
}

#[test]
fn a_stream_that_changes_bytes_is_noticed_before_anything_runs() {
    let Some(stdbuf) = installed("stdbuf") else { return };
    let host = Host::new();
    // Script and announcement have no such byte.
    let command = format!("{stdbuf} -o0 tr '\\377' '\\376' | {}", host.command());
    let canary = host.path("canary");
    for program in [program(LARGE), carried_script(&format!(": >'{canary}'"), LARGE)] {
        let error = failed(&command, &program);
        // gzip may notice it before all is sent: then the stream ends, and the words are gzip's.
        let is_of_gzip = error.message.contains("gzip: stdin: invalid compressed data");
        let expected = if is_of_gzip { "carrying-ended" } else { "carried-zc-damaged" };
        assert_eq!(error.id, expected, "{error}");
        assert_eq!(host.left(), [""; 0]);
    }
    assert!(!std::fs::exists(canary).unwrap());
}

#[test]
fn a_stream_that_ends_at_any_byte_leaves_nothing() {
    let Some(stdbuf) = installed("stdbuf") else { return };
    let script = script(None, Duties::Usual).len();
    let announced = script + program(LARGE).offer(&Wanted::default()).unwrap().line().len();
    for (bytes, expected) in [
        (100, "command-ended"),
        (script - 3, "command-ended"),
        (script, "far-end-without-zc"),
        (script + 20, "far-end-without-zc"),
        (announced, "carrying-ended"),
        (announced + 1, "carrying-ended"),
        (announced + 300_000, "carrying-ended"),
        // The rest is in the pipe, where it is lost.
        (announced + LARGE, "carried-zc-damaged"),
    ] {
        let host = Host::new();
        let command = format!("{stdbuf} -o0 head -c {bytes} | {}", host.command());
        let error = failed(&command, &program(LARGE));
        assert_eq!(error.id, expected, "{bytes}: {error}");
        assert_eq!(host.left(), [""; 0], "{bytes}");
    }
}

#[test]
fn a_shell_that_is_killed_at_any_step_leaves_nothing() {
    for (tool, expected) in [
        ("uname", "far-end-without-zc"),
        ("rm", "far-end-without-zc"),
        ("head", "far-end-without-zc"),
        ("gzip", "carrying-ended"),
        ("sha256sum", "carrying-ended"),
    ] {
        let host = Host::new();
        // It does its work first, so that what it does is there to be left.
        let does = if tool == "rm" { "/bin/rm \"$@\";" } else { "" };
        host.script(&format!("bin/{tool}"), &format!("{does} kill -9 0"));
        let error = failed(&host.command(), &program(LARGE));
        assert_eq!(error.id, expected, "{tool}: {error}");
        assert_eq!(host.left(), [""; 0], "{tool}");
    }
}

#[test]
fn a_program_that_does_not_run_there_is_an_error_that_quotes_it() {
    let host = Host::new();
    let error = failed(&host.command(), &carried_script("echo what am I >&2; exit 3", 0));
    assert!(error.id == "carried-zc-broken" && error.message.contains("what am I"), "{error:?}");
    let error = failed(&host.command(), &carried_script("exit 3", 0));
    assert!(error.id == "carried-zc-broken" && error.message.contains("code 3"), "{error:?}");
    let broken = Carry::Named(Program::of_bytes(b"\x7fELF\x02\x01\x01\0no program"));
    assert_eq!(failed(&host.command(), &broken).id, "carried-zc-broken");
    // It says that it is zc, and then fails.
    let fails = "case $1 in --version) echo zc 7;; *) echo no more >&2; exit 1;; esac";
    let error = failed(&host.command(), &carried_script(fails, 0));
    assert!(error.id == "far-end-version" && error.message.contains("no more"), "{error:?}");
    assert!(error.message.contains("tmp (carried there)\""), "{error}");
    assert_eq!(host.left(), [""; 0]);
}

/// A host whose `head` makes room for a program, and then never reads it.
fn stuck() -> Host {
    let host = Host::new();
    let text = "[ $# = 3 ] && exec /usr/bin/head \"$@\"; echo $$ >\"$HOME/pid\"; exec sleep 1000";
    host.script("bin/head", text);
    host
}

#[test]
fn carrying_ends_when_it_is_not_wanted_any_more() {
    let host = stuck();
    let (stop, command) = (AtomicBool::new(false), host.command());
    let began = Instant::now();
    let error = Via::start(Start {
        command: &command,
        carry: &program(LARGE),
        duties: Duties::Usual,
        patience: SOON,
        still_wanted: &|| match stop.load(Ordering::Relaxed) {
            true => Err(Error::new(ErrorKind::Interrupted, "stopped", "stopped")),
            false => Ok(()),
        },
        carrying: &mut |carried| {
            assert_eq!(carried.place, host.path("tmp"));
            stop.store(true, Ordering::Relaxed);
        },
    });
    assert_eq!(error.map(drop).unwrap_err().kind, ErrorKind::Interrupted);
    // The program alone has longer, by its size.
    assert!(began.elapsed() < SOON);
    assert_eq!(host.left(), [""; 0]);
}

#[test]
fn a_far_end_that_does_not_take_it_in_time_is_given_up_with_its_processes() {
    let host = stuck();
    let error = start(&host.command(), None, &program(0), Duration::from_secs(2));
    let error = error.map(drop).unwrap_err();
    assert!(error.id == "carrying-too-slow" && error.message.contains("2 s"), "{error:?}");
    let pid = std::fs::read_to_string(host.path("pid")).unwrap();
    assert!(ends(pid.trim().parse().unwrap()));
    assert_eq!(host.left(), [""; 0]);
}
