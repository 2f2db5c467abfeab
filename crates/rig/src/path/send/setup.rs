//! Input for a send path: its files, its buffer, and what a plan fixes for it.

use std::sync::Arc;

use crate::path::resident::Resident;
use crate::tls::TlsSession;
use crate::workload::FileSet;
use zc_run::{Align, CopyPages, Datagrams, Unavailable};

/// The calls that say that more will follow: MSG_MORE, SPLICE_F_MORE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// None.
    Never,
    /// All but the last of a piece.
    Inside,
    /// All.
    Always,
}

impl More {
    /// Whether a call says it; `is_last` if it is the last of its piece.
    pub(super) fn says(self, is_last: bool) -> bool {
        match self {
            Self::Never => false,
            Self::Inside => !is_last,
            Self::Always => true,
        }
    }
}

/// The arguments of every send path.
#[derive(Debug, Clone)]
pub struct SendSetup {
    /// The files; kept open and unchanged for the life of the path.
    pub files: Arc<FileSet>,
    /// The file set in anonymous memory, one allocation per kind of pages for all paths that send
    /// from memory; made on first use.
    pub resident: Arc<Resident>,
    /// Bytes per call for paths with a user-space buffer.
    pub buffer_bytes: usize,
    /// The most bytes per call for paths without one; `None` leaves it to the piece, and to the
    /// pipe where there is one.
    pub call_bytes: Option<usize>,
    /// The calls that say that more will follow. A path whose calls take no flags cannot be opened
    /// with [`More::Always`], nor one that cannot tell its last call with [`More::Inside`].
    pub more: More,
    /// The largest packet that the link's device takes from TCP, in bytes, or more.
    pub packet_bytes: usize,
    /// Offset on its page at which a user-space buffer begins.
    pub align: Align,
    /// Kind of pages that `resident` consists of.
    pub pages: CopyPages,
    /// The CPU that this sender is pinned to (for io_uring's worker threads, which do not inherit
    /// it).
    pub cpu: Option<usize>,
    /// Keys of the connection, for paths that encrypt.
    pub session: Option<TlsSession>,
    /// Size and number of datagrams, for paths that send some.
    pub datagrams: Datagrams,
}

impl SendSetup {
    /// The keys of a path that encrypts.
    ///
    /// # Errors
    /// There are none.
    pub(super) fn session(&self) -> Result<&TlsSession, Unavailable> {
        self.session.as_ref().ok_or_else(|| {
            Unavailable::unsupported("nobody has keys for this traffic")
                .remedy("zc run tls measures paths that encrypt")
        })
    }

    /// Paths that send `files` through buffers of `buffer_bytes`, with defaults for the rest.
    pub fn new(files: Arc<FileSet>, buffer_bytes: usize) -> Self {
        Self {
            files,
            resident: Arc::default(),
            buffer_bytes,
            call_bytes: None,
            more: More::Never,
            packet_bytes: 1 << 16,
            align: Align::Page,
            pages: CopyPages::Scattered,
            cpu: None,
            session: None,
            datagrams: Datagrams::default(),
        }
    }
}
