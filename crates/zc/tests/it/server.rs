//! `zc run server`: a server in two states, under a load of zc's own. The figures are not checked:
//! this machine may be busy.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use zc_analysis::estimate;
use zc_run::{Run, Slot};

use crate::support::{
    Bounded as _, Running, blocks_of, blocks_saved, failed, interrupted_when, link_is_unavailable,
    measuring, refused, saved, stderr, until, wait_for_blocks, zc_in,
};

/// A server on two ports, by default 8001 and 8002 of its namespace. They are in the file `ports`,
/// its process id is in `pid`. Its answer depends on the path, and for `/by-state` on the file
/// `state`.
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
        if self.path.startswith("/bytes/"):
            length = int(self.path.rsplit("/", 1)[1])
        if self.path == "/empty":
            length = 0
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(letter * length)

    def log_message(self, *args):
        pass

ports = [int(port) for port in sys.argv[1:]] or [8001, 8002]
servers = [http.server.ThreadingHTTPServer(("", port), Handler) for port in ports]
open("ports", "w").write(" ".join(str(server.server_port) for server in servers))
open("pid.new", "w").write(str(os.getpid()))
os.rename("pid.new", "pid") # before it answers: the first answer may end it
for server in servers:
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
threading.Event().wait()
"#;

/// Windows that are long enough where no figure is held against anything: most of a run of a server
/// is waiting for them.
pub(crate) const SHORT: [&str; 4] = ["--window", "40ms", "--idle", "10ms"];

