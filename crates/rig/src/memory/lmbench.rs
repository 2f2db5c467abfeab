//! The loops of lmbench's bw_mem under their own names, reimplemented from its manual page. A word
//! is an int of four bytes; the loops without an `f` touch one word in four, which still touches
//! every line. lmbench's speed is the size of the buffer divided by the time, regardless of how
//! much of it was touched; here it is the same.
//!
//! # References
//! bw_mem(8) of lmbench 3; Larry McVoy and Carl Staelin, "lmbench: Portable Tools for Performance
//! Analysis", USENIX 1996.

use std::hint::black_box;

/// Bytes of a word.
const WORD: usize = 4;
/// Bytes from one word to the next in loops that touch one word in four.
const STRIDE: usize = 16;
/// The word that is stored.
const ONE: [u8; WORD] = 1_u32.to_ne_bytes();

/// Reads one word in four.
pub(super) fn rd(set: &[u8]) -> u32 {
    let (strides, _) = set.as_chunks::<STRIDE>();
    strides.iter().fold(0, |sum, stride| sum.wrapping_add(first_word(stride)))
}

/// Writes one word in four.
pub(super) fn wr(set: &mut [u8]) {
    let (strides, _) = set.as_chunks_mut::<STRIDE>();
    for stride in strides {
        stride[..WORD].copy_from_slice(&ONE);
    }
}

/// Reads and then writes one word in four.
pub(super) fn rdwr(set: &mut [u8]) -> u32 {
    let (strides, _) = set.as_chunks_mut::<STRIDE>();
    strides.iter_mut().fold(0, |sum, stride| {
        let sum = sum.wrapping_add(first_word(stride));
        stride[..WORD].copy_from_slice(&ONE);
        sum
    })
}

/// Copies one word in four.
pub(super) fn cp(to: &mut [u8], from: &[u8]) {
    let ((to, _), (from, _)) = (to.as_chunks_mut::<STRIDE>(), from.as_chunks::<STRIDE>());
    for (to, from) in to.iter_mut().zip(from) {
        to[..WORD].copy_from_slice(&from[..WORD]);
    }
}

/// Reads every word.
pub(super) fn frd(set: &[u8]) -> u32 {
    let (words, _) = set.as_chunks::<WORD>();
    words.iter().fold(0, |sum, word| sum.wrapping_add(u32::from_ne_bytes(*word)))
}

/// Writes every word.
pub(super) fn fwr(set: &mut [u8]) {
    let (words, _) = set.as_chunks_mut::<WORD>();
    for word in words {
        *word = ONE;
    }
}

/// Copies every word.
pub(super) fn fcp(to: &mut [u8], from: &[u8]) {
    let ((to, _), (from, _)) = (to.as_chunks_mut::<64>(), from.as_chunks::<64>());
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
        // Without it the compiler recognises memcpy and calls that.
        black_box(&mut *to);
    }
}

/// bzero(3) is memset(3) with 0.
pub(super) fn bzero(set: &mut [u8]) {
    set.fill(0);
}

/// bcopy(3) is memmove(3): the first half of the set to the second.
pub(super) fn bcopy(set: &mut [u8]) {
    let half = set.len() / 2;
    set.copy_within(..half, half);
}

fn first_word(stride: &[u8; STRIDE]) -> u32 {
    u32::from_ne_bytes([stride[0], stride[1], stride[2], stride[3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_in_four_is_touched_or_every_one() {
        let ones = vec![1_u8; 256];
        let word = u32::from_ne_bytes([1; 4]);
        assert_eq!((rd(&ones), frd(&ones)), (16 * word, 64_u32.wrapping_mul(word)));
        let written = |write: fn(&mut [u8])| {
            let mut set = vec![0xaa; 256];
            write(&mut set);
            set.chunks(WORD).filter(|word| **word == ONE).count()
        };
        assert_eq!((written(wr), written(fwr)), (16, 64));
        let mut set = ones.clone();
        assert_eq!((rdwr(&mut set), rd(&set)), (16 * word, 16));
        let copied = |copy: fn(&mut [u8], &[u8])| {
            let mut to = vec![0; 256];
            copy(&mut to, &[7; 256]);
            to.iter().filter(|byte| **byte == 7).count()
        };
        assert_eq!((copied(cp), copied(fcp)), (64, 256));
    }

    #[test]
    fn bzero_and_bcopy_are_those_of_the_library() {
        let mut set: Vec<u8> = (0..=255).collect();
        bcopy(&mut set);
        assert_eq!(set[..128], set[128..]);
        bzero(&mut set);
        assert!(set.iter().all(|byte| *byte == 0));
    }
}
