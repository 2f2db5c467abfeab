//! Archives of cpio in the form `newc`, which the kernel unpacks as its first file system
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Component, Path};

/// Types and permissions as in `st_mode`.
const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_000;

/// What headers, names and contents are filled up to a multiple of.
const ALIGNMENT: usize = 4;

/// An archive that is being written.
pub(crate) struct Archive<W> {
    out: W,
    written: usize,
    entries: u32,
    folders: BTreeSet<String>,
}

impl<W: Write> Archive<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, written: 0, entries: 0, folders: BTreeSet::new() }
    }

    /// Adds a folder and those that it is in. Names have no leading slash.
    ///
    /// # Errors
    /// Errors of `out`; a name with `..` in it.
    pub(crate) fn folder(&mut self, name: &Path) -> io::Result<()> {
        let mut path = String::new();
        for part in name.components() {
            let Component::Normal(part) = part else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            let part = part.to_str().ok_or(io::ErrorKind::InvalidInput)?;
            path = if path.is_empty() { part.to_owned() } else { format!("{path}/{part}") };
            if self.folders.insert(path.clone()) {
                self.entry(&path, FOLDER, &[])?;
            }
        }
        Ok(())
    }

    /// Adds a file with these permissions, and the folders that it is in.
    ///
    /// # Errors
    /// Errors of `out`; a name with `..` in it; contents of 4 GiB, which the form has no room for.
    pub(crate) fn file(&mut self, name: &Path, permissions: u32, bytes: &[u8]) -> io::Result<()> {
        self.folder(name.parent().unwrap_or(Path::new("")))?;
        let name = name.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        self.entry(name, FILE | permissions, bytes)
    }

    /// Ends the archive.
    ///
    /// # Errors
    /// Errors of `out`.
    pub(crate) fn end(mut self) -> io::Result<W> {
        self.entries = 0;
        self.entry("TRAILER!!!", 0, &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn entry(&mut self, name: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
        self.entries += 1;
        let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let name_length = name.len() as u32 + 1;
        // inode, mode, owner, group, links, time, length, device, device of a node, name, checksum
        let fields =
            [self.entries, mode, 0, 0, 1, 0, length, 0, 0, 0, 0, name_length, 0].map(hexadecimal);
        self.write(b"070701")?;
        self.write(fields.concat().as_bytes())?;
        self.write(name.as_bytes())?;
        self.write(&[0])?;
        self.align()?;
        self.write(bytes)?;
        self.align()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len();
        self.out.write_all(bytes)
    }

    fn align(&mut self) -> io::Result<()> {
        let missing = self.written.next_multiple_of(ALIGNMENT) - self.written;
        self.write(&[0; ALIGNMENT][..missing])
    }
}

fn hexadecimal(number: u32) -> String {
    format!("{number:08x}")
}

/// The files and folders of an archive, in its order: name, mode and contents.
#[cfg(test)]
pub(crate) fn entries(bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
    let mut at = 0;
    let mut entries = Vec::new();
    loop {
        let header = &bytes[at..at + 110];
        assert_eq!(&header[..6], b"070701", "at {at}");
        let field = |number: usize| {
            let text = std::str::from_utf8(&header[6 + 8 * number..14 + 8 * number]).unwrap();
            u32::from_str_radix(text, 16).unwrap()
        };
        let (mode, length, name_length) = (field(1), field(6) as usize, field(11) as usize);
        let name = std::str::from_utf8(&bytes[at + 110..at + 110 + name_length - 1]).unwrap();
        let begin = (at + 110 + name_length).next_multiple_of(ALIGNMENT);
        if name == "TRAILER!!!" {
            return entries;
        }
        entries.push((name.to_owned(), mode, bytes[begin..begin + length].to_vec()));
        at = (begin + length).next_multiple_of(ALIGNMENT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_after_the_folders_that_they_are_in() {
        let mut archive = Archive::new(Vec::new());
        archive.file(Path::new("init"), 0o755, b"#!").unwrap();
        archive.file(Path::new("lib/a/x.so"), 0o644, b"12345").unwrap();
        archive.file(Path::new("lib/a/y"), 0o644, b"").unwrap();
        archive.folder(Path::new("lib")).unwrap();
        let bytes = archive.end().unwrap();
        assert_eq!(bytes.len() % ALIGNMENT, 0);
        let found = entries(&bytes);
        let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["init", "lib", "lib/a", "lib/a/x.so", "lib/a/y"]);
        assert_eq!(found[0].1, 0o100_755);
        assert_eq!(found[1].1, 0o040_755);
        assert_eq!(found[3].2, b"12345");
    }

    #[test]
    fn a_name_that_leads_out_of_the_archive_is_refused() {
        let mut archive = Archive::new(Vec::new());
        for name in ["../x", "a/../../x", "/x/y"] {
            assert!(archive.file(Path::new(name), 0o644, b"").is_err(), "{name}");
        }
    }
}
