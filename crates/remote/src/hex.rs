//! Lower-case hexadecimal encoding of nonces, proofs and greetings.

/// Encodes bytes, two digits each.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes `2 * N` digits. `None` for anything else.
pub(super) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    unhex_all(text)?.try_into().ok()
}

/// Decodes any even number of digits. `None` for anything else.
pub(super) fn unhex_all(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some((digit(*high)? << 4 | digit(*low)?) as u8),
        _ => None,
    };
    text.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_the_round_trip_and_other_text_is_rejected() {
        let bytes: [u8; 32] = std::array::from_fn(|place| (place * 37) as u8);
        assert_eq!(unhex(&hex(&bytes)), Some(bytes));
        for text in [
            "",
            "0",
            &"0".repeat(63),
            &"0".repeat(65),
            &"g".repeat(64),
            &"+1".repeat(32),
            &"ä".repeat(32),
        ] {
            assert_eq!(unhex::<32>(text), None, "{text}");
        }
    }
}
