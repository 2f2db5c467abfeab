//! Words for the things that have costs: send paths, or configurations of a server.

/// The nouns for one kind of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Priced {
    /// Singular.
    pub(crate) one: &'static str,
    /// Plural.
    pub(crate) several: &'static str,
    /// `by every path`, of a cost that all have.
    pub(crate) in_every: &'static str,
}

impl Priced {
    pub(crate) fn new(is_server: bool) -> Self {
        match is_server {
            false => Self { one: "path", several: "paths", in_every: "by every path" },
            true => Self {
                one: "configuration",
                several: "configurations",
                in_every: "in every configuration",
            },
        }
    }
}
