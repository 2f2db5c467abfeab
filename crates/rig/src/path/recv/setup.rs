//! Input for a receive path.

use crate::tls::TlsSession;
use zc_run::Unavailable;

/// The arguments of every receive path.
#[derive(Debug, Clone, Copy)]
pub struct RecvSetup {
    /// Bytes of each of its buffers, at least 1.
    pub(super) buffer_bytes: usize,
    /// Keys of the connection, for paths that decrypt.
    session: Option<TlsSession>,
}

impl RecvSetup {
    /// Paths with buffers of `buffer_bytes`, or of one byte.
    pub fn new(buffer_bytes: usize) -> Self {
        Self { buffer_bytes: buffer_bytes.max(1), session: None }
    }

    /// The same for a connection that has keys.
    pub(crate) fn keyed(self, session: Option<TlsSession>) -> Self {
        Self { session, ..self }
    }

    /// The keys of a path that decrypts.
    ///
    /// # Errors
    /// There are none.
    pub(super) fn session(&self) -> Result<&TlsSession, Unavailable> {
        self.session.as_ref().ok_or_else(|| Unavailable::unsupported("the sender does not encrypt"))
    }
}
