//! The Internet checksum (RFC 1071) and memory copies in 256-bit vectors: AVX2, where the CPU has
//! it. This is no kernel interface. It is `unsafe` because the compiler cannot know on which CPU it
//! will run.
//!
//! The sum adds 16-bit words in native byte order, with end-around carry, and is not complemented.
//! An odd last byte is padded with a zero. By RFC 1071, section 2 (B), the byte order only swaps
//! the two bytes of the result, and so does starting at an odd address.

/// Proof that the CPU has AVX2. Only [`detect`](Self::detect) creates one.
#[derive(Debug, Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    /// Detects AVX2 with CPUID. `None` where the CPU lacks it, or the kernel does not save its
    /// registers.
    ///
    /// # References
    /// Intel SDM volume 1, section 14.3: CPUID leaf 7 and XGETBV
    #[doc(alias = "cpuid")]
    pub fn detect() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Some(Self(()));
        }
        None
    }

    /// Internet checksum of `bytes`.
    ///
    /// # References
    /// [RFC 1071](https://www.rfc-editor.org/rfc/rfc1071)
    #[doc(alias = "rfc1071")]
    pub fn sum(self, bytes: &[u8]) -> u16 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a value of this type exists only where `detect` has found AVX2.
        return unsafe { x86::sum(bytes) };
        #[cfg(not(target_arch = "x86_64"))]
        words(bytes)
    }

    /// Copies `from` to `to`, up to the length of the shorter one, and returns the checksum of the
    /// copied bytes. One pass.
    ///
    /// # References
    /// [RFC 1071](https://www.rfc-editor.org/rfc/rfc1071)
    #[doc(alias = "rfc1071")]
    pub fn copy(self, to: &mut [u8], from: &[u8]) -> u16 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as in `sum`.
        return unsafe { x86::copy(to, from) };
        #[cfg(not(target_arch = "x86_64"))]
        plain_copy(to, from)
    }

    /// Like [`copy`](Self::copy), with non-temporal stores (VMOVNTDQ). A line that is overwritten
    /// whole is not read first, and the copied bytes end in memory and in no cache.
    ///
    /// # References
    /// Intel SDM volume 1, section 10.4.6.2, "Caching of Temporal vs. Non-Temporal Data"
    #[doc(alias = "vmovntdq")]
    pub fn stream(self, to: &mut [u8], from: &[u8]) -> u16 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as in `sum`.
        return unsafe { x86::stream(to, from) };
        #[cfg(not(target_arch = "x86_64"))]
        plain_copy(to, from)
    }
}

/// The checksum of RFC 1071, one word at a time.
fn words(bytes: &[u8]) -> u16 {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut sum: u64 = pairs.iter().map(|pair| u64::from(u16::from_ne_bytes(*pair))).sum();
    if let [last] = rest {
        sum += u64::from(u16::from_ne_bytes([*last, 0]));
    }
    fold(sum)
}

/// Folds the carries of `sum` into 16 bits. Only 0 gives 0.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16 // it fits
}

