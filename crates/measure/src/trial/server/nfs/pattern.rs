//! What is written to a file by WRITEs: bytes that differ from one place to the next, so that a call at a
//! wrong offset is seen when they are read back. reader.c has the same.

/// Bytes after which it repeats itself: more than the longest call.
const PERIOD: usize = 64 * 16_411;

/// The pattern, and enough of its beginning for a call at any offset.
#[derive(Debug)]
pub(super) struct Pattern(Vec<u8>);

impl Pattern {
    /// For calls of at most so many bytes.
    pub(super) fn for_calls_of(bytes: usize) -> Self {
        let mut made = Vec::with_capacity(PERIOD + bytes);
        let mut x = 1_u64;
        made.extend((0..PERIOD).map(|_| {
            // Knuth's linear congruential generator (MMIX), its highest byte.
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 56) as u8
        }));
        made.extend_from_within(..bytes.min(PERIOD));
        Self(made)
    }

    /// The bytes of a call at an offset in the file.
    pub(super) fn at(&self, offset: u64, bytes: usize) -> &[u8] {
        let from = (offset % PERIOD as u64) as usize;
        &self.0[from..from + bytes]
    }
}

/// CRC-32 of a file of so many bytes that was written.
pub fn written_crc32(bytes: u64) -> u32 {
    let Pattern(period) = Pattern::for_calls_of(0);
    let mut crc = crc32fast::Hasher::new();
    let mut left = bytes;
    while left > 0 {
        let length = left.min(PERIOD as u64);
        crc.update(&period[..length as usize]);
        left -= length;
    }
    crc.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_written_by_calls_of_any_length_is_the_pattern() {
        let bytes = 3 * PERIOD as u64 + 12_345;
        let whole = written_crc32(bytes);
        for call in [1 << 20, 4096, 5_000] {
            let pattern = Pattern::for_calls_of(call);
            let mut crc = crc32fast::Hasher::new();
            let mut at = 0;
            while at < bytes {
                let length = (bytes - at).min(call as u64) as usize;
                crc.update(pattern.at(at, length));
                at += length as u64;
            }
            assert_eq!(crc.finalize(), whole, "{call}");
        }
        let pattern = Pattern::for_calls_of(64);
        assert_ne!(pattern.at(0, 64), pattern.at(64, 64));
    }
}
