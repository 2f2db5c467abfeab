//! Input for a path of a proxy.

use std::os::fd::{BorrowedFd, OwnedFd};

use zc_kernel::splice::Pipe;
use zc_run::{Unavailable, units};

/// The arguments of every path of a proxy.
#[derive(Debug, Clone, Copy)]
pub struct ProxySetup<'a> {
    /// The socket that it receives from.
    pub source: BorrowedFd<'a>,
    /// The socket that it sends to.
    pub target: BorrowedFd<'a>,
    /// Bytes of its buffer or its pipe.
    pub buffer_bytes: usize,
    /// The CPU of worker threads; `None` leaves them free.
    pub cpu: Option<usize>,
}

/// The two sockets of an open path.
#[derive(Debug)]
pub(super) struct Sockets {
    pub(super) source: OwnedFd,
    pub(super) target: OwnedFd,
}

impl ProxySetup<'_> {
    /// Duplicates of the sockets, for a path to own.
    pub(super) fn own(&self) -> Result<Sockets, Unavailable> {
        let own = |socket: BorrowedFd<'_>| {
            socket.try_clone_to_owned().map_err(|error| {
                Unavailable::failed(format!("the socket cannot be duplicated: {error}"))
            })
        };
        Ok(Sockets { source: own(self.source)?, target: own(self.target)? })
    }

    /// A pipe of the wanted size.
    pub(super) fn pipe(&self) -> Result<Pipe, Unavailable> {
        Pipe::with_capacity(self.buffer_bytes).map_err(|error| {
            let size = units::size_text(self.buffer_bytes as u64);
            Unavailable::failed(format!("cannot create a pipe of {size}: {error}"))
                .remedy("a smaller --proxy-buffer, or sysctl -w fs.pipe-max-size=1048576")
        })
    }
}
