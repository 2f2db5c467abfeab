//! `zc tune haproxy` from outside: copies of a configuration are measured with an origin behind
//! them, and the live server with the same one serves on.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Bounded as _, Running, measuring, refused, stderr, text, until, zc_in};
use crate::tune::{free_port, got, nothing_is_left_in, screened};

const PROGRAM: &str = "/usr/sbin/haproxy";

/// A folder with a configuration of HAProxy, and places for zc beside it.
struct Place {
    folder: tempfile::TempDir,
    port: u16,
}

impl Place {
    /// `None`, with the reason said, where there is no HAProxy.
    fn new() -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            eprintln!("skipped: no haproxy");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        for name in ["zc", "tmp", "live"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let place = Self { folder, port: free_port() };
        place.write(&place.configuration());
        Some(place)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, text: &str) {
        std::fs::write(self.path().join("haproxy.cfg"), text).unwrap();
    }

    /// It logs, has a socket, and answers one path itself: nothing is behind the live one.
    fn configuration(&self) -> String {
        let (folder, port) = (self.path().display(), self.port);
        format!(
            "global
    log {folder}/live/log local0
    stats socket {folder}/live/admin.sock
    pidfile {folder}/live/haproxy.pid
    maxconn 100
defaults
    mode http
    log global
    option httplog
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend www
    bind 127.0.0.1:{port}
    monitor-uri /live
    default_backend site
backend site
    server app 127.0.0.1:1 check
"
        )
    }

    fn tune(&self, options: &[&str]) -> Command {
        let mut command = zc_in(&self.path().join("zc"), &["tune", "haproxy"]);
        command.env("TMPDIR", self.path().join("tmp"));
        command.arg("-c").arg(self.path().join("haproxy.cfg")).args(options);
        command
    }

    fn answers(&self) -> bool {
        got(self.port, "/live").is_some_and(|answer| answer.starts_with("HTTP/1.1 200 "))
    }

    /// The names of the live server's files.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join("live")).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn is_alone(&self) -> bool {
        nothing_is_left_in(&self.path().join("tmp"))
    }
}

#[test]
fn lines_of_haproxy_are_tried_on_copies_and_the_live_server_serves_on() {
    let Some(place) = Place::new() else { return };
    let mut command = Command::new(PROGRAM);
    command.arg("-db").arg("-f").arg(place.path().join("haproxy.cfg"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _live: Running = command.start().unwrap();
    until("HAProxy answers", || place.answers().then_some(()));
    let _turn = measuring();
    let before = place.files();
    let options = [
        "--only-tried",
        "--try",
        "option splice-response",
        "--try",
        "no log",
        "--try",
        "sysctl net.ipv4.tcp_notsent_lowat=16384",
        "--try",
        "option splice-perhaps",
        "--budget",
        "600s",
    ];
    let lines = ["option splice-response", "no log", "sysctl net.ipv4.tcp_notsent_lowat"];
    let screened = screened(&mut place.tune(&options), &place.path().join("zc"), &lines);
    assert!(place.answers());
    let Some((_, output)) = screened else { return };
    let shown = text(&output.stdout);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("option splice-perhaps: unknown option 'splice-perhaps'"), "{shown}");
    assert!(shown.contains("an origin of zc's"), "{shown}");
    assert_eq!(place.files(), before, "{}", stderr(&output));
    assert!(place.is_alone());
}

#[test]
fn what_of_haproxy_cannot_be_tuned_is_a_sentence() {
    let Some(place) = Place::new() else { return };
    for (options, code, id) in [
        (&["--try", "frontend x"][..], 2, "block-to-try"),
        (&["--try", "bind :81"], 2, "line-beyond-the-site"),
        (&["--server-name", "nobody"], 2, "no-such-server-name"),
        (&["--http2"], 3, "site-without-http2"),
    ] {
        let output = place.tune(options).finish().unwrap();
        assert_eq!(refused(&output, code), id, "{options:?}: {}", stderr(&output));
    }
    let bad = format!("{}    nonsense 1\n", place.configuration());
    let unreadable = bad.replace("nonsense 1", "acl a path -f /nowhere/at/all");
    for (text, id) in [
        ("maxconn 5\n", "haproxy-syntax"),
        ("global\n.if 1\n.endif\n", "haproxy-syntax"),
        ("global\n maxconn 5\n", "no-http-server"),
        (bad.as_str(), "copy-refused"),
        (unreadable.as_str(), "copy-refused"),
    ] {
        place.write(text);
        let output = place.tune(&[]).finish().unwrap();
        assert_eq!(refused(&output, 3), id, "{text}: {}", stderr(&output));
    }
    assert!(stderr(&place.tune(&[]).finish().unwrap()).contains("/nowhere/at/all"));
    std::fs::remove_file(place.path().join("haproxy.cfg")).unwrap();
    let output = place.tune(&[]).finish().unwrap();
    assert_eq!(refused(&output, 3), "cannot-read-configuration");
    assert!(place.is_alone());
}
