//! `zc tune` from outside: copies of a configuration are measured, and the live server with the
//! same one serves on, whatever becomes of zc.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::SystemTime;

use flate2::read::MultiGzDecoder;
use rustix::process::{Pid, Signal};
use zc_run::{Run, Slot};

use crate::support::{
    Bounded as _, Running, failed, interrupted_when, measuring, path_with_zc, refused, stderr,
    text, until, zc_in,
};

/// A live nginx with a configuration of its own, and a folder for zc beside it.
struct Live {
    folder: tempfile::TempDir,
    port: u16,
    server: Running,
    program: PathBuf,
}

impl Live {
    /// `None`, with the reason said, where there is no nginx.
    fn start() -> Option<Self> {
        let path = std::env::var("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
        let Some(program) = folders.map(|folder| folder.join("nginx")).find(|path| path.is_file())
        else {
            eprintln!("skipped: no nginx");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path().join("site");
        for name in ["site", "zc", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        // Root's nginx has workers of another user.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::write(site.join("index.html"), "live\n").unwrap();
        let port = free_port();
        std::fs::write(folder.path().join("nginx.conf"), configuration(folder.path(), port))
            .unwrap();
        let mut command = Command::new(&program);
        command.args(["-e", "stderr", "-p"]).arg(folder.path());
        command.arg("-c").arg(folder.path().join("nginx.conf")).args(["-g", "daemon off;"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = command.start().unwrap();
        let live = Self { folder, port, server, program };
        until("nginx answers", || live.answers().then_some(()));
        Some(live)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn answers(&self) -> bool {
        got(self.port, "/index.html").is_some_and(|answer| answer.ends_with("\r\n\r\nlive\n"))
    }

    /// When each file of the server's was last written, but its log, which every answer writes to.
    fn files(&self) -> BTreeMap<PathBuf, SystemTime> {
        let entries = ["", "site"].map(|name| std::fs::read_dir(self.path().join(name)).unwrap());
        let entries = entries.into_iter().flatten().flatten();
        let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
        let known =
            files.map(|entry| (entry.path(), entry.metadata().unwrap().modified().unwrap()));
        known.filter(|(path, _)| !path.ends_with("access.log")).collect()
    }

    /// `zc tune nginx` with these options; runs and temporary files are in folders of the test.
    fn tune(&self, options: &[&str]) -> Command {
        self.tune_of("nginx.conf", options)
    }

    /// The same of another configuration than the live one.
    fn tune_of(&self, conf: &str, options: &[&str]) -> Command {
        let mut command = zc_in(&self.path().join("zc"), &["tune", "nginx"]);
        command.env("TMPDIR", self.path().join("tmp"));
        command.arg("-c").arg(self.path().join(conf)).args(options);
        command
    }

    /// Writes a configuration of a site `a.test` with TLS, whose key this user may read or not.
    fn write_with_tls(&self, name: &str, key_is_readable: bool) {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tune/stand_in");
        std::fs::copy(own.join("rsa.pem"), self.path().join("site.pem")).unwrap();
        let key = self.path().join("site-key.pem");
        std::fs::copy(own.join("rsa-key.pem"), &key).unwrap();
        // Root may read all that is there.
        match rustix::process::geteuid().is_root() {
            _ if key_is_readable => {}
            true => std::fs::remove_file(&key).unwrap(),
            false => std::fs::set_permissions(&key, PermissionsExt::from_mode(0o0)).unwrap(),
        }
        let folder = self.path().display();
        let text = format!(
            "events {{ worker_connections 64; }}
http {{
    access_log {folder}/access.log;
    server {{ listen 127.0.0.1:80; return 301 https://a.test/; }}
    server {{
        listen 127.0.0.1:443 ssl;
        server_name a.test;
        root {folder}/site;
        ssl_certificate site.pem;
        ssl_certificate_key site-key.pem;
    }}
}}
"
        );
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// Writes the configuration of [`write_with_tls`](Self::write_with_tls) with HTTP/2, and one of
    /// a site without TLS that speaks nothing else, as before nginx 1.25.1.
    fn write_with_http2(&self) {
        self.write_with_tls("tls.conf", true);
        let with = |name: &str, from: &str, to: &str, as_name: &str| {
            let text = std::fs::read_to_string(self.path().join(name)).unwrap();
            assert!(text.contains(from), "{text}");
            std::fs::write(self.path().join(as_name), text.replace(from, to)).unwrap();
        };
        with("tls.conf", "443 ssl;", "443 ssl http2;", "tls-h2.conf");
        let port = self.port;
        with("nginx.conf", &format!(":{port};"), &format!(":{port} http2;"), "h2.conf");
    }

    /// The screening run, as far as it is saved.
    fn screening(&self) -> Option<Run> {
        screening_in(&self.path().join("zc"))
    }

    /// A PATH whose nginx is this one, but ends at its start with a configuration that has `line`.
    fn path_with_planted(&self, line: &str) -> String {
        let folder = self.path().join("bin");
        std::fs::create_dir(&folder).unwrap();
        let program = self.program.display();
        let script = format!(
            "#!/bin/sh\n\
             case \"$*\" in -e*error.log*) if grep -q '{line}' \"$6\"; then\n\
             echo '2026/11/28 12:00:00 [emerg] 1#1: no room is left' >>\"$2\"; exit 1\n\
             fi ;; esac\n\
             exec {program} \"$@\"\n"
        );
        let path = folder.join("nginx");
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        format!("{}:{}", folder.display(), path_with_zc())
    }

    /// Ends the copy of a state, by its place in the screening.
    fn end_copy(&self, state: usize) {
        let mut entries = std::fs::read_dir(self.path().join("tmp")).unwrap().flatten();
        let folder = entries.next().unwrap().path();
        let pid = std::fs::read_to_string(folder.join(format!("screening-{state}/nginx.pid")));
        let pid = Pid::from_raw(pid.unwrap().trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, Signal::TERM).unwrap();
    }

    /// Nothing of zc is left: no folder, and no server but the live one.
    fn is_alone(&self) -> bool {
        nothing_is_left_in(&self.path().join("tmp"))
    }
}

impl Drop for Live {
    /// Its workers end with their master when that is asked to, and not when it is killed.
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(Pid::from_child(&self.server), Signal::TERM);
        drop(self.server.wait());
    }
}

fn configuration(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    format!(
        "pid {folder}/nginx.pid;
worker_processes 1;
events {{ worker_connections 64; }}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    sendfile on;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/site;
    }}
}}
"
    )
}

/// A port that nobody has.
pub(crate) fn free_port() -> u16 {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    free.local_addr().unwrap().port()
}

/// What a live server answers; `None`: it does not.
pub(crate) fn got(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// `zc tune`, which keeps its runs in the folder `zc`, until a block is saved: its screening, in
/// which each of `lines` has a state and none failed, and what it printed. `None`, with the reason
/// said, where nothing can be measured.
pub(crate) fn screened(tune: &mut Command, zc: &Path, lines: &[&str]) -> Option<(Run, Output)> {
    let has_block = || screening_in(zc).is_some_and(|run| !run.blocks.is_empty());
    let output = interrupted_when("a block is saved", tune, has_block);
    let said = stderr(&output);
    if cannot_measure(&said) {
        return None;
    }
    assert_eq!(failed(&output, 130), "interrupted", "{said}");
    let run = screening_in(zc).unwrap();
    let states: Vec<&str> = run.header.plan.cells.iter().map(|cell| cell.label.as_str()).collect();
    let mut own = std::iter::zip(&states[1..], lines);
    assert!(states[0] == "present" && own.all(|(state, line)| state.contains(line)), "{states:?}");
    assert!(run.header.unavailable.is_empty(), "{:?}", run.header.unavailable);
    let failed: Vec<_> = run.blocks.iter().flat_map(|block| &block.failed).collect();
    assert!(failed.is_empty(), "{failed:?}");
    Some((run, output))
}

/// The screening run that is saved in a folder, as far as it is.
pub(crate) fn screening_in(folder: &Path) -> Option<Run> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut paths = entries.map(|entry| entry.path());
    let path = paths.find(|path| path.to_string_lossy().contains("-screening"))?;
    // While it is written, its last part is not whole.
    let mut bytes = Vec::new();
    drop(MultiGzDecoder::new(std::fs::File::open(path).ok()?).read_to_end(&mut bytes));
    zc_run::parse(&text(&bytes)).ok().map(|(run, _)| run)
}

/// Whether a folder for temporary files is empty, and no process has it on its command line.
pub(crate) fn nothing_is_left_in(tmp: &Path) -> bool {
    let is_empty = std::fs::read_dir(tmp).unwrap().next().is_none();
    let tmp = tmp.to_string_lossy().into_owned();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    is_empty && !lines.into_iter().any(|line| String::from_utf8_lossy(&line).contains(&tmp))
}

/// Three lines, one of which makes responses dear.
const THREE: [&str; 9] = [
    "--only-tried",
    "--try",
    "sendfile off",
    "--try",
    "access_log off",
    "--try",
    "sysctl net.ipv4.tcp_notsent_lowat=16384",
    "--budget",
    "600s",
];

/// Whether there is no link here whose sides are apart, which is said.
pub(crate) fn cannot_measure(said: &str) -> bool {
    let is = said.contains("[costs-inseparable]") || said.contains("[too-few-cpus]");
    if is {
        eprintln!("skipped: no link whose sides are apart");
    }
    is
}

#[test]
fn lines_are_tried_on_copies_and_the_live_server_serves_on() {
    let Some(live) = Live::start() else { return };
    let _turn = measuring();
    let before = live.files();
    let lines = ["sendfile off", "access_log off", "sysctl net.ipv4."];
    let screened = screened(&mut live.tune(&THREE), &live.path().join("zc"), &lines);
    assert!(live.answers());
    let Some((run, output)) = screened else { return };
    let said = stderr(&output);
    assert_eq!(run.header.plan.cells.len(), 6, "{said}");
    let mix = run.header.plan.traffic.server().unwrap().mix.unwrap();
    assert_eq!(mix.requests, 256);
    let shown = text(&output.stdout);
    assert!(shown.contains("access_log off"), "{shown}");
    assert_eq!(live.files(), before, "{said}");
    assert!(live.is_alone());
}

/// One ends when it is started, though nginx has taken its configuration, and one while it is
/// measured.
#[test]
fn a_copy_that_ends_is_a_row_and_the_others_go_on() {
    const ENDS: &str = "sendfile_max_chunk 7m";
    const STATE: &str = "1 access_log off";
    let Some(live) = Live::start() else { return };
    let _turn = measuring();
    let trials = |run: &Run| {
        let is_its = |slot: &&Slot| matches!(slot, Slot::Trial(trial) if trial.cell == STATE);
        let whole = run.blocks.iter().flat_map(|block| &block.slots).filter(is_its).count();
        let failed = run.blocks.iter().flat_map(|block| &block.failed);
        (whole, failed.filter(|trial| trial.cell == STATE).count())
    };
    let is_ended = Cell::new(false);
    let has_failed = || {
        let Some(run) = live.screening() else { return false };
        if !is_ended.replace(true) {
            live.end_copy(2);
        }
        let (whole, failed) = trials(&run);
        failed > whole
    };
    let lines = ["--try", ENDS, "--try", "access_log off", "--try", "sendfile off"];
    let mut command =
        live.tune(&[&["--json", "--only-tried", "--budget", "600s"], &lines[..]].concat());
    command.env("PATH", live.path_with_planted(ENDS));
    let output = interrupted_when("trials of the ended copy have failed", &mut command, has_failed);
    let said = stderr(&output);
    if cannot_measure(&said) {
        return;
    }
    assert_eq!(failed(&output, 130), "interrupted", "{said}");
    let run = live.screening().unwrap();
    let [row] = &run.header.unavailable[..] else { panic!("{:?}", run.header.unavailable) };
    assert_eq!(row.name, format!("0 {ENDS}"));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdict = |line: usize| {
        let line = &document["lines"][line];
        (
            line["verdict"].as_str().unwrap().to_owned(),
            line["how"].as_str().unwrap_or("").to_owned(),
        )
    };
    let (ended, how) = verdict(0);
    assert!(ended == "broke" && how.ends_with("; nginx said: no room is left"), "{ended}: {how}");
    let (ended, how) = verdict(1);
    assert!(ended == "broke" && how.contains("trials failed: "), "{ended}: {how}");
    assert_ne!(verdict(2).0, "broke");
    let other = run.blocks.iter().flat_map(|block| &block.failed);
    assert_eq!(other.filter(|trial| trial.cell != STATE).count(), 0, "{said}");
    assert!(live.answers() && live.is_alone());
}

/// With its own key, or with one of the same kind where this user may not read it.
#[test]
fn a_site_with_tls_is_asked_over_tls_whether_its_key_can_be_read_or_not() {
    for is_readable in [true, false] {
        let Some(live) = Live::start() else { return };
        let _turn = measuring();
        live.write_with_tls("tls.conf", is_readable);
        let options = ["--only-tried", "--try", "ssl_buffer_size 4k", "--server-name", "a.test"];
        let mut command = live.tune_of("tls.conf", &options);
        // Once it is saved, all responses have been checked.
        let is_asked = || live.screening().is_some_and(|run| is_readable || !run.blocks.is_empty());
        let output =
            interrupted_when("it is measured", command.args(["--budget", "600s"]), is_asked);
        let said = stderr(&output);
        if cannot_measure(&said) {
            return;
        }
        assert_eq!(failed(&output, 130), "interrupted", "{said}");
        let run = live.screening().unwrap();
        assert!(run.header.unavailable.is_empty(), "{:?}", run.header.unavailable);
        let states = &run.header.plan.traffic.server().unwrap().states;
        assert_eq!(states.len(), 2, "{states:?}");
        assert!(states.iter().all(|it| it.url.starts_with("https://a.test:")), "{states:?}");
        assert!(run.blocks.iter().all(|block| block.failed.is_empty()), "{said}");
        let shown = text(&output.stdout);
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let stands_in = "a certificate of zc's (RSA, 2048 bits) stands in for the site's";
        assert_eq!(shown.contains(stands_in), !is_readable, "{shown}");
        assert!(live.answers() && live.is_alone());
    }
}

/// With TLS and without. What breaks conditions is seen by the status alone where HTTP/1.1 is not
/// spoken; h2load does not go on where a server ends a connection.
#[test]
fn a_site_is_asked_by_http2_and_a_line_that_breaks_something_is_a_row() {
    if Command::new("h2load").arg("--version").output().is_err() {
        eprintln!("skipped: no h2load");
        return;
    }
    let lines = ["sendfile off", "if_modified_since off", "keepalive_requests 10"];
    let lines = lines.into_iter().flat_map(|line| ["--try", line]);
    for (conf, measures) in [("h2.conf", true), ("tls-h2.conf", false)] {
        let Some(live) = Live::start() else { return };
        let _turn = measuring();
        live.write_with_http2();
        let mut command = live.tune_of(conf, &["--http2", "--only-tried", "--budget", "600s"]);
        command.args(lines.clone());
        // Once it is saved, all responses have been checked.
        let is_asked = || live.screening().is_some_and(|run| !measures || !run.blocks.is_empty());
        let output = interrupted_when("it is measured", &mut command, is_asked);
        let said = stderr(&output);
        if cannot_measure(&said) {
            return;
        }
        assert_eq!(failed(&output, 130), "interrupted", "{said}");
        let run = live.screening().unwrap();
        let rows = &run.header.unavailable;
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["1 if_modified_since off", "2 keepalive_requests 10"], "{rows:?}");
        let server = run.header.plan.traffic.server().unwrap();
        assert!(server.asked_by_http2() && server.generator[0].ends_with("h2load"), "{server:?}");
        assert!(run.blocks.iter().all(|block| block.failed.is_empty()), "{said}");
        let trials =
            run.blocks.iter().flat_map(|block| &block.slots).filter_map(|slot| match slot {
                Slot::Trial(trial) => Some(trial),
                _ => None,
            });
        let (mut responses, mut used_ns) = (0, 0);
        for trial in trials {
            responses += trial.closed.sent.calls - trial.opened.sent.calls;
            used_ns += trial.closed.receiver.cpu_ns - trial.opened.receiver.cpu_ns;
        }
        assert!(!measures || (responses > 0 && used_ns > 0), "{responses} responses, {used_ns} ns");
        let shown = text(&output.stdout);
        assert!(shown.contains("all is asked by HTTP/2"), "{shown}");
        assert!(live.is_alone());
    }
}

#[test]
fn a_site_that_cannot_be_asked_by_http2_is_a_sentence() {
    let Some(live) = Live::start() else { return };
    live.write_with_http2();
    let short = std::fs::read_to_string(live.path().join("h2.conf")).unwrap();
    let short = short.replace("sendfile on;", "keepalive_requests 20;");
    std::fs::write(live.path().join("short.conf"), short).unwrap();
    for (conf, path, code, id) in [
        ("nginx.conf", None, 3, "site-without-http2"),
        ("short.conf", None, 3, "connections-too-short"),
        ("h2.conf", Some("/nonexistent"), 4, "h2load-missing"),
    ] {
        let mut command = live.tune_of(conf, &["--http2"]);
        if let Some(path) = path {
            command.env("PATH", path);
        }
        let output = command.finish().unwrap();
        assert_eq!(refused(&output, code), id, "{conf}: {}", stderr(&output));
    }
    assert!(live.is_alone());
}

#[test]
fn ctrl_c_before_anything_is_measured_leaves_nothing() {
    let Some(live) = Live::start() else { return };
    let _turn = measuring();
    let has_begun = || std::fs::read_dir(live.path().join("tmp")).unwrap().next().is_some();
    let output = interrupted_when("its folder is there", &mut live.tune(&THREE), has_begun);
    let said = stderr(&output);
    if !cannot_measure(&said) {
        assert_eq!(failed(&output, 130), "interrupted", "{said}");
    }
    assert!(live.screening().is_none() && live.is_alone() && live.answers());
}

#[test]
fn nothing_of_it_is_left_when_its_whole_process_group_is_killed() {
    let Some(live) = Live::start() else { return };
    let _turn = measuring();
    let before = live.files();
    let mut command = live.tune(&THREE);
    command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
    let mut zc = command.start().unwrap();
    let mut has_ended = false;
    until("the copies run", || {
        has_ended = zc.try_wait().unwrap().is_some();
        (has_ended || live.screening().is_some()).then_some(())
    });
    if has_ended {
        eprintln!("skipped: zc tune does not measure here");
        return;
    }
    let group = Pid::from_child(&zc);
    rustix::process::kill_process_group(group, Signal::KILL).unwrap();
    zc.wait().unwrap();
    until("the copies are gone", || live.is_alone().then_some(()));
    assert!(live.answers());
    assert_eq!(live.files(), before);
}

#[test]
fn a_line_that_nginx_refuses_is_told_in_its_words() {
    let Some(live) = Live::start() else { return };
    let output = live.tune(&["--only-tried", "--try", "sendfile_max_chunk x"]).finish().unwrap();
    // There is no other line to try.
    assert_eq!(refused(&output, 2), "nothing-to-try");
    let said = stderr(&output);
    assert!(said.contains("sendfile_max_chunk x: \"sendfile_max_chunk\" directive"), "{said}");
    assert!(live.is_alone());
}

#[test]
fn what_cannot_be_tuned_is_a_sentence() {
    let Some(live) = Live::start() else { return };
    let conf = live.path().join("nginx.conf");
    for (options, code, id) in [
        (&["--try", "server { listen 80; }"][..], 2, "block-to-try"),
        (&["--money", "cheap"], 2, "invalid-price"),
        (&["--server-name", "nobody.test"], 2, "no-such-server-name"),
        (&["--log", "none.log"], 3, "cannot-read-log"),
        (&["--log", "empty.log"], 3, "cannot-read-log"),
        (&["--runs", "no-such-folder"], 5, "cannot-save-run"),
    ] {
        std::fs::write(live.path().join("zc/empty.log"), "").unwrap();
        let output = live.tune(options).finish().unwrap();
        assert_eq!(refused(&output, code), id, "{options:?}: {}", stderr(&output));
    }
    for (text, id) in [("http {", "nginx-syntax"), ("events {}\nhttp { }\n", "no-http-server")] {
        std::fs::write(&conf, text).unwrap();
        let output = live.tune(&[]).finish().unwrap();
        assert_eq!(refused(&output, 3), id, "{text}: {}", stderr(&output));
    }
    std::fs::remove_file(&conf).unwrap();
    let output = live.tune(&[]).finish().unwrap();
    assert_eq!(refused(&output, 3), "cannot-read-configuration");
    assert!(live.is_alone() && live.answers());
    assert!(live.program.is_file());
}
