//! The parts of texts for a terminal and in Markdown: tables, labelled lines and colours.

pub(crate) mod layout;
pub(crate) mod note;
pub(crate) mod part;
pub(crate) mod table;
