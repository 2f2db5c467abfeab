//! A configuration as a tree: what a line is, and where it stands in which file.

use std::ops::Range;
use std::sync::Arc;

use super::modules::Modules;
use super::words::{take_word, words};
use crate::file::File;

/// The id of what stands in no file: lines that a copy adds or changes.
pub(super) const NEW: u32 = 0;

/// A configuration of Apache with all its includes in place, and of its conditional sections the
/// lines of those that hold.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The lines outside of all sections, and the sections.
    pub lines: Vec<Line>,
    /// The files it was read from, the main one first.
    pub files: Vec<File>,
    /// Sentences about what was not read as Apache reads it.
    pub said: Vec<String>,
    /// The `ServerRoot` where it begins.
    pub(super) root: String,
    /// What Apache printed about how it was built.
    pub(super) build: String,
    pub(super) modules: Modules,
}

/// One line, with its section if it opens one.
#[derive(Debug, Clone)]
pub struct Line {
    /// As it is written: `EnableSendfile`; of a section without the bracket, `Directory`.
    pub name: String,
    /// The text behind the name with variables replaced; of a section without the bracket.
    pub args: String,
    /// The file in which it stands.
    pub file: Arc<str>,
    /// The line on which it begins, from 1.
    pub line: u32,
    /// The lines of its section, with those of included files in place.
    pub block: Option<Vec<Line>>,
    /// The code of a section that has no lines of Apache's: `<LuaHookLog>`.
    pub code: Option<String>,
    /// The text behind the name as it is written.
    pub(super) raw: String,
    /// Unique for each place in the tree. A file that is included twice has two of each line.
    pub(super) id: u32,
    pub(super) place: Place,
}

/// Bytes of a file that a line occupies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Index of the file.
    pub(super) file: usize,
    /// From its first byte to its last; of a section, the line that opens it.
    pub(super) bytes: Range<usize>,
    /// The offset after its line.
    pub(super) after: usize,
}

/// The lines named `name`, in any case, directly in a block.
pub(super) fn all<'a>(block: &'a [Line], name: &str) -> impl Iterator<Item = &'a Line> + use<'a> {
    let name = name.to_owned();
    block.iter().filter(move |line| line.is(&name))
}

/// The one of them that counts where one overrides another: the last.
pub(super) fn last<'a>(block: &'a [Line], name: &str) -> Option<&'a Line> {
    all(block, name).last()
}

impl Line {
    /// A line that stands in no file.
    pub(super) fn new(name: &str, args: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            args: args.into(),
            file: Arc::from(""),
            line: 0,
            block: None,
            code: None,
            raw: String::new(),
            id: NEW,
            place: Place::default(),
        }
    }

    /// A section that stands in no file.
    pub(super) fn section(name: &str, args: impl Into<String>, block: Vec<Line>) -> Self {
        Self { block: Some(block), ..Self::new(name, args) }
    }

    /// Itself with an empty block, in place of a copy of a long one.
    pub(super) fn without_block(&self) -> Self {
        Self {
            name: self.name.clone(),
            args: self.args.clone(),
            file: Arc::clone(&self.file),
            line: self.line,
            block: None,
            code: self.code.clone(),
            raw: self.raw.clone(),
            id: self.id,
            place: self.place.clone(),
        }
    }

    /// Whether it has this name: Apache takes capital letters for small ones.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Its arguments.
    pub fn words(&self) -> Vec<String> {
        words(&self.args)
    }

    /// Its first argument.
    pub(super) fn first(&self) -> String {
        take_word(&mut self.args.as_str())
    }

    /// Whether its first argument is this word, in any case.
    pub(super) fn first_is(&self, word: &str) -> bool {
        self.first().eq_ignore_ascii_case(word)
    }

    /// The lines of its section.
    pub fn children(&self) -> &[Line] {
        self.block.as_deref().unwrap_or_default()
    }

    /// `/etc/apache2/apache2.conf, line 12`.
    pub(super) fn position(&self) -> String {
        format!("{}, line {}", self.file, self.line)
    }

    /// For people: `EnableSendfile On`, `<Directory /var/www>`.
    pub fn text(&self) -> String {
        let space = if self.args.is_empty() { "" } else { " " };
        let text = format!("{}{space}{}", self.name, self.args);
        if self.block.is_some() || self.code.is_some() { format!("<{text}>") } else { text }
    }
}
