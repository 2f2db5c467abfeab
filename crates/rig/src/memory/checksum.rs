//! The Internet checksum in portable code: as in RFC 1071, and in lanes that compilers vectorise,
//! both alone and folded into a copy.
//!
//! All sums are of 16-bit words in the byte order of this machine, with end-around carry, not
//! complemented; an odd byte at the end is padded with a zero. (RFC 1071, section 2 (B): the byte
//! order only affects the order of the result.)

/// Bytes of a step: a cache line on most CPUs.
const LINE: usize = 64;
/// 64-bit lanes of a step.
const LANES: usize = LINE / 8;
/// Bytes after which the lanes are folded: each adds less than 2^32 per step, so they hold less
/// than 2^56 by then, and all 16 of them together less than 2^60.
const EMPTY_AFTER: usize = 1 << 30;

/// The sum of `bytes` word by word, as in RFC 1071, section 4.1: the reference for the other
/// implementations.
pub fn rfc1071(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    let mut words = bytes.chunks(2);
    for word in &mut words {
        sum += u32::from(u16::from_ne_bytes([word[0], word.get(1).copied().unwrap_or(0)]));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16 // it fits: adding the carry, which is 1 at most, makes no new one
}

/// The same sum in lanes.
pub fn checksum(bytes: &[u8]) -> u16 {
    let mut total = 0;
    for part in bytes.chunks(EMPTY_AFTER) {
        let (lines, rest) = part.as_chunks::<LINE>();
        let mut lanes = Lanes::default();
        for line in lines {
            lanes.add(line);
        }
        total += u64::from(lanes.folded()) + u64::from(rfc1071(rest));
    }
    fold(total)
}

/// Copies `from` to `to`, as many bytes as the shorter one has, and returns the sum of what was
/// copied, in one pass.
pub fn fold_portable(to: &mut [u8], from: &[u8]) -> u16 {
    let len = to.len().min(from.len());
    let mut total = 0;
    for (to, from) in to[..len].chunks_mut(EMPTY_AFTER).zip(from[..len].chunks(EMPTY_AFTER)) {
        let (lines, rest) = from.as_chunks::<LINE>();
        let (places, rest_to) = to.as_chunks_mut::<LINE>();
        let mut lanes = Lanes::default();
        for (to, from) in places.iter_mut().zip(lines) {
            // Read once for both uses: with two reads of `from` the compiler generates slower code.
            let line = *from;
            lanes.add(&line);
            *to = line;
        }
        rest_to.copy_from_slice(rest);
        total += u64::from(lanes.folded()) + u64::from(rfc1071(rest));
    }
    fold(total)
}

/// Sums of the even and of the odd 32-bit words of each 64-bit word, in 64 bits: they cannot
/// overflow for 2^32 steps, and no addition waits for the carry of the previous one.
#[derive(Default)]
struct Lanes {
    even: [u64; LANES],
    odd: [u64; LANES],
}

impl Lanes {
    #[inline(always)]
    fn add(&mut self, line: &[u8; LINE]) {
        let (words, _) = line.as_chunks::<8>();
        let words: [u64; LANES] = std::array::from_fn(|lane| u64::from_ne_bytes(words[lane]));
        // Two loops: compilers vectorise each of them.
        for (sum, word) in self.even.iter_mut().zip(words) {
            *sum += word & 0xffff_ffff;
        }
        for (sum, word) in self.odd.iter_mut().zip(words) {
            *sum += word >> 32;
        }
    }

    fn folded(&self) -> u16 {
        fold(self.even.iter().chain(&self.odd).sum())
    }
}

/// Folds the carries around the end. Only 0 becomes 0.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16 // it fits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zc_kernel::checksum::Avx2;

    use super::*;

    #[test]
    fn the_example_of_rfc_1071_has_the_sum_given_there() {
        // Section 3: 00 01 f2 03 f4 f5 f6 f7 sums to ddf2, in network order.
        let example = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(rfc1071(&example).to_be(), 0xddf2);
        assert_eq!(checksum(&example).to_be(), 0xddf2);
        assert_eq!(fold_portable(&mut [0; 8], &example).to_be(), 0xddf2);
    }

    #[test]
    fn an_ip_header_with_its_checksum_sums_to_all_ones() {
        // 20 bytes of the header in the article "IPv4 header checksum", a common test vector: its
        // checksum is b861.
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8,
            0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(checksum(&header), 0xffff);
    }

    #[test]
    fn sums_whose_last_carry_makes_another_one_are_right() {
        for (bytes, sum) in
            [(&[0xff; 2][..], 0xffff), (&[0xff; 4], 0xffff), (&[0; 65], 0), (&[], 0)]
        {
            assert_eq!(rfc1071(bytes), sum);
            assert_eq!(checksum(bytes), sum);
        }
    }

    /// A folded copy to a slice; `None` if the CPU has no AVX2.
    type Copy<'a> = &'a dyn Fn(&mut [u8]) -> Option<u16>;

    proptest! {
        #[test]
        fn every_way_to_sum_gives_what_rfc_1071_gives(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xff)], 0..1500),
            skip in 0_usize..70,
        ) {
            let bytes = &bytes[skip.min(bytes.len())..];
            let sum = rfc1071(bytes);
            prop_assert_eq!(checksum(bytes), sum);
            if let Some(avx2) = Avx2::detect() {
                prop_assert_eq!(avx2.sum(bytes), sum);
            }
        }

        #[test]
        fn every_folded_copy_copies_and_sums_from_any_place_to_any_place(
            bytes in prop::collection::vec(any::<u8>(), 0..1500),
            skip in 0_usize..70,
            place in 0_usize..70,
        ) {
            let from = &bytes[skip.min(bytes.len())..];
            let sum = rfc1071(from);
            let copies: [(&str, Copy<'_>); 3] = [
                ("portable", &|to| Some(fold_portable(to, from))),
                ("avx2", &|to| Some(Avx2::detect()?.copy(to, from))),
                ("streaming", &|to| Some(Avx2::detect()?.stream(to, from))),
            ];
            for (name, copy) in copies {
                let mut memory = vec![0xaa; place + from.len() + 70];
                let Some(got) = copy(&mut memory[place..place + from.len()]) else { continue };
                prop_assert_eq!(got, sum, "{}", name);
                prop_assert_eq!(&memory[place..place + from.len()], from, "{}", name);
                let around = memory[..place].iter().chain(&memory[place + from.len()..]);
                let untouched = around.into_iter().all(|byte| *byte == 0xaa);
                prop_assert!(untouched, "{} wrote outside of its place", name);
            }
        }
    }
}
