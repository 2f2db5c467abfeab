//! Starts a server through any command that connects to a shell: `ssh host`, `kubectl exec -i pod
//! --`, `docker exec -i c`, `srun -w node`, `ip netns exec ns`.
//!
//! The command gets one more argument, `sh`, and that shell reads a script from its stdin (via.sh).
//! So nothing needs quoting, whether the command joins its arguments to a line (ssh) or not
//! (docker). The script becomes `zc serve --stdio`; where there is no zc, it asks for one, which is
//! carried in the same stream (carry.rs). Nothing is sent after it before it or zc has asked,
//! because dash and busybox read ahead and would consume it. The token is made for this session and
//! sent inside the stream, so that it appears in no process list.

use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use zc_kernel::spawn::{is_stopped, kill_group, pidfd, wait_readable};

use super::carry::{Carried, Carry, Offer, Refusal};
use super::connection::{Connection, Received};
use super::handshake::{Line, PROTOCOL, VERSION, answer_hello};
use super::secret::Secret;
use super::server::Duties;
use super::via_errors::Failure;
use zc_rig::meter::boot_id;
use zc_rig::stderr_tail::{StderrTail, shown};
use zc_rig::trial::StillWanted;
use zc_run::{Error, Result, shell_word};

pub use super::via_errors::{Found, Request};

const SCRIPT: &str = include_str!("via.sh");

/// Limit of output before zc's hello: messages of the day and of shells.
const MOST_NOISE_BYTES: usize = 64 << 10;
/// Interval at which the command is checked for being stopped.
const STEP: Duration = Duration::from_millis(200);
/// Time allowed to a command to end after its stdout has ended.
const TO_END: Duration = Duration::from_secs(2);
/// The same after SIGTERM, and after SIGKILL.
const TO_TERMINATE: Duration = Duration::from_millis(500);

pub(super) const SIGTERM: i32 = signal_hook::consts::SIGTERM;
pub(super) const SIGKILL: i32 = 9;

/// A command that has started a server. Dropping it ends everything it has started.
///
/// Drop the [`Connection`] first: the server ends with it, and the command after the server. What
/// is left two seconds later is killed, with its whole process group.
///
/// The command has a process group of its own, so that Ctrl-C reaches zc alone, which then ends in
/// order. It stays in the session, because priorities between zc's threads and those of a server on
/// this machine hold only within one (sched(7), autogroups).
#[derive(Debug)]
pub struct Via {
    command: String,
    child: Child,
    /// A pidfd, readable once the child has ended.
    ended: OwnedFd,
    stderr: StderrTail,
    /// The program that was sent there.
    carried: Option<Carried>,
    /// The child has been waited for, so its id may belong to another process.
    is_over: bool,
}

/// Arguments for starting a server by a command.
pub struct Start<'a> {
    /// The command, without the shell that it gets as its last argument.
    pub command: &'a str,
    /// Action when the other machine has no zc.
    pub carry: &'a Carry,
    /// Duties of the server.
    pub duties: Duties,
    /// Limit for all of it. What is carried has more time, by its size.
    pub patience: Duration,
    /// Asked every now and then: an error once nobody wants it any more.
    pub still_wanted: StillWanted<'a>,
    /// Told before a program is sent.
    pub carrying: &'a mut dyn FnMut(&Carried),
}

impl Via {
    /// Runs a command, which starts zc on the other machine, and authenticates.
    ///
    /// # Errors
    /// The command does not exist, ends, prints nothing, or asks something at the terminal. There
    /// is no zc, or an unsuitable one, and none can be carried. It is not wanted any more.
    pub fn start(start: Start<'_>) -> Result<(Self, Connection)> {
        Self::start_with(start, OwnFile::of_this_program().as_ref())
    }

