//! One pass of a loop over a working set. The compiler cannot remove it: the contents of the set
//! are opaque to it, and the result of a pass counts as used.

use std::hint::black_box;

use super::checksum::{checksum, fold_portable};
use super::encryption::encrypt;
use super::lmbench;
use zc_kernel::checksum::Avx2;
use zc_kernel::movsb;
use zc_run::{Cipher, MemoryLoop, Support, SupportRow, Unavailable};

/// The word that `write` stores. Its bytes differ; if they were equal the compiler would use
/// memset.
const PATTERN: u64 = 0x0123_4567_89ab_cdef;

/// The loops, with the instructions that this CPU has.
#[derive(Debug, Clone, Copy)]
pub struct Bench {
    avx2: Option<Avx2>,
}

/// Loops that this CPU cannot run, with the reason.
pub fn unavailable() -> Vec<SupportRow> {
    let bench = Bench::new();
    let missing = MemoryLoop::ALL.iter().filter(|name| !bench.has(**name));
    let no = |name| match name {
        MemoryLoop::RepMovsb => Unavailable::unsupported("this CPU is not an x86-64"),
        _ => Unavailable::unsupported("this CPU has no AVX2"),
    };
    let row = |name: &MemoryLoop| SupportRow {
        what: "memory loop".to_owned(),
        name: name.to_string(),
        support: Support::No(no(*name)),
    };
    missing.map(row).collect()
}

impl Bench {
    /// Detects the instructions of the CPU.
    #[expect(clippy::new_without_default, reason = "it reads the CPU's features")]
    pub fn new() -> Self {
        Self { avx2: Avx2::detect() }
    }

    /// Whether a loop can run on this CPU.
    pub fn has(&self, name: MemoryLoop) -> bool {
        match name {
            MemoryLoop::FoldedAvx2 | MemoryLoop::FoldedStreaming => self.avx2.is_some(),
            MemoryLoop::RepMovsb => movsb::HERE,
            _ => true,
        }
    }

    /// Runs one pass of the loop over the set; does nothing if it cannot run here.
    pub fn pass(&self, name: MemoryLoop, set: &mut [u8]) {
        let set = black_box(set);
        let half = set.len() / 2;
        let halves = |set: &mut [u8], copy: &dyn Fn(&mut [u8], &[u8]) -> u16| {
            let (from, to) = set.split_at_mut(half);
            let to = &mut to[..half];
            black_box(copy(to, from));
            black_box(to);
        };
        match name {
            MemoryLoop::Read => drop(black_box(read(set))),
            MemoryLoop::Write => write(set, black_box(PATTERN)),
            MemoryLoop::Memcpy => halves(set, &|to, from| {
                to.copy_from_slice(from);
                0
            }),
            MemoryLoop::RepMovsb => halves(set, &|to, from| {
                movsb::copy(to, from);
                0
            }),
            MemoryLoop::Checksum => drop(black_box(self.sum(set))),
            MemoryLoop::ChecksumThenCopy => halves(set, &|to, from| {
                let sum = self.sum(from);
                to.copy_from_slice(black_box(from));
                sum
            }),
            MemoryLoop::FoldedPortable => halves(set, &fold_portable),
            MemoryLoop::FoldedAvx2 => {
                halves(set, &|to, from| self.avx2.map_or(0, |avx2| avx2.copy(to, from)))
            }
            MemoryLoop::FoldedStreaming => {
                halves(set, &|to, from| self.avx2.map_or(0, |avx2| avx2.stream(to, from)))
            }
            MemoryLoop::Aes128Gcm => encrypt(Cipher::Aes128Gcm, set),
            MemoryLoop::Aes256Gcm => encrypt(Cipher::Aes256Gcm, set),
            MemoryLoop::Chacha20Poly1305 => encrypt(Cipher::Chacha20Poly1305, set),
            MemoryLoop::LmbenchRd => drop(black_box(lmbench::rd(set))),
            MemoryLoop::LmbenchWr => lmbench::wr(set),
            MemoryLoop::LmbenchRdwr => drop(black_box(lmbench::rdwr(set))),
            MemoryLoop::LmbenchCp => halves(set, &|to, from| {
                lmbench::cp(to, from);
                0
            }),
            MemoryLoop::LmbenchFrd => drop(black_box(lmbench::frd(set))),
            MemoryLoop::LmbenchFwr => lmbench::fwr(set),
            MemoryLoop::LmbenchFcp => halves(set, &|to, from| {
                lmbench::fcp(to, from);
                0
            }),
            MemoryLoop::LmbenchBzero => lmbench::bzero(set),
            MemoryLoop::LmbenchBcopy => lmbench::bcopy(set),
        }
        black_box(set);
    }

    /// The checksum alone, by the fastest implementation for this CPU.
    fn sum(&self, bytes: &[u8]) -> u16 {
        self.avx2.map_or_else(|| checksum(bytes), |avx2| avx2.sum(bytes))
    }
}

/// The sum of all words, in lanes that do not wait for one another.
fn read(set: &[u8]) -> u64 {
    let (lines, _) = set.as_chunks::<64>();
    let mut lanes = [0_u64; 8];
    for line in lines {
        for (lane, word) in lanes.iter_mut().zip(line.as_chunks::<8>().0) {
            *lane = lane.wrapping_add(u64::from_ne_bytes(*word));
        }
    }
    lanes.iter().fold(0, |sum, lane| sum.wrapping_add(*lane))
}

fn write(set: &mut [u8], word: u64) {
    let (words, _) = set.as_chunks_mut::<8>();
    for place in words {
        *place = word.to_ne_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(len: usize) -> Vec<u8> {
        (0..len).map(|place| (place * 31 % 251) as u8).collect()
    }

    #[test]
    fn every_loop_that_copies_copies_all_of_the_first_half() {
        let bench = Bench::new();
        let copies = MemoryLoop::ALL
            .iter()
            .copied()
            .filter(|name| name.has_two_buffers() && bench.has(*name));
        for name in copies.filter(|name| *name != MemoryLoop::LmbenchCp) {
            let mut set = filled(1 << 14);
            bench.pass(name, &mut set);
            assert_eq!(set[..1 << 13], set[1 << 13..], "{name}");
            assert_eq!(set[..1 << 13], filled(1 << 13), "{name}");
        }
    }

    #[test]
    fn loops_that_only_read_change_nothing_and_those_that_write_change_all() {
        let bench = Bench::new();
        for name in
            [MemoryLoop::Read, MemoryLoop::Checksum, MemoryLoop::LmbenchRd, MemoryLoop::LmbenchFrd]
        {
            let mut set = filled(1 << 13);
            bench.pass(name, &mut set);
            assert_eq!(set, filled(1 << 13), "{name}");
        }
        for (name, word) in [
            (MemoryLoop::Write, PATTERN),
            (MemoryLoop::LmbenchFwr, 0x1_0000_0001),
            (MemoryLoop::LmbenchBzero, 0),
        ] {
            let mut set = filled(1 << 13);
            bench.pass(name, &mut set);
            assert!(set.as_chunks::<8>().0.iter().all(|got| *got == word.to_ne_bytes()), "{name}");
        }
    }

    #[test]
    fn reading_adds_up_every_word() {
        let words: Vec<u8> = (1..=64_u64).flat_map(u64::to_ne_bytes).collect();
        assert_eq!(read(&words), 64 * 65 / 2);
    }

    #[test]
    fn a_set_of_any_length_is_no_panic() {
        let bench = Bench::new();
        for len in [0, 1, 7, 63, 129] {
            for name in MemoryLoop::ALL {
                bench.pass(*name, &mut filled(len));
            }
        }
    }
}
