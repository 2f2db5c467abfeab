//! The file set: open files of known length, and the endless walk over them in pieces.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};

use super::memory::available_bytes;
use zc_kernel::mapping::FileMapping;
use zc_run::{Align, Error, FileSetFacts, Result, Unavailable};

/// An open regular file and the length it had when it was opened.
#[derive(Debug)]
pub struct SourceFile {
    /// Its name as the user typed it.
    pub name: String,
    /// Open for reading. Senders share it, so they read at offsets and never use its position.
    pub file: File,
    /// Its length in bytes, never 0.
    pub len: u64,
}

/// The files whose bytes are sent, in this order, over and over.
#[derive(Debug)]
pub struct FileSet {
    /// At least one.
    pub files: Arc<Vec<SourceFile>>,
    /// Whether zc made the files and may copy them.
    generated: bool,
    mappings: OnceLock<std::result::Result<Vec<FileMapping>, Unavailable>>,
}

/// A part of one file, not empty and within its length, that a path is to send whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Index into [`FileSet::files`].
    pub file: usize,
    /// Offset of the piece in that file.
    pub offset: u64,
    /// Its length.
    pub len: usize,
}

/// The endless walk: every file in pieces of at most `piece_bytes`, then the next, then the first
/// again.
#[derive(Debug)]
pub struct Walk {
    lens: Vec<u64>,
    piece_bytes: usize,
    /// Bytes that are left out at the beginning of every file that has more than these.
    begins_at: u64,
    file: usize,
    offset: u64,
}

impl SourceFile {
    /// The error for bytes of this file that no longer exist.
    pub fn became_shorter(&self) -> Error {
        Error::input(
            "file-shrank",
            format!("file \"{}\" became shorter while it was being sent", self.name),
        )
        .help("give files that nobody changes during the run, or copies of them")
    }

    /// The error of a failed read.
    pub fn unreadable(&self, error: impl Into<io::Error>) -> Error {
        Error::input(
            "cannot-read-file",
            format!("cannot read file \"{}\": {}", self.name, error.into()),
        )
    }
}

impl FileSet {
    /// A set of `files`, at least one, none of them empty.
    pub fn new(files: Vec<SourceFile>) -> Self {
        Self { files: Arc::new(files), generated: false, mappings: OnceLock::new() }
    }

    /// A set of files that zc has made.
    pub(super) fn generated(files: Vec<SourceFile>) -> Self {
        Self { generated: true, ..Self::new(files) }
    }

    /// The same files elsewhere in memory, as far as zc can move them: generated ones are copied,
    /// so that they have other pages in the page cache. Given ones keep theirs, and are mapped
    /// again.
    ///
    /// # Errors
    /// Same as [`FileSet::generate`]; or a generated file cannot be read.
    pub fn elsewhere(&self) -> Result<Self> {
        if self.generated {
            return self.copied();
        }
        let files = Arc::clone(&self.files);
        Ok(Self { files, generated: false, mappings: OnceLock::new() })
    }

