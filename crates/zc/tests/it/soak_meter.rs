//! `zc soak --openmetrics`: a running service is metered until Ctrl-C, and the file that node
//! exporter reads is whole at every moment.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tempfile::TempDir;

use crate::soak_service::CpuCgroup;
use crate::support::{Bounded as _, Running, failed, measuring, refused, stderr, until, zc};

/// A real nginx with an access log, and a client that asks it as long as it is told to.
struct Nginx {
    folder: TempDir,
    process: Running,
    port: u16,
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicU64>,
    client: Option<std::thread::JoinHandle<()>>,
}

impl Nginx {
    /// `None`, and a skip, where nginx is not installed.
    fn start() -> Option<Self> {
        let program =
            ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|it| Path::new(it).exists());
        let Some(program) = program else {
            eprintln!("skipped: nginx is not installed");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = folder.path().display();
        std::fs::write(folder.path().join("file"), [b'x'; 4096]).unwrap();
        let text = format!(
            "pid {at}/pid; error_log {at}/error.log; worker_processes 1; daemon off;\n\
             events {{}}\n\
             http {{ access_log {at}/access.log; keepalive_requests 1000000;\n\
             client_body_temp_path {at}/1; proxy_temp_path {at}/2; fastcgi_temp_path {at}/3;\n\
             uwsgi_temp_path {at}/4; scgi_temp_path {at}/5;\n\
             server {{ listen 127.0.0.1:{port}; root {at};\n\
             location = /status {{ stub_status; access_log off; }} }} }}\n"
        );
        // As root its workers are somebody else, who may not read the folder.
        let user = if rustix::process::geteuid().is_root() { "user root;\n" } else { "" };
        let config = folder.path().join("nginx.conf");
        std::fs::write(&config, user.to_owned() + &text).unwrap();
        let mut process = Command::new(program)
            .args(["-p", folder.path().to_str().unwrap(), "-c", config.to_str().unwrap()])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .start()
            .unwrap();
        until("nginx answers", || {
            assert!(process.try_wait().unwrap().is_none(), "nginx has ended");
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        let (stop, asked) = (Arc::default(), Arc::default());
        Some(Self { folder, process, port, stop, asked, client: None })
    }

    fn start_client(&mut self) {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let (stop, asked) = (self.stop.clone(), self.asked.clone());
        self.client = Some(std::thread::spawn(move || ask(stream, &stop, &asked)));
    }

    fn stop_client(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        drop(self.client.take().map(std::thread::JoinHandle::join));
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("access.log")
    }

    fn asked(&self) -> f64 {
        self.asked.load(Ordering::Relaxed) as f64
    }
}

/// Asks for the file, and waits a little after each answer, as users do.
fn ask(mut stream: TcpStream, stop: &AtomicBool, asked: &AtomicU64) {
    let mut buffer = vec![0; 16 << 10];
    while !stop.load(Ordering::Relaxed) {
        let request = b"GET /file HTTP/1.1\r\nHost: a\r\n\r\n";
        if stream.write_all(request).is_err() {
            return;
        }
        // The head has some 250 bytes.
        let mut length = 0;
        while length < 4096 + 200 || !buffer[..length].ends_with(b"x") {
            match stream.read(&mut buffer[length..]) {
                Ok(count @ 1..) => length += count,
                _ => return,
            }
        }
        asked.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_micros(300));
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.stop_client();
        let group = rustix::process::Pid::from_raw(self.process.id() as i32);
        let kill = rustix::process::Signal::KILL;
        let _ = group.map(|group| rustix::process::kill_process_group(group, kill));
    }
}

/// The value of a metric of the one service in a file.
fn value(text: &str, name: &str) -> Option<f64> {
    let series = format!("\n{name}{{");
    let (_, rest) = text.split_once(&series)?;
    rest.lines().next()?.rsplit_once(' ')?.1.parse().ok()
}

/// The file, which must be whole whenever it is read.
#[track_caller]
fn read(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    assert!(text.starts_with("# TYPE zc_service_info") && text.ends_with("# EOF\n"), "{text}");
    Some(text)
}

fn meter(target: &[&str], path: &Path) -> Command {
    let mut command = zc(&["soak", "--every", "1s", "--openmetrics"]);
    command.arg(path).args(target).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits until the file says so.
#[track_caller]
fn until_it_says(what: &str, path: &Path, zc: &mut Running, says: impl Fn(&str) -> bool) -> String {
    until(what, || {
        if let Some(ended) = zc.try_wait().unwrap() {
            let mut said = String::new();
            drop(zc.stderr.take().unwrap().read_to_string(&mut said));
            panic!("zc ended ({ended}) before {what}: {said}");
        }
        read(path).filter(|text| says(text))
    })
}

fn requests(text: &str) -> f64 {
    value(text, "zc_service_requests_total").unwrap()
}

/// Waits for a period in which nobody but zc asks the service.
#[track_caller]
fn until_a_period_without_requests(path: &Path, zc: &mut Running) {
    let text = until_it_says("the first period is over", path, zc, |text| {
        value(text, "zc_service_windows_total") > Some(0.0)
    });
    assert_eq!(requests(&text), 0.0, "{text}");
}

fn interrupted(zc: Running) -> Output {
    let signal = rustix::process::Signal::TERM;
    rustix::process::kill_process(rustix::process::Pid::from_child(&zc), signal).unwrap();
    zc.wait_with_output().unwrap()
}

#[test]
fn an_nginx_has_a_cost_per_request_while_its_log_is_rotated() {
    let _turn = measuring();
    let Some(mut nginx) = Nginx::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nginx.prom");
    let (pid, log) = (nginx.process.id().to_string(), nginx.log());
    let mut zc = meter(&["--pid", &pid, "--log", log.to_str().unwrap()], &path).start().unwrap();
    until_a_period_without_requests(&path, &mut zc);
    nginx.start_client();
    let text = until_it_says("a period is over", &path, &mut zc, |text| requests(text) > 0.0);
    assert_eq!(value(&text, "zc_service_metered"), Some(1.0), "{text}");
    assert!(text.contains("{service=\"nginx\",") && text.contains("requests_by=\"log\""), "{text}");
    // The old log is renamed, and nginx told to open a new one.
    let before = requests(&text);
    std::fs::rename(&log, nginx.folder.path().join("access.log.1")).unwrap();
    let master = rustix::process::Pid::from_child(&nginx.process);
    rustix::process::kill_process(master, rustix::process::Signal::USR1).unwrap();
    until("nginx logs to a new file", || log.metadata().is_ok_and(|it| it.len() > 0).then_some(()));
    let reached = nginx.asked();
    let text = until_it_says("requests after it count", &path, &mut zc, |text| {
        requests(text) > before.max(reached)
    });
    assert!(requests(&text) <= nginx.asked() + 1.0, "{text} {}", nginx.asked());
    let cpu_s = value(&text, "zc_service_cpu_seconds_total").unwrap();
    assert!(cpu_s > 0.0, "{text}");
    for own in ["zc_meter_cpu_seconds_total", "zc_meter_soaked_seconds_total"] {
        assert!(value(&text, own).unwrap() > 0.0, "{text}");
    }
    if value(&text, "zc_service_cost_withheld") == Some(0.0) {
        let ends = ["low_", "", "high_"]
            .map(|end| value(&text, &format!("zc_service_cost_{end}seconds_per_request")).unwrap());
        assert!(ends.is_sorted() && ends[1] > 0.0, "{text}");
        // What a period's requests cost is about what all of them took.
        let all = (cpu_s + value(&text, "zc_service_interrupt_cpu_seconds_total").unwrap())
            / requests(&text);
        assert!((0.2..5.0).contains(&(ends[1] / all)), "{text}");
    } else {
        eprintln!("skipped: something else uses this machine");
    }
    nginx.stop_client();
    let text = until_it_says("none is lost, and none counts twice", &path, &mut zc, |text| {
        requests(text) == nginx.asked()
    });
    let output = interrupted(zc);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
    let last = read(&path).unwrap();
    assert_eq!(value(&last, "zc_service_metered"), Some(0.0), "{last}");
    assert_eq!(value(&last, "zc_service_cost_seconds_per_request"), None, "{last}");
    assert!(requests(&last) >= requests(&text), "{last}");
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "nothing but the file is left");
}

#[test]
fn requests_are_counted_by_the_status_page_without_those_for_it() {
    let _turn = measuring();
    let Some(mut nginx) = Nginx::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nginx.prom");
    let page = format!("http://127.0.0.1:{}/status", nginx.port);
    let pid = nginx.process.id().to_string();
    let mut zc = meter(&["--pid", &pid, "--status-url", &page], &path).start().unwrap();
    until_a_period_without_requests(&path, &mut zc);
    nginx.start_client();
    let text = until_it_says("requests count", &path, &mut zc, |text| requests(text) > 0.0);
    assert!(text.contains("requests_by=\"stub-status\""), "{text}");
    assert!(requests(&text) <= nginx.asked() + 1.0, "{text}");
    drop(interrupted(zc));
}

#[test]
fn a_container_is_found_by_its_cgroup_and_waited_for_when_it_is_started_anew() {
    let _turn = measuring();
    let id = format!("{:064x}", std::process::id());
    let cgroup = match CpuCgroup::make(&format!("docker-{id}.scope")) {
        Ok(cgroup) => cgroup,
        Err(error) => return eprintln!("skipped: no cgroup can be made: {error}"),
    };
    let start = || {
        let procs = cgroup.0.join("cgroup.procs");
        let script = "echo $$ > \"$0\" && exec sleep 1000";
        let sleeper = Command::new("sh")
            .args(["-c", script])
            .arg(&procs)
            .stdin(Stdio::null())
            .start()
            .unwrap();
        until("it is in the cgroup", || {
            let inside = std::fs::read_to_string(&procs).unwrap();
            inside.lines().any(|line| line == sleeper.id().to_string()).then_some(())
        });
        sleeper
    };
    let mut sleeper = start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.prom");
    let mut zc = meter(&["--container", &id], &path).start().unwrap();
    let metered = |text: &str| value(text, "zc_service_metered").unwrap();
    let text = until_it_says("a period is over", &path, &mut zc, |text| {
        value(text, "zc_service_windows_total") > Some(0.0)
    });
    assert!(text.contains("cpu_by=\"cgroup\",requests_by=\"\""), "{text}");
    assert_eq!(value(&text, "zc_service_requests_total"), None, "nobody counts them: {text}");
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    until_it_says("it is gone", &path, &mut zc, |text| metered(text) == 0.0);
    let _again = start();
    until_it_says("it is back", &path, &mut zc, |text| metered(text) == 1.0);
    let output = interrupted(zc);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("waiting until it runs again"), "{}", stderr(&output));
}

