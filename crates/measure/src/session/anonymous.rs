//! Leaves out of a run what identifies hosts, before any of it is saved: names of hosts, the
//! address of the far end, kernel command lines, commands and paths that were typed.
//!
//! A host keeps one pseudonym in all runs of one machine, so that they can be told apart and
//! compared. It is made with a key that no run holds: machine-id(5) says that the identifier is to
//! be hashed with a keyed hash and not to be shown.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::options::RunOptions;
use super::other_programs;
use super::remote_end::RemoteEnd;
use zc_rig::root::read;
use zc_run::{
    Block, Dropped, End, EndReason, Error, Header, Host, LinkFacts, OTHER_PROGRAMS, Result,
    StatePlace, Support, Warning,
};

/// Placeholder in a saved run for what was left out.
pub const LEFT_OUT: &str = "(left out)";

/// Digits of a machine id.
const ID_DIGITS: usize = 32;
/// Folders whose files are the same on every host.
const OF_THE_KERNEL: [&str; 3] = ["/proc/", "/sys/", "/dev/"];

/// Makes one run anonymous.
#[derive(Debug, Clone)]
pub(super) struct Anonymous {
    key: Vec<u8>,
    /// Names of hosts, each with its pseudonym.
    hosts: Vec<(String, String)>,
    /// Words of what was typed to reach another machine.
    words: Vec<String>,
    /// Paths that were typed.
    paths: Vec<String>,
}

impl Anonymous {
    /// For a run with these options, by the machine id below `root`; without one, pseudonyms hold
    /// for this run alone.
    ///
    /// # Errors
    /// There is no machine id, and the kernel gives no random bytes.
    pub(super) fn new(options: &RunOptions, root: &Path) -> Result<Self> {
        let is_id =
            |id: &String| id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let key = match read(root, "etc/machine-id").filter(is_id) {
            Some(id) => id.into_bytes(),
            None => zc_kernel::random::array::<ID_DIGITS>()
                .map_err(|error| Error::os("get random bytes", error))?
                .to_vec(),
        };
        let words = match &options.remote {
            Some(
                RemoteEnd::Zc { host, .. }
                | RemoteEnd::Iperf3 { host, .. }
                | RemoteEnd::Discard { host, .. },
            ) => vec![host.clone()],
            Some(RemoteEnd::Via { command, .. }) => words_of(command),
            None => Vec::new(),
        };
        let typed = options.files.iter().map(|path| path.display().to_string());
        let paths = typed.map(|path| path.trim_end_matches('/').to_owned());
        let paths = paths.filter(|path| !path.is_empty()).collect();
        Ok(Self { key, hosts: Vec::new(), words, paths })
    }

    /// The header without them. It tells the names that later texts are searched for.
    pub(super) fn header(&mut self, header: &mut Header) {
        self.host(&mut header.host);
        if let Some(remote) = &mut header.remote {
            LEFT_OUT.clone_into(&mut remote.address);
            if let Some(machine) = &mut remote.machine {
                self.host(&mut machine.host);
            }
        }
        header.plan.files.skipped.iter_mut().for_each(|text| LEFT_OUT.clone_into(text));
        if let Some(states) = &mut header.plan.states {
            let commands = states.commands.iter_mut().map(|state| &mut state.command);
            let others = [&mut states.restore, &mut states.verify].into_iter().flatten();
            commands.chain(others).for_each(|command| LEFT_OUT.clone_into(command));
        }
        for reading in &mut header.state_readings {
            if reading.place == StatePlace::Command {
                LEFT_OUT.clone_into(&mut reading.name);
                let answers = reading.values.iter_mut().filter_map(|each| each.value.as_mut());
                answers.for_each(|answer| LEFT_OUT.clone_into(answer));
            }
        }
        self.link(&mut header.link);
        header.other_links.iter_mut().for_each(|link| self.link(link));
        for row in &mut header.unavailable {
            if let Support::No(why) = &mut row.support {
                why.remedy.iter_mut().chain([&mut why.reason]).for_each(|text| self.text(text));
            }
        }
        self.warnings(&mut header.warnings);
    }

    /// A block without them.
    pub(super) fn block(&self, block: &mut Block) {
        block.failed.iter_mut().for_each(|trial| self.text(&mut trial.reason));
        if let Some(Dropped::TrialFailed { reason, .. }) = &mut block.dropped {
            self.text(reason);
        }
    }

    /// The end of the run without them.
    pub(super) fn end(&self, end: &mut End) {
        if let EndReason::Failed { reason } = &mut end.reason {
            self.text(reason);
        }
        self.warnings(&mut end.warnings);
        end.other_programs.iter_mut().for_each(|other| LEFT_OUT.clone_into(&mut other.name));
        let others = end.warnings.iter_mut().filter(|warning| warning.name == OTHER_PROGRAMS);
        others.for_each(|note| *note = other_programs::note(&end.other_programs));
    }