    /// The same with a given file as this machine's zc.
    pub(super) fn start_with(
        mut start: Start<'_>,
        own_zc: Option<&OwnFile>,
    ) -> Result<(Self, Connection)> {
        let command = start.command.trim();
        if command.is_empty() {
            return Err(Error::usage("command-missing", "--via has no command")
                .help("for instance --via 'ssh HOST'"));
        }
        let (secret, word) = Secret::one_time()?;
        let (mut via, mut connection) = Self::spawn(command)?;
        let mut found = Found::new(own_zc.and_then(OwnFile::path_everywhere));
        // A command that does not read it has ended, or will report why.
        drop(connection.write_all(script(own_zc, start.duties).as_bytes()));
        let (hello, until) = match via.hello(&mut connection, &mut found, &mut start) {
            Ok(hello) => hello,
            Err(failure) => return Err(via.explain(connection, failure, &found)),
        };
        let authenticated = connection
            .write_all(format!("{word}\n").as_bytes())
            .and_then(|()| answer_hello(connection, hello, &secret, until));
        match authenticated {
            Ok(connection) => Ok((via, connection)),
            Err(error) => Err(found.add_to(error)),
        }
    }

    /// The program that was sent there, if one was.
    pub fn carried(&self) -> Option<&Carried> {
        self.carried.as_ref()
    }

    /// The last line of the command's stderr, which may tell why the server is gone.
    pub fn last_error(&self) -> Option<String> {
        self.stderr.last()
    }

    /// Starts a command with a shell at its end.
    ///
    /// # Errors
    /// No process or thread can be had.
    pub(super) fn spawn(command: &str) -> Result<(Self, Connection)> {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(format!("{command} sh")).process_group(0);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let cannot = |error| Error::os(format!("start \"{command}\""), error);
        let mut child = shell.spawn().map_err(cannot)?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Error::failed(
                "pipes-missing",
                "a child has no pipes although it was given some",
            ));
        };
        let connection = Connection::new(stdout.into(), stdin.into());
        let parts = pidfd(child.id() as i32)
            .map_err(cannot)
            .and_then(|ended| Ok((ended, StderrTail::start(stderr)?)));
        match parts {
            Ok((ended, stderr)) => Ok((
                Self {
                    command: command.to_owned(),
                    child,
                    ended,
                    stderr,
                    carried: None,
                    is_over: false,
                },
                connection,
            )),
            Err(error) => {
                // It has not been waited for, so this is its group.
                drop(kill_group(child.id() as i32, SIGKILL));
                drop(child.wait());
                Err(error)
            }
        }
    }

    /// Reads lines until zc's hello, and sends what the script asks for. Returns the hello, and
    /// when the handshake must be over.
    fn hello(
        &mut self,
        connection: &mut Connection,
        found: &mut Found,
        start: &mut Start<'_>,
    ) -> std::result::Result<(Line, Instant), Failure> {
        let begun = Instant::now();
        let mut patience = start.patience;
        let mut left = MOST_NOISE_BYTES;
        let (mut was_asked, mut offer) = (false, None);
        loop {
            (start.still_wanted)().map_err(Failure::Unwanted)?;
            let step = STEP.min(patience.saturating_sub(begun.elapsed()));
            match connection.line(left, step).map_err(Failure::Connection)? {
                Received::Message(line) => {
                    left = left.saturating_sub(line.len() + 1);
                    match take_line(&line, found) {
                        Taken::Hello(hello) => return Ok((hello, begun + patience)),
                        // Once: the far end cannot make this one work again and again.
                        Taken::Wants(Request::Program(wanted)) if !was_asked => {
                            was_asked = true;
                            let packing = Instant::now();
                            let offered = start.carry.offer(&wanted);
                            // The far end has not used this time.
                            patience += packing.elapsed();
                            offer = announce(connection, found, offered);
                        }
                        Taken::Wants(Request::Bytes(place)) => {
                            if let Some(offer) = offer.take() {
                                patience += offer.patience();
                                let until = begun + patience;
                                self.send(connection, found, &offer, &place, until, start)?;
                            }
                        }
                        _ => {}
                    }
                    if found.is_over() {
                        return Err(Failure::Ended(None));
                    }
                }
                Received::Late if self.asks() => return Err(Failure::Asks),
                Received::Late if begun.elapsed() >= patience => {
                    return Err(Failure::Silent(patience));
                }
                Received::Late => {}
                Received::Closed => return Err(Failure::Ended(None)),
                Received::TooLong | Received::Nonsense(_) => {
                    return Err(Failure::Noise(MOST_NOISE_BYTES));
                }
            }
        }
    }

    /// Sends a program. If the stream breaks, the script's next lines or its end tell why.
    fn send(
        &mut self,
        connection: &mut Connection,
        found: &mut Found,
        offer: &Offer,
        place: &str,
        until: Instant,
        start: &mut Start<'_>,
    ) -> std::result::Result<(), Failure> {
        let carried = offer.carried_to(place);
        (start.carrying)(&carried);
        self.carried = Some(carried);
        found.sent(place, false);
        let whole = connection.write_until(&offer.sent, until, start.still_wanted).is_ok();
        found.sent(place, whole);
        (start.still_wanted)().map_err(Failure::Unwanted)
    }

    /// Whether the command is stopped, because it asks something at the terminal.
    pub(super) fn asks(&self) -> bool {
        is_stopped(self.child.id() as i32).unwrap_or(false)
    }

    /// Ends the command within `patience`: its status, and the line of its stderr that most likely
    /// names a problem.
    pub(super) fn over(
        mut self,
        connection: Connection,
        patience: Duration,
    ) -> (Option<ExitStatus>, Option<String>) {
        drop(connection);
        let status = self.end(patience);
        self.stderr.finish();
        (status, self.stderr.last())
    }

    fn explain(&mut self, connection: Connection, failure: Failure, found: &Found) -> Error {
        // A command that only waits for input ends at the end of its stdin.
        drop(connection);
        let failure = match failure {
            Failure::Ended(_) => Failure::Ended(self.end(TO_END)),
            other => {
                self.end(Duration::ZERO);
                other
            }
        };
        self.stderr.finish();
        failure.explain(&self.command, found, self.stderr.last())
    }

    /// Ends the command within `patience`, or kills it, and its process group. Returns the status,
    /// unless it cannot be killed (sudo).
    fn end(&mut self, patience: Duration) -> Option<ExitStatus> {
        if !self.is_over {
            let group = self.child.id() as i32;
            let ended = self.ends_within(patience) || {
                drop(kill_group(group, SIGTERM));
                self.ends_within(TO_TERMINATE)
            };
            // Also after it has ended, for processes that it has left. It has not been waited for,
            // so the number is still that of its group.
            drop(kill_group(group, SIGKILL));
            if !ended && !self.ends_within(TO_TERMINATE) {
                return None;
            }
            self.is_over = true;
        }
        self.child.wait().ok()
    }

    pub(super) fn ends_within(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match wait_readable(&[self.ended.as_fd()], Some(left)) {
                Ok(ready) if ready == [true] => return true,
                // Interrupted by a signal, or out of time.
                Ok(_) if !left.is_zero() => {}
                _ => return false,
            }
        }
    }
}

