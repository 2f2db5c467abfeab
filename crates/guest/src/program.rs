//! This program and the shared libraries that it needs, for the guest, whose first process it is.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use zc_run::{Error, Result};

/// `PT_INTERP` of elf(5).
const INTERPRETER: u32 = 3;

/// A program with what it is started by.
pub(crate) struct Program {
    pub(crate) bytes: Vec<u8>,
    /// The dynamic loader, where the program names it; `None`: it is static.
    pub(crate) loader: Option<PathBuf>,
    /// Its shared libraries: the names by which they are looked up, and their files.
    pub(crate) libraries: Vec<(String, PathBuf)>,
}

impl Program {
    /// The running one, even if its file has been replaced since.
    ///
    /// # Errors
    /// Its file or its libraries cannot be read.
    pub(crate) fn own() -> Result<Self> {
        let path = format!("/proc/{}/exe", std::process::id());
        let bytes = fs::read(&path).map_err(|error| Error::os("read this program", error))?;
        let Some(loader) = interpreter(&bytes) else {
            return Ok(Self { bytes, loader: None, libraries: Vec::new() });
        };
        // ld.so(8): --list, which is what ldd(1) prints.
        let mut list = Command::new(&loader);
        let output = list.arg("--list").arg(&path).stdin(Stdio::null()).output();
        let output = output.map_err(|error| Error::os("list the libraries of zc", error))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let libraries = text.lines().filter_map(library).collect();
        Ok(Self { bytes, loader: Some(loader), libraries })
    }
}

/// The dynamic loader that an ELF file of 64 bits names.
fn interpreter(elf: &[u8]) -> Option<PathBuf> {
    let number = |at: usize, length: usize| {
        let bytes = elf.get(at..at.checked_add(length)?)?;
        Some(bytes.iter().rev().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte)))
    };
    // e_phoff, e_phentsize and e_phnum; p_type, p_offset and p_filesz.
    let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    (0..count).find_map(|place| {
        let header = table.checked_add(place * size)?;
        if number(header, 4)? != INTERPRETER as usize {
            return None;
        }
        let (offset, length) = (number(header + 8, 8)?, number(header + 32, 8)?);
        let name = elf.get(offset..offset.checked_add(length)?)?;
        let name = name.split(|byte| *byte == 0).next()?;
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(name)))
    })
}

/// `libc.so.6 => /usr/lib/x86_64-linux-gnu/libc.so.6 (0x00007f...)`. Neither the loader nor the
/// kernel's own has an arrow.
fn library(line: &str) -> Option<(String, PathBuf)> {
    let (name, rest) = line.trim().split_once(" => ")?;
    let path = rest.rsplit_once(" (").map_or(rest, |(path, _)| path);
    path.starts_with('/').then(|| (name.to_owned(), PathBuf::from(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_what_the_loader_lists() {
        for (line, found) in [
            ("\tlibc.so.6 => /lib/x/libc.so.6 (0x00007f)", Some(("libc.so.6", "/lib/x/libc.so.6"))),
            ("\tlibx.so => /opt/a b/libx.so (0x1)", Some(("libx.so", "/opt/a b/libx.so"))),
            ("\tlinux-vdso.so.1 (0x00007ffc)", None),
            ("\t/lib64/ld-linux-x86-64.so.2 (0x00007f)", None),
            ("\tlibgone.so => not found", None),
        ] {
            let library = library(line);
            let library =
                library.as_ref().map(|(name, path)| (name.as_str(), path.to_str().unwrap()));
            assert_eq!(library, found, "{line}");
        }
    }

    #[test]
    fn the_loader_of_a_program_is_the_one_that_it_names() {
        assert_eq!(interpreter(b""), None);
        assert_eq!(interpreter(&[0xff; 100]), None);
        let own = Program::own().unwrap();
        if let Some(loader) = &own.loader {
            assert!(loader.is_file(), "{}", loader.display());
            assert!(own.libraries.iter().all(|(_, path)| path.is_file()), "{:?}", own.libraries);
        }
        assert_eq!(own.loader.is_some(), !own.libraries.is_empty());
    }
}
