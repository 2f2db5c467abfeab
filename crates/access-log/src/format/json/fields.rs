//! Keys of JSON lines that are named by whoever knows the log: `bytes=resp_size`.

use super::key::{Key, Role};
use crate::entry::Counted;

/// Roles that can be named, with their words.
const ROLES: [(&str, Role); 11] = [
    ("time", Role::Time),
    ("status", Role::Status),
    ("method", Role::Method),
    ("request", Role::Request),
    ("protocol", Role::Protocol),
    ("bytes", Role::Bytes(Counted::Unsaid)),
    ("body_bytes", Role::Bytes(Counted::Body)),
    ("wire_bytes", Role::Bytes(Counted::Wire)),
    ("duration", Role::Duration { unit_ns: 1_000_000_000 }),
    ("duration_ms", Role::Duration { unit_ns: 1_000_000 }),
    ("duration_us", Role::Duration { unit_ns: 1_000 }),
];

/// Keys that were named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    keys: Vec<Key>,
    /// Each as it was named.
    texts: Vec<String>,
}

impl Fields {
    /// The words for what can be named.
    pub fn words() -> impl Iterator<Item = &'static str> {
        ROLES.iter().map(|(word, _)| *word)
    }

    /// Adds `bytes=resp_size`, or `method=request.verb` for a key in an object. Returns whether it
    /// is of that form, and the word is one of [`words`](Self::words).
    pub fn add(&mut self, text: &str) -> bool {
        let Some((word, path)) = text.split_once('=') else { return false };
        let role = ROLES.iter().find(|(known, _)| *known == word).map(|(_, role)| *role);
        match role {
            Some(role) if !path.is_empty() => {
                self.keys.push(Key { path: path.to_owned(), role });
                self.texts.push(text.to_owned());
                true
            }
            _ => false,
        }
    }

    /// Whether none was named.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(super) fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The keys as they were named.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }
}
