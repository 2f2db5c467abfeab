//! Input for a receive path.

use crate::tls::TlsSession;
use zc_run::{LONGEST_DATAGRAM, Unavailable};

/// The arguments of every receive path.
#[derive(Debug, Clone, Copy)]
pub struct RecvSetup {
    /// Bytes of each of its buffers, at least 1.
    pub(super) buffer_bytes: usize,
    /// Keys of the connection, for paths that decrypt.
    session: Option<TlsSession>,
    /// The longest datagram, for paths that receive some.
    pub(super) datagram_bytes: usize,
}

impl RecvSetup {
    /// Paths with buffers of `buffer_bytes`, or of one byte.
    pub fn new(buffer_bytes: usize) -> Self {
        Self { buffer_bytes: buffer_bytes.max(1), session: None, datagram_bytes: LONGEST_DATAGRAM }
    }

    /// The same for a connection that has keys.
    pub(crate) fn keyed(self, session: Option<TlsSession>) -> Self {
        Self { session, ..self }
    }

    /// The same for datagrams of at most `bytes`.
    pub(crate) fn with_datagrams(self, bytes: usize) -> Self {
        Self { datagram_bytes: bytes.max(1), ..self }
    }

    /// The keys of a path that decrypts.
    ///
    /// # Errors
    /// There are none.
    pub(super) fn session(&self) -> Result<&TlsSession, Unavailable> {
        self.session.as_ref().ok_or_else(|| Unavailable::unsupported("the sender does not encrypt"))
    }
}
