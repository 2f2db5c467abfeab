//! Copies of configurations, given to the nginx of this machine as `nobody` and as whoever runs the
//! tests.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use zc_run::{Error, Result};
use zc_tune::nginx::{Config, gather};
use zc_tune::{Change, Copy, Files, Scheme, Shadow, Site};

const NOBODY: u32 = 65534;

/// Where it is installed, whatever the PATH of this user.
fn program() -> &'static str {
    let installed = "/usr/sbin/nginx";
    if Path::new(installed).exists() { installed } else { "nginx" }
}

/// What `nginx -V` prints, or None, which is said.
fn build() -> Option<String> {
    match Command::new(program()).arg("-V").output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => {
            println!("skipped: nginx: {error}");
            None
        }
    }
}

/// A folder for one nginx.
struct Folder {
    folder: TempDir,
    is_root: bool,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let is_root = fs::metadata(folder.path()).unwrap().uid() == 0;
        fs::create_dir(folder.path().join("files")).unwrap();
        fs::create_dir(folder.path().join("files/zc-tune")).unwrap();
        for name in ["files/a.bin", "files/zc-tune/a.bin"] {
            fs::write(folder.path().join(name), "the file\n").unwrap();
        }
        Self { folder, is_root }
    }

    fn path(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    /// Where a copy runs, as an unprivileged user.
    fn shadow(&self, build: &str) -> Shadow {
        let root = Some(format!("{}/files", self.path()));
        let folder = self.path().to_owned();
        Shadow { folder, port: free_port(), root, build: build.to_owned(), ..Shadow::default() }
    }

    /// nginx with the copy, as `nobody` if that is possible.
    fn nginx(&self, copy: &Copy, is_nobody: bool) -> Command {
        let file = self.folder.path().join("nginx.conf");
        fs::write(&file, &copy.text).unwrap();
        let mut command = Command::new(program());
        command.args(["-e", "stderr", "-p", self.path(), "-c"]).arg(&file);
        fs::set_permissions(self.path(), fs::Permissions::from_mode(0o755)).unwrap();
        if self.is_root && is_nobody {
            chown(self.path(), Some(NOBODY), Some(NOBODY)).unwrap();
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    #[track_caller]
    fn accepts(&self, copy: &Copy, is_nobody: bool) {
        let output = self.nginx(copy, is_nobody).arg("-t").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n{}", copy.text);
        assert!(!said.contains("[warn]"), "{said}\n{}", copy.text);
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn dump(files: &[(&str, &str)]) -> String {
    files.iter().map(|(path, text)| format!("# configuration file {path}:\n{text}\n")).collect()
}

fn directive(words: &str) -> Change {
    let (name, args) = words.split_once(' ').unwrap();
    Change::Directive { name: name.into(), args: args.split(' ').map(str::to_owned).collect() }
}

fn listen(parameter: &str) -> Change {
    Change::Listen { parameter: parameter.into(), on: true }
}

/// A configuration with one `site` chosen.
fn read(dump: &str) -> (Config, Site) {
    let config = Config::parse(dump).unwrap();
    let site = config.site(None).unwrap();
    (config, site)
}

struct Disk;

impl Files for Disk {
    fn read(&mut self, path: &str) -> Result<String> {
        let text = fs::read(path).map_err(|error| Error::os(format!("read \"{path}\""), error))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn names(&mut self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

const DISTRIBUTION: &str = "/etc/nginx/nginx.conf";

#[test]
fn the_distribution_s_configuration_is_gathered_as_nginx_dumps_it() {
    if build().is_none() {
        return;
    }
    if !Path::new(DISTRIBUTION).exists() {
        println!("skipped: there is no {DISTRIBUTION}");
        return;
    }
    let output = Command::new(program()).args(["-T", "-c", DISTRIBUTION]).output().unwrap();
    if !output.status.success() {
        println!("skipped: nginx -T: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let gathered = gather(DISTRIBUTION, &mut Disk).unwrap();
    assert_eq!(gathered, String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_copy_of_the_distribution_s_configuration_serves_as_nobody() {
    let Some(build) = build() else { return };
    if !Path::new(DISTRIBUTION).exists() {
        println!("skipped: there is no {DISTRIBUTION}");
        return;
    }
    let (config, site) = read(&gather(DISTRIBUTION, &mut Disk).unwrap());
    let folder = Folder::new();
    let changes =
        [directive("sendfile off"), directive("worker_connections 99"), listen("reuseport")];
    let all: Vec<&Change> = changes.iter().collect();
    for changes in [&all[..], &[]] {
        let shadow = folder.shadow(&build);
        let copy = config.copy(&site, &shadow, changes);
        folder.accepts(&copy, true);
        served(&folder, &copy, shadow.port, "/a.bin", true);
    }
}

/// nginx once it answers at `port`.
#[track_caller]
fn running(mut command: Command, port: u16) -> Running {
    let mut nginx = Running(command.stderr(Stdio::piped()).spawn().unwrap());
    let until = Instant::now() + Duration::from_secs(30);
    while let Err(error) = TcpStream::connect(("127.0.0.1", port)) {
        if nginx.0.try_wait().unwrap().is_some() || Instant::now() > until {
            let mut said = String::new();
            let _ = nginx.0.kill();
            nginx.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("nginx does not answer: {error}: {said}");
        }
        std::thread::yield_now();
    }
    nginx
}

/// The response to a request for `path`.
fn response(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

/// Starts the copy, asks for a file, looks which files it has open, and ends it.
#[track_caller]
fn served(folder: &Folder, copy: &Copy, port: u16, path: &str, is_nobody: bool) {
    let nginx = running(folder.nginx(copy, is_nobody), port);
    let response = response(port, path);
    assert!(response.starts_with("HTTP/1.1 200"), "{response}\n{}", copy.text);
    assert!(response.ends_with("\r\n\r\nthe file\n"), "{response}");
    let open = fs::read_dir(format!("/proc/{}/fd", nginx.0.id())).unwrap();
    let open = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    let open: Vec<String> = open.map(|path| path.to_string_lossy().into_owned()).collect();
    let is_own = |path: &&String| path.starts_with(folder.path());
    let is_file = |path: &&String| path.starts_with('/') && !path.starts_with("/dev/");
    assert!(open.iter().any(|path| path.contains("/access")), "{open:?}");
    assert!(open.iter().filter(is_file).all(|path| is_own(&path)), "{open:?}\n{}", copy.text);
}

/// Ended with its workers when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // The master passes SIGTERM on; killed, it would leave its workers.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// A configuration with what keeps a copy from running where the live server does.
const HOSTILE: &str = "
daemon on; master_process off; user nosuchuser nosuchgroup; pid /run/live.pid;
lock_file /run/live.lock; worker_cpu_affinity auto; worker_priority -10;
worker_rlimit_nofile 9999999; working_directory /nonexistent; error_log /var/log/live.log warn;
env ZC_TUNE; events { worker_connections 512; debug_connection 127.0.0.1; }
http {
    log_format own '$remote_addr \"$request\" ${status}';
    log_format traced escape=json '{ \"time\": \"$time_iso8601\" }';
    access_log /var/log/live.log own buffer=32k flush=1s;
    access_log syslog:server=unix:/dev/log own;
    proxy_cache_path /var/cache/live levels=1:2 keys_zone=live:1m;
    proxy_temp_path /var/lib/live; limit_req_zone $remote_addr zone=per:1m rate=1r/s;
    map $uri $is_image { default 0; ~*\\.(png|jpg)$ 1; }
    geo $inside { default 0; 10.0.0.0/8 1; }
    upstream app {
        least_conn; server app1.invalid:8080 weight=2; server unix:/run/app.sock backup;
    }
    limit_req zone=per; resolver dns.invalid valid=5s;
    server { listen 81 reuseport; return 444; }
    server {
        listen 80 default_server backlog=4096 so_keepalive=on; listen [::]:80 ipv6only=on;
        listen unix:/run/live.sock; server_name live.example .live.example;
        root html; access_log logs/$host.log traced; auth_basic \"staff only\";
        auth_basic_user_file staff; set $to http://app2.example;
        if ($is_image) { return 403; }
        location / { try_files $uri $uri/ @app; tcp_nopush on; limit_except GET { deny all; } }
        location @app { proxy_pass http://app; proxy_cache live; }
        location ~ \"^/api/v\\d{1,2}/\" { proxy_pass https://app3.invalid:8443; \
         proxy_ssl_certificate no.pem; proxy_ssl_certificate_key no.key; }
        location /php { fastcgi_pass unix:/run/php.sock; }
        location /grpc { grpc_pass grpc://app4.invalid:50051; }
        location /moved { proxy_pass $to$uri; }
        location = /favicon.ico { access_log off; log_not_found off; }
        location /img/ { alias /srv/img/; }
    }
}
stream { server { listen 12345; proxy_pass app5.invalid:1; } }
";

#[test]
fn a_copy_of_a_hostile_configuration_is_accepted_and_serves_in_its_own_location() {
    let Some(build) = build() else { return };
    let (config, site) = read(&dump(&[(DISTRIBUTION, HOSTILE)]));
    assert!(site.said.iter().any(|said| said.contains("auth_basic")), "{:?}", site.said);
    let folder = Folder::new();
    let changes = [
        directive("sendfile on"),
        directive("tcp_nopush off"),
        directive("worker_cpu_affinity auto"),
    ];
    let changes: Vec<&Change> = changes.iter().collect();
    let mut shadow = folder.shadow(&build);
    folder.accepts(&config.copy(&site, &shadow, &changes), true);
    shadow.own_location = true;
    let copy = config.copy(&site, &shadow, &changes);
    folder.accepts(&copy, true);
    served(&folder, &copy, shadow.port, "/zc-tune/a.bin", true);
    for live in ["/var/", "/run/", "invalid", "nosuchuser", "nonexistent", "/srv/", ":80;", "444"] {
        assert!(!copy.text.contains(live), "{live}\n{}", copy.text);
    }
    assert_eq!(copy.text.matches("tcp_nopush off;").count(), 2, "{}", copy.text);
    assert!(copy.text.contains("backlog=4096 so_keepalive=on;"), "{}", copy.text);
}

#[test]
fn root_s_copy_has_a_user_that_exists() {
    let Some(build) = build() else { return };
    let folder = Folder::new();
    if !folder.is_root {
        println!("skipped: only root changes users");
        return;
    }
    let (config, site) = read(&dump(&[(DISTRIBUTION, HOSTILE)]));
    for is_alone in [false, true] {
        let shadow = folder.shadow(&build);
        let shadow = Shadow { as_root: true, is_alone, own_location: true, ..shadow };
        let copy = config.copy(&site, &shadow, &[]);
        assert_eq!(copy.text.contains("user root;"), is_alone);
        folder.accepts(&copy, false);
        served(&folder, &copy, shadow.port, "/zc-tune/a.bin", false);
    }
}

#[test]
fn a_site_with_tls_has_its_certificate_or_another() {
    let Some(build) = build() else { return };
    let folder = Folder::new();
    let [certificate, key] =
        ["cert.pem", "key.pem"].map(|name| format!("{}/{name}", folder.path()));
    let output = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=localhost", "-keyout", &key, "-out", &certificate])
        .output();
    if !output.as_ref().is_ok_and(|output| output.status.success()) {
        println!("skipped: openssl: {output:?}");
        return;
    }
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let text = |folder: &str| {
        format!(
            "events {{}}\nhttp {{\n  ssl_session_cache shared:a:1m;\n  server {{ listen 80; \
             return 301 https://$host$request_uri; }}\n  \
             server {{\n    listen 443 ssl http2; listen 80;\n    \
             ssl_certificate {folder}cert.pem;\n    ssl_certificate_key {folder}key.pem;\n    \
             ssl_stapling on; ssl_session_ticket_key {folder}ticket.key;\n    \
             ssl_verify_client optional; ssl_client_certificate {folder}cert.pem;\n    \
             ssl_conf_command Options PrioritizeChaCha;\n    root /srv;\n  }}\n}}\n"
        )
    };
    fs::write(format!("{}/ticket.key", folder.path()), [7; 80]).unwrap();
    let main = format!("{}/live.conf", folder.path());
    let ktls = directive("ssl_conf_command Options KTLS");
    // The site's own, relative to the folder of its main file; and one in place of what is missing.
    let (config, site) = read(&dump(&[(&main, &text(""))]));
    assert_eq!((site.scheme, site.http2), (Scheme::Https, true));
    assert_eq!(site.certificates, [(certificate.clone(), key.clone())]);
    let copy = config.copy(&site, &folder.shadow(&build), &[&ktls]);
    assert!(copy.reads.contains(&certificate) && copy.reads.contains(&key), "{:?}", copy.reads);
    assert!(copy.text.contains("PrioritizeChaCha;\n        ssl_conf_command Options KTLS;"));
    folder.accepts(&copy, true);
    let (config, site) = read(&dump(&[(&main, &text("/nonexistent/"))]));
    let shadow = Shadow { certificate: Some((certificate, key)), ..folder.shadow(&build) };
    let copy = config.copy(&site, &shadow, &[]);
    assert!(!copy.text.contains("nonexistent"), "{}", copy.text);
    folder.accepts(&copy, true);
}

#[test]
fn includes_globs_and_modules_are_found_from_another_folder() {
    let Some(build) = build() else { return };
    let files = [
        (
            "/e/nginx.conf",
            "include modules/*.conf;\nevents {}\nhttp {\n  include mime.types;\n  include \
             sites/*;\n}\n",
        ),
        ("/e/modules/a.conf", "pcre_jit on;\n"),
        ("/e/mime.types", "types { text/html html; }\n"),
        ("/e/sites/10", "server {\n  listen 127.0.0.1:8080;\n  include snippets/a;\n}\n"),
        ("/e/snippets/a", "root /srv; sendfile on;"),
        ("/e/sites/20", "server { listen 80; include snippets/a; }\n"),
    ];
    let (config, site) = read(&dump(&files));
    assert_eq!(site.position, "/e/sites/10, line 1");
    let folder = Folder::new();
    let shadow = folder.shadow(&build);
    let copy = config.copy(&site, &shadow, &[]);
    assert_eq!(copy.said, ["1 other server block is left out"]);
    folder.accepts(&copy, true);
    served(&folder, &copy, shadow.port, "/a.bin", true);
}

#[test]
fn ten_thousand_server_blocks_are_one_in_the_copy() {
    let Some(build) = build() else { return };
    let mut text = "events {}\nhttp {\n".to_owned();
    for index in 0..10_000 {
        text += &format!(
            "  upstream app{index} {{ server app{index}.invalid; }}\n  server {{\n    listen 80; \
             server_name s{index}.example;\n    \
             include snippet;\n    location /api {{ proxy_pass http://app{index}; }}\n  }}\n"
        );
    }
    text += "}\n";
    let snippet = "root /srv;\nsendfile on;\n";
    let text = dump(&[("/e/nginx.conf", &text), ("/e/snippet", snippet)]);
    let config = Config::parse(&text).unwrap();
    let site = config.site(Some("s7000.example")).unwrap();
    let off = directive("sendfile off");
    let folder = Folder::new();
    let copy = config.copy(&site, &folder.shadow(&build), &[&off]);
    assert!(copy.said[0].starts_with("9999 "), "{:?}", copy.said);
    folder.accepts(&copy, true);
    // The line is in one file, however often that is included.
    let diff = config.diff(&site, &[&off]);
    assert_eq!(diff.matches("+sendfile off;").count(), 1, "{diff}");
}

/// Words as they may be written, with their ends.
const WORDS: [&str; 24] = [
    "a;",
    "'';",
    "\"a b\";",
    "'a \"b\" c';",
    "\"a 'b' {c} ;\" ;",
    "a\\ b;",
    "a\\;b\\{c;",
    "a\"b;",
    "a'b;",
    "'a\\'b';",
    "\"a\\\"b\";",
    "a\\\\b;",
    "'\\.(gif|png)';",
    "a\\.b;",
    "'a\nb';",
    "a\\nb\\tc\\rd;",
    "'a\\nb\\td\\xe';",
    "a#b;",
    "'#a' # b;\n;",
    "a}b;",
    "\"}\";",
    "\u{e4}\\\u{e4};",
    "a(b)c;",
    "\\{a;",
];

#[test]
fn words_mean_to_nginx_what_they_mean_here() {
    let Some(build) = build() else { return };
    let folder = Folder::new();
    let shadow = folder.shadow(&build);
    let mut locations = String::new();
    for (index, word) in WORDS.iter().enumerate() {
        // Of one argument, nginx would take the first digits for a status.
        locations += &format!("location = /{index} {{ return 200 {word}\n}}\n");
    }
    let text = format!(
        "daemon off; pid {0}/pid; error_log stderr; events {{}}\nhttp {{ access_log off; \
         client_body_temp_path {0}/a; proxy_temp_path {0}/b; fastcgi_temp_path {0}/c; \
         uwsgi_temp_path {0}/d; scgi_temp_path {0}/e;\n\
         server {{ listen {1};\n{locations}}} }}\n",
        folder.path(),
        shadow.port
    );
    let config = Config::parse(&dump(&[(DISTRIBUTION, &text)])).unwrap();
    let locations = config.main.last().unwrap().children().last().unwrap().children();
    let locations: Vec<_> = locations.iter().filter(|line| line.name == "location").collect();
    assert_eq!(locations.len(), WORDS.len());
    // As it is written, and as it is rendered.
    for text in [text.clone(), zc_tune::nginx::render(&config.main)] {
        let text = Copy { text, said: Vec::new(), reads: Vec::new() };
        let _nginx = running(folder.nginx(&text, true), shadow.port);
        for (index, word) in WORDS.iter().enumerate() {
            let response = response(shadow.port, &format!("/{index}"));
            let body = response.split_once("\r\n\r\n").unwrap().1;
            assert_eq!(body, locations[index].children()[0].args[1], "{word}");
        }
    }
}
