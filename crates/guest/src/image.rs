//! What a file is that a kernel is to be booted from: the setup header of a bzImage
//! (Documentation/arch/x86/boot.rst, "The Real-Mode Kernel Header"), or what it is instead.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use zc_run::{Error, Result, escape, in_words};

/// How much of the file is read: the real-mode kernel, in which the version is.
const HEAD: u64 = 64 * 1024;

/// `HdrS`, at 0x202.
const MAGIC: &[u8] = b"HdrS";
/// Of `xloadflags`: the kernel has an entry for 64 bits.
const KERNEL_64: u8 = 1;

/// The version of the kernel in a bzImage: `6.1.0-50-amd64 (debian-kernel@...) #1 SMP ...`.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): it cannot be read, or is no bzImage for x86-64.
pub(crate) fn version(path: &Path) -> Result<String> {
    let mut head = Vec::new();
    File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head)).map_err(|error| {
        let id = if error.kind() == std::io::ErrorKind::NotFound {
            "no-such-file"
        } else {
            "cannot-read-kernel"
        };
        let message = format!("cannot read the kernel \"{}\": {}", shown(path), in_words(&error));
        Error::input(id, message).help("check the name and the current folder")
    })?;
    version_in(&head).map_err(|what| match what {
        Other::Architecture(architecture) => Error::input(
            "kernel-of-another-architecture",
            format!("the kernel \"{}\" is for {architecture}", shown(path)),
        )
        .help("guests are of x86-64, as this machine is: make ARCH=x86_64 bzImage"),
        Other::File(what) => Error::input("not-a-kernel", format!("\"{}\" is {what}", shown(path)))
            .help("a kernel is the file arch/x86/boot/bzImage, or vmlinuz of a distribution"),
    })
}

/// What it is instead of a bzImage for x86-64.
#[derive(Debug, PartialEq, Eq)]
enum Other {
    Architecture(&'static str),
    File(&'static str),
}

fn version_in(head: &[u8]) -> std::result::Result<String, Other> {
    let at = |place: usize, length: usize| head.get(place..place + length).unwrap_or_default();
    if at(0x202, 4) == MAGIC {
        let flags = at(0x236, 1).first().copied().unwrap_or_default();
        if flags & KERNEL_64 == 0 {
            return Err(Other::Architecture("32-bit x86"));
        }
        let offset = at(0x20e, 2).iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let version = head.get(offset + 0x200..).unwrap_or_default();
        let end = version.iter().position(|byte| *byte == 0).unwrap_or(0);
        let text = String::from_utf8_lossy(&version[..end]).into_owned();
        return match offset != 0 && !text.trim().is_empty() {
            true => Ok(text),
            false => Err(Other::File("a bzImage that does not say its version")),
        };
    }
    Err(match head {
        [0x7f, b'E', b'L', b'F', ..] => match at(18, 2) {
            [62, 0] => Other::File("an ELF file, as vmlinux is, and no bzImage"),
            [183, 0] => Other::Architecture("64-bit ARM"),
            _ => Other::Architecture("another architecture"),
        },
        // Documentation/arch/arm64/booting.rst and Documentation/arch/riscv/boot-image-header.rst
        _ if at(0x38, 4) == b"ARM\x64" => Other::Architecture("64-bit ARM"),
        _ if at(0x38, 4) == b"RSC\x05" => Other::Architecture("RISC-V"),
        [] => Other::File("empty"),
        [0x1f, 0x8b, ..] => Other::File("a compressed file, as kernels of ARM are, and no bzImage"),
        _ => Other::File("no bzImage"),
    })
}

/// The name of a file, for messages.
pub(crate) fn shown(path: &Path) -> String {
    escape(&path.to_string_lossy(), 400)
}

/// The head of a bzImage with this version.
#[cfg(test)]
pub(crate) fn bzimage(version: &str) -> Vec<u8> {
    let mut head = vec![0; 0x400];
    head[0x202..0x206].copy_from_slice(MAGIC);
    head[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
    head[0x236] = KERNEL_64;
    head[0x300..0x300 + version.len()].copy_from_slice(version.as_bytes());
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bzimage_says_its_version() {
        let text = "6.1.0-50-amd64 (a@b) #1 SMP";
        assert_eq!(version_in(&bzimage(text)), Ok(text.to_owned()));
    }

    #[test]
    fn what_is_no_bzimage_for_this_architecture_is_named() {
        let mut narrow = bzimage("6.1");
        narrow[0x236] = 0;
        assert_eq!(version_in(&narrow), Err(Other::Architecture("32-bit x86")));
        let mut arm = vec![0; 0x40];
        arm[0x38..0x3c].copy_from_slice(b"ARM\x64");
        assert_eq!(version_in(&arm), Err(Other::Architecture("64-bit ARM")));
        let mut elf = b"\x7fELF".to_vec();
        elf.resize(64, 0);
        elf[18] = 62;
        assert!(matches!(version_in(&elf), Err(Other::File(what)) if what.contains("vmlinux")));
        elf[18] = 183;
        assert_eq!(version_in(&elf), Err(Other::Architecture("64-bit ARM")));
        let mut cut = bzimage("6.1");
        cut.truncate(0x250);
        for other in [&b""[..], b"#!/bin/sh", b"\x1f\x8b", &cut] {
            assert!(matches!(version_in(other), Err(Other::File(_))), "{other:?}");
        }
    }
}
