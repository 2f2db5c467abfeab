//! Decrypts records.

use std::ops::Range;

use ring::aead::LessSafeKey;

use super::record::Layout;
use super::session::TlsSession;
use zc_run::{Error, LONGEST_RECORD, Result};

/// The receiving half of a session.
pub(crate) struct Opener {
    key: LessSafeKey,
    iv: [u8; ring::aead::NONCE_LEN],
    layout: Layout,
    /// Number of the next record.
    pub(super) number: u64,
}

impl Opener {
    pub(crate) fn new(session: &TlsSession) -> Self {
        let layout = Layout::new(session.records);
        Self { key: session.aead(), iv: session.iv, layout, number: 0 }
    }

    /// Bytes of the longest record.
    pub(crate) fn longest(&self) -> usize {
        LONGEST_RECORD + self.layout.overhead()
    }

    /// Decrypts the record that `bytes` begins with. Returns its length and the place of its
    /// payload; `None` if it has not arrived as a whole.
    ///
    /// # Errors
    /// It is no record of data, or not one that the sender encrypted with this key.
    pub(crate) fn open(&mut self, bytes: &mut [u8]) -> Result<Option<(usize, Range<usize>)>> {
        let longest = self.longest();
        let Self { key, iv, layout, number } = self;
        let length = layout.length(bytes, longest).map_err(|_| not_decrypted())?;
        let Some(record) = length.and_then(|length| bytes.get_mut(..length)) else {
            return Ok(None);
        };
        let (nonce, aad) =
            (layout.nonce(iv, *number, record), layout.authenticated(*number, record));
        let before = layout.before();
        let opened = key.open_in_place(nonce, aad, &mut record[before..]);
        let inner = opened.map_err(|_| not_decrypted())?;
        let payload = layout.payload(inner).ok_or_else(not_decrypted)?;
        *number += 1;
        Ok(Some((record.len(), before..before + payload)))
    }
}

/// The error for bytes that cannot be decrypted.
pub(crate) fn not_decrypted() -> Error {
    Error::failed("not-decrypted", "the receiver cannot decrypt what arrived")
}