/// A folder with the server in it; `None`, with the reason said, where there is no Python.
pub(crate) fn folder() -> Option<tempfile::TempDir> {
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
pub(crate) fn ask(folder: &Path, path: &str) -> Command {
    ask_of(folder, "exec python3 server.py", path)
}

/// Same as [`ask`], for a server that `serve` starts.
fn ask_of(folder: &Path, serve: &str, path: &str) -> Command {
    let states = [format!("one=http://localhost:8001{path}"), format!("two=http://far:8002{path}")];
    let mut command = zc_in(folder, &["run", "server", "--serve", serve]);
    command.args(["--state", &states[0], "--state", &states[1], "--connections", "2"]);
    command.args(["--out", "run.json"]);
    command
}

/// The server, started by somebody else: in a session of its own, on ports of the host.
pub(crate) struct Elsewhere {
    pub(crate) folder: tempfile::TempDir,
    process: Running,
    pub(crate) ports: Vec<String>,
}

impl Elsewhere {
    /// `None`, with the reason said, where there is no Python.
    pub(crate) fn start() -> Option<Self> {
        let folder = folder()?;
        let mut command = Command::new("setsid");
        command.args(["python3", "server.py", "0", "0"]).current_dir(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(process) = command.start() else {
            eprintln!("skipped: no setsid(1)");
            return None;
        };
        until("the server runs", || folder.path().join("pid").exists().then_some(()));
        let ports = std::fs::read_to_string(folder.path().join("ports")).unwrap();
        let ports = ports.split_whitespace().map(str::to_owned).collect();
        Some(Self { folder, process, ports })
    }

    /// `zc run server` with both ports asked for `path`.
    fn ask(&self, path: &str) -> Command {
        let mut command = zc_in(self.folder.path(), &["run", "server", "--connections", "2"]);
        for (name, port) in ["one", "two"].iter().zip(&self.ports) {
            command.args(["--state", &format!("{name}=http://localhost:{port}{path}")]);
        }
        command.args(["--out", "run.json"]);
        command
    }

    fn is_alive(&self) -> bool {
        is_alive(self.folder.path())
    }

    fn stop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Whether no process but those with these ids works in a folder.
pub(crate) fn nobody_else_is_in(folder: &Path, except: &[u32]) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let folder = folder.canonicalize().unwrap();
    let is_in =
        |id: u32| std::fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|it| it == folder);
    !ids.filter(|id| !except.contains(id)).any(is_in)
}

/// Whether the server that wrote its process id is still there.
fn is_alive(folder: &Path) -> bool {
    let pid = std::fs::read_to_string(folder.join("pid")).unwrap();
    Path::new("/proc").join(pid.trim()).exists()
}

/// The trials of a run, of all its blocks.
pub(crate) fn trials(run: &Run) -> impl Iterator<Item = &zc_run::Trial> {
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
    command.args(["--requests", "200/s"]).args(SHORT);
    let output = blocks_of(folder.path(), &mut command, 2);
    if link_is_unavailable(&output) {
        return;
    }
    assert!(!is_alive(folder.path()));
    let run = saved(folder.path());
    let labels: Vec<&str> = run.header.plan.cells.iter().map(|cell| cell.label.as_str()).collect();
    assert_eq!(labels, ["one", "two", "one (A/A)", "one (+burn)"]);
    let server = run.header.plan.traffic.server().unwrap();
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

/// `zc run server` in that folder, with both ports asked for responses of these lengths:
/// `off-1000`, `on-1000` ...
pub(crate) fn ask_for_lengths(folder: &Path, lengths: [u64; 2]) -> Command {
    let mut command = zc_in(folder, &["run", "server", "--serve", "exec python3 server.py"]);
    for (name, port) in [("off", 8001), ("on", 8002)] {
        for length in lengths {
            let url = format!("http://localhost:{port}/bytes/{length}");
            command.args(["--state", &format!("{name}-{length}={url}")]);
        }
    }
    command.args(["--connections", "2", "--out", "run.json"]);
    command
}

#[test]
fn two_addresses_are_asked_for_several_lengths_and_each_is_compared_with_its_own() {
    let _turn = measuring();
    let Some(folder) = folder() else { return };
    // Windows are not short here: each length is to have a cost, which scatter may make less than
    // nothing.
    let mut command = ask_for_lengths(folder.path(), [1000, 3_000_000]);
    let output = blocks_of(folder.path(), &mut command, 2);
    if link_is_unavailable(&output) {
        return;
    }
    let run = saved(folder.path());
    let plan = &run.header.plan;
    let by = |label: &str| {
        let cell = plan.cells.iter().find(|cell| cell.label == label).unwrap();
        (cell.by.as_deref(), plan.requests_per_s(cell).unwrap())
    };
    assert_eq!((by("off-1000").0, by("on-1000").0), (None, Some("off-1000")));
    assert_eq!(by("on-3000000").0, Some("off-3000000"));
    for length in [1000, 3_000_000] {
        let [off, on] = ["off", "on"].map(|name| by(&format!("{name}-{length}")).1);
        assert!(off == on && off > 0.0, "{off} {on}: what is compared has one rate");
    }
    let mut seen = [0, 0];
    for trial in trials(&run) {
        let length = if trial.cell.contains("3000000") { 3_000_000 } else { 1000 };
        assert_eq!(trial.whole_bytes % length, 0, "whole responses: {}", trial.cell);
        seen[usize::from(length > 1000)] += trial.whole_bytes / length;
    }
    assert!(seen.iter().all(|responses| *responses > 0), "{seen:?}");

    let log = folder.path().join("access.log");
    let line = "192.0.2.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 2000\n";
    std::fs::write(&log, line.repeat(9)).unwrap();
    let args = ["advise", "access.log", "--server-run", "run.json"];
    let advised = zc_in(folder.path(), &args).finish().unwrap();
    let said = stderr(&advised);
    // Where no block was kept, or what is compared with has no cost, there is nothing to tell.
    if estimate(&run).blocks.kept == 0 || advised.status.code() == Some(3) {
        return assert_eq!(refused(&advised, 3), "run-without-cost");
    }
    assert_eq!(advised.status.code(), Some(0), "{said}");
    assert!(said.is_empty(), "it is of this machine: {said}");
    let printed = String::from_utf8(advised.stdout).unwrap();
    // Two blocks are few: scatter may leave a length without a cost, and then that is said.
    let is_without = printed.contains("the run has no cost of on:");
    assert!(printed.contains("\noff ") && printed.contains("\non ") != is_without, "{printed}");
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
    assert_eq!(failed(&output, 6), "program-ended");
    assert!(stderr(&output).contains("out of order"), "{}", stderr(&output));
}

#[test]
fn a_response_that_cannot_be_measured_is_named() {
    let _turn = measuring();
    let Some(folder) = folder() else { return };
    for (path, code, id, names) in [
        ("/missing", 6, "unexpected-status", "404"),
        ("/moved", 6, "redirect", "\"/elsewhere\""),
        ("/empty", 3, "empty-response", "/empty"),
        ("/by-port", 3, "response-lengths-differ", "8001"),
    ] {
        let output = ask(folder.path(), path).finish().unwrap();
        if link_is_unavailable(&output) {
            return;
        }
        assert_eq!(refused(&output, code), id);
        assert!(stderr(&output).contains(names), "{}", stderr(&output));
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
    command.args(["--connections", "2", "--out", "run.json"]).args(SHORT);
    let output = blocks_of(folder.path(), &mut command, 1);
    if link_is_unavailable(&output) {
        return;
    }
    let run = saved(folder.path());
    assert!(run.header.warnings.iter().any(|warning| warning.name == "different-responses"));
    assert_eq!(std::fs::read_to_string(folder.path().join("state")).unwrap().trim(), "before");
}

#[test]
fn a_server_that_runs_is_asked_where_it_is_and_is_left_alone() {
    let _turn = measuring();
    let Some(server) = Elsewhere::start() else { return };
    let folder = server.folder.path();
    let mut command = server.ask("/");
    command.args(["--requests", "200/s"]).args(SHORT);
    blocks_of(folder, &mut command, 2);
    assert!(server.is_alive());
    let run = saved(folder);
    let plan = run.header.plan.traffic.server().unwrap();
    assert!(plan.ran_already());
    assert_eq!(run.header.link.device, "lo");
    assert!(plan.found, "it is this user's");
    let (mut asked, mut load_ns, mut server_ns) = (0, 0, 0);
    for trial in trials(&run) {
        asked += trial.closed.sent.calls - trial.opened.sent.calls;
        load_ns += trial.closed.receiver.cpu_ns - trial.opened.receiver.cpu_ns;
        assert_eq!(trial.whole_bytes % 20_000, 0, "whole responses");
        server_ns += trial.closed.sender.cpu_ns - trial.opened.sender.cpu_ns;
    }
    assert!(asked > 0 && load_ns > 0 && server_ns > 0);
    let shown = zc_in(folder, &["show", "-v", "run.json"]).finish().unwrap();
    let table = String::from_utf8(shown.stdout).unwrap();
    assert!(table.contains("was running"), "{table}");
    assert!(table.contains("softirqs of both sides"), "{table}");
}

#[test]
fn states_of_a_server_that_runs_may_be_commands() {
    let _turn = measuring();
    let Some(server) = Elsewhere::start() else { return };
    let folder = server.folder.path();
    std::fs::write(folder.join("state"), "before").unwrap();
    let url = format!("http://localhost:{}/by-state", server.ports[0]);
    let mut command = zc_in(folder, &["run", "server", "--url", &url, "--connections", "2"]);
    command.args(["--state", "small=echo s > state", "--state", "large=echo l > state"]);
    command.args(["--ab-restore", "echo before > state", "--ab-settle", "1ms"]);
    command.args(["--verify-state", "cat state", "--requests", "100/s", "--out", "run.json"]);
    command.args(SHORT);
    blocks_of(folder, &mut command, 1);
    let run = saved(folder);
    let said = run.header.state_readings[0].values.iter();
    let said: Vec<&str> = said.map(|it| it.value.as_deref().unwrap().trim()).collect();
    assert_eq!(said, ["s", "l"]);
    assert_eq!(std::fs::read_to_string(folder.join("state")).unwrap().trim(), "before");
    assert!(server.is_alive());
}

#[test]
fn states_that_are_the_same_where_a_server_runs_are_an_error() {
    let Some(server) = Elsewhere::start() else { return };
    let url = format!("http://localhost:{}/", server.ports[0]);
    let reads = "sysctl -n net.ipv4.tcp_sack >/dev/null || true";
    let mut command = zc_in(server.folder.path(), &["run", "server", "--url", &url]);
    command.args(["--state", &format!("one={reads}"), "--state", &format!("two={reads}; :")]);
    command.args(["--verify-state", "echo the same", "--out", "run.json"]);
    let output = command.finish().unwrap();
    assert_eq!(refused(&output, 1), "states-do-not-differ");
    assert!(!output.status.success() && server.is_alive());
}

#[test]
fn a_server_that_does_not_listen_is_told_at_once() {
    let Some(mut server) = Elsewhere::start() else { return };
    server.stop();
    let output = server.ask("/").finish().unwrap();
    assert_eq!(refused(&output, 6), "cannot-connect");
    assert!(stderr(&output).contains("ss -ltn"), "{}", stderr(&output));
    assert!(!server.folder.path().join("run.json").exists());
}

#[test]
fn a_server_that_is_gone_ends_the_run() {
    let _turn = measuring();
    let Some(server) = Elsewhere::start() else { return };
    // In the windows of the top speed.
    let output = server.ask("/dies").finish().unwrap();
    assert_eq!(failed(&output, 6), "server-gone");

    // In blocks.
    let Some(mut server) = Elsewhere::start() else { return };
    let mut command = server.ask("/");
    command.args(["--requests", "100/s", "--budget", "600s"]).args(SHORT);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut zc = command.start().unwrap();
    wait_for_blocks(server.folder.path(), &mut zc, 1);
    server.stop();
    let output = zc.wait_with_output().unwrap();
    assert_eq!(failed(&output, 6), "server-gone");
    assert!(saved(server.folder.path()).blocks.len() > 1, "what was measured is saved");
}

#[test]
fn ctrl_c_leaves_a_server_that_ran_and_nothing_else() {
    let _turn = measuring();
    let Some(server) = Elsewhere::start() else { return };
    let folder = server.folder.path();
    let mut command = server.ask("/");
    command.args(["--requests", "100/s", "--budget", "600s"]).args(SHORT);
    let output =
        interrupted_when("a block is measured", &mut command, || blocks_saved(folder) >= 1);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let id = server.process.id();
    assert!(server.is_alive() && nobody_else_is_in(folder, &[id]));

    // Neither does a zc that is killed: its soakers, a process of their own, hear of it.
    std::fs::remove_file(folder.join("run.json")).unwrap();
    let mut zc = command.stdout(Stdio::null()).stderr(Stdio::piped()).start().unwrap();
    wait_for_blocks(folder, &mut zc, 1);
    assert!(!nobody_else_is_in(folder, &[id, zc.id()]), "the soakers");
    zc.kill().unwrap();
    zc.wait().unwrap();
    until("the soakers have ended", || nobody_else_is_in(folder, &[id]).then_some(()));
    assert!(server.is_alive());
}

#[test]
fn one_cpu_is_too_few_for_a_load_beside_a_server() {
    let Some(server) = Elsewhere::start() else { return };
    let zc = server.ask("/");
    let cpu = zc_kernel::sched::allowed_cpus().unwrap()[0].to_string();
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu]).arg(zc.get_program()).args(zc.get_args());
    command.current_dir(server.folder.path());
    let Ok(output) = command.finish() else {
        return eprintln!("skipped: there is no taskset(1) here");
    };
    assert_eq!(refused(&output, 4), "too-few-cpus");
}

#[test]
fn what_commands_of_states_write_below_var_log_stays_with_a_server_of_root() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: needs root, as whom a command writes below /var/log");
        return;
    }
    let _turn = measuring();
    let Some(folder) = folder() else { return };
    let logs = tempfile::Builder::new().prefix("zc-test.").tempdir_in("/var/log").unwrap();
    let file = logs.path().join("state");
    let write = |name: &str| format!("{name}=echo {name} > {}", file.display());
    let verify = format!("cat {}", file.display());
    let mut zc = zc_in(folder.path(), &["run", "server", "--serve", "exec python3 server.py"]);
    zc.args(["--url", "http://localhost:8001/", "--state", &write("a"), "--state", &write("b")]);
    zc.args(["--verify-state", &verify, "--out", "run.json"]).args(SHORT);
    let output = blocks_of(folder.path(), &mut zc, 1);
    assert!(!file.exists(), "{}", stderr(&output));
}

