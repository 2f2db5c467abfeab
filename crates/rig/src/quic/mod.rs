//! Packets of QUIC without its connection: both ends are given the keys, as with TLS
//! ([`crate::tls`]). A packet is one datagram: a short header (RFC 9000, section 17.3.1) with a
//! connection's name of 8 bytes and a number of 4, and a payload, encrypted, with its tag (RFC 9001,
//! section 5.3). The header is protected (section 5.4), which is a block of the cipher for each
//! packet.

mod opener;
mod packet;
mod sealer;

pub(crate) use opener::PacketOpener;
pub(crate) use packet::{HEADER_BYTES, OVERHEAD_BYTES};
pub(crate) use sealer::PacketSealer;

#[cfg(test)]
mod tests;
