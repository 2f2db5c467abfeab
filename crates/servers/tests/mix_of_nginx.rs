//! A real server answers the requests of a mix as they are expected to be answered, and one whose
//! configuration changes what is sent is found by the check.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use zc_access_log::{AskedKind, AskedMix, AskedOptions};
use zc_load::{Load, LoadOptions, Origin, Pace, Reuse, Targets, Trust, monotonic_ns};
use zc_run::Error;
use zc_servers::{mix_of_root, write_mix};

/// Far longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

/// An nginx with one worker, which is another user's where this one is root. It ends with this.
struct Nginx {
    child: Child,
    address: SocketAddr,
}

impl Nginx {
    /// Serves `folder` with these more lines for its location; `None` if there is no nginx here.
    fn start(folder: &Path, lines: &str) -> Option<Self> {
        let program = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"]
            .into_iter()
            .find(|path| Path::new(path).exists())?;
        // nginx takes over a socket that it inherits (its way of upgrading), so the port is never
        // free for others. Without a master, nginx 1.22 crashes on it.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        rustix::io::fcntl_setfd(&listener, rustix::io::FdFlags::empty()).unwrap();
        let own = folder.join("own");
        std::fs::create_dir_all(&own).unwrap();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {}/{name};\n", own.display()))
            .concat();
        let text = format!(
            "daemon off;\nworker_processes 1;\npid {own}/pid;\nerror_log {own}/error.log;\n\
             events {{}}\nhttp {{\n{temporary}access_log off;\nserver {{\nlisten {address};\n\
             root {folder};\nlocation / {{\n{lines}\n}}\n}}\n}}\n",
            own = own.display(),
            folder = folder.display()
        );
        let file = own.join("nginx.conf");
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(program);
        command.arg("-c").arg(&file).arg("-p").arg(&own).stdin(Stdio::null());
        command.arg("-e").arg(own.join("error.log"));
        command.env("NGINX", format!("{};", std::os::fd::AsRawFd::as_raw_fd(&listener)));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Some(Self { child, address })
    }

    fn load(&self, targets: Targets) -> Load {
        let origin = Origin::at("http://site.test/", self.address).unwrap();
        let options = LoadOptions {
            origins: vec![origin.asked_for(targets).unwrap()],
            connections: 3,
            reuse: Reuse::KeepAlive,
            source: None,
            headers: Vec::new(),
            trust: Trust::System,
            timeout: LIMIT,
        };
        Load::start(options, || Ok(())).unwrap()
    }

    fn check(&self, targets: &Targets) -> Result<(), Error> {
        self.load(targets.clone()).check(0)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Killed, it would leave its worker behind.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// A mix with every kind.
fn mix() -> AskedMix {
    let mix = AskedMix::usual(&AskedOptions::usual(11));
    assert!(AskedKind::ALL.into_iter().all(|kind| mix.count_of(kind) > 0));
    mix
}

#[test]
fn nginx_answers_all_kinds_as_expected_from_files_of_zc_and_of_a_site() {
    let folder = tempfile::tempdir().unwrap();
    let mix = mix();
    let made = write_mix(&mix, folder.path(), "/zc-tune/", 3).unwrap();
    let Some(nginx) = Nginx::start(folder.path(), "") else {
        eprintln!("skipped: no nginx here");
        return;
    };
    nginx.check(&made.targets).unwrap();
    // The files that were made are a site's as well.
    let found = mix_of_root(&mix, &folder.path().join("zc-tune"), "/zc-tune/").unwrap();
    assert_eq!(found.body_bytes, made.body_bytes);
    nginx.check(&found.targets).unwrap();

    let load = nginx.load(made.targets);
    let cycles = 4;
    load.go_for(0, Pace::Unpaced, monotonic_ns(), cycles * 256);
    let begin = Instant::now();
    while load.counts().responses < cycles * 256 {
        assert!(begin.elapsed() < LIMIT, "{:?}", load.counts());
        std::thread::sleep(Duration::from_millis(1));
    }
    let phase = load.pause().unwrap();
    assert_eq!(phase.fault(), None);
    assert_eq!(phase.counts.body_bytes, cycles * made.body_bytes);
    assert_eq!(phase.counts.reconnects, 0);
    let statuses: Vec<u16> = phase.statuses.keys().copied().collect();
    assert_eq!(statuses, [200, 206, 304]);
}

#[test]
fn a_line_that_changes_what_is_sent_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let made = write_mix(&mix(), folder.path(), "/zc-tune/", 3).unwrap();
    let all = &AskedKind::ALL[..];
    for (lines, says, others) in [
        ("max_ranges 0;", "(Range: ", &[AskedKind::Range][..]),
        ("if_modified_since off;", "(If-Modified-Since: ", &[AskedKind::NotModified]),
        ("return 200 x;", "status 200 with a body of 1 bytes", all),
        ("return 404;", "status 404", all),
    ] {
        let Some(nginx) = Nginx::start(folder.path(), lines) else {
            eprintln!("skipped: no nginx here");
            return;
        };
        let load = nginx.load(made.targets.clone());
        let error = load.check(0).unwrap_err();
        assert_eq!(error.id, "unexpected-response", "{lines}");
        assert!(error.message.contains(says), "{lines} {error}");
        let differences = load.differences(0).unwrap();
        let kinds: BTreeSet<_> = differences.iter().map(|(at, _)| made.kinds[*at]).collect();
        assert!(kinds.into_iter().eq(others.iter().copied()), "{lines}");
    }
}