impl Drop for Via {
    fn drop(&mut self) {
        self.end(TO_END);
    }
}

/// Answers the script's request for a program. Returns the one that it may take.
fn announce(
    connection: &mut Connection,
    found: &mut Found,
    offered: std::result::Result<Offer, Refusal>,
) -> Option<Offer> {
    let answer = offered.as_ref().map_or_else(|_| "none\n".to_owned(), Offer::line);
    // A script that does not read it has ended, or will report why.
    drop(connection.write_all(answer.as_bytes()));
    match offered {
        Ok(offer) => {
            found.offered(offer.is_static);
            Some(offer)
        }
        Err(refusal) => {
            found.refused(refusal);
            None
        }
    }
}

/// Meaning of a line of the command's stdout.
#[derive(Debug)]
pub enum Taken {
    /// zc's hello.
    Hello(Line),
    /// A request of the script.
    Wants(Request),
    /// A report of the script, or output of anything else.
    Noted,
}

/// Takes a line of the command's stdout: what it reports is added to what was `found`.
pub fn take_line(line: &[u8], found: &mut Found) -> Taken {
    match hello_in(line) {
        Some(hello) => Taken::Hello(hello),
        None => found.receive(&shown(line)).map_or(Taken::Noted, Taken::Wants),
    }
}

/// The hello in a line, after a prompt or a message without a line end.
fn hello_in(line: &[u8]) -> Option<Line> {
    let begin = line.windows(6).position(|window| window == b"{\"zc\":")?;
    serde_json::from_slice(&line[begin..]).ok().filter(|line| matches!(line, Line::Serve { .. }))
}

pub(super) fn script(own_zc: Option<&OwnFile>, duties: Duties) -> String {
    let path = own_zc.map(|own| own.path.display().to_string()).unwrap_or_default();
    let path = shell_word(&path);
    let file = own_zc.and_then(|own| own.only_file.as_deref()).unwrap_or_default();
    let options = match duties {
        Duties::Usual => "",
        Duties::ReadsNfs => "--nfs",
        Duties::Runs => "--runs",
    };
    format!(
        "zc_version='zc {VERSION}'\nzc_protocol={PROTOCOL}\nzc_own={path}\nzc_own_file='{file}'\n\
         zc_options={options}\n{SCRIPT}"
    )
}

