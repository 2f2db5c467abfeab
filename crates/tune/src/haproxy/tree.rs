//! A configuration as sections of lines, and where they stand in which file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::file::File;

/// A configuration of HAProxy: of its conditional blocks the lines that hold.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Its sections, in their order.
    pub sections: Vec<Section>,
    /// The files it was read from.
    pub files: Vec<File>,
    /// What HAProxy printed about how it was built.
    pub(super) build: String,
    /// The files that a word behind `crt` or `crt-list` leads to, where that is a folder or a list.
    pub(super) certificates: BTreeMap<String, Vec<String>>,
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

/// What stands before a keyword and takes its effect away, or gives it its default.
const MODIFIERS: [&str; 2] = ["no", "default"];

/// Keywords whose second word says what they are about.
const OF_TWO_WORDS: [&str; 9] = [
    "capture",
    "compression",
    "email-alert",
    "http-check",
    "option",
    "stats",
    "tcp-check",
    "timeout",
    "declare",
];

/// What a line of these words sets: `option splice-auto`, `tune.bufsize`.
pub(super) fn key(words: &[String]) -> String {
    let at = usize::from(words.first().is_some_and(|word| MODIFIERS.contains(&word.as_str())));
    let first = words.get(at).map_or("", String::as_str);
    match words.get(at + 1).filter(|_| OF_TWO_WORDS.contains(&first)) {
        Some(second) => format!("{first} {second}"),
        None => first.to_owned(),
    }
}

impl Line {
    /// A line that stands in no file.
    pub(super) fn new<S: Into<String>>(words: impl IntoIterator<Item = S>) -> Self {
        Self {
            words: words.into_iter().map(Into::into).collect(),
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
        self.word(0) == "no"
    }

    /// The word behind a word: of `bind :443 ssl crt a.pem` that behind `crt`.
    pub(super) fn behind(&self, word: &str) -> Option<&str> {
        let at = self.words.iter().position(|it| it == word)?;
        self.words.get(at + 1).map(String::as_str)
    }

    /// Whether a word is in it, but for its first.
    pub(super) fn has(&self, word: &str) -> bool {
        self.words.iter().skip(1).any(|it| it == word)
    }

    /// Whether it depends on a condition.
    pub(super) fn is_conditional(&self) -> bool {
        self.has("if") || self.has("unless")
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

    pub(super) fn is(&self, kind: &str) -> bool {
        self.kind() == kind
    }

    /// Whether clients come to it.
    pub(super) fn is_front(&self) -> bool {
        matches!(self.kind(), "frontend" | "listen")
    }

    /// Whether requests are forwarded from it.
    pub(super) fn is_back(&self) -> bool {
        matches!(self.kind(), "backend" | "listen")
    }

    /// Its lines that set this.
    pub(super) fn all<'s>(&'s self, key: &str) -> impl Iterator<Item = &'s Line> + use<'s> {
        let key = key.to_owned();
        self.lines.iter().filter(move |line| line.key() == key)
    }

    /// The last of them, which counts.
    pub(super) fn last(&self, key: &str) -> Option<&Line> {
        self.lines.iter().rfind(|line| line.key() == key)
    }
}

impl Config {
    pub(super) fn globals(&self) -> impl DoubleEndedIterator<Item = &Section> {
        self.sections.iter().filter(|section| section.is("global"))
    }

    /// The line of the global sections that counts.
    pub(super) fn global(&self, key: &str) -> Option<&Line> {
        self.globals().rev().find_map(|section| section.last(key))
    }

    /// The sections whose lines hold for a proxy: itself, then the `defaults` that it inherits
    /// (section 4 of the manual): that which it names by `from`, else the last one before it.
    pub(super) fn chain(&self, index: usize) -> Vec<&Section> {
        let mut out = Vec::new();
        let mut at = Some(index);
        while let Some((place, section)) = at.and_then(|at| Some((at, self.sections.get(at)?))) {
            out.push(section);
            let before = &self.sections[..place];
            let defaults = |wanted: &dyn Fn(&Section) -> bool| {
                before.iter().rposition(|section| section.is("defaults") && wanted(section))
            };
            at = match section.header.behind("from") {
                Some(name) => defaults(&|section| section.name() == name),
                // Defaults begin anew.
                None if section.is("defaults") => None,
                None => defaults(&|_| true),
            };
        }
        out
    }

    /// The line that is in effect for a proxy.
    pub(super) fn of_proxy(&self, index: usize, key: &str) -> Option<&Line> {
        self.chain(index).into_iter().find_map(|section| section.last(key))
    }

    /// Whether a proxy is in `mode http`. Without a line it is in `mode tcp`.
    pub(super) fn is_http(&self, index: usize) -> bool {
        self.of_proxy(index, "mode").is_some_and(|line| line.word(1) == "http")
    }

    /// Sections by kind and name.
    pub(super) fn named(&self, is_kind: fn(&Section) -> bool, name: &str) -> Option<usize> {
        self.sections.iter().position(|section| is_kind(section) && section.name() == name)
    }
}
