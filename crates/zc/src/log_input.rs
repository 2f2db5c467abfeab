//! Opens logs: files, pipes and stdin, compressed or not.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

use super::decompress::{Compression, Unread, decompressed};
use super::tell;
use zc_run::{Error, Result, in_words};

/// A log that is open, and of which nothing has been read yet.
pub(super) struct LogInput {
    /// Name for messages.
    pub(super) name: String,
    source: Box<dyn Read>,
}

impl LogInput {
    /// Opens a log; `-` is stdin. A file is read up to its present length, so that a log that grows
    /// has an end.
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

    /// Reads the log, decompressed.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): it cannot be read, or is compressed in another way.
    pub(super) fn read(self) -> Result<(Box<dyn BufRead>, Option<Compression>)> {
        let Self { name, source } = self;
        decompressed(source).map_err(|error| match error {
            Unread::Failed(error) => cannot_read(&name, &in_words(&error)),
            Unread::Compressed { with, command } => {
                let message =
                    format!("the log \"{name}\" is compressed with {with}, which zc does not read");
                Error::input("compression-unknown", message)
                    .help(format!("{command} LOG | zc advise -"))
            }
        })
    }
}

pub(super) fn cannot_read(name: &str, what: &str) -> Error {
    Error::input("cannot-read-log", format!("cannot read the log \"{name}\": {what}"))
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
