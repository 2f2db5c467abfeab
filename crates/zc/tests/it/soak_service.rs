//! `zc soak --pid`, `--cgroup` and `--service`: a running server is measured while it is under
//! load, by this user's rights, and nothing is done to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::Value;

use crate::support::{
    Bounded as _, NOTHING_KEPT, Running, at_once, failed, interrupted_when, measuring, refused,
    stderr, text, until, zc,
};

/// A server with a child that serves: bytes for every client, in connections that last. It writes
/// its port.
const SERVER: &str = "
import os, socket
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
if os.fork():
    os.wait()
while True:
    connection, _ = listener.accept()
    while connection.recv(1):
        connection.sendall(bytes(100000))
";

struct Server {
    process: Running,
    port: u16,
}

impl Server {
    /// `None`, and a skip, without Python.
    fn start() -> Option<Self> {
        let started = Command::new("python3")
            .args(["-c", SERVER])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .start();
        let Ok(mut process) = started else {
            eprintln!("skipped: there is no python3 here");
            return None;
        };
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Some(Self { process, port: line.trim().parse().unwrap() })
    }

    fn pid(&self) -> String {
        self.process.id().to_string()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its child too, whose parent may be gone.
        let group = rustix::process::Pid::from_raw(self.process.id() as i32);
        let kill = rustix::process::Signal::KILL;
        let _ = group.map(|group| rustix::process::kill_process_group(group, kill));
    }
}

