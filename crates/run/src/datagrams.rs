//! What a cell says of its datagrams: their payload, and how many of them a call takes.

use serde::{Deserialize, Serialize};

use super::{Factor, FixedParams, SendPath, Transfer, Value};

/// The most payload of a datagram of UDP over IPv4, which has no room for more (RFC 768, RFC 791).
pub const LONGEST_DATAGRAM: usize = 65_507;

/// Payload of a datagram where nothing else is asked for: what QUIC may send before it knows more
/// of the path (RFC 9000, section 14.1).
pub(crate) const USUAL_DATAGRAM: usize = 1_200;

/// Datagrams of a call where nothing else is asked for.
const USUAL_SEGMENTS: usize = 16;

/// The same for a message with a part for each. A packet has 17 fragments (MAX_SKB_FRAGS), and a
/// part that crosses a page takes two.
const USUAL_PARTS: usize = 8;

/// The datagrams of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Datagrams {
    /// UDP payload of each, but for the last one of a piece.
    pub payload_bytes: usize,
    /// Datagrams that one call takes.
    pub of_a_call: usize,
}

impl Default for Datagrams {
    fn default() -> Self {
        Self { payload_bytes: USUAL_DATAGRAM, of_a_call: USUAL_SEGMENTS }
    }
}

impl Datagrams {
    /// UDP payload of a call.
    pub fn call_bytes(self) -> usize {
        self.payload_bytes.saturating_mul(self.of_a_call)
    }
}

impl FixedParams {
    /// The datagrams of a cell with this transfer; `None` if it sends a stream.
    pub fn datagrams(&self, transfer: Transfer) -> Option<Datagrams> {
        let send = transfer.send_path().filter(|send| send.form().is_datagrams())?;
        let level = |factor: Factor| self.more.get(factor.name());
        let usual = Datagrams::default();
        let asked = level(Factor::Segments).and_then(Value::number).filter(|number| *number > 1);
        let of_a_call = match send {
            _ if !send.joins_datagrams() => 1,
            SendPath::UdpUringVectored => asked.unwrap_or(USUAL_PARTS),
            _ => asked.unwrap_or(usual.of_a_call),
        };
        let payload_bytes =
            level(Factor::Datagram).and_then(Value::bytes).unwrap_or(usual.payload_bytes);
        Some(Datagrams { payload_bytes, of_a_call })
    }
}
