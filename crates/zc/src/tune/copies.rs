//! Copies of a server's configuration, one for each line that is tried, and the servers that run
//! with them, all at the same time.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::super::folder::Folder;
use super::mix::FILES;
use super::reading::Nginx;
use super::stand_in;
use zc_analysis::tune::Fate;
use zc_kernel::tcp;
use zc_rig::internal::{COPIES, INTERNAL};
use zc_run::{Error, Result, escape, in_words};
use zc_servers::{Listening, ServerCopy};
use zc_tune::Change;
use zc_tune::nginx::{Config, Scheme, Shadow, Site};

/// The port of the first copy, in a network namespace that has no other.
const FIRST_PORT: u16 = 8001;

/// The most words of nginx in an answer, in characters.
const MOST_WORDS: usize = 200;

/// The part of a file of errors that is looked at, in bytes.
const MOST_SAID: u64 = 64 << 10;

/// Levels of nginx's errors: after the one nginx ends, the others it survives.
const ENDED: [&str; 1] = ["[emerg]"];
const ERRORS: [&str; 3] = ["[alert]", "[crit]", "[error]"];

/// Where nginx names the files of a copy in its errors.
const CONF: &str = "nginx.conf";

/// A sysctl that a listening socket can have for itself.
const CONGESTION_CONTROL: &str = "net.ipv4.tcp_congestion_control";
const NOTSENT_LOWAT: &str = "net.ipv4.tcp_notsent_lowat";

/// The copies of a site.
pub(super) struct Copies<'a> {
    nginx: &'a Nginx,
    config: &'a Config,
    site: &'a Site,
    folder: &'a Folder,
    /// What all of them have.
    shadow: Shadow,
    /// What differs from the live server.
    said: Vec<String>,
}

/// A state of the server: a name, and the lines that differ from the present one.
pub(super) struct CopyOf<'a> {
    pub(super) name: String,
    pub(super) changes: Vec<&'a Change>,
}

/// Servers that can be started.
pub(super) struct Started {
    /// The command that starts all of them, in the foreground.
    pub(super) command: String,
    /// The URL of each.
    pub(super) urls: Vec<String>,
    /// The file of each that it writes errors to.
    pub(super) errors: Vec<PathBuf>,
}

impl Started {
    /// What the copy of a state, by its place, said last: what ended it, else its last error.
    pub(super) fn last_words(&self, state: usize) -> Option<String> {
        let errors = self.errors.get(state)?;
        words(&tail(errors).ok()?, errors.parent()?)
    }
}

