//! The response that a request is to have, where that is known before it is sent, and how another
//! one differs from it.
//!
//! Each response of a load is compared by its status and the length of its body, which cost nothing
//! to know. Its content is compared once for each request, before anything is measured
//! ([`Load::check`](super::Load::check)): hashing every body would cost more than receiving it.

use std::fmt::Write as _;

/// A response that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Expected {
    /// The status.
    pub status: u16,
    /// Length of the body in bytes: 0 for HEAD and for 304, whatever `Content-Length` says.
    pub body_bytes: u64,
    /// The value of `Content-Length` where there is one: for HEAD it is the length of the body that
    /// GET would have (RFC 9110, 8.6). `None`: not compared.
    pub content_length: Option<u64>,
    /// CRC-32 of the body, as of gzip. `None`: not compared.
    pub crc32: Option<u32>,
}

impl Expected {
    /// How a response of that status and length differs; `None`: it does not.
    pub(super) fn difference(&self, status: u16, body_bytes: u64) -> Option<String> {
        ((self.status, self.body_bytes) != (status, body_bytes)).then(|| {
            format!(
                "status {status} with a body of {body_bytes} bytes, and status {} with {} bytes \
                 is expected",
                self.status, self.body_bytes
            )
        })
    }

    /// It in words.
    pub(super) fn in_words(&self) -> String {
        let mut words = format!("status {} with a body of {} bytes", self.status, self.body_bytes);
        // Writing to a String cannot fail.
        if let Some(length) = self.content_length.filter(|length| *length != self.body_bytes) {
            let _ = write!(words, " (Content-Length {length})");
        }
        if let Some(crc32) = self.crc32.filter(|_| self.body_bytes > 0) {
            let _ = write!(words, " (CRC-32 {crc32:08x})");
        }
        words
    }
}
