//! Changes as a unified diff of the files of a configuration.

use super::change::{Edit, Spot, edits};
use super::tree::{Config, Section};
use super::words::joined;
use crate::Change;
use crate::diff::{Piece, indent, indent_inside, newline, unified, with_empty_line};
use crate::site::Site;

impl Config {
    /// Changes as a unified diff of the files they are in, for `patch -p0 -d /`; sysctls follow as
    /// a comment. Empty if nothing changes.
    pub fn diff(&self, site: &Site, changes: &[&Change]) -> String {
        let mut pieces: Vec<(usize, Piece)> = Vec::new();
        let mut global = String::new();
        for edit in edits(self, site, changes) {
            match &edit {
                (Spot::NewGlobal, Some(words)) => {
                    global.push_str("    ");
                    global.push_str(&joined(words));
                    global.push('\n');
                }
                _ => pieces.extend(self.piece(&edit)),
            }
        }
        if let Some(first) = self.files.first().filter(|_| !global.is_empty()) {
            let text = format!("global\n{global}\n").replace('\n', newline(&first.text, 0));
            pieces.push((0, Piece { start: 0, end: 0, text }));
        }
        unified(&self.files, pieces, changes)
    }

    /// What is replaced for an edit, and in which file; `None` if the file does not have it.
    fn piece(&self, (spot, words): &Edit) -> Option<(usize, Piece)> {
        let words = words.as_deref().map(joined);
        match spot {
            Spot::At(section, line) => {
                let place = &self.sections.get(*section)?.lines.get(*line)?.place;
                let text = &self.files.get(place.file)?.text;
                text.get(place.bytes.clone())?;
                let bytes = match words {
                    Some(_) => place.bytes.clone(),
                    None => with_empty_line(text, place.bytes.clone()),
                };
                let text = words.unwrap_or_default();
                Some((place.file, Piece { start: bytes.start, end: bytes.end, text }))
            }
            Spot::FirstIn(section) => {
                let Section { header, lines } = self.sections.get(*section)?;
                let text = &self.files.get(header.place.file)?.text;
                let (start, after) = (header.place.bytes.start, header.place.after);
                text.get(start..after)?;
                let inner = lines.first().map(|line| indent(text, line.place.bytes.start));
                let inner = indent_inside(indent(text, start), inner);
                let text = format!("{inner}{}{}", words?, newline(text, start));
                Some((header.place.file, Piece { start: after, end: after, text }))
            }
            Spot::NewGlobal => None,
        }
    }
}
