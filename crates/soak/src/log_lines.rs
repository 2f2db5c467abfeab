//! Number of requests that a server has logged: the lines that are appended to its access log. The
//! lines themselves are not looked at, and nothing of them is kept.
//!
//! A log is rotated in two ways (logrotate(8)): it is renamed and made anew, and the server writes
//! to the old one until it is told to open the new one (`create`); or it is copied and truncated
//! (`copytruncate`). So a file that has another inode is read from its beginning, and the old one
//! once more; and one that is shorter than what was read of it, from its beginning too.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use zc_run::{Error, Result, escape, in_words};

/// Bytes of a log that are read at a time.
const PIECE: usize = 64 << 10;

/// A log whose lines are counted as they are appended.
#[derive(Debug)]
pub(super) struct LogLines {
    path: PathBuf,
    current: Opened,
    /// The file that had the name until it was rotated.
    old: Option<Opened>,
    lines: u64,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Opened {
    file: File,
    /// Bytes of it that were read.
    read: u64,
}

impl LogLines {
    /// Opens a log at its end.
    ///
    /// # Errors
    /// It is no file that can be read.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let current = Opened::new(path).and_then(|mut opened| {
            opened.read = opened.file.metadata()?.len();
            Ok(opened)
        });
        let current = current.map_err(|error| {
            let name = escape(&path.to_string_lossy(), 200);
            Error::input(
                "log-unreadable",
                format!("the log \"{name}\" cannot be read: {}", in_words(&error)),
            )
            .help("the file that the server's access_log names; a group, adm for example, may read it")
        })?;
        let path = path.to_owned();
        Ok(Self { path, current, old: None, lines: 0, buffer: vec![0; PIECE] })
    }

    /// The lines that were appended since it was opened.
    ///
    /// # Errors
    /// It cannot be read any more, or the file that has its name now cannot be opened. The next
    /// reading tries again.
    pub(super) fn read(&mut self) -> io::Result<u64> {
        if let Some(mut old) = self.old.take() {
            self.lines += old.count(&mut self.buffer)?;
        }
        self.lines += self.current.count(&mut self.buffer)?;
        match std::fs::metadata(&self.path) {
            Ok(found) if !self.current.is(&found)? => {
                let mut new = Opened::new(&self.path)?;
                self.lines += new.count(&mut self.buffer)?;
                self.old = Some(std::mem::replace(&mut self.current, new));
            }
            Ok(_) => {}
            // It has been renamed, and is not made anew yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(self.lines)
    }
}

impl Opened {
    fn new(path: &Path) -> io::Result<Self> {
        // Opening a FIFO would wait.
        let is_file = |found: Metadata| match found.is_file() {
            true => Ok(()),
            false => Err(io::Error::other("it is not a regular file")),
        };
        std::fs::metadata(path).and_then(is_file)?;
        Ok(Self { file: File::open(path)?, read: 0 })
    }

    fn is(&self, found: &Metadata) -> io::Result<bool> {
        let own = self.file.metadata()?;
        Ok((own.dev(), own.ino()) == (found.dev(), found.ino()))
    }

    /// Reads what was appended, and counts the ends of lines in it.
    fn count(&mut self, buffer: &mut [u8]) -> io::Result<u64> {
        let length = self.file.metadata()?.len();
        if length < self.read {
            self.read = 0;
        }
        let mut lines = 0;
        // As far as it went when this began: a server may append faster than this reads.
        while self.read < length {
            let most = (length - self.read).min(buffer.len() as u64) as usize;
            let piece = match self.file.read_at(&mut buffer[..most], self.read) {
                Ok(0) => break,
                Ok(count) => &buffer[..count],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.read += piece.len() as u64;
            lines += piece.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use super::*;

    fn append(path: &Path, text: &str) -> File {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn lines_count_once_they_have_ended_whatever_becomes_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        append(&path, "before\nbefore\n");
        let mut log = LogLines::open(&path).unwrap();
        assert_eq!(log.read().unwrap(), 0);
        append(&path, "1\n2\nha");
        assert_eq!(log.read().unwrap(), 2);
        let mut server = append(&path, "lf\n");
        assert_eq!(log.read().unwrap(), 3);
        // Renamed; the server writes on to what it has open, and there is no new file yet.
        std::fs::rename(&path, folder.path().join("access.log.1")).unwrap();
        server.write_all(b"4\n").unwrap();
        assert_eq!(log.read().unwrap(), 4);
        append(&path, "5\n");
        assert_eq!(log.read().unwrap(), 5);
        server.write_all(b"6\n").unwrap();
        drop(server);
        let server = append(&path, "7\n");
        assert_eq!(log.read().unwrap(), 7);
        // Truncated, and written to by the same descriptor.
        server.set_len(0).unwrap();
        append(&path, "8\n");
        assert_eq!(log.read().unwrap(), 8);
        assert_eq!(log.read().unwrap(), 8);
        // More than a piece.
        append(&path, &"a line\n".repeat(PIECE));
        assert_eq!(log.read().unwrap(), 8 + PIECE as u64);
    }

    #[test]
    fn what_is_no_log_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().join("none"), folder.path().to_owned(), "/dev/null".into()] {
            assert_eq!(LogLines::open(&path).unwrap_err().id, "log-unreadable");
        }
        // One that becomes another thing later is an error each time, until it is a log again.
        let path = folder.path().join("access.log");
        append(&path, "");
        let mut log = LogLines::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(log.read().is_err() && log.read().is_err());
        std::fs::remove_dir(&path).unwrap();
        append(&path, "1\n");
        assert_eq!(log.read().unwrap(), 1);
    }
}
