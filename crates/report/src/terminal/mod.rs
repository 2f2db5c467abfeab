//! What texts for a terminal are made of: tables, labelled lines and colours. Markdown is made of
//! the same parts.

pub(crate) mod layout;
pub(crate) mod note;
pub(crate) mod part;
pub(crate) mod table;