    /// Sum of the lengths.
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.len).sum()
    }

    /// The file that holds byte number `offset` of the endless walk over the files.
    pub fn file_at(&self, offset: u64) -> usize {
        let mut left = offset % self.total_bytes().max(1);
        for (index, file) in self.files.iter().enumerate() {
            match left.checked_sub(file.len) {
                Some(rest) => left = rest,
                None => return index,
            }
        }
        0
    }

    /// A walk that begins at file `first` (modulo the number of files), in pieces of at most
    /// `piece_bytes` (at least 1).
    pub fn walk(&self, first: usize, piece_bytes: usize) -> Walk {
        Walk {
            lens: self.files.iter().map(|file| file.len).collect(),
            piece_bytes: piece_bytes.max(1),
            begins_at: 0,
            file: first % self.files.len().max(1),
            offset: 0,
        }
    }

    /// The files mapped for reading, in their order. They are mapped at the first call for the life
    /// of the set, with their page tables filled (unless the set is larger than half of the
    /// available memory): what a server pays once per file and not per request must not be in any
    /// window.
    ///
    /// # Errors
    /// A file could not be mapped. The result is final: later calls return the same one.
    pub fn mappings(&self) -> std::result::Result<&[FileMapping], Unavailable> {
        self.mappings.get_or_init(|| self.map()).as_deref().map_err(Clone::clone)
    }

    fn map(&self) -> std::result::Result<Vec<FileMapping>, Unavailable> {
        let populate = self.fits_memory();
        let map = |source: &SourceFile| {
            FileMapping::new(&source.file, source.len, populate).map_err(|error| {
                Unavailable::failed(format!("cannot map file \"{}\": {error}", source.name))
            })
        };
        self.files.iter().map(map).collect()
    }

    fn fits_memory(&self) -> bool {
        available_bytes().is_none_or(|available| self.total_bytes() <= available / 2)
    }

    /// Reads every file once into the page cache. Does nothing and returns false if the set is
    /// larger than half of the available memory, because it would not stay there.
    ///
    /// # Errors
    /// A file cannot be read, or has become shorter.
    pub fn warm(&self) -> Result<bool> {
        if !self.fits_memory() {
            return Ok(false);
        }
        for file in 0..self.files.len() {
            self.read(self.file_as_piece(file)?, |_| ())?;
        }
        Ok(true)
    }

    /// Reads the first `bytes` of the walk from file `first` on into the page cache, in case they
    /// have been evicted.
    ///
    /// # Errors
    /// A file cannot be read, or has become shorter.
    pub fn warm_from(&self, first: usize, bytes: u64) -> Result<()> {
        let mut left = bytes.min(self.total_bytes());
        for mut piece in self.walk(first, 1 << 20) {
            if left == 0 {
                break;
            }
            piece.len = piece.len.min(usize::try_from(left).unwrap_or(usize::MAX));
            left -= piece.len as u64;
            self.read(piece, |_| ())?;
        }
        Ok(())
    }

    /// Compares the files' present lengths with the original ones. A path that sends from a mapping
    /// needs this after its last piece: where a page has lost its end to a truncation, the kernel
    /// sends zeros without an error.
    ///
    /// # Errors
    /// A file has become shorter.
    pub fn check_lengths(&self) -> Result<()> {
        for source in self.files.iter() {
            let now = source.file.metadata().map_err(|error| source.unreadable(error))?;
            if now.len() < source.len {
                return Err(source.became_shorter());
            }
        }
        Ok(())
    }

    /// A file as one piece.
    ///
    /// # Errors
    /// It is larger than the address space of this machine.
    pub(super) fn file_as_piece(&self, file: usize) -> Result<Piece> {
        let source = &self.files[file];
        let len = usize::try_from(source.len).map_err(|_| {
            Error::input(
                "file-too-large",
                format!("file \"{}\" is too large for this machine", source.name),
            )
        })?;
        Ok(Piece { file, offset: 0, len })
    }

    /// Reads `piece` and calls `show` with its bytes in order.
    pub(super) fn read(&self, piece: Piece, mut show: impl FnMut(&[u8])) -> Result<()> {
        let source = &self.files[piece.file];
        let mut buffer = vec![0; piece.len.min(256 << 10)];
        let mut done = 0;
        while done < piece.len {
            let part = &mut buffer[..(piece.len - done).min(256 << 10)];
            source.file.read_exact_at(part, piece.offset + done as u64).map_err(
                |error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => source.became_shorter(),
                    _ => source.unreadable(error),
                },
            )?;
            show(part);
            done += part.len();
        }
        Ok(())
    }

    /// The facts of the set, for the saved run.
    pub(super) fn facts(&self, origin: &str, skipped: Vec<String>) -> FileSetFacts {
        let lens = self.files.iter().map(|file| file.len);
        FileSetFacts {
            origin: origin.to_owned(),
            files: self.files.len(),
            total_bytes: self.total_bytes(),
            min_bytes: lens.clone().min().unwrap_or(0),
            max_bytes: lens.max().unwrap_or(0),
            filesystem: self
                .files
                .first()
                .map_or_else(String::new, |first| super::filesystem::name(&first.file)),
            skipped,
        }
    }
}

/// CRC-32 (that of zlib) of the first `bytes` bytes of a walk over `files`: the expected checksum
/// of a receiver.
///
/// # Errors
/// A file cannot be read, or has become shorter.
pub fn checksum(files: &FileSet, walk: Walk, bytes: u64) -> Result<u32> {
    let mut crc = crc32fast::Hasher::new();
    let mut left = bytes;
    for mut piece in walk {
        if left == 0 {
            break;
        }
        piece.len = piece.len.min(usize::try_from(left).unwrap_or(usize::MAX));
        left -= piece.len as u64;
        files.read(piece, |part| crc.update(part))?;
    }
    Ok(crc.finalize())
}