#[test]
fn a_process_that_ends_ends_the_meter_with_a_file_that_says_so() {
    let _turn = measuring();
    let mut sleeper = Command::new("sleep").arg("1000").start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sleep.prom");
    let mut zc = meter(&["--pid", &sleeper.id().to_string()], &path).start().unwrap();
    until_it_says("it is metered", &path, &mut zc, |_| true);
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let output = zc.wait_with_output().unwrap();
    assert_eq!(failed(&output, 1), "target-ended");
    let text = read(&path).unwrap();
    assert_eq!(value(&text, "zc_service_metered"), Some(0.0), "{text}");
}

#[test]
fn a_meter_that_cannot_be_is_told_at_once_and_leaves_no_file() {
    let _turn = measuring();
    let sleeper = Command::new("sleep").arg("1000").start().unwrap();
    let pid = sleeper.id().to_string();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.prom");
    for (target, code, id) in [
        (&["--container", "zc-no-such"][..], 2, "no-such-container"),
        (&["--container", ""], 2, "invalid-container-name"),
        (&["--service", "zc-no-such"], 2, "service-not-running"),
        (&["--pid", &pid, "--log", "/zc-no-such.log"], 3, "log-unreadable"),
        (&["--pid", &pid, "--log", "/dev/zero"], 3, "log-unreadable"),
        (&["--pid", &pid, "--status-url", "http://127.0.0.1:1/"], 1, "status-page-unusable"),
    ] {
        let output = meter(target, &path).finish().unwrap();
        assert_eq!(refused(&output, code), id, "{target:?}");
        assert!(!path.exists(), "{target:?}");
    }
    for place in ["none/x.prom", "."] {
        let output = meter(&["--pid", &pid], &folder.path().join(place)).finish().unwrap();
        assert_eq!(refused(&output, 5), "cannot-write", "{place}");
    }
    // As on a full disk: nothing can be written, and nothing is left.
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 0; exec \"$0\" soak --pid \"$1\" --openmetrics \"$2\""]);
    let output = limited.arg(crate::support::ZC).args([&pid]).arg(&path).finish().unwrap();
    assert_eq!(refused(&output, 5), "cannot-write");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
