//! Lower-case hexadecimal encoding of nonces, proofs and greetings.

/// Encodes bytes, two digits each.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes `2 * N` digits. `None` for anything else.
pub(super) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let text = text.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks(2)) {
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(bytes)
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
