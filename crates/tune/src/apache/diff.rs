//! Changes as a unified diff of the files of a configuration.

use super::change::{self, Edit, Spot};
use super::tree::Config;
use super::words::joined;
use crate::Change;
use crate::diff::{Piece, indent, indent_inside, newline, unified, with_empty_line};
use crate::file::File;
use crate::site::Site;

impl Config {
    /// Changes as a unified diff of the files they are in, for `patch -p0 -d /`; sysctls follow as
    /// a comment. Empty if nothing changes.
    pub fn diff(&self, site: &Site, changes: &[&Change]) -> String {
        let edits = change::of_directives(self, site, changes);
        let mut pieces: Vec<(usize, Piece)> = Vec::new();
        let mut end = String::new();
        for edit in &edits {
            match edit.spot {
                Spot::End => end.push_str(&at_end(edit)),
                _ => pieces.extend(piece(&self.files, edit)),
            }
        }
        if let Some(main) = self.files.first().filter(|_| !end.is_empty()) {
            let text = &main.text;
            let newline = newline(text, 0);
            let at = text.len();
            // Behind a last line without an end, the new one has none either.
            let text = match text.is_empty() || text.ends_with('\n') {
                true => end.replace('\n', newline),
                false => format!("{newline}{}", end.trim_end().replace('\n', newline)),
            };
            pieces.push((0, Piece { start: at, end: at, text }));
        }
        unified(&self.files, pieces, changes)
    }
}

/// A line at the end of the main file.
fn at_end(edit: &Edit<'_>) -> String {
    let line = edit.written();
    match &edit.folder {
        Some(folder) => {
            let folder = joined(&[folder]);
            format!("<Directory {folder}>\n    {line}\n</Directory>\n")
        }
        None => format!("{line}\n"),
    }
}

/// What is replaced for an edit, and in which file; `None` if the file does not have it.
fn piece(files: &[File], edit: &Edit<'_>) -> Option<(usize, Piece)> {
    let at = edit.at?;
    let text = &files.get(at.place.file)?.text;
    let bytes = at.place.bytes.clone();
    text.get(bytes.clone())?;
    let written = edit.written();
    let piece = match edit.spot {
        Spot::InPlace => Piece { start: bytes.start, end: bytes.end, text: written },
        Spot::Without => {
            let bytes = with_empty_line(text, bytes);
            Piece { start: bytes.start, end: bytes.end, text: String::new() }
        }
        Spot::FirstInside => {
            let outer = indent(text, bytes.start);
            let child = at.children().iter().find(|child| child.place.file == at.place.file);
            let child = child.map(|child| indent(text, child.place.bytes.start));
            let inner = indent_inside(outer, child);
            behind(text, bytes.start, at.place.after, &format!("{inner}{written}"))
        }
        Spot::After => {
            let line = format!("{}{written}", indent(text, bytes.start));
            behind(text, bytes.start, at.place.after, &line)
        }
        Spot::End => return None,
    };
    Some((at.place.file, piece))
}

/// A new line behind the one that begins at `start` and ends before `after`.
fn behind(text: &str, start: usize, after: usize, line: &str) -> Piece {
    let newline = newline(text, start);
    let text = match text[..after].ends_with('\n') {
        true => format!("{line}{newline}"),
        false => format!("{newline}{line}"),
    };
    Piece { start: after, end: after, text }
}
