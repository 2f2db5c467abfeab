//! The file set: open files of known length, and the endless walk over them in pieces.

use std::fs::File;

/// An open regular file and the length it had when it was opened.
#[derive(Debug)]
pub struct SourceFile {
    /// How the user named it.
    pub name: String,
    /// Open for reading.
    pub file: File,
    /// Its length in bytes, never 0.
    pub len: u64,
}

/// The files whose bytes are sent, in this order, over and over.
#[derive(Debug)]
pub struct FileSet {
    /// At least one.
    pub files: Vec<SourceFile>,
}

/// A part of one file, not empty and within its length, that a path is to send whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Index into [`FileSet::files`].
    pub file: usize,
    /// Where the piece begins in that file.
    pub offset: u64,
    /// How long it is.
    pub len: usize,
}

/// The endless walk: every file in pieces of at most `piece_bytes`, then the next, then the first again.
#[derive(Debug)]
pub struct Walk {
    lens: Vec<u64>,
    piece_bytes: usize,
    file: usize,
    offset: u64,
}

impl FileSet {
    /// The lengths added up.
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.len).sum()
    }

    /// A walk that begins at file `first` (modulo the number of files), in pieces of at most `piece_bytes`.
    pub fn walk(&self, first: usize, piece_bytes: usize) -> Walk {
        Walk {
            lens: self.files.iter().map(|file| file.len).collect(),
            piece_bytes,
            file: first % self.files.len(),
            offset: 0,
        }
    }
}

impl Iterator for Walk {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let left = self.lens[self.file] - self.offset;
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(self.piece_bytes);
        let piece = Piece { file: self.file, offset: self.offset, len };
        self.offset += len as u64;
        if self.offset == self.lens[self.file] {
            self.file = (self.file + 1) % self.lens.len();
            self.offset = 0;
        }
        Some(piece)
    }
}
