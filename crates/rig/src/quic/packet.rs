//! Where a packet has what, its nonce, and the protection of its header.

/// Bytes of the connection's name. Servers choose 8 or more, to find the connection by it.
pub(super) const NAME_BYTES: usize = 8;

/// Place of the packet number.
pub(super) const NUMBER_AT: usize = 1 + NAME_BYTES;

/// Bytes before the payload.
pub(crate) const HEADER_BYTES: usize = NUMBER_AT + 4;

/// Bytes of a packet around its payload.
pub(crate) const OVERHEAD_BYTES: usize = HEADER_BYTES + TAG_BYTES;

pub(super) const TAG_BYTES: usize = 16;

/// Bytes of the encrypted payload from which the header's protection is computed, right behind a
/// number of 4 bytes (RFC 9001, section 5.4.2).
pub(super) const SAMPLE_BYTES: usize = 16;

/// First byte of a packet with a number of 4 bytes, and the bits of it that are protected.
pub(super) const SHORT_HEADER: u8 = 0x43;
pub(super) const PROTECTED_BITS: u8 = 0x1f;

/// The nonce of a packet: its number, with the iv XORed onto it (RFC 9001, section 5.3).
pub(super) fn nonce(iv: &[u8; ring::aead::NONCE_LEN], number: u64) -> ring::aead::Nonce {
    let mut nonce = *iv;
    for (byte, number) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
        *byte ^= number;
    }
    ring::aead::Nonce::assume_unique_for_key(nonce)
}

/// Protects the header of a packet, or removes the protection.
pub(super) fn mask(packet: &mut [u8], mask: [u8; 5]) {
    packet[0] ^= mask[0] & PROTECTED_BITS;
    for (byte, mask) in packet[NUMBER_AT..HEADER_BYTES].iter_mut().zip(&mask[1..]) {
        *byte ^= mask;
    }
}
