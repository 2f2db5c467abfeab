//! A configuration as a tree: what a directive is, and where it stands in which file.

use std::ops::Range;
use std::sync::Arc;

use crate::file::{File, folder};

/// The id of what stands in no file: directives that a copy adds or changes.
pub(super) const NEW: u32 = 0;

/// A configuration of nginx with all its includes in place.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The directives of the main context.
    pub main: Vec<Directive>,
    /// The files it was read from, the main one first.
    pub files: Vec<File>,
}

/// One directive, with its block if it has one.
#[derive(Debug, Clone)]
pub struct Directive {
    /// `sendfile`; in `map`, `geo` and `types`, the first word of an entry.
    pub name: String,
    /// The values of its further words: without quotes, escapes resolved.
    pub args: Vec<String>,
    /// The file in which it stands.
    pub file: Arc<str>,
    /// The line on which it begins, from 1.
    pub line: u32,
    /// What it has in braces, with the directives of included files in place.
    pub block: Option<Vec<Directive>>,
    /// The code between the braces of a `*_by_lua_block`.
    pub lua: Option<String>,
    /// All words as they are written, where one has quotes or escapes.
    pub(super) raw: Option<Vec<String>>,
    /// Unique for each place in the tree. A file that is included twice has two of each directive.
    pub(super) id: u32,
    /// Where it stands in its file.
    pub(super) place: Place,
}

/// Bytes of a file that a directive occupies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Index of the file.
    pub(super) file: usize,
    /// From the first byte of its name up to and including the semicolon or the closing brace.
    pub(super) bytes: Range<usize>,
    /// The offset after its opening brace; after its end without a block.
    pub(super) inside: usize,
}

/// The directives named `name` directly in a block.
pub(super) fn all<'a>(
    block: &'a [Directive],
    name: &str,
) -> impl Iterator<Item = &'a Directive> + use<'a> {
    let name = name.to_owned();
    block.iter().filter(move |directive| directive.name == name)
}

impl Config {
    /// The block of the main context named `name`: `http` or `events`.
    pub(super) fn block(&self, name: &str) -> Option<&Directive> {
        all(&self.main, name).find(|directive| directive.block.is_some())
    }

    /// The folder of the main file, to which relative paths of certificates refer.
    pub(super) fn folder(&self) -> &str {
        self.files.first().map_or("", |main| folder(&main.path))
    }
}

impl Directive {
    /// A directive that stands in no file.
    pub(super) fn new<S: Into<String>>(name: &str, args: impl IntoIterator<Item = S>) -> Self {
        Self {
            name: name.to_owned(),
            args: args.into_iter().map(Into::into).collect(),
            file: Arc::from(""),
            line: 0,
            block: None,
            lua: None,
            raw: None,
            id: NEW,
            place: Place::default(),
        }
    }

    /// Itself with an empty block, in place of a copy of a long one.
    pub(super) fn without_block(&self) -> Self {
        Self {
            name: self.name.clone(),
            args: self.args.clone(),
            file: Arc::clone(&self.file),
            line: self.line,
            block: None,
            lua: None,
            raw: self.raw.clone(),
            id: self.id,
            place: self.place.clone(),
        }
    }

    /// The directives of its block.
    pub fn children(&self) -> &[Directive] {
        self.block.as_deref().unwrap_or_default()
    }

    /// Its first argument.
    pub(super) fn first(&self) -> &str {
        self.args.first().map_or("", String::as_str)
    }

    /// Its arguments have been given other values: what was written is no longer what it says.
    pub(super) fn set_args(&mut self, args: Vec<String>) {
        self.args = args;
        self.raw = None;
    }

    /// `/etc/nginx/nginx.conf, line 12`.
    pub(super) fn position(&self) -> String {
        format!("{}, line {}", self.file, self.line)
    }

    /// Name and arguments, for people: `sendfile on`.
    pub fn words(&self) -> String {
        let args = self.args.iter().flat_map(|arg| [" ", arg]);
        std::iter::once(self.name.as_str()).chain(args).collect()
    }
}
