//! The file that a run is saved in, after every block.
//!
//! A run is lines (see `zc_run::file`), and each is appended in one write, so saving costs the same
//! at the end of a long run as at its beginning. In a file whose name ends with `.gz` each line is
//! a gzip member. The file is created before anything is measured, and never over an existing one:
//! a run that cannot be saved should fail before the measurement and not after it.
//!
//! A run that goes to stdout is the same lines, not compressed.

use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use zc_kernel::new_file::NewFile;
use zc_run::{Error, Header, Result, Run, in_words};

/// Whether a run is saved to stdout and not in a file: `-`.
pub fn is_stdout(out: &Path) -> bool {
    out == Path::new("-")
}

/// A run file being written.
#[derive(Debug)]
pub(super) struct Saving {
    path: PathBuf,
    /// `None` is stdout.
    file: Option<NewFile>,
    /// Bytes of the lines that are in it whole.
    bytes: u64,
    /// How many these are: the header, and the blocks.
    lines: usize,
    /// Stdout took a part of a line.
    is_cut: bool,
}

impl Saving {
    /// Creates the file.
    ///
    /// # Errors
    /// It exists, or its folder cannot be written.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = match is_stdout(path) {
            true => None,
            false => Some(NewFile::claim(path).map_err(|error| creation(path, &error))?),
        };
        Ok(Self { path: path.to_owned(), file, bytes: 0, lines: 0, is_cut: false })
    }

    /// Removes the file while it is empty: there is nothing to save.
    pub(super) fn discard(&self) {
        if let Some(new) = &self.file {
            // Best effort: the failure that led here is the one to report.
            let _ = new.remove();
        }
    }

    /// Writes the header. A failure is reported by the next append.
    pub(super) fn open(&mut self, header: &Header) {
        let _ = self.push(&zc_run::header_line(header));
    }

    /// Appends the last block of the run, and what could not be written before.
    ///
    /// # Errors
    /// Usually a full disk. The file then still has what it had.
    pub(super) fn append(&mut self, run: &Run) -> Result<()> {
        if self.lines == 0 {
            self.push(&zc_run::header_line(&run.header))?;
        }
        let blocks = run.blocks.iter().skip(self.lines - 1);
        blocks.map(zc_run::block_line).try_for_each(|line| self.push(&line))
    }

    /// Appends the end of the run.
    ///
    /// # Errors
    /// Same as [`append`](Self::append).
    pub(super) fn close(&mut self, run: &Run) -> Result<()> {
        self.append(run)?;
        run.end.as_ref().map_or(Ok(()), |end| self.push(&zc_run::end_line(end)))
    }

    fn push(&mut self, line: &str) -> Result<()> {
        if self.is_cut {
            return Err(Error::output(
                "cannot-save-run",
                "the run is cut off: stdout took no more of it",
            ));
        }
        self.write(line).map_err(|error| {
            let place = match &self.file {
                Some(_) => format!("in \"{}\"", self.path.display()),
                None => "to stdout".to_owned(),
            };
            Error::output(
                "cannot-save-run",
                format!("cannot save the run {place}: {}", in_words(&error)),
            )
            .help("free some space, or choose another place with --out")
        })
    }

    /// Writes a line; if that fails, the file ends where it did.
    fn write(&mut self, line: &str) -> io::Result<()> {
        let Some(NewFile { file, .. }) = &self.file else {
            let mut stdout = io::stdout().lock();
            let written = stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush());
            self.is_cut = written.is_err();
            self.lines += 1;
            return written;
        };
        let member = zc_run::is_compressed(&self.path).then(|| zc_run::gzip_members(line));
        let bytes = member.as_deref().unwrap_or(line.as_bytes());
        let end = self.bytes + bytes.len() as u64;
        match file.write_all_at(bytes, self.bytes).and_then(|()| file.set_len(end)) {
            Ok(()) => {
                self.bytes = end;
                self.lines += 1;
                Ok(())
            }
            Err(error) => {
                let _ = file.set_len(self.bytes);
                Err(error)
            }
        }
    }
}

fn creation(path: &Path, error: &io::Error) -> Error {
    let name = path.display();
    match error.kind() {
        io::ErrorKind::AlreadyExists => Error::output(
            "file-exists",
            format!("the file \"{name}\" exists already, and zc does not write over it"),
        )
        .help("choose another name with --out, or move it away"),
        io::ErrorKind::NotFound => Error::output(
            "cannot-create-file",
            format!("cannot make \"{name}\": its folder does not exist"),
        )
        .help("make the folder first, or choose another place with --out"),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Error::output(
            "cannot-create-file",
            format!("cannot make \"{name}\": {}", in_words(error)),
        )
        .help("choose a place you may write to with --out"),
        _ => Error::output(
            "cannot-create-file",
            format!("cannot make \"{name}\": {}", in_words(error)),
        )
        .help("choose another place with --out"),
    }
}