impl Walk {
    /// The same walk, before its first step, with files that begin as `align` says. With
    /// [`Align::Byte`] they begin at their second byte, so that all pieces lie at odd offsets, in
    /// the page cache and in a copy of the file. The first byte is left out, because it would be a
    /// call of its own in every file.
    #[must_use]
    pub fn aligned(mut self, align: Align) -> Self {
        self.begins_at = match align {
            Align::Page => 0,
            Align::Byte => 1,
        };
        self.offset = self.beginning();
        self
    }

    /// The next piece of just so many bytes, from the beginning of a page on: in the current file
    /// if it has so many left, else in the next one that does. `None` if no file is so long.
    pub fn next_of(&mut self, len: usize) -> Option<Piece> {
        let bytes = len as u64;
        let left = |file: usize, offset: u64| self.lens[file].saturating_sub(offset);
        let files = self.lens.len();
        let (file, offset) = if left(self.file, self.offset) >= bytes {
            (self.file, self.offset)
        } else {
            let later = (1..=files).map(|step| (self.file + step) % files);
            (later.into_iter().find(|file| left(*file, self.begins_at) >= bytes)?, self.begins_at)
        };
        self.file = file;
        self.offset = (offset + bytes).next_multiple_of(zc_kernel::pages::page_size() as u64);
        Some(Piece { file, offset, len })
    }

    /// The first offset in the current file.
    fn beginning(&self) -> u64 {
        let len = self.lens.get(self.file).copied().unwrap_or(0);
        if self.begins_at < len { self.begins_at } else { 0 }
    }
}

impl Iterator for Walk {
    type Item = Piece;

    /// Never `None`, unless the set or one of its files is empty.
    fn next(&mut self) -> Option<Piece> {
        let left = self.lens.get(self.file)?.checked_sub(self.offset).filter(|&left| left > 0)?;
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(self.piece_bytes);
        let piece = Piece { file: self.file, offset: self.offset, len };
        self.offset += len as u64;
        if self.offset == self.lens[self.file] {
            self.file = (self.file + 1) % self.lens.len();
            self.offset = self.beginning();
        }
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn set_of(contents: &[Vec<u8>]) -> FileSet {
        let source = |(at, bytes): (usize, &Vec<u8>)| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            SourceFile { name: format!("file {at}"), file, len: bytes.len() as u64 }
        };
        FileSet::new(contents.iter().enumerate().map(source).collect())
    }

    fn walk_of(lens: &[u64], first: usize, piece_bytes: usize) -> Walk {
        Walk { lens: lens.to_vec(), piece_bytes, begins_at: 0, file: first % lens.len(), offset: 0 }
    }

    #[test]
    fn pieces_of_any_length_begin_at_pages_and_in_files_that_have_them() {
        let mut walk = walk_of(&[10_000, 3_000, 20_000], 0, 1);
        let lens = [4_000, 4_096, 2_000, 3_000, 15_000, 20_000, 1];
        let pieces: Vec<_> =
            lens.iter().map(|len| walk.next_of(*len).map(|at| (at.file, at.offset))).collect();
        let expected = [(0, 0), (0, 4_096), (1, 0), (2, 0), (2, 4_096), (2, 0), (0, 0)];
        assert_eq!(pieces, expected.map(Some));
        assert_eq!(walk.next_of(20_001), None);
    }

    proptest! {
        #[test]
        fn a_round_of_the_walk_covers_every_byte_of_every_file_once(
            lens in prop::collection::vec(1..5_000u64, 1..20),
            first in 0..100usize,
            piece_bytes in 1..2_000usize,
            rounds in 1..4u64,
        ) {
            let total: u64 = lens.iter().sum();
            let mut done = 0;
            let mut file = first % lens.len();
            let mut at = 0;
            let mut walk = walk_of(&lens, first, piece_bytes);
            while done < rounds * total {
                let piece = walk.next().unwrap();
                // In order, without gaps or overlaps, never empty, never too long.
                prop_assert_eq!((piece.file, piece.offset), (file, at));
                prop_assert!(piece.len > 0 && piece.len <= piece_bytes);
                done += piece.len as u64;
                at += piece.len as u64;
                prop_assert!(at <= lens[file]);
                if at == lens[file] {
                    file = (file + 1) % lens.len();
                    at = 0;
                }
            }
            prop_assert_eq!(done, rounds * total);
            prop_assert_eq!((file, at), (first % lens.len(), 0));
        }

        #[test]
        fn the_checksum_is_that_of_the_files_one_after_another(
            contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 1..5),
            piece_bytes in 1..200usize,
            bytes in 0..3_000usize,
        ) {
            let expected: Vec<u8> = contents.concat().into_iter().cycle().take(bytes).collect();
            let set = set_of(&contents);
            let got = checksum(&set, set.walk(0, piece_bytes), bytes as u64).unwrap();
            prop_assert_eq!(got, crc32fast::hash(&expected));
        }

