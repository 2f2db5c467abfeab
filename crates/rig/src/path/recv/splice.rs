//! `splice`: splice(2) from the socket into a pipe, and from the pipe to /dev/null. The payload
//! moves as references to the pages that it arrived in; /dev/null drops them.

use std::fs::{File, OpenOptions};
use std::os::fd::BorrowedFd;

use super::definition::Definition;
use super::receiver::{Inspect, Receiver};
use super::socket_reader::{SocketReader, broken};
use zc_kernel::splice::Pipe;
use zc_run::{Error, RecvCounts, Result, Unavailable};

/// The default of fs.pipe-max-size. Each slot of the pipe holds one reference, often to less than a
/// page.
const PIPE_BYTES: usize = 1 << 20;

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(Splice::open(socket, setup.buffer_bytes)?)),
    buffers: 1,
    shows_bytes: false,
};

#[derive(Debug)]
struct Splice {
    reader: SocketReader,
    pipe: Pipe,
    null: File,
    buffer_bytes: usize,
}

impl Splice {
    fn open(socket: BorrowedFd<'_>, buffer_bytes: usize) -> std::result::Result<Self, Unavailable> {
        let pipe = Pipe::new(PIPE_BYTES)
            .map_err(|error| Unavailable::failed(format!("cannot create a pipe: {error}")))?;
        let null = OpenOptions::new()
            .write(true)
            .open("/dev/null")
            .map_err(|error| Unavailable::failed(format!("cannot open \"/dev/null\": {error}")))?;
        Ok(Self { reader: SocketReader::new(socket)?, pipe, null, buffer_bytes })
    }
}

impl Receiver for Splice {
    fn receive(&mut self, _inspect: Option<Inspect<'_>>) -> Result<usize> {
        let filled = self.pipe.fill_from_socket(&self.reader.socket, self.buffer_bytes);
        let filled = self.reader.took("splice(2)", filled)?;
        let mut left = filled;
        while left > 0 {
            self.reader.counts.calls += 1;
            match self.pipe.empty_into(&self.null, left, false) {
                Ok(0) => {
                    return Err(Error::failed("cannot-write", "/dev/null takes no more bytes"));
                }
                Ok(emptied) => left -= emptied,
                Err(error) => return Err(broken("splice(2)", error)),
            }
        }
        Ok(filled)
    }

    fn counts(&self) -> RecvCounts {
        self.reader.counts
    }
}
