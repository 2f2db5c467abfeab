//! `zc run server`: a server in two states, under a load of zc's own. The figures are not checked:
//! this machine may be busy.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use zc_run::{Run, Slot};

use crate::support::{
    Bounded as _, blocks_of, interrupted_when, link_is_unavailable, measuring, saved, stderr,
    until, zc, zc_in,
};

/// A server on the ports 8001 and 8002 of its namespace. Its process id is in the file `pid`. What it
/// answers depends on the path, and for `/by-state` on the file `state`.
const SERVER: &str = r#"
import http.server, os, sys, threading

requests = 0

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        global requests
        requests += 1
        if self.path == "/dies" and requests > 40:
            sys.stderr.write("out of order\n")
            sys.stderr.flush()
            os._exit(7)
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.path == "/missing":
            self.send_error(404)
            return
        length = 20000
        if self.path == "/grows" and requests > 40:
            length += 1
        letter = b"x"
        if self.path == "/by-state":
            letter = open("state").read(1).encode()
        if self.path == "/by-port":
            length = self.server.server_port
        if self.path == "/empty":
            length = 0
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(letter * length)

    def log_message(self, *args):
        pass

servers = [http.server.ThreadingHTTPServer(("", port), Handler) for port in (8001, 8002)]
for server in servers:
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
open("pid", "w").write(str(os.getpid()))
threading.Event().wait()
"#;

/// A folder with the server in it; `None`, with the reason said, where there is no Python.
fn folder() -> Option<tempfile::TempDir> {
    let python = Command::new("python3").arg("-V").stdout(Stdio::null()).status();
    if !python.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no python3");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("server.py"), SERVER).unwrap();
    Some(folder)
}

/// `zc run server` in that folder, with both ports asked for `path`.
fn ask(folder: &Path, path: &str) -> Command {
    ask_of(folder, "exec python3 server.py", path)
}

/// As [`ask`], of a server that `serve` starts.
fn ask_of(folder: &Path, serve: &str, path: &str) -> Command {
    let states = [format!("one=http://localhost:8001{path}"), format!("two=http://far:8002{path}")];
    let mut command = zc_in(folder, &["run", "server", "--serve", serve]);
    command.args(["--state", &states[0], "--state", &states[1], "--connections", "2"]);
    command.args(["--out", "run.json"]);
    command
}

/// Whether the server that wrote its process id is still there.
fn is_alive(folder: &Path) -> bool {
    let pid = std::fs::read_to_string(folder.join("pid")).unwrap();
    Path::new("/proc").join(pid.trim()).exists()
}

fn assert_refused(output: &Output, code: i32, says: &str) {
    let stderr = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(says), "{says:?} is not in:\n{stderr}");
}

/// The trials of a run, of all its blocks.
fn trials(run: &Run) -> impl Iterator<Item = &zc_run::Trial> {
    run.blocks.iter().flat_map(|block| &block.slots).filter_map(|slot| match slot {
        Slot::Trial(trial) => Some(trial),
        Slot::Idle(_) => None,
    })
}

#[test]
fn a_server_is_asked_in_each_of_its_states_and_ends_with_the_run() {
    let _turn = measuring();
    let Some(folder) = folder() else { return };
    let mut command = ask(folder.path(), "/");
    command.args(["--requests", "200/s"]);
    let output = blocks_of(folder.path(), &mut command, 2);
    if link_is_unavailable(&output) {
        return;
    }
    assert!(!is_alive(folder.path()));
    let run = saved(folder.path());
    let labels: Vec<&str> = run.header.plan.cells.iter().map(|cell| cell.label.as_str()).collect();
    assert_eq!(labels, ["one", "two", "one (A/A)", "one (+burn)"]);
    let server = run.header.plan.server.as_ref().unwrap();
    assert_eq!(server.states[1].url, "http://far:8002/");
    assert_eq!(server.states[1].response.body_bytes, 20_000);
    let mut seen = 0;
    for trial in trials(&run) {
        let requests = trial.closed.sent.calls - trial.opened.sent.calls;
        // Other work may keep the load from its CPU for the whole of a window, and not for all.
        seen += requests;
        assert!(trial.closed.sent.bytes >= trial.opened.sent.bytes);
        assert_eq!(trial.whole_bytes % 20_000, 0, "whole responses");
    }
    assert!(seen > 0);
    let shown = zc_in(folder.path(), &["show", "-v", "run.json"]).finish().unwrap();
    let table = String::from_utf8(shown.stdout).unwrap();
    assert!(table.contains("exec python3 server.py"), "{table}");
    assert!(table.contains("two: http://far:8002/, 20000 bytes"), "{table}");
}

