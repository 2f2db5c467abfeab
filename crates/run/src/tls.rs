//! What a cell says of TLS: the cipher, the version and the payload of a record.

use serde::{Deserialize, Serialize};

use super::{Cipher, Factor, FixedParams, TlsVersion, Transfer, Value};

/// The longest payload of a record: 2^14 bytes (RFC 8446, section 5.1).
pub const LONGEST_RECORD: usize = 1 << 14;

/// The records of a cell's connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsRecords {
    /// What they are encrypted with.
    pub cipher: Cipher,
    /// Version of TLS, which decides their form.
    pub version: TlsVersion,
    /// Payload of each but the last of a message.
    pub payload_bytes: usize,
}

impl FixedParams {
    /// The records of a cell with this transfer; `None` if it sends in the clear.
    pub fn tls(&self, transfer: Transfer) -> Option<TlsRecords> {
        let level = |factor: Factor| self.more.get(factor.name());
        let cipher = level(Factor::Cipher).and_then(Value::name);
        transfer.encrypts().then(|| TlsRecords {
            cipher: cipher.filter(|cipher| *cipher != Cipher::Clear).unwrap_or(Cipher::DEFAULT),
            version: level(Factor::TlsVersion).and_then(Value::name).unwrap_or(TlsVersion::V13),
            payload_bytes: level(Factor::Record).and_then(Value::bytes).unwrap_or(LONGEST_RECORD),
        })
    }
}
