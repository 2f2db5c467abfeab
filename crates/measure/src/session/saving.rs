//! The file that a run is saved in, after every block.
//!
//! A block is appended by overwriting the tail that closes the document (see `zc_run::file`), so
//! saving costs the same at the end of a long run as at its beginning. The file is created before
//! anything is measured, and never over an existing one: a run that cannot be saved should fail
//! before the measurement and not after it.
//!
//! A run that goes to stdout is the same text, written as it grows; the tail follows at the end.
//! One that is killed ends after its last block.

use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use zc_kernel::new_file::NewFile;
use zc_run::{Block, Error, Header, Result, Run, in_words};

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
    /// Offset at which the tail begins: everything before it stays.
    body_bytes: u64,
    blocks: usize,
    /// The last write failed; the next one writes everything again.
    broken: bool,
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
        Ok(Self { path: path.to_owned(), file, body_bytes: 0, blocks: 0, broken: false })
    }

    /// Removes the file while it is empty: there is nothing to save.
    pub(super) fn discard(&self) {
        if let Some(new) = &self.file {
            // Best effort: the failure that led here is the one to report.
            let _ = new.remove();
        }
    }

    /// Writes the head. A failure is reported by the next append.
    pub(super) fn open(&mut self, header: &Header) {
        let (head, tail) = zc_run::open(header);
        self.broken = self.write(0, &head, &tail).is_err();
    }

    /// Appends the last block of the run.
    ///
    /// # Errors
    /// Usually a full disk. The file then still has what it had.
    pub(super) fn append(&mut self, run: &Run) -> Result<()> {
        if self.broken || self.blocks + 1 != run.blocks.len() {
            return self.rewrite(run);
        }
        match run.blocks.last() {
            Some(block) => self.append_one(block),
            None => Ok(()),
        }
    }

    /// Writes the end of the document.
    ///
    /// # Errors
    /// Same as [`append`](Self::append).
    pub(super) fn close(&mut self, run: &Run) -> Result<()> {
        if self.broken {
            self.rewrite(run)?;
        }
        match &run.end {
            Some(end) => self.written(self.body_bytes, "", &zc_run::close(end)),
            None => Ok(()),
        }
    }

    fn append_one(&mut self, block: &Block) -> Result<()> {
        let (line, tail) = zc_run::append_block(block, self.blocks == 0);
        self.written(self.body_bytes, &line, &tail)?;
        self.blocks += 1;
        Ok(())
    }

    fn rewrite(&mut self, run: &Run) -> Result<()> {
        if self.file.is_none() {
            return Err(Error::output("the run is cut off: stdout took no more of it"));
        }
        let (head, tail) = zc_run::open(&run.header);
        self.blocks = 0;
        self.written(0, &head, &tail)?;
        run.blocks.iter().try_for_each(|block| self.append_one(block))
    }

    fn written(&mut self, at: u64, body: &str, tail: &str) -> Result<()> {
        self.write(at, body, tail).map_err(|error| {
            let place = match &self.file {
                Some(_) => format!("in \"{}\"", self.path.display()),
                None => "to stdout".to_owned(),
            };
            Error::output(format!("cannot save the run {place}: {}", in_words(&error)))
                .help("free some space, or choose another place with --out")
        })
    }

    /// One write for body and tail; if it fails, the old tail is restored as far as possible.
    fn write(&mut self, at: u64, body: &str, tail: &str) -> io::Result<()> {
        let Some(NewFile { file, .. }) = &mut self.file else {
            // What was written stays, so the tail is that of the end, which has no body.
            let mut stdout = io::stdout().lock();
            let text = if body.is_empty() { tail } else { body };
            let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
            self.broken = written.is_err();
            return written;
        };
        let text = format!("{body}{tail}");
        let mut old_tail = Vec::new();
        let result = file
            .write_all_at(text.as_bytes(), at)
            .and_then(|()| file.set_len(at + text.len() as u64));
        match result {
            Ok(()) => {
                self.body_bytes = at + body.len() as u64;
                self.broken = false;
                file.flush()
            }
            Err(error) => {
                self.broken = true;
                // Every unfinished file has the tail without an end; it is short, and there was
                // room for it before.
                write!(old_tail, "\n],\"end\":null}}\n")?;
                if at > 0 {
                    let _ = file.write_all_at(&old_tail, at);
                    let _ = file.set_len(at + old_tail.len() as u64);
                }
                Err(error)
            }
        }
    }
}

fn creation(path: &Path, error: &io::Error) -> Error {
    let name = path.display();
    match error.kind() {
        io::ErrorKind::AlreadyExists => Error::output(format!(
            "the file \"{name}\" exists already, and zc does not write over it"
        ))
        .help("choose another name with --out, or move it away"),
        io::ErrorKind::NotFound => {
            Error::output(format!("cannot make \"{name}\": its folder does not exist"))
                .help("make the folder first, or choose another place with --out")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Error::output(format!("cannot make \"{name}\": {}", in_words(error)))
                .help("choose a place you may write to with --out")
        }
        _ => Error::output(format!("cannot make \"{name}\": {}", in_words(error)))
            .help("choose another place with --out"),
    }
}
