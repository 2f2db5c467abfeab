//! Settings that the command of a state makes, as far as its text says: sysctls, and settings of a
//! network device by ethtool.
//!
//! [`named`] finds them anywhere in a command, also in a quoted one for another shell. What it
//! finds is only read back, so that a form which it does not know costs a check and nothing else.
//! [`sysctls_alone`] is strict: zc makes such settings itself, in the place of the command, so
//! every word of it must be understood.

/// Greatest depth of quoted commands: `sh -c "nsenter sh -c '...'"`.
const DEEPEST: usize = 4;

/// The congestion control of sockets that ask for none, by its path below /proc/sys.
pub(super) const CONGESTION: &str = "net/ipv4/tcp_congestion_control";

/// A setting of the host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Setting {
    /// A sysctl, by its path below /proc/sys: `net/ipv4/tcp_sack`.
    Sysctl(String),
    /// A group of settings of a network device.
    Device {
        /// Which.
        group: Group,
        /// The device; `None` where the text has a variable.
        device: Option<String>,
    },
}

/// Settings of a device that one option of ethtool(8) sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Group {
    Offloads,
    Rings,
    Channels,
    Coalescing,
}

impl Group {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Offloads => "offloads",
            Self::Rings => "rings",
            Self::Channels => "channels",
            Self::Coalescing => "interrupt coalescing",
        }
    }

    fn from_option(option: &str) -> Option<Self> {
        match option {
            "-K" | "--features" | "--offload" => Some(Self::Offloads),
            "-G" | "--set-ring" => Some(Self::Rings),
            "-L" | "--set-channels" => Some(Self::Channels),
            "-C" | "--coalesce" => Some(Self::Coalescing),
            _ => None,
        }
    }
}

/// A setting that a command names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) setting: Setting,
    /// The requested value, as typed.
    pub(super) value: String,
}

/// The name of a sysctl as sysctl(8) prints it.
pub(super) fn sysctl_name(path: &str) -> String {
    swapped(path)
}

/// The settings that a command changes, each once: what a later part asks for counts.
pub(super) fn named(command: &str) -> Vec<Asked> {
    let mut found = Vec::new();
    scan(command, 0, &mut found);
    let mut each: Vec<Asked> = Vec::new();
    for asked in found {
        each.retain(|earlier| earlier.setting != asked.setting);
        each.push(asked);
    }
    each
}

/// Path and value of each sysctl of a command that does nothing but set sysctls to given values: by
/// `sysctl -w KEY=VALUE ...` or `echo VALUE > /proc/sys/...`, several of them after one another.
/// `None` for every other command.
pub(super) fn sysctls_alone(command: &str) -> Option<Vec<(String, String)>> {
    let mut all = Vec::new();
    for part in parts(command) {
        if !part.is_plain {
            return None;
        }
        let mut words: Vec<&str> = part.words.iter().map(|word| word.text.as_str()).collect();
        if part.words.iter().any(|word| !word.is_literal) {
            return None;
        }
        if words.first() == Some(&"sudo") {
            words.remove(0);
            words.retain(|word| *word != "-n");
        }
        let (program, rest) = match words.split_first() {
            Some((program, rest)) => (*program, rest),
            None if part.redirects.is_empty() => continue, // between two separators
            None => return None,
        };
        let to: Vec<&str> = part.redirects.iter().map(|word| word.text.as_str()).collect();
        let silenced = |to: &[&str]| to.iter().all(|to| matches!(*to, "/dev/null" | "&1" | "&2"));
        match (base(program), to.as_slice()) {
            ("sysctl", to) if silenced(to) => {
                let (options, assignments): (Vec<&str>, Vec<&str>) =
                    rest.iter().partition(|word| word.starts_with('-'));
                let known = ["-q", "-w", "-qw", "-wq", "--quiet", "--write"];
                if assignments.is_empty() || !options.iter().all(|option| known.contains(option)) {
                    return None;
                }
                for assignment in assignments {
                    let (key, value) = assignment.split_once('=')?;
                    all.push((path_of(key)?, value.to_owned()));
                }
            }
            ("echo", [to]) => {
                let path = to.strip_prefix("/proc/sys/")?;
                let rest = rest.strip_prefix(&["-n"]).unwrap_or(rest);
                // Options and backslashes are not the same to every shell.
                let differs = |word: &&&str| {
                    word.contains('\\') || word.starts_with('-') && word.parse::<i64>().is_err()
                };
                if rest.iter().any(|word| differs(&word)) {
                    return None;
                }
                all.push((is_path(path).then(|| path.to_owned())?, rest.join(" ")));
            }
            _ => return None,
        }
    }
    (!all.is_empty()).then_some(all)
}