impl<'a> Copies<'a> {
    /// Copies of `site`, in `folder`.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub(super) fn new(
        nginx: &'a Nginx,
        config: &'a Config,
        site: &'a Site,
        folder: &'a Folder,
    ) -> Result<Self> {
        let as_root = rustix::process::geteuid().is_root();
        let mut shadow = Shadow {
            root: Some(folder.place(FILES).to_string_lossy().into_owned()),
            own_location: !site.answers_files,
            as_root,
            known_user: is_known(config),
            is_alone: as_root && is_alone(),
            build: nginx.build.clone(),
            ..Shadow::default()
        };
        let mut said = Vec::new();
        if site.scheme == Scheme::Https && !can_read_keys(site) {
            let certificate = site.certificates.first().map(|(path, _)| Path::new(path));
            let stand_in = stand_in::for_certificate(certificate);
            let certificate = folder.write("certificate.pem", stand_in.certificate)?;
            let key = folder.write("key.pem", stand_in.key)?;
            let name = |path: PathBuf| path.to_string_lossy().into_owned();
            shadow.certificate = Some((name(certificate), name(key)));
            said.push(format!(
                "a certificate of zc's ({}) stands in for the site's, whose key this user may not \
                 read",
                stand_in.kind
            ));
        }
        Ok(Self { nginx, config, site, folder, shadow, said })
    }

    /// What of the live server the copies have not, in sentences.
    pub(super) fn said(&self) -> Vec<String> {
        let copy = self.config.copy(self.site, &self.shadow, &[]);
        copy.said.into_iter().chain(self.said.iter().cloned()).collect()
    }

    /// Asks for files in a location of zc's own from now on. Returns whether they were in the
    /// site's until now.
    pub(super) fn use_own_location(&mut self) -> bool {
        !std::mem::replace(&mut self.shadow.own_location, true)
    }

    /// Whether a change can be tried: of a line, by the server's own check.
    pub(super) fn fate(&self, change: &Change) -> Fate {
        if let Change::Sysctl { name, value } = change {
            return match why_not(name, value) {
                Some(why) => Fate::NotTried { why },
                None => Fate::Tried,
            };
        }
        match self.check(&[change]) {
            Ok(()) => Fate::Tried,
            Err(words) => Fate::Refused { words },
        }
    }

    /// Checks that the present configuration can be copied.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): nginx refuses the copy.
    pub(super) fn must_start(&self) -> Result<()> {
        self.check(&[]).map_err(|words| {
            Error::input(
                "copy-refused",
                format!("nginx refuses a copy of the configuration: {words}"),
            )
            .help("nginx -t tells whether it takes the configuration itself")
        })
    }

    /// Has nginx check a copy, which opens its files and its port for a moment.
    fn check(&self, changes: &[&Change]) -> std::result::Result<(), String> {
        let port = free_port().map_err(|error| in_words(&error))?;
        let place = self.write("checked", port, changes).map_err(|error| error.message)?;
        let mut command = Command::new(&self.nginx.program);
        command
            .args(["-t", "-q", "-e", "stderr", "-p"])
            .arg(&place)
            .arg("-c")
            .arg(place.join(CONF));
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| in_words(&error))?;
        match output.status.success() {
            true => Ok(()),
            false => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(words(&said, &place).unwrap_or_else(|| "it says nothing".to_owned()))
            }
        }
    }

    /// Writes a copy below the folder `name`, and returns that folder.
    fn write(&self, name: &str, port: u16, changes: &[&Change]) -> Result<PathBuf> {
        let place = self.folder.make(name)?;
        let folder = place.to_string_lossy().into_owned();
        let shadow = Shadow { folder, port, ..self.shadow.clone() };
        let copy = self.config.copy(self.site, &shadow, changes);
        self.folder.write(&format!("{name}/{CONF}"), &copy.text)?;
        Ok(place)
    }

    /// Writes the copies of the states of a run.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub(super) fn start(&self, run: &str, states: &[CopyOf<'_>]) -> Result<Started> {
        let (mut copies, mut urls, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        let scheme = match self.site.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        for (port, (number, state)) in (FIRST_PORT..).zip(states.iter().enumerate()) {
            let place = self.write(&format!("{run}-{number}"), port, &state.changes)?;
            let log = place.join("error.log");
            // Of an earlier attempt.
            drop(std::fs::remove_file(&log));
            let path = |path: &Path| path.to_string_lossy().into_owned();
            let program = path(&self.nginx.program);
            let conf = path(&place.join(CONF));
            let words = [&program, "-e", &path(&log), "-p", &path(&place), "-c", &conf];
            copies.push(ServerCopy {
                words: words.map(str::to_owned).to_vec(),
                listener: listening(port, &state.changes),
                errors: log.clone(),
            });
            errors.push(log);
            urls.push(format!("{scheme}://{}:{port}/", host(self.site)));
        }
        let text = serde_json::to_string(&copies)
            .map_err(|error| Error::failed("copies-unreadable", format!("the copies: {error}")))?;
        let job = self.folder.write("copies.json", &text)?;
        let own = std::env::current_exe().map_err(|error| Error::os("find this program", error))?;
        let quoted = |path: &Path| format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"));
        let command = format!("exec {} {INTERNAL} {COPIES} {}", quoted(&own), quoted(&job));
        Ok(Started { command, urls, errors })
    }
}

/// The end of a file.
fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_SAID)))?;
    let mut bytes = Vec::new();
    file.take(MOST_SAID).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What nginx said that matters most, without time and process: the error that ended it, else its
/// last one. `place` is the folder of its configuration, which no one else knows.
fn words(said: &str, place: &Path) -> Option<String> {
    let has = |line: &str, levels: &[&str]| levels.iter().any(|level| line.contains(level));
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    let ended = lines.clone().find(|line| has(line, &ENDED));
    let line = ended.or_else(|| lines.clone().rfind(|line| has(line, &ERRORS)));
    let line = line.or_else(|| lines.next_back())?;
    // `2026/11/28 12:00:00 [emerg] 6532#6532: `.
    let line = match line.split_once("] ") {
        Some((before, words)) if before.contains('[') => words,
        _ => line,
    };
    let is_id = |id: &str| id.chars().all(|c| c.is_ascii_digit() || c == '#');
    let line = match line.split_once(": ") {
        Some((id, words)) if is_id(id) => words,
        _ => line,
    };
    let file = format!(" in {}", place.join(CONF).display());
    let line = line.split_once(&file).map_or(line, |(words, _)| words);
    Some(escape(line, MOST_WORDS))
}

