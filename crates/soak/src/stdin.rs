//! Standard input of the command: the same each time it is executed, if it is a file.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;

use zc_run::{Error, Result};

/// Whether what the command reads from stdin is there once only: it is a pipe or a socket.
pub fn stdin_is_read_once() -> bool {
    let kind = own().and_then(|file| file.metadata()).map(|found| found.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket())
}

/// The file at stdin, and where it was when zc began.
#[derive(Debug)]
pub(super) struct Stdin {
    file: Option<(File, u64)>,
}

impl Stdin {
    pub(super) fn now() -> Self {
        let file = own().ok().filter(|file| file.metadata().is_ok_and(|found| found.is_file()));
        let at = file.and_then(|mut file| file.stream_position().ok().map(|at| (file, at)));
        Self { file: at }
    }

    /// Puts the file back to where it was. The position belongs to the open file, which the command
    /// shares.
    ///
    /// # Errors
    /// lseek(2) failed.
    pub(super) fn rewind(&mut self) -> Result<()> {
        let Some((file, at)) = &mut self.file else { return Ok(()) };
        file.seek(SeekFrom::Start(*at))
            .map(drop)
            .map_err(|error| Error::os("put stdin back to where it was", error))
    }
}

fn own() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}
