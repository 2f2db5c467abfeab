//! Explains why a command did not start a server. Most of these errors occur at the first use of
//! `--via`, so each names the command and a remedy.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use super::carry::{Refusal, Wanted};
use super::handshake::{VERSION, plain};
use zc_run::Error;

/// Reports of the script on the other machine.
#[derive(Debug, Default)]
pub struct Found {
    /// Path of this machine's zc, where the script tries it on every machine.
    own_zc: Option<PathBuf>,
    /// Version and path of the zc that it runs.
    runs: Option<(String, String)>,
    broken: Option<String>,
    is_missing: bool,
    is_terminal: bool,
    /// It has no /dev/null.
    has_no_null: bool,
    /// Tools, or /proc, that it needs to take a program but does not have.
    lacks: String,
    carrying: Carrying,
    /// The carried program needs libraries.
    needs_libraries: bool,
    /// The script has given its last answer.
    is_over: bool,
    /// The last line that was not the script's.
    noise: Option<String>,
}

/// Progress of carrying a program.
#[derive(Debug, Default)]
enum Carrying {
    /// Nobody has asked for one.
    #[default]
    No,
    Refused(Refusal),
    /// It is announced, and the far end looks for a place.
    Offered,
    /// The far end has no place for it, folder by folder.
    NoPlace(String),
    /// It has been sent to this folder, in part or whole.
    Sent {
        place: String,
        whole: bool,
    },
    /// It has arrived, and is not what was sent.
    Damaged,
    /// It does not run there: the shell's exit code, and what it printed.
    Unfit(String, String),
}

/// A request of the script to the client.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// A program, announced by a line.
    Program(Wanted),
    /// Its bytes, for a file in this folder.
    Bytes(String),
}

/// Why there was no hello.
#[derive(Debug)]
pub(super) enum Failure {
    /// The command's stdout has ended. Its exit status, if it ended.
    Ended(Option<ExitStatus>),
    /// It is stopped, because it tried to use the terminal.
    Asks,
    /// No hello within this time.
    Silent(Duration),
    /// More than this number of bytes without a hello.
    Noise(usize),
    /// The pipes are broken.
    Connection(Error),
    /// Nobody wants it any more.
    Unwanted(Error),
}

impl Found {
    /// No reports yet. The script will try `own_zc` too.
    pub fn new(own_zc: Option<&Path>) -> Self {
        Self { own_zc: own_zc.map(Path::to_owned), ..Self::default() }
    }

    /// Takes a line that is not a hello.
    pub(super) fn receive(&mut self, line: &str) -> Option<Request> {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        match words[..] {
            ["zc-via:", "terminal"] => self.is_terminal = true,
            ["zc-via:", "no-null"] => self.has_no_null = true,
            ["zc-via:", "missing"] => self.is_missing = true,
            ["zc-via:", "broken", path] => self.broken = Some(path.to_owned()),
            // runs zc 0.1.0 at /usr/bin/zc
            ["zc-via:", "runs" | "other", what] => {
                if let Some((version, path)) =
                    what.strip_prefix("zc ").and_then(|what| what.split_once(" at "))
                {
                    self.runs = Some((plain(version), path.to_owned()));
                }
            }
            ["zc-via:", "lacks", tools] => self.lacks = tools.to_owned(),
            // wants gzip Linux x86_64
            ["zc-via:", "wants", what] => {
                let (unpack, system) = what.split_once(' ').unwrap_or((what, ""));
                return Some(Request::Program(Wanted {
                    unpacks: unpack == "gzip",
                    system: system.to_owned(),
                    lacks: self.lacks.clone(),
                }));
            }
            ["zc-via:", "place", folder] => return Some(Request::Bytes(folder.to_owned())),
            ["zc-via:", "no-place", why] => {
                self.carrying = Carrying::NoPlace(why.to_owned());
                self.is_over = true;
            }
            // What broke off is not whole either.
            ["zc-via:", "damaged"] => {
                if matches!(self.carrying, Carrying::Sent { whole: true, .. }) {
                    self.carrying = Carrying::Damaged;
                }
                self.is_over = true;
            }
            // unfit 126 sh: 1: /proc/self/fd/8: Permission denied
            ["zc-via:", "unfit", what] => {
                let (code, said) = what.split_once(' ').unwrap_or((what, ""));
                self.carrying = Carrying::Unfit(code.to_owned(), said.to_owned());
                self.is_over = true;
            }
            // carried zc 0.2.0
            ["zc-via:", "carried", what] => {
                let place = match &self.carrying {
                    Carrying::Sent { place, .. } => place.as_str(),
                    _ => "",
                };
                let at = format!("{place} (carried there)");
                self.runs = Some((plain(what.strip_prefix("zc ").unwrap_or(what)), at));
                (self.carrying, self.is_missing, self.broken) = (Carrying::No, false, None);
            }
            _ if line.is_empty() => {}
            _ => self.noise = Some(line.to_owned()),
        }
        None
    }