/// A server with the settings of one that runs on this host, on another port: where its files are
/// and how it is started.
struct Alike {
    program: &'static str,
    /// Its settings, for a folder of its logs, one below /run, one with the file that is asked for,
    /// and a port.
    settings: fn(&Path, &Path, &Path, u16) -> String,
    /// Command that starts it in the foreground, before the file of its settings.
    start: &'static str,
    /// The same as one process, which is gone once it is killed.
    alone: &'static str,
}

const ALIKE: [Alike; 3] = [
    Alike {
        program: "/usr/sbin/nginx",
        settings: |logs, run, www, port| {
            format!(
                "pid {run}/server.pid; error_log {logs}/error.log; events {{}}\n\
                 http {{ access_log {logs}/access.log; client_body_temp_path {logs}/body; \
                 proxy_temp_path {logs}/proxy; fastcgi_temp_path {logs}/fastcgi; uwsgi_temp_path \
                 {logs}/uwsgi; scgi_temp_path {logs}/scgi;\n\
                 server {{ listen {port}; root {www}; }} }}",
                logs = logs.display(),
                run = run.display(),
                www = www.display()
            )
        },
        start: "exec /usr/sbin/nginx -g 'daemon off;' -c",
        alone: "exec /usr/sbin/nginx -g 'daemon off; master_process off;' -c",
    },
    Alike {
        program: "/usr/sbin/apache2",
        settings: |logs, run, www, port| {
            format!(
                "ServerName localhost\nListen {port}\nServerRoot {run}\nPidFile {run}/server.pid\n\
                 LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n\
                 LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n\
                 DefaultRuntimeDir {run}\nErrorLog {logs}/error.log\n\
                 LogFormat \"%r\" plain\nCustomLog {logs}/access.log plain\n\
                 DocumentRoot {www}\n<Directory {www}>\nRequire all granted\n</Directory>\n\
                 User nobody\nGroup nogroup\n",
                logs = logs.display(),
                run = run.display(),
                www = www.display()
            )
        },
        start: "exec /usr/sbin/apache2 -D FOREGROUND -f",
        alone: "exec /usr/sbin/apache2 -X -f",
    },
    Alike {
        program: "/usr/sbin/haproxy",
        settings: |logs, run, _, port| {
            format!(
                "global\n  stats socket {run}/admin.sock\n  pidfile {run}/server.pid\n\
                 defaults\n  mode http\n  timeout client 5s\n  timeout server 5s\n  timeout \
                 connect 5s\n\
                 frontend f\n  bind :{port}\n  http-request return status 200 content-type \
                 text/plain lf-string {logs}\n",
                logs = logs.display(),
                run = run.display()
            )
        },
        start: "exec /usr/sbin/haproxy -W -f",
        alone: "exec /usr/sbin/haproxy -db -f",
    },
];

