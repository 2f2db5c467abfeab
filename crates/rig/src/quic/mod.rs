//! Packets of QUIC without its connection: both ends are given the keys, as with TLS
//! ([`crate::tls`]). A packet is one datagram: a short header (RFC 9000, section 17.3.1) with a
//! connection's name of 8 bytes and a number of 4, and a payload, encrypted, with its tag (RFC 9001,
//! section 5.3). The header is protected (section 5.4), which is a block of the cipher for each
//! packet.

mod opener;
mod sealer;

pub(crate) use opener::PacketOpener;
pub(crate) use sealer::PacketSealer;

/// Bytes of the connection's name. Servers choose 8 or more, to find the connection by it.
const NAME_BYTES: usize = 8;

/// Place of the packet number.
const NUMBER_AT: usize = 1 + NAME_BYTES;

/// Bytes before the payload.
pub(crate) const HEADER_BYTES: usize = NUMBER_AT + 4;

/// Bytes of a packet around its payload.
pub(crate) const OVERHEAD_BYTES: usize = HEADER_BYTES + TAG_BYTES;

const TAG_BYTES: usize = 16;

/// Bytes of the encrypted payload from which the header's protection is computed, right behind a
/// number of 4 bytes (RFC 9001, section 5.4.2).
const SAMPLE_BYTES: usize = 16;

/// First byte of a packet with a number of 4 bytes, and the bits of it that are protected.
const SHORT_HEADER: u8 = 0x43;
const PROTECTED_BITS: u8 = 0x1f;

/// The nonce of a packet: its number, with the iv XORed onto it (RFC 9001, section 5.3).
fn nonce(iv: &[u8; ring::aead::NONCE_LEN], number: u64) -> ring::aead::Nonce {
    let mut nonce = *iv;
    for (byte, number) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
        *byte ^= number;
    }
    ring::aead::Nonce::assume_unique_for_key(nonce)
}

/// Protects the header of a packet, or removes the protection.
fn mask(packet: &mut [u8], mask: [u8; 5]) {
    packet[0] ^= mask[0] & PROTECTED_BITS;
    for (byte, mask) in packet[NUMBER_AT..HEADER_BYTES].iter_mut().zip(&mask[1..]) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests;
