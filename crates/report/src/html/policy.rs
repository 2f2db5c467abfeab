//! The page's Content-Security-Policy (W3C, Content Security Policy Level 3): nothing is fetched or
//! submitted, and only the style sheet and script with these SHA-256 hashes apply. Markup that
//! escaped the escaping would have no effect.

use sha2::{Digest as _, Sha256};

/// The policy of a page with one style sheet and one script.
pub(super) fn policy(style: &str, script: &str) -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        base64(&Sha256::digest(style)),
        base64(&Sha256::digest(script))
    )
}

/// Encodes in Base64 (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, place| {
            bits << 8 | three.get(place).map_or(0, |byte| u32::from(*byte))
        });
        for place in 0..4 {
            let sextet = bits >> (18 - 6 * place) & 63;
            out.push(if place > three.len() { '=' } else { char::from(ALPHABET[sextet as usize]) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
