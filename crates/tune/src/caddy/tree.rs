//! A configuration as lines with blocks, and where they stand in which file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::file::File;

/// A Caddyfile with its imports in place.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Its blocks: that of the global options has no words, those of sites have their addresses.
    pub blocks: Vec<Line>,
    /// The files it was read from, the main one first.
    pub files: Vec<File>,
    /// Caddy's version, as in `Caddy 2.6.2`.
    pub(super) build: String,
    /// Variables of the environment.
    pub(super) variables: BTreeMap<String, String>,
}

/// One line, with the block it opens if it opens one.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its words, without quotes, with variables replaced.
    pub words: Vec<String>,
    /// The lines in its braces.
    pub block: Option<Vec<Line>>,
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
    /// From its first word to its last, or to its closing brace.
    pub(super) bytes: Range<usize>,
    /// The offset of what follows its words, or its opening brace, on the next line.
    pub(super) inside: usize,
}

impl Line {
    /// A line that stands in no file.
    pub(super) fn new<S: AsRef<str>>(words: &[S]) -> Self {
        Self {
            words: words.iter().map(|word| word.as_ref().to_owned()).collect(),
            block: None,
            file: Arc::from(""),
            line: 0,
            place: Place::default(),
        }
    }

    pub(super) fn with_block(mut self, block: Vec<Self>) -> Self {
        self.block = Some(block);
        self
    }

    /// Whether it is a site, outside of any block: neither global options nor a named route.
    pub(super) fn is_site(&self) -> bool {
        !self.words.is_empty() && !self.word(0).starts_with('&')
    }

    pub(super) fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    /// The lines of its block.
    pub fn children(&self) -> &[Self] {
        self.block.as_deref().unwrap_or_default()
    }

    /// The matcher of a directive, which decides for which requests it is: `/api/*`, `@name`.
    /// `None` for all: without one, or with `*`.
    pub(super) fn matcher(&self) -> Option<&str> {
        Some(self.word(1)).filter(|word| word.starts_with(['/', '@']))
    }

    /// Whether its first argument is a matcher.
    pub(super) fn has_matcher(&self) -> bool {
        self.matcher().is_some() || self.word(1) == "*"
    }

    /// `/etc/caddy/Caddyfile, line 12`.
    pub(super) fn position(&self) -> String {
        format!("{}, line {}", self.file, self.line)
    }

    /// For people: a block as `{ ... }`.
    pub fn text(&self) -> String {
        let words = self.words.join(" ");
        match &self.block {
            Some(block) if !block.is_empty() => {
                let lines: Vec<String> = block.iter().map(Self::text).collect();
                format!("{words} {{ {} }}", lines.join("; "))
            }
            _ => words,
        }
    }
}

impl Config {
    /// The block of the global options.
    pub(super) fn global(&self) -> Option<&Line> {
        self.blocks.iter().find(|block| block.words.is_empty())
    }
}

/// The lines of a block with this name.
pub(super) fn all<'a>(block: &'a [Line], name: &'a str) -> impl Iterator<Item = &'a Line> {
    block.iter().filter(move |line| line.word(0) == name)
}
