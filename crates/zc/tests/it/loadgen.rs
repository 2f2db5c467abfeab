//! `zc run server ... -- LOADGEN`: a load generator that is not zc's. The figures are not checked:
//! this machine may be busy.

use std::path::Path;
use std::process::Command;

use crate::server::{ask, ask_for_lengths, folder, nobody_else_is_in, trials};
use crate::support::{
    Bounded as _, NOTHING_KEPT, asks_too_slowly, at_once, blocks_saved, interrupted_when,
    link_is_unavailable, measuring, refused, saved, stderr, text, until, zc_in,
};

/// Asks a URL over one connection, some 100 times a second, and prints nothing. One that was held up
/// does not catch up: before it is ended, it would get more than was counted. A file named by the
/// moment at which it began grows by a byte for each response.
const STEADY: &str = r#"
import http.client, sys, time, urllib.parse

asked = open(f"asked.{time.monotonic_ns():020}", "wb", buffering=0)

url = urllib.parse.urlsplit(sys.argv[1])
connection = http.client.HTTPConnection(url.netloc)
while True:
    connection.request("GET", url.path)
    connection.getresponse().read()
    asked.write(b".")
    time.sleep(0.01)
"#;

/// `zc run server` with that generator.
fn steady(folder: &Path, path: &str) -> Command {
    steadily(folder, ask(folder, path))
}

/// The same command, with that generator in place of zc's own load.
fn steadily(folder: &Path, mut command: Command) -> Command {
    std::fs::write(folder.join("steady.py"), STEADY).unwrap();
    // A dozen responses in a window.
    command.args(["--warmup", "50ms", "--window", "150ms", "--idle", "10ms"]);
    command.args(["--budget", "600s", "--", "python3", "steady.py", "{url}"]);
    command
}

/// Number of responses that each generator got, in the order in which they began.
fn responses_by_generator(folder: &Path) -> Vec<u64> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("asked."));
    let mut files: Vec<_> = named.collect();
    files.sort_by_key(std::fs::DirEntry::file_name);
    files.iter().map(|entry| entry.metadata().unwrap().len()).collect()
}

/// At its rate few responses come in a window, and it has no end of its own.
#[test]
fn a_load_generator_asks_in_every_state_and_its_responses_are_counted_on_the_link() {
    let _turn = measuring();
    let Some(folder) = folder() else { return };
    let mut command = steadily(folder.path(), ask_for_lengths(folder.path(), [20_000, 100_000]));
    let enough = || blocks_saved(folder.path()) > 0;
    let output = interrupted_when("a block is saved", &mut command, enough);
    if link_is_unavailable(&output) || asks_too_slowly(&output) {
        return;
    }
    assert!(matches!(output.status.code(), Some(NOTHING_KEPT | 130)), "{}", stderr(&output));
    let run = saved(folder.path());
    let server = run.header.plan.traffic.server().unwrap();
    assert_eq!(server.generator, ["python3", "steady.py", "{url}"]);
    assert!(run.blocks.iter().all(|block| block.failed.is_empty()), "{:?}", run.blocks);
    let (mut seen, mut used_ns) = (0, 0);
    // A generator for each trial, and some for trials that are not saved.
    let all = responses_by_generator(folder.path());
    let mut asked = all.iter();
    for trial in trials(&run) {
        let calls = trial.closed.sent.calls - trial.opened.sent.calls;
        assert!(calls > 0, "{}", trial.cell);
        seen += calls;
        used_ns += trial.closed.receiver.cpu_ns - trial.opened.receiver.cpu_ns;
        let length = if trial.cell.contains("100000") { 100_000.0 } else { 20_000.0 };
        // One may be on its way, and some more may come until the generator has ended.
        let counted = trial.whole_bytes as f64 / length;
        let is_of = |got: f64| got + 1.5 >= counted && got <= 1.5 * counted + 1.0;
        assert!(asked.any(|got| is_of(*got as f64)), "{counted} are none of {all:?}");
    }
    assert!(seen > 0 && used_ns > 0, "{seen} responses, {used_ns} ns of the generator");
    let end = run.end.as_ref().unwrap();
    assert!(end.latencies.iter().all(|each| each.requests.is_empty()), "they are not known");
    assert!(nobody_else_is_in(folder.path(), &[]));
    let shown = zc_in(folder.path(), &["show", "run.json"]).finish().unwrap();
    assert!(text(&shown.stdout).contains("by python3 steady.py {url}"), "{}", text(&shown.stdout));
}

#[test]
fn a_zc_that_is_killed_leaves_neither_server_nor_load_generator() {
    let _turn = measuring();
    let Some(folder) = folder() else { return };
    let mut zc = steady(folder.path(), "/").start().unwrap();
    // Long before a block, where the machine is busy: it is the generator that is to be there.
    let asks = || responses_by_generator(folder.path()).iter().any(|responses| *responses > 0);
    let mut asked = || asks() || zc.try_wait().unwrap().is_some();
    until("the generator asks", || asked().then_some(()));
    zc.kill().unwrap();
    zc.wait().unwrap();
    until("all has ended", || nobody_else_is_in(folder.path(), &[]).then_some(()));
}

#[test]
fn a_load_generator_that_cannot_be_used_is_named() {
    let _turn = measuring();
    let ends = "echo out of ideas >&2; exit 3";
    let cases = [
        (&["no-such-program", "{url}"][..], "program-not-started", "no-such-program"),
        (&["sh", "-c", ends, "{url}"], "program-ended", "out of ideas"),
    ];
    at_once(&cases, |(words, id, names)| {
        let Some(folder) = folder() else { return };
        let mut command = ask(folder.path(), "/");
        command.arg("--").args(*words);
        let output = command.finish().unwrap();
        if link_is_unavailable(&output) {
            return;
        }
        assert_eq!(refused(&output, 6), *id);
        assert!(stderr(&output).contains(names), "{}", stderr(&output));
        assert!(nobody_else_is_in(folder.path(), &[]));
    });
}
