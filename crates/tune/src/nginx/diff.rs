//! Changes as a unified diff of the files of a configuration.

use std::ops::Range;

use super::change::{self, Edit, Spot};
use super::render;
use super::tree::Config;
use crate::Change;
use crate::diff::{Piece, indent, indent_inside, line_start, newline, unified, with_empty_line};
use crate::file::File;
use crate::site::Site;

impl Config {
    /// Changes as a unified diff of the files they are in, for `patch -p0 -d /`; sysctls follow as
    /// a comment. Empty if nothing changes.
    pub fn diff(&self, site: &Site, changes: &[&Change]) -> String {
        let mut edits = change::of_directives(self, site, changes);
        edits.extend(change::of_listens(self, site, changes));
        let pieces = edits.iter().filter_map(|edit| piece(&self.files, edit)).collect();
        unified(&self.files, pieces, changes)
    }
}

/// What is replaced for an edit, and in which file; None if the file does not have it.
fn piece(files: &[File], edit: &Edit<'_>) -> Option<(usize, Piece)> {
    let words = render::words(&edit.name, &edit.args);
    let at = edit.at;
    let text = &files.get(at.place.file)?.text;
    let bytes = at.place.bytes.clone();
    text.get(bytes.clone())?;
    let place =
        |range: Range<usize>, text: String| Piece { start: range.start, end: range.end, text };
    let piece = match edit.spot {
        Spot::InPlace if at.block.is_none() => place(bytes, format!("{words};")),
        Spot::InPlace => return None,
        Spot::Without => place(with_empty_line(text, bytes), String::new()),
        Spot::Before => {
            let line = line_start(text, bytes.start);
            match text[line..bytes.start].trim().is_empty() {
                true => {
                    let indent = &text[line..bytes.start];
                    place(line..line, format!("{indent}{words};{}", newline(text, line)))
                }
                false => place(bytes.start..bytes.start, format!("{words}; ")),
            }
        }
        Spot::FirstInside => {
            let child = at
                .children()
                .iter()
                .find(|child| child.place.file == at.place.file && child.line > at.line);
            let child = child.map(|child| indent(text, child.place.bytes.start));
            let inner = indent_inside(indent(text, bytes.start), child);
            after(text, at.place.inside, &inner, &words)
        }
        Spot::After => {
            let indent = indent(text, bytes.start).to_owned();
            after(text, bytes.end, &indent, &words)
        }
    };
    Some((at.place.file, piece))
}

/// A line after offset `at`, or if something follows there on the same line, words behind it.
fn after(text: &str, at: usize, indent: &str, words: &str) -> Piece {
    let rest = &text[at..];
    let line = rest.split_inclusive('\n').next().unwrap_or_default();
    let follows = line.trim_start();
    if follows.is_empty() || follows.starts_with('#') {
        let next = at + line.len();
        let newline = newline(text, at);
        let text = match line.ends_with('\n') {
            true => format!("{indent}{words};{newline}"),
            false => format!("{newline}{indent}{words};"),
        };
        return Piece { start: next, end: next, text };
    }
    Piece { start: at, end: at, text: format!(" {words};") }
}
