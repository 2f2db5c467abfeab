//! `zc tune caddy` from outside: copies of a Caddyfile are measured, and the live server with the
//! same one serves on.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Bounded as _, Running, measuring, refused, stderr, text, until, zc_in};
use crate::tune::{free_port, got, nothing_is_left_in, screened};

const PROGRAM: &str = "/usr/bin/caddy";

/// A folder with a Caddyfile, and places for zc beside it.
struct Place {
    folder: tempfile::TempDir,
    port: u16,
}

impl Place {
    /// `None`, with the reason said, where there is no Caddy.
    fn new() -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            eprintln!("skipped: no caddy");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        for name in ["zc", "tmp", "live", "site", "home"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let place = Self { folder, port: free_port() };
        std::fs::write(place.path().join("site/page"), "of the live site").unwrap();
        place.write(&place.configuration());
        Some(place)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, text: &str) {
        std::fs::write(self.path().join("Caddyfile"), text).unwrap();
    }

    /// It logs, has storage, and a socket of its administration.
    fn configuration(&self) -> String {
        let (folder, port) = (self.path().display(), self.port);
        format!(
            "{{
	admin unix/{folder}/live/admin.sock
	storage file_system {folder}/live/storage
}}
:{port} {{
	bind 127.0.0.1
	root * {folder}/site
	log {{
		output file {folder}/live/access.log
	}}
	file_server
}}
"
        )
    }

    fn tune(&self, options: &[&str]) -> Command {
        let mut command = zc_in(&self.path().join("zc"), &["tune", "caddy"]);
        command.env("TMPDIR", self.path().join("tmp")).env("HOME", self.path().join("home"));
        command.arg("-c").arg(self.path().join("Caddyfile")).args(options);
        command
    }

    fn answers(&self) -> bool {
        got(self.port, "/page").is_some_and(|answer| answer.ends_with("of the live site"))
    }

    /// The names of the live server's files, and the lines of its log.
    fn files(&self) -> (Vec<String>, usize) {
        let entries = std::fs::read_dir(self.path().join("live")).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        let log = std::fs::read_to_string(self.path().join("live/access.log")).unwrap_or_default();
        (names, log.lines().count())
    }

    /// Nothing is left, and Caddy has saved nothing at home.
    fn is_alone(&self) -> bool {
        let home = std::fs::read_dir(self.path().join("home")).unwrap();
        nothing_is_left_in(&self.path().join("tmp")) && home.count() == 0
    }
}

#[test]
fn lines_of_caddy_are_tried_on_copies_and_the_live_server_serves_on() {
    let Some(place) = Place::new() else { return };
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--adapter", "caddyfile", "--config"]);
    command.arg(place.path().join("Caddyfile"));
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        command.env(name, place.path().join("live"));
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _live: Running = command.start().unwrap();
    until("Caddy answers", || place.answers().then_some(()));
    let _turn = measuring();
    let (names, requests) = place.files();
    let options = [
        "--only-tried",
        "--try",
        "without log",
        "--try",
        "env GOGC=400",
        "--try",
        "sysctl net.ipv4.tcp_notsent_lowat=16384",
        "--try",
        "file_serving on",
        "--connections",
        "24",
        "--budget",
        "600s",
    ];
    let lines = ["without log", "env GOGC 400"];
    let screened = screened(&mut place.tune(&options), &place.path().join("zc"), &lines);
    assert!(place.answers());
    let Some((run, output)) = screened else { return };
    assert_eq!(run.header.plan.traffic.server().unwrap().connections, 24);
    let shown = text(&output.stdout);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("file_serving on: unrecognized directive: file_serving"), "{shown}");
    assert!(shown.contains("zc gives Caddy no listening socket"), "{shown}");
    // But for the request before this.
    assert_eq!(place.files(), (names, requests + 1), "{}", stderr(&output));
    assert!(place.is_alone());
}

#[test]
fn what_of_caddy_cannot_be_tuned_is_a_sentence() {
    let Some(place) = Place::new() else { return };
    for (options, code, id) in [
        (&["--try", "handle {"][..], 2, "block-to-try"),
        (&["--try", "bind 127.0.0.2"], 2, "line-beyond-the-site"),
        (&["--try", "env PATH=/"], 2, "bad-variable"),
        (&["--server-name", "nobody"], 2, "no-such-server-name"),
        (&["--http2"], 3, "site-without-http2"),
    ] {
        let output = place.tune(options).finish().unwrap();
        assert_eq!(refused(&output, code), id, "{options:?}: {}", stderr(&output));
    }
    let bad = place.configuration().replace("file_server", "file_server\n\tnonsense 1");
    for (text, id) in [
        (":80 {\n", "caddy-syntax"),
        ("{\"apps\": {}}\n", "caddy-syntax"),
        ("{\n\tdebug\n}\n", "no-http-server"),
        ("import nowhere\n", "cannot-read-configuration"),
        (bad.as_str(), "copy-refused"),
    ] {
        place.write(text);
        let output = place.tune(&[]).finish().unwrap();
        assert_eq!(refused(&output, 3), id, "{text}: {}", stderr(&output));
    }
    assert!(stderr(&place.tune(&[]).finish().unwrap()).contains("directive: nonsense"));
    std::fs::remove_file(place.path().join("Caddyfile")).unwrap();
    let output = place.tune(&[]).finish().unwrap();
    assert_eq!(refused(&output, 3), "cannot-read-configuration");
    assert!(place.is_alone());
}