        #[test]
        fn a_walk_at_odd_offsets_leaves_out_the_first_byte_of_every_file_that_has_another_one(
            contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 1..5),
            half_a_piece in 1..100usize,
            bytes in 0..3_000usize,
        ) {
            let shortened = |file: &Vec<u8>| file[usize::from(file.len() > 1)..].to_vec();
            let round: Vec<u8> = contents.iter().flat_map(shortened).collect();
            let expected: Vec<u8> = round.into_iter().cycle().take(bytes).collect();
            let set = set_of(&contents);
            let walk = || set.walk(0, 2 * half_a_piece).aligned(Align::Byte);
            let got = checksum(&set, walk(), bytes as u64).unwrap();
            prop_assert_eq!(got, crc32fast::hash(&expected));
            for piece in walk().take(100) {
                prop_assert!(piece.offset % 2 == 1 || contents[piece.file].len() == 1);
            }
        }
    }

    #[test]
    fn elsewhere_given_files_are_the_same_and_are_mapped_again() {
        let set = set_of(&[vec![1; 5000], vec![2; 100]]);
        let again = set.elsewhere().unwrap();
        assert!(Arc::ptr_eq(&set.files, &again.files));
        let first = |set: &FileSet| std::ptr::from_ref(&set.mappings().unwrap()[0]);
        assert_ne!(first(&set), first(&again));
    }

    #[test]
    fn a_piece_size_of_zero_does_not_stop_the_walk() {
        assert_eq!(
            set_of(&[vec![1, 2]]).walk(0, 0).next(),
            Some(Piece { file: 0, offset: 0, len: 1 })
        );
    }

    #[test]
    fn the_walk_over_an_empty_set_or_file_ends_instead_of_looping() {
        assert_eq!(FileSet::new(Vec::new()).walk(3, 10).next(), None);
        assert_eq!(set_of(&[Vec::new()]).walk(0, 10).next(), None);
    }

    #[test]
    fn every_byte_of_the_walk_is_found_in_its_file() {
        let files = set_of(&[vec![1; 3], vec![2; 1], vec![3; 2]]);
        let found: Vec<usize> = (0..8).map(|offset| files.file_at(offset)).collect();
        assert_eq!(found, [0, 0, 0, 1, 2, 2, 0, 0]);
        assert_eq!(FileSet::new(Vec::new()).file_at(5), 0);
    }

    #[test]
    fn warming_from_a_file_on_fails_only_when_it_reaches_a_shorter_file() {
        let files = set_of(&[vec![1; 3], vec![2; 5], vec![3; 2]]);
        files.files[0].file.set_len(1).unwrap();
        files.warm_from(1, 7).unwrap();
        assert_eq!(files.warm_from(1, 9).unwrap_err().id, "file-shrank");
    }

    #[test]
    fn a_warm_set_is_read_whole() {
        assert!(set_of(&[vec![1; 300_000], vec![2]]).warm().unwrap());
    }

    #[test]
    fn a_file_that_shrinks_is_named_in_every_error() {
        let set = set_of(&[vec![1; 10], vec![2; 10_000]]);
        set.check_lengths().unwrap();
        set.files[1].file.set_len(9_999).unwrap();
        for error in [
            set.check_lengths().unwrap_err(),
            set.warm().unwrap_err(),
            checksum(&set, set.walk(0, 100), 10_010).unwrap_err(),
        ] {
            assert_eq!((error.kind, &*error.id), (zc_run::ErrorKind::Input, "file-shrank"));
            assert!(error.message.contains("\"file 1\"") && error.help.is_some(), "{error}");
        }
    }

    #[test]
    fn a_set_is_mapped_once() {
        let set = set_of(&[vec![1; 10], vec![2; 10_000]]);
        let mappings = set.mappings().unwrap();
        assert_eq!(mappings.iter().map(FileMapping::len_bytes).collect::<Vec<_>>(), [10, 10_000]);
        assert!(std::ptr::eq(mappings, set.mappings().unwrap()));
    }
}
