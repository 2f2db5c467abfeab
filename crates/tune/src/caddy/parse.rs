//! From words to lines and their blocks: `caddyconfig/caddyfile/parse.go`.

use std::ops::Range;
use std::sync::Arc;

use super::lex::{Fault, Word};
use super::tree::{Line, Place};

/// Blocks in blocks, which a person would not write more of.
const DEEPEST: usize = 100;

const DEEP: &str = "there are more than 100 blocks in each other";
const NO_END: &str = "a block has no \"}\"";
const NO_BEGINNING: &str = "\"}\" ends no block";
const BEHIND_BRACE: &str = "behind \"{\" a line has to end";

/// The lines of one file.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) words: &'a [Word],
    pub(super) path: &'a Arc<str>,
    /// Its index.
    pub(super) file: usize,
    pub(super) at: usize,
}

fn is_brace(word: &Word) -> bool {
    word.is_brace("{") || word.is_brace("}")
}

impl Parser<'_> {
    /// What a file has that is imported into a block.
    pub(super) fn inside(mut self) -> Result<Vec<Line>, Fault> {
        let lines = self.lines(0)?;
        match self.words.get(self.at) {
            Some(brace) => Err((brace.line, NO_BEGINNING)),
            None => Ok(lines),
        }
    }

    /// What a file has outside of any block: sites, snippets and imports, and first of all global
    /// options.
    pub(super) fn top(mut self) -> Result<Vec<Line>, Fault> {
        let mut out = Vec::new();
        while let Some(first) = self.words.get(self.at) {
            if first.is_brace("}") {
                return Err((first.line, NO_BEGINNING));
            }
            let mut range = self.rest_of_line();
            // More addresses follow a comma.
            while range.end > range.start
                && self.words[range.end - 1].text.ends_with(',')
                && self.words.get(self.at).is_some_and(|word| !is_brace(word))
            {
                range.end = self.rest_of_line().end;
            }
            let is_import = first.text == "import" && !first.is_quoted;
            let line = self.line(range, 0)?;
            if line.block.is_some() || is_import {
                out.push(line);
                continue;
            }
            // A site alone in its file needs no braces.
            let lines = self.lines(0)?;
            if let Some(brace) = self.words.get(self.at) {
                return Err((brace.line, NO_BEGINNING));
            }
            let mut line = line.with_block(lines);
            line.place.bytes.end = self.text.len();
            out.push(line);
        }
        Ok(out)
    }

    /// The words from here to a brace or the end of their line.
    fn rest_of_line(&mut self) -> Range<usize> {
        let start = self.at;
        while let Some(word) = self.words.get(self.at) {
            let is_next = self.at > start && word.line > self.words[self.at - 1].last_line;
            if is_next || is_brace(word) {
                break;
            }
            self.at += 1;
        }
        start..self.at
    }

    /// A line of these words, with the block that follows them.
    fn line(&mut self, range: Range<usize>, depth: usize) -> Result<Line, Fault> {
        let words = &self.words[range];
        let brace = self.words.get(self.at).filter(|word| {
            let last = words.last();
            word.is_brace("{") && last.is_none_or(|last| last.last_line == word.line)
        });
        let Some(first) = words.first().or(brace) else { return Err((0, NO_BEGINNING)) };
        let last = brace.or(words.last()).unwrap_or(first);
        let after = self.text[last.bytes.end..].find('\n');
        let mut line = Line {
            words: words.iter().map(|word| word.text.clone()).collect(),
            block: None,
            file: Arc::clone(self.path),
            line: first.line,
            place: Place {
                file: self.file,
                bytes: first.bytes.start..last.bytes.end,
                inside: after.map_or(self.text.len(), |at| last.bytes.end + at + 1),
            },
        };
        if let Some(brace) = brace {
            self.at += 1;
            if self.words.get(self.at).is_some_and(|next| next.line == brace.line) {
                return Err((brace.line, BEHIND_BRACE));
            }
            if depth == DEEPEST {
                return Err((brace.line, DEEP));
            }
            line.block = Some(self.lines(depth + 1)?);
            let end = self.words.get(self.at).ok_or((brace.line, NO_END))?;
            line.place.bytes.end = end.bytes.end;
            self.at += 1;
        }
        Ok(line)
    }

    /// The lines from here to the brace that ends their block, or to the end.
    fn lines(&mut self, depth: usize) -> Result<Vec<Line>, Fault> {
        let mut out = Vec::new();
        while let Some(word) = self.words.get(self.at) {
            if word.is_brace("}") {
                break;
            }
            let range = self.rest_of_line();
            out.push(self.line(range, depth)?);
        }
        Ok(out)
    }
}
