//! Encrypts records.

use ring::aead::LessSafeKey;

use super::record::{Layout, TAG_BYTES};
use super::session::TlsSession;

/// The sending half of a session.
pub(crate) struct Sealer {
    key: LessSafeKey,
    iv: [u8; ring::aead::NONCE_LEN],
    layout: Layout,
    /// Number of the next record.
    pub(super) number: u64,
}

impl Sealer {
    pub(crate) fn new(session: &TlsSession) -> Self {
        let layout = Layout::new(session.records);
        Self { key: session.aead(), iv: session.iv, layout, number: 0 }
    }

    /// Makes the next record of the whole of `record`, in which the payload has its place
    /// ([`Layout::before`]) already.
    pub(crate) fn seal(&mut self, record: &mut [u8]) {
        let Self { key, iv, layout, number } = self;
        layout.write_frame(record, *number);
        let (nonce, aad) =
            (layout.nonce(iv, *number, record), layout.authenticated(*number, record));
        let tag_at = record.len() - TAG_BYTES;
        let (sealed, tag) = record.split_at_mut(tag_at);
        match key.seal_in_place_separate_tag(nonce, aad, &mut sealed[layout.before()..]) {
            Ok(computed) => tag.copy_from_slice(computed.as_ref()),
            Err(_) => {
                unreachable!("a record is shorter than the gigabytes that a nonce is good for")
            }
        }
        *number += 1;
    }
}
