//! The two facts of an ELF header that decide whether a program can run on another machine: for
//! which processor it is, and whether it needs a dynamic loader and libraries (elf(5)).

/// Program header of the path of the dynamic loader. Static programs have none,
/// position-independent ones included.
const PT_INTERP: u32 = 3;

/// Header of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Elf {
    /// Its processor, as `uname -m` names it; `None` for one that is not known here.
    pub(super) machine: Option<&'static str>,
    /// It needs no dynamic loader.
    pub(super) is_static: bool,
}

impl Elf {
    /// The header of a program; `None` if it is not ELF, or cut off within its headers.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        if !bytes.starts_with(b"\x7fELF") {
            return None;
        }
        let is_64 = match bytes.get(4)? {
            1 => false,
            2 => true,
            _ => return None,
        };
        let file = Reader { bytes, is_big_endian: *bytes.get(5)? == 2 };
        let (headers, size, count) = if is_64 {
            (file.number(32, 8)?, file.number(54, 2)?, file.number(56, 2)?)
        } else {
            (file.number(28, 4)?, file.number(42, 2)?, file.number(44, 2)?)
        };
        let mut is_static = true;
        for place in 0..count {
            let at = headers.checked_add(place.checked_mul(size)?)?;
            is_static &= file.number(usize::try_from(at).ok()?, 4)? != u64::from(PT_INTERP);
        }
        let machine = match (file.number(18, 2)?, is_64, file.is_big_endian) {
            (62, true, false) => Some("x86_64"),
            (183, true, false) => Some("aarch64"),
            (243, true, false) => Some("riscv64"),
            (258, true, false) => Some("loongarch64"),
            (21, true, false) => Some("ppc64le"),
            (22, true, true) => Some("s390x"),
            _ => None,
        };
        Some(Self { machine, is_static })
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    is_big_endian: bool,
}

impl Reader<'_> {
    fn number(&self, at: usize, len: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at.checked_add(len)?)?;
        let shift = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(if self.is_big_endian {
            bytes.iter().fold(0, shift)
        } else {
            bytes.iter().rev().fold(0, shift)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of a program for a machine, with program headers of these types.
    fn program(machine: u16, types: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = types.len() as u8;
        for kind in types {
            bytes.extend(kind.to_le_bytes());
            bytes.resize(bytes.len() + 52, 0);
        }
        bytes
    }

    #[test]
    fn a_program_with_a_loader_is_not_static() {
        let elf = |types: &[u32]| Elf::parse(&program(183, types)).unwrap();
        // PT_LOAD, PT_DYNAMIC: those of a static-pie program too.
        assert_eq!(elf(&[1, 1, 2]), Elf { machine: Some("aarch64"), is_static: true });
        assert_eq!(elf(&[6, 3, 1, 2]), Elf { machine: Some("aarch64"), is_static: false });
    }

    #[test]
    fn this_program_is_for_this_machine() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        let elf = Elf::parse(&bytes).unwrap();
        assert_eq!(elf.is_static, cfg!(target_feature = "crt-static"));
        let machine = rustix::system::uname().machine().to_string_lossy().into_owned();
        assert!(elf.machine.is_none_or(|known| known == machine), "{elf:?} on {machine}");
    }

    #[test]
    fn what_is_not_a_whole_header_is_none() {
        let whole = program(62, &[1, 3]);
        assert!(Elf::parse(&whole).is_some());
        for len in 0..64 + 56 + 4 {
            assert_eq!(Elf::parse(&whole[..len]), None, "{len} bytes");
        }
        assert_eq!(Elf::parse(b"#!/bin/sh\n"), None);
        let mut far = program(62, &[1]);
        far[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(Elf::parse(&far), None);
    }
}
