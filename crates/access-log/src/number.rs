//! Numbers as logs have them, read from bytes without a copy.

/// The largest number of bytes that a response may have: what a signed 64-bit integer holds, as
/// servers count (off_t).
const MOST_BYTES: u64 = i64::MAX as u64;

/// A number of bytes. Negative numbers, and those above 2^63 - 1, are none.
pub(crate) fn bytes(text: &[u8]) -> Option<u64> {
    parse_u64(text).filter(|bytes| *bytes <= MOST_BYTES)
}

/// A status; `Some(None)` where the server sent none.
pub(crate) fn status(text: &[u8]) -> Option<Option<u16>> {
    match text {
        [hundreds @ b'1'..=b'9', tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            let digit = |byte: &u8| u16::from(byte - b'0');
            Some(Some(100 * digit(hundreds) + 10 * digit(tens) + digit(ones)))
        }
        b"-" | b"0" | b"000" | b"-1" => Some(None),
        _ => None,
    }
}

/// Decimal digits and nothing else, up to 2^64 - 1.
pub(crate) fn parse_u64(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// A decimal fraction, `12`, `0.003` or `12.`, times `unit`, rounded down.
pub(crate) fn scaled(text: &[u8], unit: u64) -> Option<u64> {
    let (number, fraction) = match memchr::memchr(b'.', text) {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &[][..]),
    };
    let mut scaled = parse_u64(number)?.checked_mul(unit)?;
    let mut place = unit;
    for byte in fraction {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        place /= 10;
        scaled = scaled.checked_add(u64::from(digit) * place)?;
    }
    Some(scaled)
}

/// Two digits.
pub(crate) fn two_digits(text: &[u8]) -> Option<i8> {
    match text {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            Some(((tens - b'0') * 10 + (ones - b'0')) as i8)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_that_a_server_can_count() {
        assert_eq!(bytes(b"203023"), Some(203_023));
        assert_eq!(bytes(b"0"), Some(0));
        assert_eq!(bytes(b"9223372036854775807"), Some(i64::MAX as u64));
        for none in
            ["", "-", "-1", "+1", "9223372036854775808", "99999999999999999999999", "1e3", "1 "]
        {
            assert_eq!(bytes(none.as_bytes()), None, "{none:?}");
        }
    }

    #[test]
    fn a_response_may_have_no_status() {
        assert_eq!(status(b"206"), Some(Some(206)));
        assert_eq!(status(b"499"), Some(Some(499)));
        assert_eq!(status(b"-1"), Some(None));
        assert_eq!(status(b"000"), Some(None));
        for none in ["", "20", "2000", "2x0", "099"] {
            assert_eq!(status(none.as_bytes()), None, "{none:?}");
        }
    }

    #[test]
    fn fractions_are_exact() {
        assert_eq!(scaled(b"0.003", 1_000_000), Some(3_000));
        assert_eq!(scaled(b"12.5", 1_000), Some(12_500));
        assert_eq!(scaled(b"7", 1), Some(7));
        assert_eq!(scaled(b"0.0000009", 1_000_000), Some(0));
        assert_eq!(scaled(b"1.", 10), Some(10));
        for none in ["", "-", ".", "-1.0", "1.x", "99999999999999999999", "1.2.3"] {
            assert_eq!(scaled(none.as_bytes(), 1000), None, "{none:?}");
        }
    }
}
