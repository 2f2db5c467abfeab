//! Decompresses what was compressed with gzip or zstd, and tells other compressions. Which it is
//! stands in the first bytes: names lie, and pipes have none.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

use super::zstd_frames::ZstdFrames;

/// The size of each buffer.
const BUFFER_BYTES: usize = 256 << 10;

/// Compression format.
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

/// Compressions that are recognised but not read, with the command that decompresses them.
const OTHERS: [(&[u8], &str, &str); 4] = [
    (b"BZh", "bzip2", "bzip2 -dc"),
    (b"\xfd7zXZ\0", "xz", "xz -dc"),
    (b"PK\x03\x04", "zip", "unzip -p"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc"),
];

/// Why something cannot be read.
#[derive(Debug)]
pub(super) enum Unread {
    /// Reading failed.
    Failed(io::Error),
    /// It is compressed in a way that zc does not read.
    Compressed {
        /// Name of the format.
        with: &'static str,
        /// The command that writes it decompressed to stdout.
        command: &'static str,
    },
}

/// Decompresses `source`.
///
/// # Errors
/// It cannot be read, or is compressed in another way.
pub(super) fn decompressed(
    source: impl Read + 'static,
) -> Result<(Box<dyn BufRead>, Option<Compression>), Unread> {
    let (whole, compression) = recognised(source)?;
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

/// All of `source`, and how it is compressed.
///
/// # Errors
/// Same as for [`decompressed`].
pub(super) fn recognised(
    mut source: impl Read,
) -> Result<(impl BufRead, Option<Compression>), Unread> {
    // A pipe may give them one by one.
    let mut begin = Vec::new();
    source.by_ref().take(8).read_to_end(&mut begin).map_err(Unread::Failed)?;
    if let Some((_, with, command)) = OTHERS.iter().find(|(magic, ..)| begin.starts_with(magic)) {
        return Err(Unread::Compressed { with, command });
    }
    let compression = compression(&begin);
    Ok((BufReader::with_capacity(BUFFER_BYTES, Cursor::new(begin).chain(source)), compression))
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
