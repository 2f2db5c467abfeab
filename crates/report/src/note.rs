//! A labelled line above or below the tables. The terminal aligns labels, Markdown and HTML make lists.

/// A line above or below a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) label: &'static str,
    pub(super) text: String,
}

pub(super) fn note(label: &'static str, text: impl Into<String>) -> Note {
    Note { label, text: text.into() }
}
