//! The byte order mark that some editors write before UTF-8. It is no part of the text.

const BOM: &[u8] = b"\xef\xbb\xbf";

/// A text without its byte order mark.
pub fn without_bom(text: &[u8]) -> &[u8] {
    text.strip_prefix(BOM).unwrap_or(text)
}
