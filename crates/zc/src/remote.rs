//! The other machine of `zc run`: `--remote`, `--via`, and the token.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueHint;

use super::known::duration;
use super::tell;
use zc_kernel::names::address as find_address;
use zc_kernel::process::hide_in_command_line;
use zc_kernel::stop::Stop;
use zc_measure::session::{RemoteEnd, wait_for_far_end};
use zc_remote::PORT;
use zc_remote::carry::{Carry, Program};
use zc_remote::secret::Secret;
use zc_rig::privileges::Work;
use zc_run::address::{in_brackets, is_ipv6};
use zc_run::{Error, Result, escape, in_words};

/// The bounds of `--wait-for-remote`: a second, a week.
const SHORTEST_WAIT_NS: u64 = 1_000_000_000;
const LONGEST_WAIT_NS: u64 = 7 * 24 * 3600 * 1_000_000_000;

/// How the machine is reached whose kernel is changed: it is away for a while, and nobody can be
/// asked.
const SSH: &str = "ssh -o BatchMode=yes -o ConnectTimeout=10";

/// The environment variable that may have the token.
const TOKEN_VARIABLE: &str = "ZC_TOKEN";

/// Arguments that name another machine.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Another machine")]
pub(super) struct RemoteArgs {
    /// Another machine that takes the bytes, or that asks a server: HOST, where `zc serve` runs; to
    /// take bytes also iperf3://HOST or discard://HOST:PORT
    #[arg(long, value_name = "HOST[:PORT]", value_hint = ValueHint::Hostname,
          conflicts_with = "via")]
    remote: Option<String>,
    /// The token that `zc serve` there has printed; ZC_TOKEN and --token-file do not show it to the
    /// users of this machine
    #[arg(long, value_name = "TOKEN", requires = "remote", conflicts_with = "token_file")]
    token: Option<String>,
    /// A file whose first line is the token that `zc serve` there was given
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "remote")]
    token_file: Option<PathBuf>,
    /// Try again until somebody listens there, at most this long and outside of the budget
    /// [default: once]
    #[arg(long, value_name = "DURATION", requires = "remote", allow_hyphen_values = true,
          value_parser = duration(SHORTEST_WAIT_NS..=LONGEST_WAIT_NS))]
    wait_for_remote: Option<u64>,
    #[command(flatten)]
    via: ViaArgs,
}

/// Arguments for another machine that a command leads to.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Another machine")]
pub(super) struct ViaArgs {
    /// A command that gives a stream of bytes to a shell on another machine: 'ssh HOST'. A static
    /// zc carries itself there if there is none
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    via: Option<String>,
    /// A zc to carry where --via finds none, for instance of another architecture [default: this
    /// one]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "via")]
    carry: Option<PathBuf>,
    /// Carry no zc to the other machine: one must be there
    #[arg(long, requires = "via", conflicts_with = "carry")]
    no_carry: bool,
}

impl ViaArgs {
    /// Whether there is such a machine.
    pub(super) fn is_given(&self) -> bool {
        self.via.is_some()
    }

    /// The far end, whose address for data is `address` or the first that works.
    ///
    /// # Errors
    /// An argument is not valid.
    pub(super) fn end(&self, address: Option<SocketAddr>) -> Result<Option<RemoteEnd>> {
        let Some(command) = &self.via else { return Ok(None) };
        if command.trim().is_empty() {
            return Err(Error::usage("command-missing", "--via: there is no command")
                .help("--via 'ssh HOST'"));
        }
        Ok(Some(RemoteEnd::Via { command: command.clone(), address, carry: self.carry()? }))
    }

    fn carry(&self) -> Result<Carry> {
        Ok(match &self.carry {
            Some(file) => Carry::Named(Program::of_file(file)?),
            None if self.no_carry => Carry::Never,
            None => Carry::Own,
        })
    }
}

impl RemoteArgs {
    /// Whether there is another machine.
    pub(super) fn is_given(&self) -> bool {
        self.remote.is_some() || self.is_by_command()
    }

    /// Whether it is reached by a command of the user.
    pub(super) fn is_by_command(&self) -> bool {
        self.via.is_given()
    }

    /// The command that leads to the machine whose kernel is changed, and what is carried there.
    ///
    /// # Errors
    /// An argument is not valid.
    pub(super) fn machine(&self) -> Result<Option<(String, Carry)>> {
        let command = match (&self.remote, &self.via.via) {
            (Some(host), _) => format!("{SSH} {}", ssh_host(host)?),
            (None, Some(command)) => command.trim().to_owned(),
            (None, None) => return Ok(None),
        };
        if command.is_empty() {
            return Err(Error::usage("command-missing", "--via: there is no command")
                .help("--via 'ssh root@HOST'"));
        }
        Ok(Some((command, self.via.carry()?)))
    }