    /// Notes that nothing is carried.
    pub(super) fn refused(&mut self, refusal: Refusal) {
        self.carrying = Carrying::Refused(refusal);
        // Unless there is a zc of another protocol, which then runs.
        self.is_over = self.runs.is_none();
    }

    /// Whether no hello will come. What is between the client and the script may not end by itself.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Notes that a program is announced.
    pub(super) fn offered(&mut self, is_static: bool) {
        self.carrying = Carrying::Offered;
        self.needs_libraries = !is_static;
    }

    /// Notes that a program is sent, or that this is done.
    pub(super) fn sent(&mut self, place: &str, whole: bool) {
        self.carrying = Carrying::Sent { place: place.to_owned(), whole };
    }

    /// Adds the path of the other machine's zc to an error of the handshake, and why no other zc
    /// was carried there.
    pub fn add_to(&self, mut error: Error) -> Error {
        let at = self.runs.as_ref().map(|(_, path)| format!("at the far end it is \"{path}\""));
        let instead = match &self.carrying {
            Carrying::Refused(refusal) => refusal.remedy(),
            _ => None,
        };
        for more in [at, instead].into_iter().flatten() {
            error.help = Some(match error.help {
                Some(help) => format!("{help}; {more}"),
                None => more,
            });
        }
        error
    }

    /// Adds to an error about a zc that is missing why none was carried, and what helps.
    fn not_carried(&self, id: &'static str, message: String, install: String) -> Error {
        let Carrying::Refused(refusal) = &self.carrying else {
            return Error::remote(id, message).help(install);
        };
        let message = match refusal.reason() {
            Some(reason) => format!("{message}; this one was not carried there: {reason}"),
            None => message,
        };
        Error::remote(id, message).help(match refusal.remedy() {
            Some(remedy) => format!("{remedy}; or {install}"),
            None => install,
        })
    }

    /// The error of a program that did not get there, or does not run there.
    fn carrying_failed(
        &self,
        command: &str,
        because: Option<&str>,
        within: Option<Duration>,
    ) -> Option<Error> {
        let because = because.unwrap_or_default();
        let (id, message, help) = match (&self.carrying, within) {
            (Carrying::No | Carrying::Refused(_), _) | (Carrying::Offered, None) => return None,
            (Carrying::NoPlace(why), _) => (
                "no-place-to-carry",
                format!("zc cannot be carried to the far end of \"{command}\": {why}"),
                "TMPDIR there may name a folder with room in which programs may run: COMMAND env \
                 TMPDIR=/DIR",
            ),
            (Carrying::Offered | Carrying::Sent { .. }, Some(within)) => (
                "carrying-too-slow",
                format!(
                    "zc could not be carried to the far end of \"{command}\" within {:.0} s",
                    within.as_secs_f64()
                ),
                "over so slow a stream, install zc there",
            ),
            (Carrying::Sent { place, .. }, None) => (
                "carrying-ended",
                format!(
                    "the stream to the far end of \"{command}\" ended while zc was carried to \
                     \"{place}\"{because}"
                ),
                "nothing is left there; try again, or install zc there",
            ),
            (Carrying::Damaged, _) => (
                "carried-zc-damaged",
                format!(
                    "what arrived at the far end of \"{command}\" is not the zc that was sent \
                     (SHA-256), and was not run{because}"
                ),
                "something on the way changes bytes, as a terminal does, or the disk there is \
                 full; nothing is left there",
            ),
            (Carrying::Unfit(code, said), _) => {
                let how = if said.is_empty() { format!("exit code {code}") } else { said.clone() };
                (
                    "carried-zc-broken",
                    format!(
                        "the zc that was carried to the far end of \"{command}\" does not run \
                         there: {how}"
                    ),
                    if self.needs_libraries {
                        "it is not statically linked, and needs the C library of this machine \
                         there, or a newer one: use a static zc here, or name one by --carry \
                         (docs/install.md). Nothing is left there"
                    } else {
                        "is it for that kernel and processor? Nothing is left there"
                    },
                )
            }
        };
        Some(Error::remote(id, message).help(help))
    }
}

