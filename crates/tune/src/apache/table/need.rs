//! What a directive needs in order to have an effect.

use crate::values::Version;

/// A need of an entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// The site does not speak TLS.
    Plain,
    /// Files are not sent by sendfile().
    Reads,
    /// Files are neither sent by sendfile() nor mapped.
    Buffers,
    /// Several threads of one process serve.
    Threads,
    /// Apache has this module.
    Module(&'static str),
    /// Apache is of this version or a later one.
    Since(Version),
}