    fn host(&mut self, host: &mut Host) {
        let name = std::mem::take(&mut host.hostname);
        host.hostname = self.pseudonym(&name);
        host.kernel_command_line = None;
        // Some texts have it without its domain.
        let short = name.split('.').next().unwrap_or_default();
        for name in [name.as_str(), short].into_iter().filter(|name| !name.is_empty()) {
            self.hosts.push((name.to_owned(), host.hostname.clone()));
        }
    }

    fn link(&self, link: &mut LinkFacts) {
        link.passed_over.iter_mut().chain(&mut link.rps_check).for_each(|text| self.text(text));
    }

    fn warnings(&self, warnings: &mut [Warning]) {
        for warning in warnings {
            self.text(&mut warning.text);
            warning.remedy.iter_mut().for_each(|remedy| self.text(remedy));
        }
    }

    /// `host-0b1a2c3d`: the same for the same name and key. Among a thousand hosts two have the
    /// same one with a probability of 1e-4.
    fn pseudonym(&self, name: &str) -> String {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes keys of every length");
        mac.update(name.as_bytes());
        let digest: [u8; 32] = mac.finalize().into_bytes().into();
        let first = digest.first_chunk().copied().unwrap_or_default();
        format!("host-{:08x}", u32::from_be_bytes(first))
    }

    /// A sentence without names, addresses and paths.
    fn text(&self, text: &mut String) {
        let mut found = String::new();
        // What is in quotes is a name that may have spaces.
        for (place, part) in text.split('"').enumerate() {
            if place > 0 {
                found.push('"');
            }
            match place % 2 == 1 && self.is_path(part) {
                true => found.push_str(LEFT_OUT),
                false => self.words_into(&mut found, part),
            }
        }
        *text = found;
    }

    fn words_into(&self, found: &mut String, text: &str) {
        let in_a_word = |c: char| c.is_alphanumeric() || "._-:%[]/".contains(c);
        let mut rest = text;
        while let Some(start) = rest.find(in_a_word) {
            found.push_str(&rest[..start]);
            rest = &rest[start..];
            let end = rest.find(|c| !in_a_word(c)).unwrap_or(rest.len());
            // Not the full stop or colon after it.
            let word = rest[..end].trim_end_matches(['.', ':']);
            match self.instead_of(word) {
                Some(other) => found.push_str(other),
                None => found.push_str(word),
            }
            rest = &rest[word.len()..];
            // Only what was trimmed begins no word.
            let after = rest.len() - rest.trim_start_matches(['.', ':']).len();
            found.push_str(&rest[..after]);
            rest = &rest[after..];
        }
        found.push_str(rest);
    }

    /// The replacement of a word; `None` if the word may stay.
    fn instead_of(&self, word: &str) -> Option<&str> {
        // A URL has its host between slashes.
        let has = |name: &str| word.split('/').any(|part| is_called(part, name));
        if let Some((_, pseudonym)) = self.hosts.iter().find(|(name, _)| has(name)) {
            return Some(pseudonym);
        }
        let is_typed = || self.words.iter().any(|name| has(name));
        (word.split('/').any(is_address) || is_typed() || self.is_path(word)).then_some(LEFT_OUT)
    }

    fn is_path(&self, text: &str) -> bool {
        let is_below = |path: &String| {
            text.strip_prefix(path.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_absolute = text.len() > 1 && text.starts_with('/');
        let is_of_the_kernel = || OF_THE_KERNEL.iter().any(|folder| text.starts_with(folder));
        self.paths.iter().any(is_below) || is_absolute && !is_of_the_kernel()
    }
}

/// Whether this is an address of IP, perhaps with a port and a zone.
fn is_address(word: &str) -> bool {
    let plain = word.split('%').next().unwrap_or_default().trim_matches(['[', ']']);
    word.parse::<SocketAddr>().is_ok() || plain.parse::<IpAddr>().is_ok()
}

/// Whether a word is a name, whatever its domain and port.
fn is_called(word: &str, name: &str) -> bool {
    let rest = word.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name));
    rest.is_some() && matches!(word.as_bytes().get(name.len()), None | Some(b'.' | b':'))
}