fn scan(command: &str, depth: usize, found: &mut Vec<Asked>) {
    let parts = parts(command);
    for (place, part) in parts.iter().enumerate() {
        let words: Vec<&str> = part.words.iter().map(|word| word.text.as_str()).collect();
        let program = |name: &str| words.iter().position(|word| base(word) == name);
        let mut find = |setting, value: String| found.push(Asked { setting, value });
        if let Some(at) = program("sysctl") {
            for word in &words[at + 1..] {
                let assigned = word.split_once('=').filter(|_| !word.starts_with('-'));
                if let Some((key, value)) = assigned
                    && let Some(path) = path_of(key)
                {
                    find(Setting::Sysctl(path), value.to_owned());
                }
            }
        }
        if let Some(at) = program("ethtool")
            && let Some((group, device, rest)) = device_settings(&words[at + 1..])
        {
            find(Setting::Device { group, device }, rest.join(" "));
        }
        let written: Vec<&str> = part.redirects.iter().map(|word| word.text.as_str()).collect();
        let teed = program("tee").map_or(&[][..], |at| &words[at + 1..]);
        for path in written.iter().chain(teed).filter_map(|to| to.strip_prefix("/proc/sys/")) {
            // What tee(1) writes is in the command before it.
            let from = if teed.is_empty() { place } else { place.saturating_sub(1) };
            let words = parts[from..=place].iter().flat_map(|part| &part.words);
            let value: Vec<&str> = words.map(|word| word.text.as_str()).collect();
            if is_path(path) {
                find(Setting::Sysctl(path.to_owned()), value.join(" "));
            }
        }
        for word in &part.words {
            if depth < DEEPEST && word.text.contains(char::is_whitespace) {
                scan(&word.text, depth + 1, found);
            }
        }
    }
}

