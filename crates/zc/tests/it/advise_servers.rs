//! `zc advise` reads what real servers log: as many requests as a client sent them, and the bytes
//! that it received, of bodies or of whole responses.

use std::fs::{File, Permissions};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Bounded as _, LIMIT, Running, stderr, until, zc};

/// Requests sent: method, path, further headers.
const REQUESTS: [(&str, &str, &str); 8] = [
    ("GET", "/a", ""),
    ("GET", "/b", ""),
    ("GET", "/c", ""),
    ("HEAD", "/b", ""),
    ("GET", "/none", ""),
    ("GET", "/b", "Range: bytes=0-9\r\n"),
    ("GET", "/a?q=%22", "User-Agent: an \"agent\" \\\r\nReferer: \"\r\n"),
    ("GET", "/b", "If-Modified-Since: Fri, 02 Jan 2026 00:00:00 GMT\r\n"),
];

/// A folder with files to serve, and a server's configuration and logs.
struct Site {
    folder: TempDir,
    port: u16,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Servers that root has started read as another user.
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let site = Self { folder, port: free_port() };
        std::fs::create_dir(site.path("www")).unwrap();
        for (name, length) in [("a", 100), ("b", 4096), ("c", 300_000)] {
            let file = File::create(site.path("www").join(name)).unwrap();
            (&file).write_all(&vec![b'x'; length]).unwrap();
            // 1 January 2026, so that it has not been modified since the second.
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_767_225_600);
            file.set_modified(at).unwrap();
        }
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file with this text, in which `DIR` and `PORT` stand for those of the site.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let dir = self.folder.path().to_str().unwrap();
        let text = text.replace("DIR", dir).replace("PORT", &self.port.to_string());
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// Starts a server, and waits until it listens; its stdout is a file.
    fn start(&self, server: &mut Command) -> Running {
        let stdout = File::create(self.path("stdout")).unwrap();
        let said = File::create(self.path("stderr")).unwrap();
        let server = server.env("HOME", self.folder.path()).env_remove("XDG_CONFIG_HOME");
        let mut running = server.stdin(Stdio::null()).stdout(stdout).stderr(said).start().unwrap();
        until("the server listens", || {
            if let Some(status) = running.try_wait().unwrap() {
                panic!("{status}: {}", std::fs::read_to_string(self.path("stderr")).unwrap());
            }
            TcpStream::connect(("127.0.0.1", self.port)).ok()
        });
        running
    }

    /// Sends the requests: all bytes that came, and those of bodies alone.
    fn ask(&self) -> (u64, u64) {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        let (mut all, mut bodies) = (0, 0);
        for (method, path, headers) in REQUESTS {
            let mut connection = TcpStream::connect(address).unwrap();
            connection.set_read_timeout(Some(LIMIT)).unwrap();
            write!(
                connection,
                "{method} {path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n{headers}\r\n"
            )
            .unwrap();
            let mut response = Vec::new();
            connection.read_to_end(&mut response).unwrap();
            let head = response.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
            all += response.len() as u64;
            bodies += (response.len() - head) as u64;
        }
        (all, bodies)
    }
}

/// A port at which nothing listens.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The document of a log, once all requests are in it: servers log after they have answered. The
/// server may have been asked before whether it listens.
#[track_caller]
fn advised(log: &Path, args: &[&str]) -> Value {
    until("all requests are logged", || {
        let text = std::fs::read_to_string(log).ok()?;
        (text.lines().count() >= REQUESTS.len() && text.ends_with('\n')).then_some(())
    });
    let output = zc(&[&["advise", "--no-costs", log.to_str().unwrap(), "--json"], args].concat());
    let output = { output }.finish().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["mix"]["all"]["requests"], REQUESTS.len());
    document
}

fn is_there(server: &str) -> bool {
    let is_there = Path::new(server).exists();
    if !is_there {
        eprintln!("skipped: there is no {server}");
    }
    is_there
}

