//! Decrypts packets.

use ring::aead::quic::HeaderProtectionKey;
use ring::aead::{Aad, LessSafeKey, NONCE_LEN};

use super::packet::{HEADER_BYTES, NUMBER_AT, OVERHEAD_BYTES, SAMPLE_BYTES, mask, nonce};
use crate::tls::{TlsSession, not_decrypted};
use zc_run::Result;

/// The receiving half of a connection.
pub(crate) struct PacketOpener {
    key: LessSafeKey,
    header_key: HeaderProtectionKey,
    iv: [u8; NONCE_LEN],
    /// The number after the largest that has arrived.
    expected: u64,
}

impl PacketOpener {
    pub(crate) fn new(session: &TlsSession) -> Self {
        let (key, header_key) = (session.aead(), session.header_key());
        Self { key, header_key, iv: session.iv, expected: 0 }
    }

    /// Decrypts a datagram, and returns its payload. Others may have been lost before it.
    ///
    /// # Errors
    /// It is no packet that the sender encrypted with this key.
    pub(crate) fn open<'a>(&mut self, packet: &'a mut [u8]) -> Result<&'a mut [u8]> {
        if packet.len() < OVERHEAD_BYTES {
            return Err(not_decrypted());
        }
        let sample = &packet[HEADER_BYTES..][..SAMPLE_BYTES];
        let own = self.header_key.new_mask(sample).map_err(|_| not_decrypted())?;
        mask(packet, own);
        let (header, rest) = packet.split_at_mut(HEADER_BYTES);
        let mut low = [0; 4];
        low.copy_from_slice(&header[NUMBER_AT..]);
        let number = whole_number(self.expected, u32::from_be_bytes(low));
        let aad = Aad::from(&*header);
        let opened = self.key.open_in_place(nonce(&self.iv, number), aad, rest);
        let payload = opened.map_err(|_| not_decrypted())?;
        self.expected = self.expected.max(number + 1);
        Ok(payload)
    }
}

/// The packet number nearest to the expected one whose lower 32 bits are `low` (RFC 9000, appendix
/// A.3).
pub(super) fn whole_number(expected: u64, low: u32) -> u64 {
    const WINDOW: u64 = 1 << 32;
    let candidate = (expected & !(WINDOW - 1)) | u64::from(low);
    if candidate + WINDOW / 2 <= expected {
        candidate + WINDOW
    } else if candidate > expected + WINDOW / 2 && candidate >= WINDOW {
        candidate - WINDOW
    } else {
        candidate
    }
}
