//! Encrypts packets.

use ring::aead::quic::HeaderProtectionKey;
use ring::aead::{Aad, LessSafeKey, NONCE_LEN};

use super::packet::{
    HEADER_BYTES, NAME_BYTES, NUMBER_AT, SAMPLE_BYTES, SHORT_HEADER, TAG_BYTES, mask, nonce,
};
use crate::tls::TlsSession;

/// The sending half of a connection.
pub(crate) struct PacketSealer {
    key: LessSafeKey,
    header_key: HeaderProtectionKey,
    iv: [u8; NONCE_LEN],
    name: [u8; NAME_BYTES],
    /// Number of the next packet.
    number: u64,
}

impl PacketSealer {
    pub(crate) fn new(session: &TlsSession) -> Self {
        let (key, header_key) = (session.aead(), session.header_key());
        Self { key, header_key, iv: session.iv, name: session.name(), number: 0 }
    }

    /// Makes the next packet of the whole of `packet`, in which the payload has its place, behind
    /// [`HEADER_BYTES`] and before the tag, already.
    pub(crate) fn seal(&mut self, packet: &mut [u8]) {
        packet[0] = SHORT_HEADER;
        packet[1..NUMBER_AT].copy_from_slice(&self.name);
        packet[NUMBER_AT..HEADER_BYTES].copy_from_slice(&(self.number as u32).to_be_bytes());
        let (header, rest) = packet.split_at_mut(HEADER_BYTES);
        let (payload, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
        let sealed = self.key.seal_in_place_separate_tag(
            nonce(&self.iv, self.number),
            Aad::from(&*header),
            payload,
        );
        match sealed {
            Ok(computed) => tag.copy_from_slice(computed.as_ref()),
            Err(_) => unreachable!("a datagram is shorter than what a nonce is good for"),
        }
        match self.header_key.new_mask(&packet[HEADER_BYTES..][..SAMPLE_BYTES]) {
            Ok(own) => mask(packet, own),
            Err(_) => unreachable!("the sample has the length of a block"),
        }
        self.number += 1;
    }
}
