//! Reads zstd as a stream: frames one after the other, as `cat` and parallel compressors write
//! them, skippable ones passed over (RFC 8878, 3.1). A decoder of ruzstd reads one frame.

use std::error::Error;
use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The largest window, in bytes: what RFC 8878 (3.1.1.1.2) recommends to support. `zstd` needs more
/// with `--long` and `--ultra` alone.
const LARGEST_WINDOW: u64 = 8 << 20;

/// The frames of a stream, decompressed.
pub(super) struct ZstdFrames<R> {
    source: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    pub(super) fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(LARGEST_WINDOW);
        Self { source, decoder, is_in_frame: false }
    }

    /// Begins the next frame. Returns whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => {
                    self.is_in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => self.skip(u64::from(length))?,
                Err(error) => return Err(broken(&error)),
            }
        }
        Ok(false)
    }

    fn skip(&mut self, length: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
        if skipped < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.is_in_frame = false;
        let written = self.decoder.get_checksum_from_data();
        if written.is_some() && written != self.decoder.get_calculated_checksum() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its checksum is wrong"));
        }
        Ok(())
    }
}

/// Describes the error: the library has no messages but the names of its types.
fn broken(error: &FrameDecoderError) -> io::Error {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    // One name at several places of the hierarchy.
    if format!("{error:?}").contains("Window") {
        return invalid("its window is larger than 8 MiB (zstd --long or --ultra)");
    }
    // Beneath it may be that of reading.
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(one) = cause {
        if let Some(reading) = one.downcast_ref::<io::Error>() {
            return match reading.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => reading.kind().into(),
            };
        }
        cause = one.source();
    }
    invalid("its zstd is damaged")
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_in_frame && !self.begin()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder
                    .decode_blocks(&mut self.source, one)
                    .map_err(|error| broken(&error))?;
            }
            match self.decoder.read(buffer)? {
                0 => self.end()?,
                count => return Ok(count),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        ZstdFrames::new(bytes).read_to_end(&mut text).map(|_| text)
    }

    fn frame(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    #[test]
    fn frames_follow_one_another() {
        let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let stream = [frame(b"one "), skippable.to_vec(), frame(b""), frame(b"two")].concat();
        assert_eq!(read(&stream).unwrap(), b"one two");
        assert_eq!(read(b"").unwrap(), b"");
        assert!(read(&skippable[..9]).is_err());
    }

    #[test]
    fn a_frame_that_is_cut_gives_what_there_is() {
        let text = b"0123456789".repeat(100_000);
        let whole = frame(&text);
        let mut decoded = Vec::new();
        let cut = &whole[..whole.len() / 2];
        assert!(ZstdFrames::new(cut).read_to_end(&mut decoded).is_err());
        assert!(!decoded.is_empty() && text.starts_with(&decoded));
        // Wherever it is cut or damaged, what is wrong is said without the names of types.
        for len in (0..whole.len()).step_by(7) {
            let mut damaged = whole[..len].to_vec();
            if len > 20 {
                damaged[len - 9] ^= 0x55;
            }
            if let Err(error) = read(&damaged) {
                let said = error.to_string();
                assert!(!said.contains("Error") && !said.contains('{'), "{len}: {said}");
            }
        }
    }

    #[test]
    fn a_window_that_would_fill_memory_is_refused() {
        // Magic number; no content size, no checksum; a window of 2^(10 + 31) bytes.
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 31 << 3, 1, 0, 0];
        assert!(read(&frame).unwrap_err().to_string().contains("window"));
    }

    proptest! {
        #[test]
        fn whatever_follows_the_magic_number_there_is_an_end(
            bytes in prop::collection::vec(any::<u8>(), 0..300)
        ) {
            let _ = read(&[&[0x28, 0xb5, 0x2f, 0xfd][..], &bytes].concat());
        }
    }
}