impl Failure {
    /// The error. `said` is the last line of the command's stderr.
    pub(super) fn explain(self, command: &str, found: &Found, said: Option<String>) -> Error {
        let error = |id, message: String| Error::remote(id, message);
        let by_hand =
            format!("`{command} true` must work by hand, and ask nothing, before zc can use it");
        let no_questions = "let it ask nothing: a key in ssh-agent or by -i, and a host whose key \
             is known; \
             `ssh -o BatchMode=yes HOST true` shows whether that is so";
        let install = format!(
            "install zc {VERSION} there (`cargo install --locked --path crates/zc` in the same \
             source tree), or copy this one to ~/.cargo/bin/zc there"
        );
        if let Self::Unwanted(error) = self {
            return error;
        }
        if found.is_terminal {
            return error("far-end-is-terminal", format!(
                "\"{command}\" gives the far end a terminal, through which no bytes go unchanged"
            ))
            .help("leave out what asks for one: -t of ssh (-tt), docker exec and kubectl exec");
        }
        if found.has_no_null {
            return error(
                "far-end-without-dev-null",
                format!("the far end of \"{command}\" has no /dev/null"),
            )
            .help("zc needs /dev and /proc: mount them there");
        }
        let said = said.or_else(|| found.noise.clone());
        let because = said.as_ref().map(|said| format!(": {said}"));
        let within = if let Self::Silent(within) = self { Some(within) } else { None };
        if let Some(error) = found.carrying_failed(command, because.as_deref(), within) {
            return error;
        }
        if found.is_missing {
            let own_zc = found
                .own_zc
                .as_ref()
                .map(|path| format!(", and \"{}\" is not there", path.display()));
            let message = format!(
                "no zc at the far end of \"{command}\": it is neither on the PATH nor in \
                 ~/.cargo/bin{}",
                own_zc.unwrap_or_default()
            );
            return found.not_carried("far-end-without-zc", message, install);
        }
        if let Some(path) = &found.broken {
            let message = format!(
                "\"{path}\" at the far end of \"{command}\" does not run there, or is not this zc"
            );
            return found.not_carried("far-end-zc-broken", message, install);
        }
        match self {
            Self::Unwanted(error) | Self::Connection(error) => error,
            Self::Noise(bytes) => error(
                "far-end-not-zc",
                format!("\"{command}\" printed {} KiB without zc's hello", bytes >> 10),
            )
            .help(by_hand),
            Self::Asks => error(
                "command-asks",
                format!("\"{command}\" wants to ask something at the terminal, a password maybe"),
            )
            .help(no_questions),
            Self::Silent(within) => {
                let seconds = within.as_secs_f64();
                let message = format!("\"{command}\" has not started zc within {seconds} s");
                error("far-end-stalled", message + &because.unwrap_or_default())
                    .help(format!("{by_hand} (with ssh: -o BatchMode=yes -o ConnectTimeout=10)"))
            }
            Self::Ended(status) => {
                if let Some((version, path)) = &found.runs {
                    let because = because.unwrap_or_else(|| how(status));
                    let message = format!(
                        "\"{path}\" at the far end of \"{command}\" ended before its \
                         hello{because}"
                    );
                    return if version == VERSION {
                        error("far-end-ended", message).help(by_hand)
                    } else {
                        error("far-end-version", message).help(format!(
                            "it is zc {version}, this is zc {VERSION}: install the \
                                same version on both"
                        ))
                    };
                }
                let because = because.unwrap_or_else(|| how(status));
                let has =
                    |words: &[&str]| words.iter().any(|word| because.to_lowercase().contains(word));
                let help = if has(&[
                    "host key",
                    "permission denied",
                    "password",
                    "passphrase",
                    "authentic",
                ]) {
                    no_questions.to_owned()
                } else if has(&["not found"])
                    && status.is_some_and(|status| status.code() == Some(127))
                {
                    "is it installed, and on the PATH? The far end needs a shell too".to_owned()
                } else if said.is_none() && status.is_some_and(|status| status.success()) {
                    format!(
                        "it gave the shell there no stdin (docker exec and kubectl exec want -i); \
                         {by_hand}"
                    )
                } else {
                    by_hand
                };
                error(
                    "command-ended",
                    format!("\"{command}\" ended before there was a zc{because}"),
                )
                .help(help)
            }
        }
    }
}