/// Words of a command that may name a host or a user: not the program, and no options.
fn words_of(command: &str) -> Vec<String> {
    let words = command.split(|c: char| !(c.is_alphanumeric() || "._-:/".contains(c))).skip(1);
    let may_name = |word: &&str| !word.is_empty() && !word.starts_with('-');
    words.filter(may_name).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::options::BlockOptions;
    use super::*;
    use crate::plan;
    use zc_run::{
        Experiment, FailedTrial, HostState, HostStates, Severity, StateCommand, StateReading,
        StateValue,
    };
    use zc_testkit::synthetic::{Synthetic, two_machines};

    const ID: &str = "0123456789abcdef0123456789abcdef\n";

    fn options(change: impl FnOnce(&mut RunOptions)) -> RunOptions {
        let paths = Experiment::DEFAULT.definition().plan_file().unwrap();
        let spec = plan::parse(&paths, "paths").unwrap();
        let mut options = RunOptions::plain(spec, BlockOptions::plain("run.json".into()));
        change(&mut options);
        options
    }

    /// A folder to be used as `/`.
    fn with_machine_id(id: Option<&str>) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("etc")).unwrap();
        if let Some(id) = id {
            std::fs::write(root.path().join("etc/machine-id"), id).unwrap();
        }
        root
    }

    fn anonymous(change: impl FnOnce(&mut RunOptions)) -> Anonymous {
        Anonymous::new(&options(change), with_machine_id(Some(ID)).path()).unwrap()
    }

    fn via(command: &str) -> Option<RemoteEnd> {
        let carry = zc_remote::carry::Carry::Never;
        Some(RemoteEnd::Via { command: command.to_owned(), address: None, carry })
    }

    #[test]
    fn a_pseudonym_is_hmac_sha256_of_the_name_by_the_machine_id() {
        // printf near | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef
        assert_eq!(anonymous(|_| ()).pseudonym("near"), "host-40b98b9e");
        for id in [None, Some("uninitialized\n")] {
            let of = || Anonymous::new(&options(|_| ()), with_machine_id(id).path()).unwrap();
            assert_ne!(of().pseudonym("near"), of().pseudonym("near"), "keys of a run each");
        }
    }

    #[test]
    fn nothing_of_a_header_names_a_host() {
        let mut run = two_machines(Synthetic { blocks: 1, ..Synthetic::default() }.run());
        let header = &mut run.header;
        header.host.hostname = "nearby.example".to_owned();
        header.host.kernel_command_line = Some("root=UUID=nearby".to_owned());
        let remote = header.remote.as_mut().unwrap();
        remote.address = "192.0.2.9:4000".to_owned();
        let machine = remote.machine.as_mut().unwrap();
        machine.host.hostname = "farther".to_owned();
        machine.host.kernel_command_line = Some("root=UUID=farther".to_owned());
        header.plan.files.skipped = vec!["/home/nearby is a folder".to_owned()];
        let ssh = |state| StateCommand { state, command: "ssh farther true".to_owned() };
        header.plan.states = Some(HostStates {
            commands: vec![ssh(HostState::a()), ssh(HostState::b())],
            restore: Some("ssh farther true".to_owned()),
            settle_ns: 1,
            limit_ns: 1,
            verify: Some("ssh farther hostname".to_owned()),
        });
        header.state_readings = vec![StateReading {
            name: "ssh farther hostname".to_owned(),
            place: StatePlace::Command,
            values: vec![StateValue { state: HostState::a(), value: Some("farther".to_owned()) }],
        }];
        header.link.passed_over = vec!["veth: no route to 192.0.2.9".to_owned()];
        header.warnings = vec![
            Warning::new("x", Severity::Doubt, "something on farther.example is odd")
                .remedy("ssh nearby"),
        ];
        let mut anonymous = anonymous(|options| options.remote = via("ssh -p 22 jo@farther"));
        anonymous.header(header);
        let failed = |reason: &str| FailedTrial { cell: "x".to_owned(), reason: reason.to_owned() };
        run.blocks[0].failed.push(failed("jo@farther: connection to 192.0.2.9 port 22 closed"));
        let reason = "lost nearby".to_owned();
        run.blocks[0].dropped = Some(Dropped::TrialFailed { cell: "x".to_owned(), reason });
        anonymous.block(&mut run.blocks[0]);
        if let Some(end) = &mut run.end {
            end.reason = EndReason::Failed { reason: "lost 192.0.2.9:4000".to_owned() };
            anonymous.end(end);
        }
        let text = zc_run::run_lines(&run);
        for name in ["nearby", "farther", "192.0.2", "jo@", "/home"] {
            assert!(!text.contains(name), "{name} in {text}");
        }
        let (near, far) = (anonymous.pseudonym("nearby.example"), anonymous.pseudonym("farther"));
        assert!(text.contains(&near) && text.contains(&far));
        let (read, broken) = zc_run::parse(&text).unwrap();
        assert_eq!((read, broken), (run, 0));
    }

    #[test]
    fn sentences_lose_names_addresses_and_paths_and_nothing_else() {
        let mut anonymous = anonymous(|options| {
            options.files = vec!["my files/".into(), "x".into()];
            options.remote = via("kubectl exec -i pod-7 --");
        });
        anonymous.hosts.push(("box".to_owned(), "host-1".to_owned()));
        for (text, expected) in [
            ("CPU 1 is 2.5 times slower: see /proc/stat", ""),
            ("set net.ipv4.tcp_sack=1, or boxes; 6.18.44 has x-y.", ""),
            ("box: connect to BOX.example:22", "host-1: connect to host-1"),
            ("at [2001:db8::1]:99, fe80::1%eth0.", "at (left out), (left out)."),
            ("GET http://192.0.2.1:80/a", "GET (left out)"),
            (
                "\"/home/jo/a b\" and \"my files/c\" are short",
                "\"(left out)\" and \"(left out)\" are short",
            ),
            ("cannot read /srv/a: gone", "cannot read (left out): gone"),
            ("pod-7 has no zc", "(left out) has no zc"),
            ("x:: x", "(left out):: (left out)"),
        ] {
            let mut found = text.to_owned();
            anonymous.text(&mut found);
            assert_eq!(found, if expected.is_empty() { text } else { expected });
        }
    }
}
