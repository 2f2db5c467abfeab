//! The resident memory of `zc serve` by receive path: what clients can make it use is bounded.

use std::process::Command;

use rustix::process::Signal;
use zc_run::RecvPath;

use super::faults::address_in;
use super::marked::{finished, signal, start};
use super::{is_long, turn, verdict};
use crate::support::ZC;

/// Memory of a server besides buffers: the program itself, soakers, stacks, the machine's facts.
const BESIDES_KIB: u64 = 48 << 10;

/// Buffers of a flow: docs/paths/recv-uring-multishot.md has the pool of 16, which its variants have
/// too, every other path one.
fn buffers(path: RecvPath) -> u64 {
    match path {
        RecvPath::UringMultishot
        | RecvPath::UringBundle
        | RecvPath::UringMinWait
        | RecvPath::UringNapi => 16,
        _ => 1,
    }
}

/// Serves one run, and returns the peak of resident memory in KiB.
fn peak_kib(path: RecvPath, flows: u64, buffer: &str) -> Option<u64> {
    let mut server = start(Command::new(ZC).args(["serve", "--listen", "127.0.0.1:0"])).unwrap();
    let address = server.says(address_in).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let recv = format!("{path}:{buffer}");
    let flows = flows.to_string();
    let args = [
        "run", "--remote", &address, "--recv", &recv, "--flows", &flows, "--paths", "sendfile",
        "--budget", "2s", "--out", "run.json",
    ];
    let near = finished(Command::new(ZC).args(args).current_dir(folder.path())).unwrap();
    let end = verdict::end(&near, &[]).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak = peak.trim().trim_end_matches(" kB").parse().unwrap();
    signal(server.pid(), Signal::TERM);
    server.ends().unwrap();
    if end == verdict::End::Failed(4) {
        eprintln!("skipped: {path}: {}", crate::support::stderr(&near));
        return None;
    }
    Some(peak)
}

#[test]
fn the_memory_of_a_receiver_is_its_buffers_and_little_else() {
    let _turn = turn();
    let mut cases: Vec<(RecvPath, u64, &str, u64)> =
        RecvPath::ALL.iter().map(|path| (*path, 1, "64k", 64)).collect();
    if is_long() {
        cases.extend(RecvPath::ALL.iter().map(|path| (*path, 16, "1m", 1024)));
    } else {
        cases.retain(|(path, ..)| *path == RecvPath::UringMultishot);
    }
    for (path, flows, buffer, buffer_kib) in cases {
        let Some(peak) = peak_kib(path, flows, buffer) else { continue };
        let bound = BESIDES_KIB + buffers(path) * flows * buffer_kib;
        eprintln!("resident: {path}, {flows} flows of {buffer}: peak {peak} KiB of {bound}");
        assert!(peak < bound, "{path}, {flows} flows of {buffer}: peak {peak} KiB of {bound}");
    }
}
