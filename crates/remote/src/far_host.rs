//! Shared by the tests of `--via`: a folder that plays another machine, and a stand-in for the zc
//! there.

use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::carry::{Carry, Program};
use super::connection::{Connection, Received};
use super::handshake::VERSION;
use super::server::Duties;
use super::stdio;
use super::via::{OwnFile, Start, Via};
use zc_kernel::spawn::{pidfd, wait_readable};
use zc_run::{Error, Result};

pub(super) const SOON: Duration = Duration::from_secs(20);
const IN_CHILD: &str = "ZC_TEST_SERVER";

/// The shells that `sh` may be.
pub(super) const SHELLS: [&str; 7] = ["dash", "bash", "busybox", "mksh", "ksh93", "zsh", "yash"];

/// Path of a program, if it is here.
pub(super) fn installed(name: &str) -> Option<String> {
    let found = ["/bin", "/usr/bin"].iter().map(|bin| format!("{bin}/{name}"));
    let found = found.into_iter().find(|path| Path::new(path).exists());
    if found.is_none() {
        eprintln!("skipped: {name} is not here");
    }
    found
}

/// A folder that plays another machine: `bin` is on its PATH, it is the user's home, and `tmp` is
/// for temporary files.
pub(super) struct Host(tempfile::TempDir);

impl Host {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["bin", ".cargo/bin", "tmp"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self(folder)
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// Writes a script by a child process. If this process had the file open for writing, a child
    /// started by another test could inherit that descriptor, and the script could not be run
    /// (ETXTBSY).
    pub(super) fn script(&self, name: &str, text: &str) -> &Self {
        let mut writer = Command::new("sh");
        writer
            .args(["-c", "cat >\"$0\" && chmod +x \"$0\"", &self.path(name)])
            .stdin(Stdio::piped());
        let mut writer = writer.spawn().unwrap();
        writer.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{text}\n").as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
        self
    }

    /// Makes `sh` and these programs of this machine the only ones of the host.
    pub(super) fn with_only(&self, shell: &str, programs: &[&str]) -> &Self {
        std::os::unix::fs::symlink(shell, self.path("bin/sh")).unwrap();
        self.with(programs)
    }

    /// Adds programs of this machine.
    pub(super) fn with(&self, programs: &[&str]) -> &Self {
        for name in programs {
            let path = installed(name).unwrap();
            std::os::unix::fs::symlink(path, self.path(&format!("bin/{name}"))).unwrap();
        }
        self
    }

    /// Writes a script that behaves like zc of `version`.
    pub(super) fn zc(&self, name: &str, version: &str) -> &Self {
        self.script(name, &stand_in(version))
    }

    /// A command that leads to this host, which has the programs of this machine, but no zc that is
    /// installed here.
    pub(super) fn command(&self) -> String {
        let mut path = "/usr/bin:/bin".to_owned();
        if path.split(':').any(|bin| Path::new(bin).join("zc").exists()) {
            path = self.path("all");
            Self::link_all_but_zc(Path::new(&path));
        }
        format!("{} PATH={}:{path}", self.environment(), self.path("bin"))
    }

    fn link_all_but_zc(folder: &Path) {
        if std::fs::create_dir(folder).is_err() {
            return; // it is there
        }
        for entry in ["/bin", "/usr/bin"].iter().flat_map(|bin| std::fs::read_dir(bin).unwrap()) {
            let entry = entry.unwrap();
            let link = folder.join(entry.file_name());
            if entry.file_name() != "zc" && !link.is_symlink() {
                std::os::unix::fs::symlink(entry.path(), link).unwrap();
            }
        }
    }

    /// The same, with only those programs that are in `bin`.
    pub(super) fn bare_command(&self) -> String {
        format!("{} PATH={}", self.environment(), self.path("bin"))
    }

    fn environment(&self) -> String {
        format!("/usr/bin/env -i HOME={} TMPDIR={}", self.0.path().display(), self.path("tmp"))
    }

    /// The files that are left where temporary ones belong.
    pub(super) fn left(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("tmp")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn stand_in(version: &str) -> String {
    let test = std::env::current_exe().unwrap().display().to_string();
    format!(
        "case $1 in --version) echo 'zc {version}';; serve) {IN_CHILD}=$0 exec '{test}' --exact \
         far_host::what_runs_in_a_child --nocapture --test-threads 1;; esac"
    )
}

/// The stand-in for zc: the handshake, then its name and process id, then it waits for the end.
#[test]
fn what_runs_in_a_child() {
    let Ok(name) = std::env::var(IN_CHILD) else { return };
    let mut connection =
        stdio::welcome(stdio::connection().unwrap(), SOON, &Default::default()).unwrap();
    connection.send(&(name, std::process::id())).unwrap();
    assert!(matches!(connection.line(10, SOON).unwrap(), Received::Closed));
}

/// A program to carry that behaves like zc, with as many bytes behind it that no shell may touch:
/// every value in no order, which does not shrink.
pub(super) fn program(noise_bytes: usize) -> Carry {
    carried_script(&stand_in(VERSION), noise_bytes)
}

/// The same with a script of its own.
pub(super) fn carried_script(script: &str, noise_bytes: usize) -> Carry {
    let mut bytes = format!("#!/bin/sh\n{script}\nexit\n").into_bytes();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    bytes.extend(
        std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .take(noise_bytes),
    );
    Carry::Named(Program::of_bytes(&bytes))
}

/// Starts a server without an interruption.
pub(super) fn start(
    command: &str,
    own_zc: Option<&OwnFile>,
    carry: &Carry,
    patience: Duration,
) -> Result<(Via, Connection)> {
    let duties = Duties::Usual;
    let still_wanted = &|| Ok(());
    let start = Start { command, carry, duties, patience, still_wanted, carrying: &mut |_| () };
    Via::start_with(start, own_zc)
}

/// Starts a server, and returns its file and its process id.
pub(super) fn started(command: &str, own_zc: Option<&OwnFile>) -> (Via, Connection, String, i32) {
    answering(start(command, own_zc, &Carry::Never, SOON).unwrap())
}

/// The same with a server that was started.
pub(super) fn answering(
    (via, mut connection): (Via, Connection),
) -> (Via, Connection, String, i32) {
    match connection.receive::<(String, i32)>(1000, SOON).unwrap() {
        Received::Message((name, pid)) => (via, connection, name, pid),
        other => panic!("{other:?}"),
    }
}

pub(super) fn refused(command: &str, own_zc: Option<&OwnFile>, patience: Duration) -> Error {
    start(command, own_zc, &Carry::Never, patience).map(drop).unwrap_err()
}

/// Whether a process ends. (A killed one may take a moment, and its new parent may have waited for
/// it.)
pub(super) fn ends(pid: i32) -> bool {
    pidfd(pid).is_ok_and(|ended| wait_readable(&[ended.as_fd()], Some(SOON)).unwrap() == [true])
        || pidfd(pid).is_err()
}