fn how(status: Option<ExitStatus>) -> String {
    match status.map(|status| (status.code(), status.signal())) {
        Some((Some(code), _)) => format!(" (exit code {code})"),
        Some((_, Some(signal))) => format!(" (by signal {signal})"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use zc_run::ErrorKind;

    use super::*;

    fn explained(failure: Failure, lines: &[&str], said: Option<&str>) -> String {
        let mut found = Found::new(Some(Path::new("/opt/zc")));
        lines.iter().for_each(|line| drop(found.receive(line)));
        text(failure.explain("ssh host", &found, said.map(str::to_owned)))
    }

    fn text(error: Error) -> String {
        assert_eq!(error.kind, ErrorKind::Remote);
        format!("{}\n    {} [{}]", error.message, error.help.unwrap(), error.id)
    }

    fn code(code: i32) -> Failure {
        Failure::Ended(Some(ExitStatus::from_raw(code << 8)))
    }

    #[test]
    fn errors_quote_the_command_name_its_zc_and_have_remedies() {
        let signal = Failure::Ended(Some(ExitStatus::from_raw(9)));
        let denied = "me@host: Permission denied (publickey,password).";
        let unknown = "error: unrecognized subcommand 'serve'";
        let unfit = |is_static| {
            let mut found = Found::default();
            found.offered(is_static);
            found.sent("/tmp", true);
            found.receive("zc-via: unfit 127 sh: 8: /proc/self/fd/8: not found");
            text(code(127).explain("ssh host", &found, None))
        };
        let said = [
            explained(code(255), &[], Some(denied)),
            explained(code(255), &[], Some("Host key verification failed.")),
            explained(code(255), &["Welcome to host"], None),
            explained(Failure::Asks, &[], None),
            explained(code(3), &[], None),
            explained(signal, &[], None),
            explained(code(0), &[], None),
            explained(code(127), &["", "zc-via: missing"], None),
            explained(code(127), &["zc-via: broken /usr/bin/zc"], None),
            explained(code(2), &["zc-via: runs zc 0.0.9 at /usr/bin/zc"], Some(unknown)),
            explained(code(1), &["zc-via: terminal"], Some("Connection closed.")),
            unfit(false),
            unfit(true),
        ];
        insta::assert_snapshot!(said.join("\n").replace(VERSION, "VERSION"));
    }

    #[test]
    fn an_error_of_the_handshake_names_the_server_s_zc() {
        let mut found = Found::default();
        found.receive("zc-via: runs zc 0.2.0 at /usr/local/bin/zc");
        let error = found.add_to(Error::remote("x", "x").help("do this"));
        assert_eq!(error.help.unwrap(), "do this; at the far end it is \"/usr/local/bin/zc\"");
    }
}
