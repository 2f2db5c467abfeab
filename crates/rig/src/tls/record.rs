//! The form of a record, and the nonce and the additional data that it is encrypted with.

use ring::aead::{Aad, NONCE_LEN, Nonce};

use zc_run::{Cipher, TlsRecords, TlsVersion};

/// Content type, version, length.
const HEADER_BYTES: usize = 5;
/// Content type of data: application_data.
const DATA: u8 = 23;
/// The version in the header: that of TLS 1.2, in TLS 1.3 too (RFC 8446, section 5.1).
const WIRE_VERSION: [u8; 2] = [3, 3];
/// Tag of each of the three ciphers.
pub(super) const TAG_BYTES: usize = 16;

/// Where a record has what. Between the header and the tag is what is encrypted: the payload, and
/// in TLS 1.3 the content type after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    version: TlsVersion,
    /// The nonce is the number of the record, and is sent before the payload: AES-GCM in TLS 1.2
    /// (RFC 5288, section 3).
    explicit_nonce: bool,
}

impl Layout {
    /// The layout of these records.
    pub(crate) fn new(records: TlsRecords) -> Self {
        let TlsRecords { cipher, version, .. } = records;
        let explicit_nonce = version == TlsVersion::V12 && cipher != Cipher::Chacha20Poly1305;
        Self { version, explicit_nonce }
    }

    /// Bytes before the payload.
    pub(crate) fn before(self) -> usize {
        HEADER_BYTES + if self.explicit_nonce { 8 } else { 0 }
    }

    /// Bytes after the payload.
    pub(crate) fn after(self) -> usize {
        TAG_BYTES + self.inner_type()
    }

    /// Bytes of a record besides its payload.
    pub(crate) fn overhead(self) -> usize {
        self.before() + self.after()
    }

    /// Bytes of the content type that is encrypted with the payload.
    pub(super) fn inner_type(self) -> usize {
        usize::from(self.version == TlsVersion::V13)
    }

    /// Bytes of the payload in what was encrypted; `None` if that is no data. Padding, which no
    /// sender of zc adds, is none.
    pub(super) fn payload(self, inner: &[u8]) -> Option<usize> {
        match (self.version, inner) {
            (TlsVersion::V12, payload) => Some(payload.len()),
            (TlsVersion::V13, [payload @ .., DATA]) => Some(payload.len()),
            (TlsVersion::V13, _) => None,
        }
    }

    /// Writes all but payload and tag of the record that is the whole of `record`.
    pub(super) fn write_frame(self, record: &mut [u8], number: u64) {
        let length = (record.len() - HEADER_BYTES) as u16;
        record[0] = DATA;
        record[1..3].copy_from_slice(&WIRE_VERSION);
        record[3..HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
        if self.explicit_nonce {
            record[HEADER_BYTES..HEADER_BYTES + 8].copy_from_slice(&number.to_be_bytes());
        }
        if self.inner_type() == 1 {
            let place = record.len() - TAG_BYTES - 1;
            record[place] = DATA;
        }
    }

    /// Bytes of the record that `bytes` begins with; `None` if its header is not complete.
    ///
    /// # Errors
    /// It is not a record of data, or its length cannot be.
    pub(super) fn length(self, bytes: &[u8], longest: usize) -> Result<Option<usize>, NotData> {
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let length = HEADER_BYTES + usize::from(u16::from_be_bytes([header[3], header[4]]));
        let fits = (self.overhead()..=longest).contains(&length);
        if header[0] == DATA && header[1..3] == WIRE_VERSION && fits {
            return Ok(Some(length));
        }
        Err(NotData)
    }

    /// The nonce of a record: its number in the fixed part (RFC 8446, section 5.3; RFC 7905), or
    /// the explicit part after four bytes of that.
    pub(super) fn nonce(self, iv: &[u8; NONCE_LEN], number: u64, record: &[u8]) -> Nonce {
        let mut nonce = *iv;
        let variable = &mut nonce[NONCE_LEN - 8..];
        if self.explicit_nonce {
            variable.copy_from_slice(&record[HEADER_BYTES..HEADER_BYTES + 8]);
        } else {
            variable.iter_mut().zip(number.to_be_bytes()).for_each(|(byte, own)| *byte ^= own);
        }
        Nonce::assume_unique_for_key(nonce)
    }

    /// What is authenticated with the payload: in TLS 1.3 the header, in TLS 1.2 the number, and
    /// the header with the payload's length (RFC 5246, section 6.2.3.3).
    pub(super) fn authenticated(self, number: u64, record: &[u8]) -> Aad<Authenticated> {
        let mut bytes = [0; 8 + HEADER_BYTES];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        bytes[8..].copy_from_slice(&record[..HEADER_BYTES]);
        let from = match self.version {
            TlsVersion::V13 => 8,
            TlsVersion::V12 => {
                let payload = (record.len() - self.overhead()) as u16;
                bytes[8 + 3..].copy_from_slice(&payload.to_be_bytes());
                0
            }
        };
        Aad::from(Authenticated { bytes, from })
    }
}

/// Additional data of a record.
pub(super) struct Authenticated {
    bytes: [u8; 8 + HEADER_BYTES],
    from: usize,
}

impl AsRef<[u8]> for Authenticated {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.from..]
    }
}

/// What arrived is no record of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotData;