#[test]
fn what_nginx_logs_is_what_was_received() {
    if !is_there("/usr/sbin/nginx") {
        return;
    }
    let site = Site::new();
    let format = r#"$msec "$request" $status $bytes_sent $body_bytes_sent $request_time"#;
    let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
    let conf = site.write(
        "nginx.conf",
        &format!(
            r#"daemon off; master_process off; pid DIR/pid; error_log stderr; {user}
events {{ }}
http {{
    client_body_temp_path DIR/1; proxy_temp_path DIR/2; fastcgi_temp_path DIR/3;
    uwsgi_temp_path DIR/4; scgi_temp_path DIR/5;
    if_modified_since before;
    log_format both '{format}';
    log_format json escape=json '{{"time_iso8601":"$time_iso8601","request":"$request","status":$status,"bytes_sent":$bytes_sent,"http_user_agent":"$http_user_agent"}}';
    access_log DIR/combined.log; access_log DIR/both.log both; access_log DIR/json.log json;
    server {{ listen 127.0.0.1:PORT; root DIR/www; }}
}}"#
        ),
    );
    let _server = site.start(
        Command::new("/usr/sbin/nginx")
            .args(["-e", "stderr", "-c"])
            .arg(conf)
            .arg("-p")
            .arg(site.folder.path()),
    );
    let (all, bodies) = site.ask();
    let combined = advised(&site.path("combined.log"), &[]);
    assert_eq!(combined["mix"]["counted"]["unsaid"]["bytes"], bodies);
    assert_eq!(combined["mix"]["classes"]["range"]["bytes"], 10);
    assert_eq!(combined["mix"]["classes"]["not_modified"]["requests"], 1);
    assert_eq!(combined["mix"]["counted"]["bodiless_without_bytes"], 2);
    let both = advised(&site.path("both.log"), &["--format", format]);
    assert_eq!(both["mix"]["counted"]["body"]["bytes"], bodies);
    assert_eq!(both["mix"]["counted"]["headers"]["bytes"], all - bodies);
    let json = advised(&site.path("json.log"), &[]);
    assert_eq!(json["logs"][0]["format"], "nginx-json");
    assert_eq!(json["mix"]["counted"]["wire"]["bytes"], all);
}

#[test]
fn what_apache_logs_is_what_was_received() {
    if !is_there("/usr/sbin/apache2") {
        return;
    }
    let site = Site::new();
    let conf = site.write(
        "apache.conf",
        r#"ServerRoot /usr/lib/apache2
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
PidFile DIR/pid
ErrorLog DIR/errors
User nobody
Group nogroup
ServerName a.test
Listen 127.0.0.1:PORT
DocumentRoot DIR/www
LogFormat "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" debian
LogFormat "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"" combined
CustomLog DIR/debian.log debian
CustomLog DIR/combined.log combined
"#,
    );
    let _server = site.start(Command::new("/usr/sbin/apache2").arg("-X").arg("-f").arg(conf));
    let (all, bodies) = site.ask();
    let combined = advised(&site.path("combined.log"), &[]);
    assert_eq!(combined["mix"]["counted"]["unsaid"]["bytes"], bodies);
    let debian = advised(&site.path("debian.log"), &[]);
    assert_eq!(debian["logs"][0]["format"], "vhost_combined");
    assert_eq!(debian["mix"]["counted"]["unsaid"]["bytes"], all);
    assert_eq!(debian["mix"]["counted"]["bodiless_without_bytes"], 0);
}

#[test]
fn what_haproxy_logs_is_what_was_received() {
    if !is_there("/usr/sbin/haproxy") {
        return;
    }
    let site = Site::new();
    let conf = site.write(
        "haproxy.cfg",
        "global\n log stdout format raw local0\n\
         defaults\n mode http\n log global\n option httplog\n \
         timeout client 60s\n timeout connect 60s\n timeout server 60s\n\
         frontend www\n bind 127.0.0.1:PORT\n \
         capture request header User-Agent len 64\n option dontlognull\n \
         http-request return status 404 content-type text/plain string none if { path /none }\n \
         http-request return status 200 content-type text/plain file DIR/www/b\n",
    );
    let _server = site.start(Command::new("/usr/sbin/haproxy").arg("-f").arg(conf));
    let (all, _) = site.ask();
    let document = advised(&site.path("stdout"), &[]);
    assert_eq!(document["logs"][0]["format"], "haproxy");
    // HAProxy leaves out the separators of the header's lines: four bytes each.
    let left_out = all - document["mix"]["counted"]["wire"]["bytes"].as_u64().unwrap();
    assert!(left_out.is_multiple_of(4) && left_out < 40 * REQUESTS.len() as u64, "{left_out}");
    assert_eq!(document["mix"]["statuses"]["404"]["requests"], 1);
}

#[test]
fn what_caddy_logs_is_what_was_received() {
    if !is_there("/usr/bin/caddy") {
        return;
    }
    let site = Site::new();
    let conf = site.write(
        "Caddyfile",
        "{\n admin off\n auto_https off\n}\nhttp://:PORT {\n bind 127.0.0.1\n \
         root * DIR/www\n file_server\n log {\n  output file DIR/caddy.log\n }\n}\n",
    );
    let arguments = ["run", "--adapter", "caddyfile", "--config"];
    let _server = site.start(Command::new("/usr/bin/caddy").args(arguments).arg(conf));
    let (_, bodies) = site.ask();
    let document = advised(&site.path("caddy.log"), &[]);
    assert_eq!(document["logs"][0]["format"], "caddy");
    assert_eq!(document["mix"]["counted"]["body"]["bytes"], bodies);
    assert_eq!(document["mix"]["durations"]["requests"], REQUESTS.len());
}