/// Why a copy cannot have a value of a sysctl for itself; `None`: it can.
fn why_not(sysctl: &str, value: &str) -> Option<String> {
    match sysctl {
        CONGESTION_CONTROL => {
            let error = may_use(value).err()?;
            Some(format!("this user may not use it: {}", in_words(&error)))
        }
        NOTSENT_LOWAT if value.parse::<i32>().is_ok() => None,
        NOTSENT_LOWAT => Some(format!("{} is no number of bytes of a socket", escape(value, 40))),
        _ => Some(
            "it is one for all sockets of a network namespace, and the copies share one".to_owned(),
        ),
    }
}

/// Tries a congestion control on a socket: those that are not in tcp_allowed_congestion_control take
/// CAP_NET_ADMIN.
fn may_use(congestion: &str) -> std::io::Result<()> {
    tcp::set_congestion(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?, congestion)
}

/// The listening socket of a copy with such changes; `None`: its own.
fn listening(port: u16, changes: &[&Change]) -> Option<Listening> {
    let of = |wanted: &str| {
        changes.iter().find_map(|change| match change {
            Change::Sysctl { name, value } if name == wanted => Some(value.clone()),
            _ => None,
        })
    };
    let congestion = of(CONGESTION_CONTROL);
    let notsent_lowat = of(NOTSENT_LOWAT).and_then(|value| value.parse().ok());
    (congestion.is_some() || notsent_lowat.is_some()).then_some(Listening {
        port,
        congestion,
        notsent_lowat,
    })
}

/// The name that a copy is asked by: the site's, where it is one.
fn host(site: &Site) -> &str {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    let is_name = site.name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && site.name.chars().all(is_of_name);
    if is_name { &site.name } else { "localhost" }
}

fn can_read_keys(site: &Site) -> bool {
    let can_read = |path: &str| File::open(path).is_ok();
    !site.certificates.is_empty()
        && site.certificates.iter().all(|(certificate, key)| can_read(certificate) && can_read(key))
}

/// A port that nobody listens on.
fn free_port() -> std::io::Result<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr().map(|address| address.port())
}

/// Whether the user and the group of the configuration's workers exist.
fn is_known(config: &Config) -> bool {
    let Some(user) = config.main.iter().find(|directive| directive.name == "user") else {
        return true;
    };
    let has = |file: &str, name: &String| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().any(|line| line.split(':').next() == Some(name))
    };
    user.args.first().is_some_and(|name| has("/etc/passwd", name))
        && user.args.get(1).or(user.args.first()).is_some_and(|name| has("/etc/group", name))
}

/// Whether this user namespace has one user alone.
fn is_alone() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let users = map.lines().filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    users.sum::<u64>() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_of_the_workers_is_known_if_it_and_its_group_are() {
        let is = |line: &str| {
            let dump = format!("# configuration file /e/nginx.conf:\n{line}\n");
            is_known(&Config::parse(&dump).unwrap())
        };
        assert!(is("events {}") && is("user root;") && is("user root root;"));
        assert!(!is("user no-such-user-of-zc;") && !is("user root no-such-group-of-zc;"));
    }

    #[test]
    fn the_words_that_matter_are_those_that_ended_nginx() {
        let place = Path::new("/t/checked");
        for (said, expected) in [
            (
                "nginx: [emerg] \"sendfile_max_chunk\" directive invalid value in \
                 /t/checked/nginx.conf:7\nnginx: configuration file test failed\n",
                Some("\"sendfile_max_chunk\" directive invalid value"),
            ),
            (
                "2026/11/28 12:00:00 [emerg] 65#65: bind() to 0.0.0.0:80 failed (98: in use)\n\
                 2026/11/28 12:00:03 [emerg] 65#65: still could not bind()\n",
                Some("bind() to 0.0.0.0:80 failed (98: in use)"),
            ),
            (
                "2026/11/28 12:00:00 [error] 7#7: *1 open() \"/a\" failed\n\
                 2026/11/28 12:00:09 [alert] 6#6: worker process 7 exited on signal 11\n\
                 2026/11/28 12:00:09 [notice] 6#6: start worker process 8\n",
                Some("worker process 7 exited on signal 11"),
            ),
            ("listen at 0.0.0.0:8003: in use\n\n", Some("listen at 0.0.0.0:8003: in use")),
            ("\n", None),
        ] {
            assert_eq!(words(said, place).as_deref(), expected, "{said}");
        }
    }
}
