//! Opens logs: files, pipes and stdin, compressed or not. Which it is stands in their first bytes;
//! names lie, and pipes have none.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::tell;
use super::zstd_frames::ZstdFrames;
use zc_run::{Error, Result, in_words};

/// The size of each buffer.
const BUFFER_BYTES: usize = 256 << 10;

/// A log that is open, and of which nothing has been read yet.
pub(super) struct LogInput {
    /// As it is shown.
    pub(super) name: String,
    source: Box<dyn Read>,
}

/// How a log is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// Compressions that are told and not read, with the command that decompresses them.
const OTHERS: [(&[u8], &str, &str); 4] = [
    (b"BZh", "bzip2", "bzip2 -dc"),
    (b"\xfd7zXZ\0", "xz", "xz -dc"),
    (b"PK\x03\x04", "zip", "unzip -p"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc"),
];

impl LogInput {
    /// Opens a log; `-` is stdin. Of a file what it has now is read, so that a log that grows has an
    /// end.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): it cannot be opened, or is a directory.
    pub(super) fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self { name: "stdin".to_owned(), source: Box::new(io::stdin()) });
        }
        let name = tell::path(path);
        let file = File::open(path).map_err(|error| cannot_read(&name, &in_words(&error)))?;
        let metadata = file.metadata().map_err(|error| cannot_read(&name, &in_words(&error)))?;
        if metadata.is_dir() {
            return Err(cannot_read(&name, "it is a directory"));
        }
        let source: Box<dyn Read> = match metadata.is_file() {
            true => Box::new(file.take(metadata.len())),
            // A pipe, of which the length is not known.
            false => Box::new(file),
        };
        Ok(Self { name, source })
    }

    /// What it says, decompressed.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): it cannot be read, or is compressed in another way.
    pub(super) fn read(self) -> Result<(Box<dyn BufRead>, Option<Compression>)> {
        let Self { name, mut source } = self;
        // A pipe may give them one by one.
        let mut begin = Vec::new();
        source
            .by_ref()
            .take(8)
            .read_to_end(&mut begin)
            .map_err(|error| cannot_read(&name, &in_words(&error)))?;
        if let Some((_, other, command)) =
            OTHERS.iter().find(|(magic, ..)| begin.starts_with(magic))
        {
            let message =
                format!("the log \"{name}\" is compressed with {other}, which zc does not read");
            return Err(Error::input(message).help(format!("{command} LOG | zc advise -")));
        }
        let compression = compression(&begin);
        let whole = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(begin).chain(source));
        let text: Box<dyn BufRead> = match compression {
            None => Box::new(whole),
            Some(Compression::Gzip) => {
                Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(whole)))
            }
            Some(Compression::Zstd) => {
                Box::new(BufReader::with_capacity(BUFFER_BYTES, ZstdFrames::new(whole)))
            }
        };
        Ok((text, compression))
    }
}

/// RFC 1952 (2.3.1) and RFC 8878 (3.1): a frame, or one that is to be skipped.
fn compression(begin: &[u8]) -> Option<Compression> {
    match begin {
        [0x1f, 0x8b, 8, ..] => Some(Compression::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            Some(Compression::Zstd)
        }
        _ => None,
    }
}

pub(super) fn cannot_read(name: &str, what: &str) -> Error {
    Error::input(format!("cannot read the log \"{name}\": {what}"))
        .help("an access log of a web server, which this user may read; - is stdin")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_log_that_grows_is_read_up_to_where_it_ended_when_it_was_opened() {
        let mut log = tempfile::NamedTempFile::new().unwrap();
        log.write_all(b"before\n").unwrap();
        let input = LogInput::open(log.path()).unwrap();
        log.write_all(b"after\n").unwrap();
        let mut text = String::new();
        input.read().unwrap().0.read_to_string(&mut text).unwrap();
        assert_eq!(text, "before\n");
    }
}