    /// The steps towards another machine, `end`; `None` without one.
    pub(super) fn towards(
        &self,
        end: Option<&RemoteEnd>,
        starts_commands: bool,
        realtime: bool,
    ) -> Option<Towards> {
        let address = end?.host_and_port();
        let awaited = self.wait_for_remote.zip(address).map(|(at_most_ns, (host, port))| {
            (host.to_owned(), port, Duration::from_nanos(at_most_ns))
        });
        let work = Work::TowardsFarEnd { starts_commands, realtime };
        Some(Towards { work, awaited })
    }

    /// The far end that the arguments name. `address` is for data to one that a command leads to.
    ///
    /// # Errors
    /// An argument is not valid, or the token cannot be read.
    pub(super) fn end(&self, address: Option<SocketAddr>) -> Result<Option<RemoteEnd>> {
        let Some(text) = &self.remote else { return self.via.end(address) };
        let with_token = self.token.is_some() || self.token_file.is_some();
        let foreign = |rest: &str, port| {
            if with_token {
                return Err(Error::usage(
                    "token-needs-zc",
                    "a token is only for `zc serve`, and the far end is another one",
                )
                .help("leave --token out"));
            }
            host_and_port(rest, port)
        };
        if let Some(rest) = text.strip_prefix("iperf3://") {
            let (host, port) = foreign(rest, Some(5201))?;
            return Ok(Some(RemoteEnd::Iperf3 { host, port }));
        }
        if let Some(rest) = text.strip_prefix("discard://") {
            let (host, port) = foreign(rest, None)?;
            return Ok(Some(RemoteEnd::Discard { host, port }));
        }
        let (host, port) = host_and_port(text, Some(PORT))?;
        let secret = secret(self.token.as_deref(), self.token_file.as_deref())?;
        Ok(Some(RemoteEnd::Zc { host, port, secret }))
    }
}

/// Another machine that takes part.
pub(super) struct Towards {
    /// The work whose rights this process keeps.
    pub(super) work: Work,
    /// The host and port that is waited for before the measurement, and at most how long.
    awaited: Option<(String, u16, Duration)>,
}

impl Towards {
    /// One that a command of the user leads to.
    pub(super) fn by_command() -> Self {
        let work = Work::TowardsFarEnd { starts_commands: true, realtime: false };
        Self { work, awaited: None }
    }

    /// Waits until somebody listens there, if that was asked for.
    ///
    /// # Errors
    /// Nobody does in time, or `stop` was set.
    pub(super) fn wait(&self, stop: &Stop) -> Result<()> {
        let Some((host, port, at_most)) = &self.awaited else { return Ok(()) };
        wait_for_far_end(host, *port, *at_most, stop, &mut |why| tell::note(why))
    }
}

/// The token of `--token`, `--token-file` or the environment; without one, only connections over
/// loopback are accepted.
///
/// # Errors
/// The file cannot be read, or what was given is not a token.
fn secret(word: Option<&str>, file: Option<&Path>) -> Result<Secret> {
    if let Some(word) = word {
        let secret = Secret::from_word(word)?;
        // Best effort: where this is refused, the word is as visible as before.
        let _ = hide_in_command_line(word);
        return Ok(secret);
    }
    if let Some(file) = file {
        return Secret::from_file(file);
    }
    match std::env::var(TOKEN_VARIABLE) {
        Ok(word) if !word.is_empty() => Secret::from_word(&word),
        _ => Ok(Secret::open()),
    }
}

/// The command line without the token, to be saved in the run.
pub(super) fn without_token(mut command: Vec<String>) -> Vec<String> {
    let mut next = false;
    for word in &mut command {
        if std::mem::take(&mut next) {
            "...".clone_into(word);
        } else if word.starts_with("--token=") {
            "--token=...".clone_into(word);
        } else {
            next = word == "--token";
        }
    }
    command
}

/// `root@HOST`, `HOST`, `ssh://root@HOST:PORT`: what ssh takes, of characters that no shell does.
///
/// # Errors
/// The text is none of these.
fn ssh_host(text: &str) -> Result<&str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_@:%".contains(c);
    let host = text.strip_prefix("ssh://").unwrap_or(text);
    if !host.is_empty() && !host.starts_with('-') && host.chars().all(plain) {
        return Ok(text);
    }
    let shown = escape(text, 80);
    Err(Error::usage("invalid-address", format!("--remote: \"{shown}\" names no host for ssh"))
        .help("--remote root@HOST, or --via 'ssh -p 2200 root@HOST', boots kernels there"))
}

/// `HOST`, `HOST:PORT`, `[V6]:PORT`, `V6`.
///
/// # Errors
/// The text is none of these.
pub(super) fn host_and_port(text: &str, default: Option<u16>) -> Result<(String, u16)> {
    let wrong = |what: &str| {
        Error::usage("invalid-address", format!("\"{}\" {what}", escape(text, 80)))
            .help("HOST, HOST:PORT, or for an IPv6 address [ADDRESS]:PORT")
    };
    let (host, port) = if is_ipv6(text) {
        (text, None)
    } else if text.starts_with('[') {
        in_brackets(text).ok_or_else(|| wrong("is no IPv6 address in brackets and a port"))?
    } else {
        text.rsplit_once(':').map_or((text, None), |(host, port)| (host, Some(port)))
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let is_name = !host.starts_with('-') && host.chars().all(plain) && host.len() <= 253;
    if host.is_empty() || !(is_name || is_ipv6(host)) {
        return Err(wrong("names no host"));
    }
    let port = match port {
        None => default.ok_or_else(|| wrong("has no port"))?,
        Some(port) => port
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| wrong("has no port from 1 to 65535"))?,
    };
    Ok((host.to_owned(), port))
}

