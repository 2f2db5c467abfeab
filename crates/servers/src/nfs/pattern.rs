//! Pattern that WRITEs write to a file: bytes that differ from one place to the next, so that a
//! call at a wrong offset is seen when they are read back. reader.c has the same.

use std::sync::LazyLock;

use super::place::MOST_BYTES;

/// Bytes after which it repeats itself: more than the longest call.
const PERIOD: usize = 64 * 16_411;

/// The pattern, and enough of its beginning for a call at any offset. It is made for the first
/// WRITE, which is in no window.
static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut x = 1_u64;
    let mut made: Vec<u8> = (0..PERIOD)
        .map(|_| {
            // Knuth's linear congruential generator (MMIX), its highest byte.
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 56) as u8
        })
        .collect();
    made.extend_from_within(..MOST_BYTES as usize);
    made
});

/// The bytes of a call at an offset in the file; fewer, where it is longer than a server allows.
pub(super) fn at(offset: u64, bytes: usize) -> &'static [u8] {
    let from = (offset % PERIOD as u64) as usize;
    &PATTERN[from..PATTERN.len().min(from + bytes)]
}

/// CRC-32 of a file of so many bytes that was written.
pub fn written_crc32(bytes: u64) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    let mut left = bytes;
    while left > 0 {
        let length = left.min(PERIOD as u64);
        crc.update(&PATTERN[..length as usize]);
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
            let mut crc = crc32fast::Hasher::new();
            let mut offset = 0;
            while offset < bytes {
                let length = (bytes - offset).min(call as u64) as usize;
                crc.update(at(offset, length));
                offset += length as u64;
            }
            assert_eq!(crc.finalize(), whole, "{call}");
        }
        assert_ne!(at(0, 64), at(64, 64));
    }
}
