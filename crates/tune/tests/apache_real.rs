//! Copies of configurations, given to the Apache of this machine as whoever runs the tests.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use zc_run::{Error, Result};
use zc_tune::apache::{Apache, Config, Start};
use zc_tune::{Candidate, Change, Configured, Facts, Files, Offer, Shadow};

const PROGRAM: &str = "/usr/sbin/apache2";
const MODULES: &str = "/usr/lib/apache2/modules";

/// What Apache prints about how it was built, or `None`, which is said.
fn build() -> Option<String> {
    if !Path::new(PROGRAM).exists() || !Path::new(MODULES).exists() {
        println!("skipped: no apache2");
        return None;
    }
    let print = |option: &str| {
        let output = Command::new(PROGRAM).args(["-f", "/dev/null", option]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    Some(["-V", "-l"].map(print).concat())
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

/// A configuration of a live server as distributions have it, and a folder for a copy of it.
struct Place {
    folder: TempDir,
    build: String,
}

impl Place {
    fn new() -> Option<Self> {
        let build = build()?;
        let place = Self { folder: tempfile::tempdir().unwrap(), build };
        fs::set_permissions(place.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["mods", "sites", "live", "copy/files/zc-tune", "www"] {
            fs::create_dir_all(place.path(name)).unwrap();
        }
        // Workers are another user's where root tests.
        fs::set_permissions(place.path("copy"), fs::Permissions::from_mode(0o777)).unwrap();
        for name in ["www/a.bin", "copy/files/a.bin", "copy/files/zc-tune/a.bin"] {
            fs::write(place.path(name), "the file\n").unwrap();
        }
        let modules = [
            "mpm_event",
            "authz_core",
            "authz_host",
            "access_compat",
            "alias",
            "dir",
            "mime",
            "status",
            "ssl",
            "socache_shmcb",
            "rewrite",
            "headers",
        ];
        for name in modules {
            let line = format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n");
            fs::write(place.path(&format!("mods/{name}.load")), line).unwrap();
        }
        let live = place.path("live");
        let www = place.path("www");
        let main = format!(
            "Define RUN {live}\nDefaultRuntimeDir {live}\nPidFile ${{RUN}}/pid\n\
             Mutex file:{live} default\nTimeout 300\nKeepAlive On\nMaxKeepAliveRequests 100\n\
             User www-data\nGroup www-data\nErrorLog ${{RUN}}/error.log\n\
             IncludeOptional {0}/*.load\nListen 127.0.0.1:1\n<IfModule ssl_module>\n\
             Listen 127.0.0.1:2\n</IfModule>\n<IfModule mpm_event_module>\nStartServers 1\n\
             ThreadsPerChild 25\nMaxRequestWorkers 50\n</IfModule>\n<Directory />\n\
             Options FollowSymLinks\nAllowOverride None\nRequire all denied\n</Directory>\n\
             <Directory {www}>\nOptions Indexes FollowSymLinks\nAllowOverride All\n\
             Require all granted\n</Directory>\nTypesConfig /dev/null\n\
             LogFormat \"%h %l %u %t \\\"%r\\\" %>s %O\" common\n\
             CustomLog \"${{RUN}}/other.log\" common\nExtendedStatus On\n\
             IncludeOptional {1}/*.conf\n",
            place.path("mods"),
            place.path("sites")
        );
        fs::write(place.path("apache2.conf"), main).unwrap();
        let site = format!(
            "<VirtualHost *:1>\n\tServerName a.test\n\tDocumentRoot {www}\n\
             \tErrorLog ${{RUN}}/a-error.log\n\tCustomLog ${{RUN}}/access.log common\n\
             \tRewriteEngine On\n\tProxyPass /app http://b.test/\n\
             </VirtualHost>\n<VirtualHost *:2>\n\tSSLEngine on\n\
             \tSSLCertificateFile /none.pem\n</VirtualHost>\n"
        );
        fs::write(place.path("sites/a.conf"), site).unwrap();
        Some(place)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn read(&self) -> Apache {
        let start = Start { build: self.build.clone(), ..Start::default() };
        let config = Config::read(&self.path("apache2.conf"), &start, &mut Disk).unwrap();
        Apache::new(config, None).unwrap()
    }

    fn shadow(&self) -> Shadow {
        let is_root = fs::metadata(self.folder.path()).unwrap().uid() == 0;
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        Shadow {
            folder: self.path("copy"),
            port: free.local_addr().unwrap().port(),
            root: Some(self.path("copy/files")),
            as_root: is_root,
            ..Shadow::default()
        }
    }

    /// Apache with a copy.
    fn apache(&self, text: &str) -> Command {
        let conf = self.path("copy/apache.conf");
        fs::write(&conf, text).unwrap();
        let mut command = Command::new(PROGRAM);
        command.args(["-f", &conf]);
        command
    }

    /// What Apache says of a copy; `None`: it takes it.
    fn refused(&self, text: &str) -> Option<String> {
        let output = self.apache(text).arg("-t").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (!output.status.success()).then_some(said)
    }

    /// The names of files of the live server.
    fn live(&self) -> usize {
        fs::read_dir(self.path("live")).unwrap().count()
    }
}

fn tried(configured: &Apache) -> Vec<Candidate> {
    let offers = configured.candidates(&Facts::default());
    offers.iter().filter_map(Offer::candidate).cloned().collect()
}

#[test]
fn the_files_are_those_that_apache_reads() {
    let Some(place) = Place::new() else { return };
    // It names certificates that are not there.
    fs::write(place.path("sites/a.conf"), "<IfModule x>\nInclude none\n</IfModule>\n").unwrap();
    let main = place.path("apache2.conf");
    let output =
        Command::new(PROGRAM).args(["-t", "-D", "DUMP_INCLUDES", "-f", &main]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let path =
        |line: &str| Some(line.trim_start().strip_prefix('(')?.split_once(") ")?.1.to_owned());
    let dumped: Vec<String> = printed.lines().filter_map(path).collect();
    assert!(dumped.len() > 10, "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let start = Start { build: place.build.clone(), ..Start::default() };
    let config = Config::read(&main, &start, &mut Disk).unwrap();
    let files: Vec<&str> = config.files.iter().map(|file| &*file.path).collect();
    assert_eq!(files, dumped);
}

#[test]
fn apache_takes_a_copy_with_every_line_that_is_tried() {
    let Some(place) = Place::new() else { return };
    let configured = place.read();
    let candidates = tried(&configured);
    let names: Vec<&str> = candidates.iter().map(|candidate| candidate.name.as_str()).collect();
    for name in ["EnableSendfile On", "EnableMMAP Off", "AllowOverride None", "BufferedLogs On"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let is_directive =
        |candidate: &&Candidate| matches!(candidate.change, Change::Directive { .. });
    let changes: Vec<&Change> =
        candidates.iter().filter(is_directive).map(|candidate| &candidate.change).collect();
    let shadow = place.shadow();
    for change in changes.iter().map(|change| vec![*change]).chain([Vec::new(), changes.clone()]) {
        let copy = configured.copy(&shadow, &change);
        let said = place.refused(&copy.text);
        assert_eq!(said, None, "{change:?}\n{}", copy.text);
    }
    let bad = configured.try_line("EnableSendfile Perhaps", &Facts::default()).unwrap();
    let said = place.refused(&configured.copy(&shadow, &[&bad.change]).text).unwrap();
    assert!(said.contains("must be 'on' or 'off'"), "{said}");
    assert_eq!(place.live(), 0);
}

/// An Apache in the foreground, ended when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Its workers end with it when it is asked to.
        let pid = self.0.id().to_string();
        let _ = Command::new("kill").arg(&pid).status();
        let _ = self.0.wait();
    }
}

fn answer(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

#[test]
fn a_copy_serves_its_files_and_touches_nothing_of_the_live_server() {
    let Some(place) = Place::new() else { return };
    let configured = place.read();
    for own_location in [false, true] {
        let shadow = Shadow { own_location, ..place.shadow() };
        let copy = configured.copy(&shadow, &[]);
        let mut command = place.apache(&copy.text);
        command.args(["-DFOREGROUND", "-E", &place.path("copy/error.log")]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let running = Running(command.spawn().unwrap());
        let until = Instant::now() + Duration::from_secs(60);
        let answer = loop {
            match answer(shadow.port, "/zc-tune/a.bin") {
                Some(answer) => break answer,
                None => assert!(Instant::now() < until, "{}", copy.text),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let is_whole = answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nthe file\n");
        assert!(is_whole, "{answer}\n{}", copy.text);
        drop(running);
        let path = place.path("copy/access-2.log");
        let log = fs::read_to_string(&path).unwrap();
        assert!(log.contains("GET /zc-tune/a.bin"), "{log}");
        // The next copy's is its own.
        fs::remove_file(path).unwrap();
        assert_eq!(place.live(), 0);
    }
}
