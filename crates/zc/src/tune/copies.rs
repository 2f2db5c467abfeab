//! Copies of a server's configuration, one for each line that is tried, and the servers that run
//! with them, all at the same time.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::super::folder::Folder;
use super::mix::FILES;
use super::server::Server;
use super::stand_in;
use zc_analysis::tune::Fate;
use zc_kernel::tcp;
use zc_rig::internal::{COPIES, INTERNAL};
use zc_rig::link::receiver_of_veth;
use zc_run::{Error, Result, escape, in_words, shell_word};
use zc_servers::{Listening, OriginFiles, ServerCopy};
use zc_tune::{Change, Configured, OWN_LOCATION, Scheme, Shadow, Site};

/// The port of the first copy, in a network namespace that has no other.
const FIRST_PORT: u16 = 8001;

/// The port of what answers behind copies of a proxy, in the load's network namespace.
const ORIGIN_PORT: u16 = 8000;

/// The part of a file of errors that is looked at, in bytes.
const MOST_SAID: u64 = 64 << 10;

/// A sysctl that a listening socket can have for itself.
const CONGESTION_CONTROL: &str = "net.ipv4.tcp_congestion_control";
const NOTSENT_LOWAT: &str = "net.ipv4.tcp_notsent_lowat";

/// The copies of a site.
pub(super) struct Copies<'a> {
    server: &'a dyn Server,
    configured: &'a dyn Configured,
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
pub(super) struct Started<'a> {
    server: &'a dyn Server,
    /// The command that starts all of them, in the foreground.
    pub(super) command: String,
    /// The URL of each.
    pub(super) urls: Vec<String>,
    /// The file of each that it writes errors to.
    pub(super) errors: Vec<PathBuf>,
}

impl Started<'_> {
    /// What the copy of a state, by its place, said last: what ended it, else its last error. It
    /// begins with the server's name.
    pub(super) fn last_words(&self, state: usize) -> Option<String> {
        let errors = self.errors.get(state)?;
        let words = self.server.last_words(&tail(errors).ok()?, errors.parent()?)?;
        Some(format!("{} said: {words}", self.server.name()))
    }
}

