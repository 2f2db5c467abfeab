//! Why a description of a format is refused.

/// Why a description of a format is refused, as a phrase behind `the format`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// There is no such variable or directive.
    #[error("has \"{0}\", which is not known")]
    Unknown(String),
    /// Something that every line must have is not in it.
    #[error("lacks {0}")]
    Lacks(&'static str),
    /// Nothing separates two fields.
    #[error("has two fields with nothing between them")]
    Adjacent,
    /// A request has spaces, and here it ends at a space.
    #[error("has the request without quotes around it")]
    BareRequest,
}