/// A client that asks a server all the time, and a status page with the number of its requests.
/// Both end when this value is dropped.
struct Load {
    stop: Arc<AtomicBool>,
    status: String,
    asked: Arc<AtomicU64>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    fn on(port: u16) -> Self {
        let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let pages = Arc::new(AtomicU64::new(0));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let status = format!("http://{}/status", listener.local_addr().unwrap());
        let asks = {
            let (stop, asked) = (stop.clone(), asked.clone());
            move || {
                let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
                let mut answer = vec![0; 100_000];
                while !stop.load(Ordering::Relaxed) {
                    // The server may be killed.
                    if stream.write_all(b"x").and_then(|()| stream.read_exact(&mut answer)).is_err()
                    {
                        return;
                    }
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        let counts = {
            let (stop, asked) = (stop.clone(), asked.clone());
            move || {
                while !stop.load(Ordering::Relaxed) {
                    let Ok((mut stream, _)) = listener.accept() else {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                        continue;
                    };
                    stream.set_nonblocking(false).unwrap();
                    let _ = stream.read(&mut [0; 512]);
                    // nginx counts requests for its page too.
                    let all =
                        asked.load(Ordering::Relaxed) + pages.fetch_add(1, Ordering::Relaxed) + 1;
                    let page = format!(
                        "HTTP/1.1 200 OK\r\n\r\nActive connections: 1 \nserver accepts handled \
                         requests\n 1 1 {all} \nReading: 0 Writing: 1 Waiting: 0 \n"
                    );
                    let _ = stream.write_all(page.as_bytes());
                }
            }
        };
        let threads = vec![std::thread::spawn(asks), std::thread::spawn(counts)];
        Self { stop, status, asked, threads }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}

/// The document of a service. Its processes are in it even if the soakers find no CPU time.
#[track_caller]
fn document(output: &Output) -> Value {
    assert!(matches!(output.status.code(), Some(0 | NOTHING_KEPT)), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn sum(seen: &Value, name: &str, count: &str) -> f64 {
    let windows = seen["windows"].as_array().unwrap();
    windows.iter().map(|window| window[name][count].as_f64().unwrap()).sum()
}

#[test]
fn a_server_is_measured_with_its_child_its_bytes_and_its_requests() {
    let _turn = measuring();
    let Some(server) = Server::start() else { return };
    let load = Load::on(server.port);
    let asked = load.asked.clone();
    until("the server answers", || (asked.load(Ordering::Relaxed) > 10).then_some(()));
    let pid = server.pid();
    let mut command = zc(&["soak", "--pid", &pid, "--for", "1500ms", "--period", "300ms"]);
    command.args(["--status-url", &load.status, "--per", "requests", "--json", "--raw"]);
    let document = document(&command.finish().unwrap());
    let (cost, seen) = (&document["cost"], &document["seen"]);
    assert_eq!(document["service"]["pid"].to_string(), pid);
    assert_eq!((&cost["windows"], &cost["processes"]["most"]), (&5.into(), &2.into()), "{cost}");
    // The child does all the work.
    let own = sum(seen, "clocks", "count") / sum(seen, "clocks", "elapsed_ns");
    assert!(own > 0.0, "{seen}");
    let told = cost["processes"]["cpus"]["value"].as_f64().unwrap();
    assert!((told / own - 1.0).abs() < 0.05, "{told} {own}");
    // Each answer has 100,000 bytes, as both ends count. (The readings are not of one moment.)
    let requests = sum(seen, "requests", "count");
    let bytes = sum(seen, "tcp", "own_bytes");
    assert!(requests > 0.0 && (0.5..2.0).contains(&(bytes / requests / 1e5)), "{bytes} {requests}");
    let names = |list: &Value| -> Vec<String> {
        let each = list.as_array().unwrap().iter();
        each.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    let others: Vec<String> =
        seen["windows"].as_array().unwrap().iter().flat_map(|it| names(&it["others"])).collect();
    assert!(!others.iter().any(|name| name.starts_with("zc-soaker")), "{others:?}");
    if cost["cpus"].is_null() {
        return eprintln!("skipped: something else uses this machine");
    }
    let by = |place: usize| (cost["per"][place]["unit"].clone(), cost["per"][place]["by"].clone());
    assert_eq!(by(0), ("requests".into(), "stub-status".into()), "{cost}");
    assert!(cost["per"][0]["cost_ns"]["value"].as_f64().unwrap() > 0.0);
    // Other programs may have had connections that ended.
    assert!(matches!(cost["interrupts"]["by"]["by"].as_str(), Some("segments" | "cpu-time")));
}

#[test]
fn the_text_has_the_service_first_and_the_machine_after_it() {
    let _turn = measuring();
    let Some(server) = Server::start() else { return };
    let _load = Load::on(server.port);
    let output = zc(&["soak", "--pid", &server.pid(), "--for", "400ms", "--period", "200ms"])
        .finish()
        .unwrap();
    if output.status.code() == Some(NOTHING_KEPT) {
        return eprintln!("skipped: something else uses this machine");
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = text(&output.stdout);
    let row = |name: &str| told.find(name).unwrap_or_else(|| panic!("no {name}: {told}"));
    let rows =
        ["2 windows", "  service ", "    its processes ", "    its interrupts ", "  the machine "];
    let places = rows.map(row);
    assert!(places.is_sorted(), "{told}");
    assert!(stderr(&output).contains("soakers on CPU"), "{}", stderr(&output));
}

/// A cgroup of a test's own in the hierarchy that counts CPU time.
pub(crate) struct CpuCgroup(pub(crate) PathBuf);

impl CpuCgroup {
    pub(crate) fn make(name: &str) -> std::io::Result<Self> {
        let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
        for top in ["/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"] {
            let folder = Path::new(top).join(name);
            match std::fs::create_dir(&folder) {
                Ok(()) if folder.join("cgroup.procs").exists() => return Ok(Self(folder)),
                Ok(()) => drop(std::fs::remove_dir(&folder)),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl Drop for CpuCgroup {
    fn drop(&mut self) {
        // A killed process leaves it once it is reaped.
        until("the cgroup is removed", || std::fs::remove_dir(&self.0).is_ok().then_some(()));
    }
}

#[test]
fn a_cgroup_counts_those_that_end_too() {
    let _turn = measuring();
    let cgroup = match CpuCgroup::make(&format!("zc-test-{}", std::process::id())) {
        Ok(cgroup) => cgroup,
        Err(error) => return eprintln!("skipped: no cgroup can be made: {error}"),
    };
    // Children that nobody in the cgroup waits for are in no process's account.
    let script = "echo $$ > \"$0\" && while :; do (sh -c ':' &); done";
    let procs = cgroup.0.join("cgroup.procs");
    let mut burner =
        Command::new("sh").args(["-c", script]).arg(&procs).stdin(Stdio::null()).start().unwrap();
    until("it is in the cgroup", || {
        let inside = std::fs::read_to_string(&procs).unwrap();
        inside.lines().any(|line| line == burner.id().to_string()).then_some(())
    });
    let path = cgroup.0.display().to_string();
    let below = path.trim_start_matches("/sys/fs/cgroup/").split_once('/').map(|(_, rest)| rest);
    let names: Vec<&str> = [Some(path.as_str()), below].into_iter().flatten().collect();
    at_once(&names, |name| {
        let mut command = zc(&["soak", "--cgroup", name, "--for", "600ms", "--period", "200ms"]);
        let output = command.args(["--json"]).finish().unwrap();
        let document = document(&output);
        assert_eq!(document["service"]["path"], path.as_str());
        let processes = &document["cost"]["processes"];
        assert_eq!(processes["by_cgroup"], true, "{document}");
        let (all, clocks) = (&processes["cpus"]["value"], &processes["clocks_cpus"]);
        let (all, clocks) = (all.as_f64().unwrap(), clocks.as_f64().unwrap());
        assert!(all > 0.0 && clocks < all, "{all} {clocks}");
    });
    burner.kill().unwrap();
    burner.wait().unwrap();
}

#[test]
fn a_service_that_ends_is_told_with_what_was_measured() {
    let _turn = measuring();
    let Some(mut server) = Server::start() else { return };
    let pid = server.pid();
    let mut zc = zc(&["soak", "--pid", &pid, "--for", "600s", "--period", "50ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .start()
        .unwrap();
    // It is being looked at once the soakers run.
    until("the soakers run", || {
        let of = format!("/proc/{0}/task/{0}/children", zc.id());
        let children = std::fs::read_to_string(of).ok()?;
        (!children.trim().is_empty() || zc.try_wait().unwrap().is_some()).then_some(())
    });
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    let output = zc.wait_with_output().unwrap();
    assert_eq!(failed(&output, 1), "target-ended");
    let said = stderr(&output);
    assert!(said.contains(&format!(" {pid} (\"python3")), "{said}");
}

#[test]
fn ctrl_c_ends_it_with_what_was_measured_and_leaves_the_service_alone() {
    let _turn = measuring();
    let Some(mut server) = Server::start() else { return };
    let load = Load::on(server.port);
    let pid = server.pid();
    let mut command = zc(&["soak", "--pid", &pid, "--for", "600s", "--period", "50ms", "--json"]);
    // Each window asks for the page; the first reading does, too.
    command.args(["--status-url", &load.status]);
    let begun = load.asked.load(Ordering::Relaxed);
    let many = || load.asked.load(Ordering::Relaxed) > begun + 3000;
    let output = interrupted_when("it has been measured for a while", &mut command, many);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(server.process.try_wait().unwrap().is_none(), "the server runs on");
    if !output.stdout.is_empty() {
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(document["ended_early"].as_str().unwrap().contains("interrupted"), "{document}");
        assert!(document["seen"].is_null(), "only with --raw");
    }
}

#[test]
fn who_cannot_be_measured_is_told_before_anything_is_started() {
    let own = std::process::id().to_string();
    for (arguments, id) in [
        (["--pid", &own], "zc-in-target"),
        (["--service", "zc-no-such"], "service-not-running"),
        (["--cgroup", "/zc-no-such"], "no-such-cgroup"),
    ] {
        let output = zc(&["soak", "--for", "1s"]).args(arguments).finish().unwrap();
        assert_eq!(refused(&output, 2), id);
    }
}

#[test]
fn a_status_page_that_does_not_answer_is_an_error_before_anything_is_measured() {
    let sleeper = Command::new("sleep").arg("1000").start().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let pid = sleeper.id().to_string();
    let output =
        zc(&["soak", "--pid", &pid, "--for", "1s", "--status-url", &url]).finish().unwrap();
    assert_eq!(refused(&output, 1), "status-page-unusable");
    assert!(stderr(&output).contains(&url), "{}", stderr(&output));
}