impl<'a> Copies<'a> {
    /// Copies of the site of a configuration, in `folder`.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub(super) fn new(
        server: &'a dyn Server,
        configured: &'a dyn Configured,
        folder: &'a Folder,
    ) -> Result<Self> {
        let (site, files) = (configured.site(), folder.place(FILES));
        let as_root = rustix::process::geteuid().is_root();
        let mut shadow = Shadow {
            root: Some(files.to_string_lossy().into_owned()),
            is_link: files.join(OWN_LOCATION.trim_matches('/')).is_symlink(),
            own_location: !site.answers_files,
            as_root,
            known_user: configured.user().is_none_or(|(user, group)| is_known(&user, &group)),
            is_alone: as_root && is_alone(),
            build: server.build().to_owned(),
            origin: server
                .is_proxy()
                .then(|| SocketAddr::new(receiver_of_veth(), ORIGIN_PORT).to_string()),
            ..Shadow::default()
        };
        let mut said = Vec::new();
        if site.scheme == Scheme::Https && !can_read_keys(site) {
            let certificate = site.certificates.first().map(|(path, _)| Path::new(path));
            let stand_in = stand_in::for_certificate(certificate);
            // HAProxy has both in one file; others pass over the key in it.
            let both = [stand_in.certificate, stand_in.key].concat();
            let certificate = folder.write("certificate.pem", &both)?;
            let key = folder.write("key.pem", stand_in.key)?;
            let name = |path: PathBuf| path.to_string_lossy().into_owned();
            shadow.certificate = Some((name(certificate), name(key)));
            let whose = match site.certificates.is_empty() {
                true => "which the server gets by itself",
                false => "whose key this user may not read",
            };
            let kind = stand_in.kind;
            said.push(format!("a certificate of zc's ({kind}) stands in for the site's, {whose}"));
        }
        Ok(Self { server, configured, folder, shadow, said })
    }

    /// What of the live server the copies have not, in sentences.
    pub(super) fn said(&self) -> Vec<String> {
        let copy = self.configured.copy(&self.shadow, &[]);
        copy.said.into_iter().chain(self.said.iter().cloned()).collect()
    }

    /// What answers behind the copies of a proxy.
    pub(super) fn origin(&self) -> Option<OriginFiles> {
        let root = self.folder.place(FILES);
        self.server.is_proxy().then_some(OriginFiles { root, port: ORIGIN_PORT })
    }

    /// Asks for files in a location of zc's own from now on. Returns whether they were in the
    /// site's until now.
    pub(super) fn use_own_location(&mut self) -> bool {
        !std::mem::replace(&mut self.shadow.own_location, true)
    }

    /// Whether a change can be tried: of a line, by the server's own check.
    pub(super) fn fate(&self, change: &Change) -> Fate {
        if matches!(change, Change::Variable { .. }) {
            return Fate::Tried;
        }
        if let Change::Sysctl { name, value } = change {
            let why = self.server.why_no_socket().map(str::to_owned);
            return match why.or_else(|| why_not(name, value)) {
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
    /// [`ErrorKind::Input`](zc_run::ErrorKind): the server refuses the copy.
    pub(super) fn must_start(&self) -> Result<()> {
        self.check(&[]).map_err(|words| {
            let name = self.server.name();
            let message = format!("{name} refuses a copy of the configuration: {words}");
            let own_check = self.server.own_check();
            Error::input("copy-refused", message)
                .help(format!("{own_check} tells whether it takes the configuration itself"))
        })
    }

    /// Has the server check a copy.
    fn check(&self, changes: &[&Change]) -> std::result::Result<(), String> {
        let port = free_port().map_err(|error| in_words(&error))?;
        let place = self.write("checked", port, changes).map_err(|error| error.message)?;
        let output = self.server.check(&place).stdin(Stdio::null()).output();
        let output = output.map_err(|error| in_words(&error))?;
        match output.status.success() {
            true => Ok(()),
            false => {
                let said = String::from_utf8_lossy(&output.stderr);
                let words = self.server.last_words(&said, &place);
                Err(words.unwrap_or_else(|| "it says nothing".to_owned()))
            }
        }
    }

    /// Writes a copy below the folder `name`, and returns that folder.
    fn write(&self, name: &str, port: u16, changes: &[&Change]) -> Result<PathBuf> {
        let place = self.folder.make(name)?;
        let folder = place.to_string_lossy().into_owned();
        let shadow = Shadow { folder, port, ..self.shadow.clone() };
        let copy = self.configured.copy(&shadow, changes);
        self.folder.write(&format!("{name}/{}", self.server.conf()), &copy.text)?;
        Ok(place)
    }

    /// Writes the copies of the states of a run.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub(super) fn start(&self, run: &str, states: &[CopyOf<'_>]) -> Result<Started<'a>> {
        let site = self.configured.site();
        let (mut copies, mut urls, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        let scheme = match site.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        for (port, (number, state)) in (FIRST_PORT..).zip(states.iter().enumerate()) {
            let place = self.write(&format!("{run}-{number}"), port, &state.changes)?;
            let log = place.join("error.log");
            // Of an earlier attempt.
            drop(std::fs::remove_file(&log));
            copies.push(ServerCopy {
                words: self.server.start(&place, &log),
                listener: listening(port, &state.changes),
                variables: variables(&state.changes),
                errors: log.clone(),
            });
            errors.push(log);
            urls.push(format!("{scheme}://{}:{port}/", host(site)));
        }
        let text = serde_json::to_string(&copies)
            .map_err(|error| Error::failed("copies-unreadable", format!("the copies: {error}")))?;
        let job = self.folder.write("copies.json", &text)?;
        let own = std::env::current_exe().map_err(|error| Error::os("find this program", error))?;
        let quoted = |path: &Path| shell_word(&path.to_string_lossy());
        let command = format!("exec {} {INTERNAL} {COPIES} {}", quoted(&own), quoted(&job));
        Ok(Started { server: self.server, command, urls, errors })
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

/// The variables of a copy with such changes.
fn variables(changes: &[&Change]) -> Vec<(String, String)> {
    let of = |change: &&Change| match change {
        Change::Variable { name, value } => Some((name.clone(), value.clone())),
        _ => None,
    };
    changes.iter().filter_map(of).collect()
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

/// Whether a user and a group of workers exist. Apache names them by number, too: `#33`.
fn is_known(user: &str, group: &str) -> bool {
    let has = |file: &str, name: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        name.starts_with('#') || text.lines().any(|line| line.split(':').next() == Some(name))
    };
    has("/etc/passwd", user) && has("/etc/group", group)
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
        assert!(is_known("root", "root") && is_known("#65534", "#65534"));
        assert!(!is_known("no-such-user-of-zc", "root"));
        assert!(!is_known("root", "no-such-group-of-zc"));
    }
}