/// This machine's zc, which a far end with the same files may run.
#[derive(Debug)]
pub(super) struct OwnFile {
    path: PathBuf,
    /// The boot id, device and inode that the far end must find at the path, where others may write
    /// to a folder above it, like /tmp: on another machine that file could be anyone's.
    only_file: Option<String>,
}

impl OwnFile {
    /// The file of this program; `None` if it has been replaced or removed since it was started.
    fn of_this_program() -> Option<Self> {
        Self::at(std::env::current_exe().ok()?)
    }

    /// The file at a path.
    pub(super) fn at(path: PathBuf) -> Option<Self> {
        let meta = std::fs::metadata(&path).ok()?;
        let others_write =
            |path: &Path| std::fs::metadata(path).is_ok_and(|meta| meta.mode() & 0o002 != 0);
        let only_file = match path.ancestors().any(others_write) {
            true => Some(format!("{} {}:{}", boot_id()?, meta.dev(), meta.ino())),
            false => None,
        };
        let fits = path.is_absolute() && path.to_str().is_some_and(|text| !text.contains('\n'));
        fits.then_some(Self { path, only_file })
    }

    /// The path, where it means the same on every machine.
    fn path_everywhere(&self) -> Option<&Path> {
        self.only_file.is_none().then_some(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::far_host::{Host, SHELLS, SOON, ends, installed, refused, started};
    use super::*;

    #[test]
    fn every_shell_starts_a_server_and_the_server_ends_with_the_stream() {
        for shell in SHELLS {
            let Some(path) = installed(shell) else { continue };
            let host = Host::new();
            host.with_only(&path, &[]).zc("bin/zc", VERSION);
            let (via, connection, name, pid) = started(&host.command(), None);
            assert_eq!(name, host.path("bin/zc"));
            drop(connection);
            assert!(via.ends_within(SOON), "{shell}");
            assert!(ends(pid));
        }
    }

    /// The file that is started. It ends with its connection, which is closed first.
    fn chosen(command: &str, own_zc: Option<&OwnFile>) -> String {
        let (_via, connection, name, _) = started(command, own_zc);
        drop(connection);
        name
    }

    #[test]
    fn a_command_may_join_its_arguments_as_ssh_does_and_print_first() {
        let host = Host::new();
        host.zc(".cargo/bin/zc", VERSION);
        host.script(
            "like ssh",
            "shift 2; echo 'Last login: never'; printf 'no end: '; echo motd >&2; exec sh \
             -c \"$*\"",
        );
        let command = format!("'{}' -p 22 {}", host.path("like ssh"), host.command());
        let (via, connection, name, pid) = started(&command, None);
        assert_eq!(name, host.path(".cargo/bin/zc"));
        // The connection is still open, so it is killed.
        drop(via);
        assert!(ends(pid));
        drop(connection);
    }

    #[test]
    fn zc_of_this_version_is_preferred_and_the_client_s_own_file_is_tried_last() {
        let host = Host::new();
        host.zc("bin/zc", "0.0.9").zc(".cargo/bin/zc", VERSION).zc("own", VERSION);
        let own_zc = OwnFile::at(host.path("own").into());
        let own_zc = own_zc.as_ref();
        assert_eq!(chosen(&host.command(), own_zc), host.path(".cargo/bin/zc"));
        std::fs::remove_file(host.path(".cargo/bin/zc")).unwrap();
        assert_eq!(chosen(&host.command(), own_zc), host.path("own"));
        // A different version, if there is no other: the protocol decides.
        assert_eq!(chosen(&host.command(), None), host.path("bin/zc"));
    }

    #[test]
    fn a_missing_or_unsuitable_zc_is_an_error_with_a_remedy() {
        let host = Host::new();
        let error = refused(&host.command(), None, SOON);
        assert_eq!(error.id, "far-end-without-zc");
        let error = refused(&host.script("bin/zc", "exit 126").command(), None, SOON);
        assert_eq!(error.id, "far-end-zc-broken");
        assert!(error.message.contains(&host.path("bin/zc")), "{error}");
        let old = "case $1 in --version) echo zc 0.0.9;; *) echo \"error: unrecognized subcommand \
            'serve'\" >&2; exit 2;; esac";
        let error = refused(&host.script("bin/zc", old).command(), None, SOON);
        let quotes = error.message.contains("unrecognized subcommand 'serve'");
        assert!(error.id == "far-end-version" && quotes, "{error:?}");
        let new = "case $1 in --version) echo zc 9;; *) echo \
            '{\"zc\":\"serve\",\"protocol\":9,\"version\":\"9\"}'; cat;; esac";
        let error = refused(&host.script("bin/zc", new).command(), None, SOON);
        assert_eq!(error.id, "far-end-version");
        assert!(error.help.unwrap().contains(&host.path("bin/zc")));
    }

    #[test]
    fn the_error_of_a_missing_or_failing_command_quotes_its_stderr() {
        let error = refused("/nonexistent/ssh -p 22 host", None, SOON);
        let quotes = ["\"/nonexistent/ssh -p 22 host\"", "not found"];
        assert!(quotes.iter().all(|quote| error.message.contains(quote)), "{error}");
        assert!(error.id == "command-ended" && error.help.unwrap().contains("installed"));
        let error = refused("echo 'Host key verification failed.' >&2; exit 255;", None, SOON);
        let quotes = error.message.contains("Host key verification failed.");
        assert!(error.id == "command-ended" && quotes, "{error:?}");
        for command in ["exit 3;", "true"] {
            assert_eq!(refused(command, None, SOON).id, "command-ended");
        }
        assert_eq!(refused(" ", None, SOON).id, "command-missing");
    }

    #[test]
    fn a_command_that_floods_stays_silent_or_asks_is_ended_with_its_processes() {
        let host = Host::new();
        let noted = |script: &str| format!("echo $$ >'{}'; {script}", host.path("pid"));
        let pid = || std::fs::read_to_string(host.path("pid")).unwrap().trim().parse().unwrap();
        let error = refused(&noted("exec yes"), None, SOON);
        assert_eq!(error.id, "far-end-not-zc");
        assert!(ends(pid()));
        let error = refused(&noted("head -c 100000 /dev/zero; exec sleep 1000;"), None, SOON);
        assert_eq!(error.id, "far-end-not-zc");
        assert!(ends(pid()));
        let error =
            refused(&noted("(trap '' TERM HUP; sleep 1000); true"), None, Duration::from_secs(1));
        assert_eq!(error.id, "far-end-stalled");
        assert!(ends(pid()));
        let error = refused(&noted("kill -STOP 0;"), None, SOON);
        assert_eq!(error.id, "command-asks");
        assert!(ends(pid()));
    }

    #[test]
    fn quotes_in_the_path_of_the_client_s_zc_are_kept() {
        let host = Host::new();
        host.zc("it's $own", VERSION);
        let own_zc = host.path("it's $own");
        assert_eq!(chosen(&host.command(), OwnFile::at((&own_zc).into()).as_ref()), own_zc);
    }

    #[test]
    fn where_others_may_write_the_client_s_path_is_only_that_file_of_the_same_machine() {
        let host = Host::new();
        host.zc("own", VERSION);
        // The folders above a temporary one differ from machine to machine.
        std::fs::set_permissions(host.path(""), Permissions::from_mode(0o777)).unwrap();
        let own = OwnFile::at(host.path("own").into()).unwrap();
        assert_eq!(own.path_everywhere(), None);
        assert_eq!(chosen(&host.command(), Some(&own)), host.path("own"));
        let only_file = own.only_file.as_deref().unwrap().split_once(' ').unwrap().1;
        let elsewhere = Some(format!("00000000-0000-0000-0000-000000000001 {only_file}"));
        let elsewhere = OwnFile { path: own.path.clone(), only_file: elsewhere };
        let error = refused(&host.command(), Some(&elsewhere), SOON);
        assert_eq!(error.id, "far-end-without-zc");
        // Another file at that path. The first one is kept, so that its inode is not given out
        // again.
        std::fs::rename(host.path("own"), host.path("kept")).unwrap();
        host.zc("own", VERSION);
        let error = refused(&host.command(), Some(&own), SOON);
        assert_eq!(error.id, "far-end-without-zc");
    }
}
