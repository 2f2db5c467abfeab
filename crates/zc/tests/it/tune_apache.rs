//! `zc tune apache` from outside: copies of a configuration are measured, and the live server with the
//! same one serves on.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal};

use crate::support::{Bounded as _, Running, measuring, refused, stderr, text, until, zc_in};
use crate::tune::{free_port, got, nothing_is_left_in, screened};

const PROGRAM: &str = "/usr/sbin/apache2";
const MODULES: &str = "/usr/lib/apache2/modules";

/// A folder with a configuration of Apache, and places for zc beside it.
struct Place {
    folder: tempfile::TempDir,
    port: u16,
}

impl Place {
    /// `None`, with the reason said, where there is no Apache.
    fn new() -> Option<Self> {
        if !Path::new(PROGRAM).exists() || !Path::new(MODULES).exists() {
            eprintln!("skipped: no apache2");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        for name in ["site", "zc", "tmp", "live"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        // Root's Apache has workers of another user.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::write(folder.path().join("site/index.html"), "live\n").unwrap();
        let place = Self { folder, port: free_port() };
        place.write(&place.configuration());
        std::fs::write(place.path().join("envvars"), "export ZC_LIVE=live\n").unwrap();
        Some(place)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, text: &str) {
        std::fs::write(self.path().join("apache2.conf"), text).unwrap();
    }

    /// As Debian has it, and small.
    fn configuration(&self) -> String {
        let (folder, port) = (self.path().display(), self.port);
        let load = |name: &str| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n");
        let modules = ["mpm_event", "authz_core"].map(load).concat();
        let user = match rustix::process::geteuid().is_root() {
            true => "User nobody\nGroup nogroup\n",
            false => "",
        };
        format!(
            "Define LIVE {folder}/${{ZC_LIVE}}
DefaultRuntimeDir ${{LIVE}}
PidFile ${{LIVE}}/apache.pid
ErrorLog ${{LIVE}}/error.log
{modules}{user}StartServers 1
ServerLimit 1
ThreadsPerChild 32
MaxRequestWorkers 32
ServerName localhost
Listen 127.0.0.1:{port}
LogFormat \"%h %t \\\"%r\\\" %>s\" short
<Directory />
    Require all denied
</Directory>
<Directory {folder}/site>
    Require all granted
</Directory>
<VirtualHost *:{port}>
    DocumentRoot {folder}/site
    CustomLog ${{LIVE}}/access.log short
</VirtualHost>
"
        )
    }

    fn tune(&self, options: &[&str]) -> Command {
        let mut command = zc_in(&self.path().join("zc"), &["tune", "apache"]);
        command.env("TMPDIR", self.path().join("tmp"));
        command.arg("-c").arg(self.path().join("apache2.conf")).args(options);
        command
    }

    fn answers(&self) -> bool {
        got(self.port, "/index.html").is_some_and(|answer| answer.ends_with("\r\n\r\nlive\n"))
    }

    /// The live server's files with their contents; of its logs, which it goes on with, whether
    /// anything of a copy is in them.
    fn files(&self) -> Vec<(String, String)> {
        let entries = std::fs::read_dir(self.path().join("live")).unwrap().flatten();
        let mut files: Vec<(String, String)> = entries
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                let text = text(&std::fs::read(entry.path()).unwrap());
                let is_log = name.ends_with(".log");
                (name, if is_log { text.contains("zc-tune").to_string() } else { text })
            })
            .collect();
        files.sort();
        files
    }

    fn is_alone(&self) -> bool {
        nothing_is_left_in(&self.path().join("tmp"))
    }
}

/// A live Apache, whose workers end with it when it is asked to end.
struct Live(Running);

impl Live {
    fn start(place: &Place) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["-DFOREGROUND", "-f"]).arg(place.path().join("apache2.conf"));
        command.env("ZC_LIVE", "live");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let live = Self(command.start().unwrap());
        until("Apache answers", || place.answers().then_some(()));
        live
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(Pid::from_child(&self.0), Signal::TERM);
        drop(self.0.wait());
    }
}

#[test]
fn lines_of_apache_are_tried_on_copies_and_the_live_server_serves_on() {
    let Some(place) = Place::new() else { return };
    let _live = Live::start(&place);
    let _turn = measuring();
    let before = place.files();
    let options = [
        "--only-tried",
        "--try",
        "EnableSendfile On",
        "--try",
        "EnableMMAP Off",
        "--try",
        "EnableMMAP Perhaps",
        "--budget",
        "600s",
    ];
    let lines = ["EnableSendfile On", "EnableMMAP Off"];
    let screened = screened(&mut place.tune(&options), &place.path().join("zc"), &lines);
    assert!(place.answers());
    let Some((_, output)) = screened else { return };
    let shown = text(&output.stdout);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("EnableMMAP Perhaps: parameter must be 'on' or 'off'"), "{shown}");
    assert_eq!(place.files(), before, "{}", stderr(&output));
    assert!(place.is_alone());
}

#[test]
fn what_of_apache_cannot_be_tuned_is_a_sentence() {
    let Some(place) = Place::new() else { return };
    for (options, code, id) in [
        (&["--try", "<Directory />"][..], 2, "block-to-try"),
        (&["--try", "PidFile /x"], 2, "line-beyond-the-site"),
        (&["--server-name", "nobody.test"], 2, "no-such-server-name"),
    ] {
        let output = place.tune(options).finish().unwrap();
        assert_eq!(refused(&output, code), id, "{options:?}: {}", stderr(&output));
    }
    let sysctl = "sysctl net.ipv4.tcp_notsent_lowat=16384";
    let output = place.tune(&["--only-tried", "--try", sysctl]).finish().unwrap();
    assert_eq!(refused(&output, 2), "nothing-to-try", "{}", stderr(&output));
    let bad = format!("{}Nonsense 1\n", place.configuration());
    let itself = format!("Include {}/apache2.conf\n", place.path().display());
    for (text, id) in [
        ("<Directory />\n", "apache-syntax"),
        (itself.as_str(), "apache-syntax"),
        ("ServerName a\n", "no-http-server"),
        (bad.as_str(), "copy-refused"),
    ] {
        place.write(text);
        let output = place.tune(&[]).finish().unwrap();
        assert_eq!(refused(&output, 3), id, "{text}: {}", stderr(&output));
    }
    assert!(stderr(&place.tune(&[]).finish().unwrap()).contains("Invalid command 'Nonsense'"));
    std::fs::remove_file(place.path().join("apache2.conf")).unwrap();
    let output = place.tune(&[]).finish().unwrap();
    assert_eq!(refused(&output, 3), "cannot-read-configuration");
    assert!(place.is_alone());
}
