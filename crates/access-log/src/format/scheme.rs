//! Whether a URL or its scheme says that it was asked for over TLS.

/// `https` and `http`, `wss` and `ws`, by themselves or with what follows in a URL.
pub(super) fn is_tls(text: &[u8]) -> Option<bool> {
    let end = memchr::memchr(b':', text).unwrap_or(text.len());
    match &text[..end] {
        b"https" | b"wss" => Some(true),
        b"http" | b"ws" => Some(false),
        _ => None,
    }
}