#[test]
fn a_zc_that_is_killed_leaves_no_server_behind() {
    let _turn = measuring();
    let Some(folder) = folder() else { return };
    let mut command = ask(folder.path(), "/");
    let mut zc = command.stdout(Stdio::null()).stderr(Stdio::piped()).start().unwrap();
    let begun = until("the server runs, or there is no link", || {
        let ended = zc.try_wait().unwrap().is_some();
        (ended || folder.path().join("pid").exists()).then_some(!ended)
    });
    if !begun {
        assert!(link_is_unavailable(&zc.wait_with_output().unwrap()));
        return;
    }
    zc.kill().unwrap();
    zc.wait().unwrap();
    until("the server has ended", || (!is_alive(folder.path())).then_some(()));
}

#[test]
fn an_interrupted_run_ends_its_server_which_may_say_so_and_clean_up() {
    let _turn = measuring();
    let Some(folder) = folder() else { return };
    let pid = folder.path().join("pid");
    let serve = r#"
        trap 'echo it ends >&2; touch cleaned-up' EXIT
        trap 'exit 0' TERM
        python3 server.py & wait"#;
    let mut command = ask_of(folder.path(), serve, "/");
    let output = interrupted_when("the server runs", &mut command, || pid.exists());
    if link_is_unavailable(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(!is_alive(folder.path()));
    assert!(folder.path().join("cleaned-up").exists());
}

#[test]
fn a_server_that_dies_ends_the_run_with_its_last_words() {
    let _turn = measuring();
    let Some(folder) = folder() else { return };
    let output = ask(folder.path(), "/dies").finish().unwrap();
    if link_is_unavailable(&output) {
        return;
    }
    assert_refused(&output, 6, "the server ended with exit code 7 and said: out of order");
}

#[test]
fn a_response_that_cannot_be_measured_is_named() {
    let _turn = measuring();
    let Some(folder) = folder() else { return };
    for (path, code, says) in [
        ("/missing", 6, "with status 404"),
        ("/moved", 6, "is a redirect (status 302) to \"/elsewhere\""),
        ("/empty", 3, "has no body"),
        ("/by-port", 3, "of different lengths: one answers 200 with 8001 bytes"),
    ] {
        let output = ask(folder.path(), path).finish().unwrap();
        if link_is_unavailable(&output) {
            return;
        }
        assert_refused(&output, code, says);
        assert!(!is_alive(folder.path()), "{path}");
        assert!(!folder.path().join("run.json").exists(), "{path}: nothing was measured");
    }
}

#[test]
fn states_may_be_commands_and_what_they_change_is_seen() {
    let _turn = measuring();
    let Some(folder) = folder() else { return };
    std::fs::write(folder.path().join("state"), "before").unwrap();
    let mut command = zc_in(folder.path(), &["run", "server", "--serve", "exec python3 server.py"]);
    command.args(["--state", "small=echo s > state", "--state", "large=echo l > state"]);
    command.args(["--ab-restore", "echo before > state", "--ab-settle", "1ms"]);
    command.args(["--url", "http://localhost:8001/by-state", "--requests", "100/s"]);
    command.args(["--connections", "2", "--out", "run.json"]);
    let output = blocks_of(folder.path(), &mut command, 1);
    if link_is_unavailable(&output) {
        return;
    }
    let run = saved(folder.path());
    assert!(run.header.warnings.iter().any(|warning| warning.name == "different-responses"));
    assert_eq!(std::fs::read_to_string(folder.path().join("state")).unwrap().trim(), "before");
}

#[test]
fn what_is_not_a_comparison_of_states_is_refused() {
    let (one, two) = ("one=http://localhost:8001/", "two=http://localhost:8002/");
    let cases: [(&[&str], &str); 12] = [
        (&[], "two states or more are compared, and none was given"),
        (&["--state", one], "two states or more are compared, and one was given"),
        (&["--state", one, "--state", two], "the server has to be started by zc"),
        (&["--state", "one", "--state", two], "has no \"=\""),
        (&["--state", one, "--state", "one=http://b/"], "has a name that another state has"),
        (&["--state", "=http://a/", "--state", two], "cannot be the name of a state"),
        (&["--state", one, "--state", "two="], "names nothing"),
        (&["--state", one, "--state", "two=true"], "--url does not say what to ask in it"),
        (&["--state", one, "--state", "t=true", "--url", "http://a/"], "some are URLs"),
        (&["--state", one, "--state", two, "--serve", "true", "--requests", "9"], "has no unit"),
        (&["--state", one, "--state", two, "--serve", "true", "--header", "x"], "has no colon"),
        (&["--state", one, "--state", two, "--link", "null"], "\"--link\" is no option"),
    ];
    for (args, says) in cases {
        let output = zc(&["run", "server"]).args(args).finish().unwrap();
        assert_refused(&output, 2, says);
    }
    let output = zc(&["run", "paths", "--serve", "true"]).finish().unwrap();
    assert_refused(&output, 2, "options of \"zc run server\"");
}
