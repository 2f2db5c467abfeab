//! What a directive needs in order to have an effect.

/// A need of an entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Files are sent by sendfile().
    Sendfile,
    /// Files are read into buffers of nginx.
    Buffers,
    /// nginx was built with this.
    Built(&'static str),
}
