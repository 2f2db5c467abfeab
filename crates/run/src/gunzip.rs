//! Decompresses a run. A file that was cut off ends where its text does, one that is damaged is an
//! error, and so is one that would fill any memory.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;

use super::{Error, in_words};

/// The first bytes of a gzip member (RFC 1952, 2.3.1).
pub(super) const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// Largest ratio of a run's text to its file, above the minimum: some kilobytes could otherwise
/// take all memory. zc's files have a ratio of 5 to 10.
const MOST_COMPRESSED: u64 = 100;
const LEAST_TEXT_BYTES: u64 = 16 << 20;
/// The longest text of a run: what is read of it would not fit into memory.
const MOST_TEXT_BYTES: u64 = 4 << 30;

/// The text of gzip members.
#[derive(Debug)]
pub(super) struct Gunzip<R> {
    members: MultiGzDecoder<Counted<R>>,
    text_bytes: u64,
}

impl<R: BufRead> Gunzip<R> {
    pub(super) fn new(from: R) -> Self {
        Self { members: MultiGzDecoder::new(Counted { from, bytes: 0 }), text_bytes: 0 }
    }
}

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = match self.members.read(into) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            // What it finds wrong in the data; errors of the source have another kind.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(Damage::Corrupt(error.to_string()).into());
            }
            read => read?,
        };
        self.text_bytes += bytes as u64;
        let most = self.members.get_ref().bytes.saturating_mul(MOST_COMPRESSED);
        match self.text_bytes > most.clamp(LEAST_TEXT_BYTES, MOST_TEXT_BYTES) {
            true => Err(Damage::TooLarge.into()),
            false => Ok(bytes),
        }
    }
}

/// The damage of a compressed file.
#[derive(Debug, thiserror::Error)]
enum Damage {
    #[error("{0}")]
    Corrupt(String),
    #[error("it is larger, decompressed, than any saved run")]
    TooLarge,
}

impl From<Damage> for io::Error {
    fn from(damage: Damage) -> Self {
        Self::new(io::ErrorKind::InvalidData, damage)
    }
}

/// The error for a source that cannot be read.
pub(super) fn failed(error: &io::Error) -> Error {
    match error.get_ref().and_then(|source| source.downcast_ref::<Damage>()) {
        Some(Damage::Corrupt(what)) => Error::input(
            "run-damaged",
            format!("it is damaged, and gzip cannot decompress it: {what}"),
        )
        .help("copy it again from where it was measured; gzip -t FILE checks a copy"),
        Some(Damage::TooLarge) => Error::input("run-too-large", Damage::TooLarge.to_string()),
        None => {
            Error::input("cannot-read", in_words(error)).help("can it be read by other programs?")
        }
    }
}

/// Counts the bytes that are taken.
#[derive(Debug)]
struct Counted<R> {
    from: R,
    bytes: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.from.read(into)?;
        self.bytes += bytes as u64;
        Ok(bytes)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.from.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.from.consume(bytes);
        self.bytes += bytes as u64;
    }
}