#[cfg(not(target_arch = "x86_64"))]
fn plain_copy(to: &mut [u8], from: &[u8]) -> u16 {
    let len = to.len().min(from.len());
    to[..len].copy_from_slice(&from[..len]);
    words(&from[..len])
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm_sfence, _mm256_add_epi64, _mm256_and_si256, _mm256_loadu_si256,
        _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_srli_epi64, _mm256_storeu_si256,
        _mm256_stream_si256,
    };

    use crate::checksum::{fold, words};

    /// Bytes per iteration: four vectors.
    const STEP: usize = 128;
    /// Bytes of a vector, and the alignment that a non-temporal store needs.
    const VECTOR: usize = 32;
    /// Bytes after which the accumulators are folded. Each of their 32 lanes gains less than 2^32
    /// per iteration, so a lane is below 2^55 by then, and their sum below 2^60.
    const EMPTY_AFTER: usize = 1 << 30;

    /// Sums of the even and of the odd 32-bit words of four vectors, in 64-bit lanes, which hold
    /// the carries.
    struct Lanes {
        even: [__m256i; 4],
        odd: [__m256i; 4],
    }

    impl Lanes {
        #[target_feature(enable = "avx2")]
        fn new() -> Self {
            Self { even: [_mm256_setzero_si256(); 4], odd: [_mm256_setzero_si256(); 4] }
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        fn add(&mut self, place: usize, vector: __m256i) {
            let low = _mm256_set1_epi64x(0xffff_ffff);
            self.even[place] = _mm256_add_epi64(self.even[place], _mm256_and_si256(vector, low));
            self.odd[place] = _mm256_add_epi64(self.odd[place], _mm256_srli_epi64::<32>(vector));
        }

        #[target_feature(enable = "avx2")]
        fn sum(&self) -> u64 {
            let all = self
                .even
                .iter()
                .chain(&self.odd)
                .fold(_mm256_setzero_si256(), |a, b| _mm256_add_epi64(a, *b));
            let mut lanes = [0_u64; 4];
            // SAFETY: the array has the 32 bytes that an unaligned store writes.
            unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), all) };
            lanes.iter().sum()
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn sum(bytes: &[u8]) -> u16 {
        let mut total = 0;
        for part in bytes.chunks(EMPTY_AFTER) {
            let (steps, rest) = part.as_chunks::<STEP>();
            let mut lanes = Lanes::new();
            for step in steps {
                for place in 0..4 {
                    // SAFETY: `place` is below 4, so the 32 bytes from there on are within the 128
                    // of the iteration.
                    let vector =
                        unsafe { _mm256_loadu_si256(step.as_ptr().add(VECTOR * place).cast()) };
                    lanes.add(place, vector);
                }
            }
            total += u64::from(fold(lanes.sum())) + u64::from(words(rest));
        }
        fold(total)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn copy(to: &mut [u8], from: &[u8]) -> u16 {
        let len = to.len().min(from.len());
        // SAFETY: ordinary stores need no alignment.
        unsafe { folded::<false>(&mut to[..len], &from[..len]) }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn stream(to: &mut [u8], from: &[u8]) -> u16 {
        let len = to.len().min(from.len());
        // Bytes up to the first address that a non-temporal store may have. Every address can be
        // reached in steps of one byte.
        let head = to.as_ptr().align_offset(VECTOR).min(len);
        to[..head].copy_from_slice(&from[..head]);
        let first = words(&from[..head]);
        // SAFETY: the part after the head begins at an aligned address or is empty.
        let rest = unsafe { folded::<true>(&mut to[head..len], &from[head..len]) };
        // Non-temporal stores are weakly ordered. Without the fence another thread could see a
        // later store first.
        _mm_sfence();
        let rest = if head % 2 == 1 { rest.swap_bytes() } else { rest };
        fold(u64::from(first) + u64::from(rest))
    }

    /// Copies and sums slices of equal length in one pass.
    ///
    /// # Safety
    /// With `STREAM`, `to` must be empty or begin at a multiple of [`VECTOR`], and a fence must
    /// precede any read of what was stored.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn folded<const STREAM: bool>(to: &mut [u8], from: &[u8]) -> u16 {
        let mut total = 0;
        // Chunks begin at multiples of 2^30 bytes, so each is aligned like the first.
        for (to, from) in to.chunks_mut(EMPTY_AFTER).zip(from.chunks(EMPTY_AFTER)) {
            let (steps, rest) = from.as_chunks::<STEP>();
            let (places, rest_to) = to.as_chunks_mut::<STEP>();
            let mut lanes = Lanes::new();
            for (to, from) in places.iter_mut().zip(steps) {
                for place in 0..4 {
                    // SAFETY: `place` is below 4, so the 32 bytes from there on are within the 128
                    // of the iteration.
                    let vector =
                        unsafe { _mm256_loadu_si256(from.as_ptr().add(VECTOR * place).cast()) };
                    lanes.add(place, vector);
                    // SAFETY: as for the load. `to` is as long as `from`, and no other reference to
                    // it exists.
                    let at = unsafe { to.as_mut_ptr().add(VECTOR * place).cast() };
                    if STREAM {
                        // SAFETY: `to` begins a multiple of 128 bytes after an address that is a
                        // multiple of 32.
                        unsafe { _mm256_stream_si256(at, vector) };
                    } else {
                        // SAFETY: the 32 bytes from `at` on are within the iteration, and no
                        // alignment is needed.
                        unsafe { _mm256_storeu_si256(at, vector) };
                    }
                }
            }
            rest_to.copy_from_slice(rest);
            total += u64::from(fold(lanes.sum())) + u64::from(words(rest));
        }
        fold(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudo-random bytes.
    fn bytes(len: usize) -> Vec<u8> {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        (0..len)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as u8
            })
            .collect()
    }

    fn avx2() -> Option<Avx2> {
        let avx2 = Avx2::detect();
        if avx2.is_none() {
            eprintln!("skipped: this CPU has no AVX2");
        }
        avx2
    }

    #[test]
    fn the_example_of_rfc_1071_sums_to_what_it_says() {
        // Section 3: 00 01 f2 03 f4 f5 f6 f7 sums to ddf2, in network order.
        let example = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(words(&example).to_be(), 0xddf2);
        let Some(avx2) = avx2() else { return };
        assert_eq!(avx2.sum(&example).to_be(), 0xddf2);
    }

    #[test]
    fn vectors_sum_to_what_words_sum_to_at_every_length_and_alignment() {
        let Some(avx2) = avx2() else { return };
        let all = bytes(700);
        let mut to = vec![0; 800];
        for len in (0..300).chain([383, 384, 385, 511, 512, 513, 640]) {
            for start in [0, 1, 2, 7, 31, 33] {
                let from = &all[start..start + len];
                assert_eq!(avx2.sum(from), words(from), "{len} from {start}");
                for place in [0, 1, 3, 31, 32] {
                    for (name, copy) in [
                        ("copy", Avx2::copy as fn(_, &mut [u8], &[u8]) -> u16),
                        ("stream", Avx2::stream),
                    ] {
                        to.fill(0xaa);
                        assert_eq!(
                            copy(avx2, &mut to[place..place + len], from),
                            words(from),
                            "{name} {len} {start} {place}"
                        );
                        assert_eq!(&to[place..place + len], from, "{name} {len} {start} {place}");
                        assert!(
                            to[..place].iter().chain(&to[place + len..]).all(|byte| *byte == 0xaa),
                            "{name} {len}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_shorter_one_ends_a_copy() {
        let Some(avx2) = avx2() else { return };
        let from = bytes(300);
        let mut to = vec![0; 200];
        assert_eq!(avx2.copy(&mut to, &from), words(&from[..200]));
        assert_eq!(to, from[..200]);
        to.fill(0);
        assert_eq!(avx2.stream(&mut to[..], &from[..151]), words(&from[..151]));
        assert_eq!(to[..151], from[..151]);
        assert!(to[151..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn carries_are_not_lost_where_all_bits_are_set() {
        let Some(avx2) = avx2() else { return };
        let ones = vec![0xff; 1 << 20];
        assert_eq!(avx2.sum(&ones), 0xffff);
        assert_eq!(avx2.sum(&[0; 4096]), 0);
    }
}