/// Parses an address, of IPv6 with a zone perhaps.
///
/// # Errors
/// It names none.
pub(super) fn address(text: &str) -> Result<SocketAddr> {
    let why = match find_address(text, 0) {
        Ok(Some(address)) => return Ok(address),
        Ok(None) => "it has another form".to_owned(),
        Err(error) => in_words(&error),
    };
    Err(Error::usage(
        "address-not-here",
        format!("\"{}\" is no address here: {why}", escape(text, 80)),
    )
    .help("such as 192.0.2.1, 2001:db8::1 or fe80::1%eth0, without a port"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_end_is_a_host_and_perhaps_a_port() {
        for (text, host, port) in [
            ("far", "far", 2223),
            ("far.example:99", "far.example", 99),
            ("192.0.2.1", "192.0.2.1", 2223),
            ("2001:db8::1", "2001:db8::1", 2223),
            ("[2001:db8::1]:99", "2001:db8::1", 99),
            ("[::1]", "::1", 2223),
            ("fe80::1%lo", "fe80::1%lo", 2223),
            ("[fe80::1%lo]:99", "fe80::1%lo", 99),
        ] {
            assert_eq!(host_and_port(text, Some(2223)).unwrap(), (host.to_owned(), port), "{text}");
        }
        for text in [
            "",
            ":1",
            "far:",
            "far:0",
            "far:70000",
            "far:x",
            "[::1",
            "[far]:1",
            "[::1]1",
            "fe80::1%",
            "[fe80::1%]",
            "far%lo",
            "-x",
            "a b",
            "a/b",
        ] {
            assert!(host_and_port(text, Some(2223)).is_err(), "{text}");
        }
        assert_eq!(host_and_port("far", None).unwrap_err().id, "invalid-address");
    }

    #[test]
    fn a_machine_that_boots_kernels_is_reached_by_ssh_or_by_a_command() {
        let machine = |remote: Option<&str>, via: Option<&str>| {
            let via = ViaArgs { via: via.map(str::to_owned), ..ViaArgs::default() };
            let remote = remote.map(str::to_owned);
            RemoteArgs { remote, via, ..RemoteArgs::default() }.machine()
        };
        let (command, _) = machine(Some("root@box"), None).unwrap().unwrap();
        assert!(command.starts_with("ssh ") && command.ends_with(" root@box"), "{command}");
        let (command, _) = machine(None, Some("ssh -p 22 root@box ")).unwrap().unwrap();
        assert_eq!(command, "ssh -p 22 root@box");
        assert!(machine(None, None).unwrap().is_none());
        for host in ["", "-oProxyCommand=x", "a b", "a;b", "$(id)", "ssh://", "discard://x"] {
            assert_eq!(machine(Some(host), None).unwrap_err().id, "invalid-address", "{host}");
        }
    }

    #[test]
    fn a_token_is_not_saved_with_the_command_line() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            without_token(words("zc run --token abc --remote x")),
            words("zc run --token ... --remote x")
        );
        assert_eq!(without_token(words("zc run --token=abc")), words("zc run --token=..."));
        assert_eq!(without_token(words("zc run --token-file f")), words("zc run --token-file f"));
    }

    #[test]
    fn the_scheme_selects_the_kind_of_far_end() {
        let end = |text: &str| {
            RemoteArgs { remote: Some(text.to_owned()), ..RemoteArgs::default() }.end(None)
        };
        assert!(matches!(end("far").unwrap(), Some(RemoteEnd::Zc { port: PORT, .. })));
        assert!(matches!(end("iperf3://far").unwrap(), Some(RemoteEnd::Iperf3 { port: 5201, .. })));
        assert!(matches!(
            end("iperf3://[::1]:7").unwrap(),
            Some(RemoteEnd::Iperf3 { port: 7, .. })
        ));
        for text in ["iperf3://[fe80::1%lo]:7", "discard://[fe80::1%lo]:7"] {
            let end = end(text).unwrap().unwrap();
            assert_eq!(end.host_and_port(), Some(("fe80::1%lo", 7)));
        }
        assert!(matches!(
            end("discard://far:9").unwrap(),
            Some(RemoteEnd::Discard { port: 9, .. })
        ));
        assert!(end("discard://far").is_err());
        let args = RemoteArgs {
            remote: Some("iperf3://far".to_owned()),
            token: Some("a token of some length".to_owned()),
            ..RemoteArgs::default()
        };
        assert_eq!(args.end(None).unwrap_err().id, "token-needs-zc");
    }
}
