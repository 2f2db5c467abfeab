//! A key of JSON lines, and what it is of.

use crate::entry::Counted;

/// The kind of value that a key has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Time,
    Status,
    Method,
    /// A whole request line.
    Request,
    Protocol,
    /// Bytes of a response.
    Bytes(Counted),
    /// A time that the request took, in units of so many ns.
    Duration {
        unit_ns: u64,
    },
    /// Something that only a connection with TLS has.
    OfTls,
    /// The scheme of the request, or its URL.
    Scheme,
    /// Which request of its connection it was.
    OfConnection,
}

/// A key by its path from the object, `request.method`, and what it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) path: String,
    pub(crate) role: Role,
}
