//! A configuration as sections of lines, and where they stand in which file.

use std::ops::Range;
use std::sync::Arc;

use crate::file::File;

/// A configuration of HAProxy.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Its sections, in their order.
    pub sections: Vec<Section>,
    /// The files it was read from.
    pub files: Vec<File>,
    /// What HAProxy printed about how it was built.
    pub(super) build: String,
}

/// A section: `frontend www`.
#[derive(Debug, Clone)]
pub struct Section {
    /// The line that opens it.
    pub header: Line,
    /// The lines in it.
    pub lines: Vec<Line>,
}

/// One line.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its words, without quotes, with variables replaced.
    pub words: Vec<String>,
    /// The file in which it stands.
    pub file: Arc<str>,
    /// Its number, from 1.
    pub line: u32,
    pub(super) place: Place,
}

/// Bytes of a file that a line occupies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Index of the file.
    pub(super) file: usize,
    /// From its first word to its last.
    pub(super) bytes: Range<usize>,
    /// The offset after it and its end.
    pub(super) after: usize,
}

/// Keywords whose second word says what they are about.
const OF_TWO_WORDS: [&str; 5] = ["compression", "http-check", "option", "stats", "timeout"];

/// What a line of these words sets, also where `no` or `default` stands before it:
/// `option splice-auto`, `tune.bufsize`.
pub(super) fn key(words: &[String]) -> String {
    let mut words = words.iter().map(String::as_str);
    let mut first = words.next().unwrap_or_default();
    if matches!(first, "no" | "default") {
        first = words.next().unwrap_or_default();
    }
    match words.next().filter(|_| OF_TWO_WORDS.contains(&first)) {
        Some(second) => format!("{first} {second}"),
        None => first.to_owned(),
    }
}

impl Line {
    /// A line that stands in no file.
    pub(super) fn new<S: AsRef<str>>(words: &[S]) -> Self {
        Self {
            words: words.iter().map(|word| word.as_ref().to_owned()).collect(),
            file: Arc::from(""),
            line: 0,
            place: Place::default(),
        }
    }

    /// What it sets.
    pub(super) fn key(&self) -> String {
        key(&self.words)
    }

    pub(super) fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    /// Whether it switches something off: `no option splice-auto`.
    pub(super) fn is_no(&self) -> bool {
        matches!(self.word(0), "no" | "default")
    }

    /// The word behind a word: of `bind :443 ssl crt a.pem` that behind `crt`.
    pub(super) fn behind(&self, word: &str) -> Option<&str> {
        let at = self.words.iter().position(|it| it == word)?;
        self.words.get(at + 1).map(String::as_str)
    }

    /// Whether a word is in it.
    pub(super) fn has(&self, word: &str) -> bool {
        self.words.iter().any(|it| it == word)
    }

    /// `/etc/haproxy/haproxy.cfg, line 12`.
    pub(super) fn position(&self) -> String {
        format!("{}, line {}", self.file, self.line)
    }

    /// For people.
    pub fn text(&self) -> String {
        self.words.join(" ")
    }
}

impl Section {
    /// `global`, `frontend`.
    pub fn kind(&self) -> &str {
        self.header.word(0)
    }

    /// Its name; empty without one.
    pub fn name(&self) -> &str {
        match self.header.word(1) {
            "from" => "",
            name => name,
        }
    }

    /// Whether clients come to it.
    pub(super) fn is_front(&self) -> bool {
        matches!(self.kind(), "frontend" | "listen")
    }

    /// Whether requests are forwarded from it.
    pub(super) fn is_back(&self) -> bool {
        matches!(self.kind(), "backend" | "listen")
    }

    /// The last of its lines that set this, which counts.
    pub(super) fn last(&self, key: &str) -> Option<&Line> {
        self.lines.iter().rfind(|line| line.key() == key)
    }
}

impl Config {
    /// The line of the global sections that counts.
    pub(super) fn global(&self, key: &str) -> Option<&Line> {
        let mut globals = self.sections.iter().rev().filter(|section| section.kind() == "global");
        globals.find_map(|section| section.last(key))
    }

    /// The line that is in effect for a proxy: its own, else that of the `defaults` that it
    /// inherits (section 4 of the manual), which are those it names by `from`, else the last before
    /// it.
    pub(super) fn of_proxy(&self, index: usize, key: &str) -> Option<&Line> {
        let mut at = index;
        loop {
            let section = self.sections.get(at)?;
            if let Some(line) = section.last(key) {
                return Some(line);
            }
            let from = section.header.behind("from");
            if from.is_none() && section.kind() == "defaults" {
                // They begin anew.
                return None;
            }
            at = self.sections[..at].iter().rposition(|other| {
                other.kind() == "defaults" && from.is_none_or(|name| other.name() == name)
            })?;
        }
    }

    /// Whether a proxy is in `mode http`. Without a line it is in `mode tcp`.
    pub(super) fn is_http(&self, index: usize) -> bool {
        self.of_proxy(index, "mode").is_some_and(|line| line.word(1) == "http")
    }
}
