//! A labelled line above or below the tables. The terminal aligns labels, Markdown and HTML make
//! lists.

use super::layout::{Layout, Tone};
use crate::text::wrap;

/// A line above or below a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) label: &'static str,
    pub(crate) text: String,
}

pub(crate) fn note(label: &'static str, text: impl Into<String>) -> Note {
    Note { label, text: text.into() }
}

/// Removes the label of each note that follows one with the same label.
pub(crate) fn remove_repeated_labels(mut notes: Vec<Note>) -> Vec<Note> {
    let mut last = "";
    for note in &mut notes {
        let label = note.label;
        if label == last {
            note.label = "";
        }
        last = label;
    }
    notes
}

/// Column in which the text of notes begins on a terminal.
const INDENT: usize = 14;

/// Notes for a terminal, their labels in a column of their own.
pub(crate) fn terminal(notes: &[Note], layout: Layout) -> String {
    notes.iter().map(|note| labelled(note.label, &note.text, layout)).collect()
}

fn labelled(label: &str, text: &str, layout: Layout) -> String {
    let line = wrap(label, text, INDENT, layout.columns);
    let tone = match label {
        "doubt" | "doubts" | "failed" | "WITHHELD" | "UNKNOWN" => Tone::Unclear,
        _ => Tone::Dim,
    };
    match line.strip_prefix(label) {
        Some(rest) => layout.paint(tone, label) + rest,
        None => line,
    }
}