/// Group, device and values of the arguments of ethtool(8) that sets something.
fn device_settings<'w>(arguments: &'w [&'w str]) -> Option<(Group, Option<String>, &'w [&'w str])> {
    let (option, rest) = arguments.split_first()?;
    let group = Group::from_option(option)?;
    let (device, rest) = rest.split_first()?;
    let device = (!device.contains(['$', '`'])).then(|| (*device).to_owned());
    Some((group, device, rest))
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The path of a sysctl below /proc/sys. As for sysctl(8), the first separator of a key says which
/// of `.` and `/` separates.
fn path_of(key: &str) -> Option<String> {
    let first = key.find(['.', '/'])?;
    let path = if key[first..].starts_with('/') { key.to_owned() } else { swapped(key) };
    is_path(&path).then_some(path)
}

/// `.` and `/` in each other's place: a device may have a dot in its name.
fn swapped(key: &str) -> String {
    let swap = |each| match each {
        '.' => '/',
        '/' => '.',
        other => other,
    };
    key.chars().map(swap).collect()
}

/// Whether it stays below /proc/sys, and has no pattern or variable in it.
fn is_path(path: &str) -> bool {
    let is_name =
        |each: char| each.is_ascii_alphanumeric() || matches!(each, '_' | '-' | '.' | ':');
    path.split('/')
        .all(|part| !part.is_empty() && part != "." && part != ".." && part.chars().all(is_name))
}

/// A word of the shell.
#[derive(Debug, Default, PartialEq, Eq)]
struct Word {
    /// Without its quotes.
    text: String,
    /// It stands for itself: nothing in it is expanded.
    is_literal: bool,
}

/// A simple command of the shell.
#[derive(Debug, Default)]
struct Part {
    words: Vec<Word>,
    /// Files that its output goes to.
    redirects: Vec<Word>,
    /// Nothing but words and output to files, and `;`, `&&` or a new line behind it.
    is_plain: bool,
}

/// Simple commands in the order of the text. Reserved words (`if`, `for`, `do`) are words.
fn parts(command: &str) -> Vec<Part> {
    let mut reader = Reader { parts: vec![new_part()], word: None, redirected: false };
    let mut rest = command.chars().peekable();
    while let Some(each) = rest.next() {
        match each {
            ' ' | '\t' => reader.end_word(),
            '\n' | ';' => reader.end_part(true),
            '&' if reader.redirected && reader.word.is_none() => reader.push('&', true),
            '&' if rest.next_if_eq(&'&').is_some() => reader.end_part(true),
            '&' | '|' | '(' | ')' => reader.end_part(false),
            '>' => {
                rest.next_if_eq(&'>');
                reader.redirect();
            }
            '<' => {
                reader.end_word();
                reader.part().is_plain = false;
            }
            '#' if reader.word.is_none() => while rest.next_if(|each| *each != '\n').is_some() {},
            '\'' => {
                reader.begin_word();
                loop {
                    match rest.next() {
                        Some('\'') => break,
                        Some(quoted) => reader.push(quoted, true),
                        None => {
                            reader.part().is_plain = false;
                            break;
                        }
                    }
                }
            }
            '"' => {
                reader.begin_word();
                loop {
                    match rest.next() {
                        Some('"') => break,
                        Some('\\') => reader.push_next(rest.next()),
                        Some(quoted) => reader.push(quoted, !matches!(quoted, '$' | '`')),
                        None => {
                            reader.part().is_plain = false;
                            break;
                        }
                    }
                }
            }
            '\\' => match rest.next() {
                Some('\n') => {}
                next => reader.push_next(next),
            },
            '$' | '`' | '*' | '?' | '[' | ']' | '~' | '{' | '}' | '!' => reader.push(each, false),
            _ => reader.push(each, true),
        }
    }
    reader.end_part(true);
    reader.parts.pop();
    reader.parts
}

fn new_part() -> Part {
    Part { is_plain: true, ..Part::default() }
}

struct Reader {
    /// The last one is being read.
    parts: Vec<Part>,
    word: Option<Word>,
    /// The next word is the file of a redirection.
    redirected: bool,
}

impl Reader {
    fn part(&mut self) -> &mut Part {
        if self.parts.is_empty() {
            self.parts.push(new_part());
        }
        let last = self.parts.len() - 1;
        &mut self.parts[last]
    }

    fn begin_word(&mut self) -> &mut Word {
        self.word.get_or_insert_with(|| Word { text: String::new(), is_literal: true })
    }

    fn push(&mut self, each: char, is_literal: bool) {
        let word = self.begin_word();
        word.text.push(each);
        word.is_literal &= is_literal;
    }

    /// Adds the character that follows a backslash.
    fn push_next(&mut self, each: Option<char>) {
        match each {
            // `\t` of an echo is a tab in one shell and two characters in another.
            Some(each) => self.push(each, !each.is_ascii_alphanumeric()),
            None => self.part().is_plain = false,
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let redirected = std::mem::take(&mut self.redirected);
        let part = self.part();
        if redirected { part.redirects.push(word) } else { part.words.push(word) }
    }

    fn redirect(&mut self) {
        // The number of a descriptor stands directly before it.
        if self.word.as_ref().is_some_and(|it| it.text.chars().all(|each| each.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        self.redirected = true;
    }

    fn end_part(&mut self, is_plain: bool) {
        self.end_word();
        let redirected = std::mem::take(&mut self.redirected);
        let part = self.part();
        part.is_plain &= is_plain && !redirected;
        self.parts.push(new_part());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sysctls(command: &str) -> Vec<(String, String)> {
        let sysctl = |asked: Asked| match asked.setting {
            Setting::Sysctl(path) => Some((path, asked.value)),
            Setting::Device { .. } => None,
        };
        named(command).into_iter().filter_map(sysctl).collect()
    }

    #[test]
    fn what_only_sets_sysctls_is_understood() {
        let sack = [("net/ipv4/tcp_sack".to_owned(), "0".to_owned())];
        for command in [
            "sysctl -qw net.ipv4.tcp_sack=0",
            "sysctl -w net.ipv4.tcp_sack=0 > /dev/null",
            "sysctl -w net.ipv4.tcp_sack=0 >/dev/null 2>&1",
            "  /sbin/sysctl -q -w net/ipv4/tcp_sack=0;",
            "sudo -n sysctl net.ipv4.tcp_sack=0",
            "sysctl -w 'net.ipv4.tcp_sack=0' # off",
            "echo 0 > /proc/sys/net/ipv4/tcp_sack",
            "echo -n 0 >/proc/sys/net/ipv4/tcp_sack",
        ] {
            assert_eq!(sysctls_alone(command).as_deref(), Some(&sack[..]), "{command}");
            assert!(sysctls(command)[0].0 == sack[0].0, "{command}");
        }
        let several = sysctls_alone(
            "sysctl -w net.ipv4.tcp_rmem='4096 1 2' net.core.somaxconn=7 &&\necho \"a b\" > \
             /proc/sys/net/ipv4/tcp_wmem",
        );
        let expected = [
            ("net/ipv4/tcp_rmem", "4096 1 2"),
            ("net/core/somaxconn", "7"),
            ("net/ipv4/tcp_wmem", "a b"),
        ];
        let expected = expected.map(|(path, value)| (path.to_owned(), value.to_owned()));
        assert_eq!(several.as_deref(), Some(&expected[..]));
    }

    #[test]
    fn every_other_command_is_left_to_the_shell() {
        for command in [
            "",
            ";",
            "true",
            "sysctl net.ipv4.tcp_sack",
            "sysctl -p",
            "sysctl -w net.ipv4.tcp_sack=$V",
            "sysctl -w net.ipv4.tcp_sack=\"$V\"",
            "sysctl -w net.ipv4.tcp_sack=`cat v`",
            "sysctl -w net.ipv4.tcp_sack=0 || true",
            "sysctl -w net.ipv4.tcp_sack=0 &",
            "sysctl -w net.ipv4.tcp_sack=0 | cat",
            "sysctl -w net.ipv4.tcp_sack=0 > log",
            "sysctl -w net.ipv4.tcp_sack=0 < in",
            "sysctl -w net.ipv4.tcp_sack=0; systemctl restart nginx",
            "(sysctl -w net.ipv4.tcp_sack=0)",
            "if true; then sysctl -w net.ipv4.tcp_sack=0; fi",
            "sysctl -e -w net.ipv4.tcp_sack=0",
            "sysctl -w net.ipv4.tcp_sack=0 net.ipv4.tcp_dsack",
            "sysctl -w net.ipv4.conf.*.rp_filter=0",
            "sysctl -w ../../etc/passwd=0",
            "sysctl -w 'net.ipv4.tcp_sack=0",
            "nsenter --net=x sysctl -w net.ipv4.tcp_sack=0",
            "echo 0 > /proc/sys/../sys/net/ipv4/tcp_sack",
            "echo -e 0 > /proc/sys/net/ipv4/tcp_sack",
            "echo 0 >",
            "echo '1\\t2' > /proc/sys/net/ipv4/tcp_rmem",
            "> /proc/sys/net/ipv4/tcp_sack",
        ] {
            assert_eq!(sysctls_alone(command), None, "{command}");
        }
    }

    #[test]
    fn settings_are_found_wherever_they_are_made() {
        for command in [
            "nsenter --net=$ZC_SENDER_NETNS sysctl -qw net.ipv4.tcp_sack=0",
            "for n in $ZC_NETNS; do nsenter --net=$n sysctl -qw net.ipv4.tcp_sack=0; done",
            "nsenter --net=$ZC_SENDER_NETNS sh -c 'echo 0 > /proc/sys/net/ipv4/tcp_sack; true' >> \
             log",
            "sh -c \"nsenter --net=x sh -c 'sysctl -w net.ipv4.tcp_sack=0'\"",
            "echo 0 | sudo tee /proc/sys/net/ipv4/tcp_sack",
            "sysctl -w net.ipv4.tcp_sack=1; sysctl -w net.ipv4.tcp_sack=$OFF",
            "test -e x && sysctl net.ipv4.tcp_sack=0 || exit 3",
        ] {
            let found = sysctls(command);
            assert_eq!(found.len(), 1, "{command}: {found:?}");
            assert_eq!(found[0].0, "net/ipv4/tcp_sack", "{command}");
        }
        for command in [
            "cat /proc/sys/net/ipv4/tcp_sack",
            "sysctl net.ipv4.tcp_sack",
            "./state net.ipv4.tcp_sack=0",
            "echo sysctl",
            "sysctl -w $KEY=0",
            "ethtool -k eth0",
            "ethtool eth0",
        ] {
            assert_eq!(named(command), [], "{command}");
        }
    }

    #[test]
    fn what_is_asked_for_is_told_apart() {
        let asked = |command: &str| named(command).into_iter().map(|it| it.value).next().unwrap();
        assert_eq!(asked("sysctl -w net.ipv4.tcp_rmem='4096 1 2'"), "4096 1 2");
        assert_ne!(
            asked("echo 0 | tee /proc/sys/net/ipv4/tcp_sack"),
            asked("echo 1 | tee /proc/sys/net/ipv4/tcp_sack")
        );
        assert_ne!(asked("ethtool -K eth0 tso on"), asked("ethtool -K eth0 tso off"));
    }

    #[test]
    fn devices_are_found_with_what_is_set_of_them() {
        let of = |command: &str| named(command).into_iter().map(|it| it.setting).next();
        let device = |group, name: Option<&str>| {
            Some(Setting::Device { group, device: name.map(str::to_owned) })
        };
        assert_eq!(of("ethtool -K eth0 tso off gso off"), device(Group::Offloads, Some("eth0")));
        assert_eq!(of("sudo /sbin/ethtool -G eth0 rx 64"), device(Group::Rings, Some("eth0")));
        assert_eq!(of("ethtool --coalesce $DEV rx-usecs 0"), device(Group::Coalescing, None));
        assert_eq!(
            of("nsenter --net=$ZC_RECEIVER_NETNS ethtool -L zc1 rx 1"),
            device(Group::Channels, Some("zc1"))
        );
    }

    #[test]
    fn no_text_makes_it_fail() {
        for command in
            ["'", "\"", "\\", ">", ">>", "&", "&&", "|", "$(", "sysctl =", "sysctl .=", "a'b\"c"]
        {
            let _ = (named(command), sysctls_alone(command));
        }
        assert_eq!(sysctl_name("net/ipv4/conf/eth0.1/rp_filter"), "net.ipv4.conf.eth0/1.rp_filter");
    }
}
