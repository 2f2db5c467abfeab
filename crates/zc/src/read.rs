//! Reads the files that are arguments: saved runs and plans. Anything but a regular file is refused
//! before it is opened: a FIFO would block for ever, and /dev/zero never ends.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::decompress::{Compression, Unread, recognised};
use super::tell;
use super::zstd_frames::ZstdFrames;
use zc_kernel::named_file;
use zc_run::{Error, MAJOR, MINOR, Result, Run, in_words, without_bom};

/// The largest run that is read. A run of many hours has some hundreds of megabytes of text; a
/// larger file is something else, or would not fit into memory.
const LARGEST_RUN_BYTES: u64 = 4 << 30;

/// Largest ratio of a run that zstd compressed to its file, above the minimum: some kilobytes could
/// otherwise take all memory.
const MOST_COMPRESSED: u64 = 100;
const LEAST_OF_COMPRESSED_BYTES: u64 = 16 << 20;

/// Opens a regular file. `wrong` makes an error of the description of what is wrong.
///
/// # Errors
/// The file does not exist, may not be read, or is not a regular file.
pub(super) fn regular(path: &Path, wrong: impl Fn(&str) -> Error) -> Result<File> {
    let metadata = path.metadata().map_err(|error| wrong(&in_words(&error)))?;
    if metadata.is_dir() {
        return Err(wrong("it is a directory"));
    }
    if !metadata.is_file() {
        return Err(wrong("it is not a regular file"));
    }
    // A FIFO may be in its place by now, and would wait for a writer.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let opened = File::options().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| wrong(&in_words(&error)))?;
    match file.metadata().map_err(|error| wrong(&in_words(&error)))?.is_file() {
        true => Ok(file),
        false => Err(wrong("it is not a regular file")),
    }
}

/// The content of a regular file; `None` if it has more than `most` bytes.
///
/// # Errors
/// Same as for [`regular`], and when reading fails.
pub(super) fn bytes(
    path: &Path,
    most: u64,
    wrong: impl Fn(&str) -> Error,
) -> Result<Option<Vec<u8>>> {
    let file = regular(path, &wrong)?;
    named_file::bytes(file, most).map_err(|error| wrong(&in_words(&error)))
}

/// The text of a regular file, without a byte order mark; `None` if it has more than `most` bytes.
///
/// # Errors
/// Same as for [`bytes`], and when it is not UTF-8.
pub(super) fn text(
    path: &Path,
    most: u64,
    wrong: impl Fn(&str) -> Error,
) -> Result<Option<String>> {
    let Some(bytes) = bytes(path, most, &wrong)? else { return Ok(None) };
    let text = std::str::from_utf8(without_bom(&bytes));
    text.map(|text| Some(text.to_owned())).map_err(|_| wrong("it is no text in UTF-8"))
}

/// A saved run whose file is open, and of which nothing has been read yet.
#[derive(Debug)]
pub(super) struct Saved {
    path: PathBuf,
    file: File,
}

impl Saved {
    /// Opens the file.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): it cannot be opened, or has not the size of a run.
    pub(super) fn open(path: &Path) -> Result<Self> {
        Self::from_file(path, regular(path, |what| unreadable(path, what))?)
    }

    /// A regular file that is open already.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): it has not the size of a run.
    pub(super) fn from_file(path: &Path, file: File) -> Result<Self> {
        let wrong = |what: &str| unreadable(path, what);
        // First by the size that the file system reports, so that a huge file is not read at all.
        // The file may grow meanwhile.
        match file.metadata().map_err(|error| wrong(&in_words(&error)))?.len() {
            0 => Err(wrong("it is empty")),
            bytes if bytes > LARGEST_RUN_BYTES => Err(wrong("it is larger than any saved run")),
            _ => Ok(Self { path: path.to_owned(), file }),
        }
    }

    /// Reads the run without a word, to see whether it is of use.
    ///
    /// # Errors
    /// Same as for [`Saved::read`].
    pub(super) fn read_silently(self) -> Result<Run> {
        self.parse().map(|(run, _)| run)
    }

    /// The run, and how many lines at its end are broken.
    fn parse(self) -> Result<(Run, usize)> {
        let bytes = self.file.metadata().map_or(0, |facts| facts.len());
        match recognised(self.file) {
            Ok((text, Some(Compression::Zstd))) => {
                let most = LEAST_OF_COMPRESSED_BYTES.max(bytes * MOST_COMPRESSED);
                let mut text = ZstdFrames::new(text).take(most.min(LARGEST_RUN_BYTES));
                let read = zc_run::read(&mut text);
                match text.limit() {
                    0 => Err(Error::input(
                        "run-too-large",
                        "it is larger, decompressed, than any saved run",
                    )),
                    _ => read,
                }
            }
            Ok((text, _)) => zc_run::read(text.take(LARGEST_RUN_BYTES)),
            Err(Unread::Failed(error)) => Err(Error::input("cannot-read", in_words(&error))),
            Err(Unread::Compressed { with, command }) => Err(Error::input(
                "compression-unknown",
                format!("it is compressed with {with}, which zc does not read"),
            )
            .help(format!("{command} FILE > run.json decompresses it"))),
        }
    }

    /// Reads the run, which may be compressed with gzip or zstd. Warns when its end was cut off,
    /// and when a newer zc has saved it.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): it is not a run that this program can read.
    pub(super) fn read(self) -> Result<Run> {
        let name = tell::path(&self.path);
        let (run, broken_lines) = self.parse().map_err(|mut error| {
            error.message = format!("cannot read \"{name}\": {}", error.message);
            error
        })?;
        let format = &run.header.format;
        if format.is_newer() {
            let message = format!(
                "file \"{name}\" is of format {}.{}, and this zc knows {MAJOR}.{MINOR}: what the \
                 newer one added is not shown",
                format.major, format.minor
            );
            tell::warning(&message, Some(&format.readers()));
        }
        if broken_lines > 0 {
            let blocks = match run.blocks.len() {
                1 => "1 block that is".to_owned(),
                count => format!("{count} blocks that are"),
            };
            tell::warning(
                &format!("file \"{name}\" is cut off: what is shown rests on the {blocks} whole"),
                Some("the run was killed while it was saving, or the disk was full"),
            );
        }
        Ok(run)
    }
}

fn unreadable(path: &Path, what: &str) -> Error {
    Error::input("cannot-read", format!("cannot read \"{}\": {what}", tell::path(path)))
        .help("zc show, report and compare read what zc run has saved (zc-DATE.jsonl.gz)")
}

/// Opens and reads a saved run of the user's own.
///
/// # Errors
/// Same as for [`Saved::open`] and [`Saved::read`].
pub(super) fn run(path: &Path) -> Result<Run> {
    Saved::open(path)?.read()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn a_run_that_is_much_larger_decompressed_is_refused() {
        let mut out = GzEncoder::new(Vec::new(), Compression::best());
        let spaces = std::iter::repeat_n(b' ', 17 << 20);
        let text: Vec<u8> = std::iter::once(b'{').chain(spaces).collect();
        std::io::Write::write_all(&mut out, &text).unwrap();
        assert_eq!(refused(&out.finish().unwrap()), "run-too-large");
    }

    fn refused(bytes: &[u8]) -> Cow<'static, str> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        std::fs::write(&path, bytes).unwrap();
        run(&path).unwrap_err().id
    }
}