#[test]
fn a_live_server_with_the_same_settings_is_left_as_it_is() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: needs root, as whom a server writes below /run and /var/log");
        return;
    }
    let _turn = measuring();
    for alike in ALIKE {
        if !Path::new(alike.program).exists() {
            eprintln!("skipped: no {}", alike.program);
            continue;
        }
        let [logs, run] = ["/var/log", "/run"]
            .map(|top| tempfile::Builder::new().prefix("zc-test.").tempdir_in(top).unwrap());
        let folder = tempfile::tempdir().unwrap();
        for each in [logs.path(), run.path(), folder.path()] {
            std::fs::set_permissions(each, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::write(folder.path().join("file"), vec![b'x'; 20_000]).unwrap();
        let settings = folder.path().join("settings");
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let text = (alike.settings)(logs.path(), run.path(), folder.path(), port);
        std::fs::write(&settings, text).unwrap();
        let command = |begin: &str| format!("{begin} {}", settings.display());
        let mut live = Command::new("sh");
        live.args(["-c", &command(alike.alone)]).stdin(Stdio::null()).stderr(Stdio::null());
        let mut live = live.start().unwrap();
        // Once it has answered it has written what it writes when it begins.
        let mut asked = until("the live server listens", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).ok()
        });
        asked.write_all(b"GET /file HTTP/1.0\r\n\r\n").unwrap();
        assert!(asked.read_to_end(&mut Vec::new()).unwrap() > 0);
        let log = logs.path().join("access.log");
        until("its log has the request", || {
            (!log.exists() || log.metadata().unwrap().len() > 0).then_some(())
        });
        let before = files_in(&[logs.path(), run.path()]);

        let mut zc = zc_in(folder.path(), &["run", "server", "--serve", &command(alike.start)]);
        for (name, host) in [("a", "localhost"), ("b", "127.0.0.1")] {
            zc.args(["--state", &format!("{name}=http://{host}:{port}/file")]);
        }
        zc.args(["--out", "run.json"]).args(SHORT);
        let output = blocks_of(folder.path(), &mut zc, 1);
        let said = format!("{}: {}", alike.program, stderr(&output));
        assert_eq!(files_in(&[logs.path(), run.path()]), before, "{said}");
        assert!(live.try_wait().unwrap().is_none(), "the live server has ended: {said}");
    }
}

/// All files below these folders, with their contents.
fn files_in(folders: &[&Path]) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    let mut files = std::collections::BTreeMap::new();
    let mut left: Vec<PathBuf> = folders.iter().map(|folder| folder.to_path_buf()).collect();
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => left.push(entry.path()),
                false => drop(
                    files.insert(entry.path(), std::fs::read(entry.path()).unwrap_or_default()),
                ),
            }
        }
    }
    files
}
