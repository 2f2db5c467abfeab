//! Changes as a unified diff of the files of a configuration.

use super::change::Edit;
use super::quote::joined;
use super::render;
use super::tree::{Config, Line};
use crate::Change;
use crate::diff::{Piece, indent, newline, unified, with_empty_line};
use crate::site::Site;

impl Config {
    /// Changes as a unified diff of the files they are in, for `patch -p0 -d /`; sysctls and
    /// variables follow as comments. Empty if nothing changes.
    pub fn diff(&self, site: &Site, changes: &[&Change]) -> String {
        let edits = self.edits(site, changes);
        let pieces = edits.iter().filter_map(|edit| self.piece(edit)).collect();
        unified(&self.files, pieces, changes)
    }

    /// What is replaced for an edit, and in which file; `None` if the file does not have it.
    fn piece(&self, edit: &Edit) -> Option<(usize, Piece)> {
        match edit {
            Edit::Take(path) => {
                let place = &self.at(path)?.place;
                let text = &self.files.get(place.file)?.text;
                text.get(place.bytes.clone())?;
                let bytes = with_empty_line(text, place.bytes.clone());
                let piece = Piece { start: bytes.start, end: bytes.end, text: String::new() };
                Some((place.file, piece))
            }
            Edit::Replace(path, line) => {
                let place = &self.at(path)?.place;
                self.files.get(place.file)?.text.get(place.bytes.clone())?;
                let (start, end) = (place.bytes.start, place.bytes.end);
                Some((place.file, Piece { start, end, text: joined(&line.words) }))
            }
            Edit::Insert(path, line) => {
                let block = self.at(path)?;
                let place = &block.place;
                let text = &self.files.get(place.file)?.text;
                text.get(place.bytes.start..place.inside)?;
                let outer = indent(text, place.bytes.start);
                let inner = block.children().iter().find(|inner| inner.place.file == place.file);
                let inner = match inner {
                    Some(inner) => indent(text, inner.place.bytes.start).to_owned(),
                    None => format!("{outer}\t"),
                };
                let mut new = String::new();
                let newline = newline(text, place.bytes.start);
                render::write(&mut new, std::slice::from_ref(line), &inner, newline);
                Some((place.file, Piece { start: place.inside, end: place.inside, text: new }))
            }
            Edit::NewGlobal(lines) => {
                let global = Line::new::<&str>(&[]).with_block(lines.clone());
                let newline = newline(&self.files.first()?.text, 0);
                let mut text = String::new();
                render::write(&mut text, &[global], "", newline);
                text.push_str(newline);
                Some((0, Piece { start: 0, end: 0, text }))
            }
        }
    }
}
