//! Changes as a unified diff of the files of a configuration.

use super::change::{Edits, Spot, of_directives};
use super::tree::{Config, Line, Section};
use super::words::joined;
use crate::Change;
use crate::diff::{Piece, indent, indent_inside, newline, unified, with_empty_line};
use crate::site::Site;

impl Config {
    /// Changes as a unified diff of the files they are in, for `patch -p0 -d /`; sysctls follow as
    /// a comment. Empty if nothing changes.
    pub fn diff(&self, site: &Site, changes: &[&Change]) -> String {
        let edits = of_directives(self, site, changes);
        let mut pieces: Vec<(usize, Piece)> = Vec::new();
        for (spot, words) in &edits {
            pieces.extend(self.piece(*spot, words.as_deref()));
        }
        pieces.extend(self.new_global(&edits));
        unified(&self.files, pieces, changes)
    }

    /// What is replaced at a spot, and in which file; `None` if the file does not have it.
    fn piece(&self, spot: Spot, words: Option<&[String]>) -> Option<(usize, Piece)> {
        match spot {
            Spot::At(section, line) => {
                let place = &self.sections.get(section)?.lines.get(line)?.place;
                let text = &self.files.get(place.file)?.text;
                text.get(place.bytes.clone())?;
                let (bytes, text) = match words {
                    Some(words) => (place.bytes.clone(), joined(words)),
                    None => (with_empty_line(text, place.bytes.clone()), String::new()),
                };
                Some((place.file, Piece { start: bytes.start, end: bytes.end, text }))
            }
            Spot::FirstIn(section, _) => {
                let Section { header, lines } = self.sections.get(section)?;
                let text = &self.files.get(header.place.file)?.text;
                let (start, after) = (header.place.bytes.start, header.place.after);
                text.get(start..after)?;
                let inner = lines.first().map(|line: &Line| indent(text, line.place.bytes.start));
                let inner = indent_inside(indent(text, start), inner);
                let text = format!("{inner}{}{}", joined(words?), newline(text, start));
                Some((header.place.file, Piece { start: after, end: after, text }))
            }
            Spot::NewGlobal(_) => None,
        }
    }

    /// A global section at the begin of the first file.
    fn new_global(&self, edits: &Edits) -> Option<(usize, Piece)> {
        let of_it = edits.iter().filter(|(spot, _)| matches!(spot, Spot::NewGlobal(_)));
        let newline = newline(&self.files.first()?.text, 0);
        let lines: String = of_it
            .filter_map(|(_, words)| Some(format!("    {}{newline}", joined(words.as_ref()?))))
            .collect();
        let text = format!("global{newline}{lines}{newline}");
        (!lines.is_empty()).then_some((0, Piece { start: 0, end: 0, text }))
    }
}
