//! The socket of one side of a flow: a connection of TCP, a connected socket of UDP, or the
//! connections of all clients.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use zc_kernel::udp;
use zc_run::{Error, Result};

/// A connected socket.
#[derive(Debug)]
pub(super) enum Connection {
    Stream(TcpStream),
    Datagrams(UdpSocket),
    /// At least one.
    Clients(Arc<[TcpStream]>),
}

impl Connection {
    /// The connection, if it is one stream.
    pub(super) fn stream(&self) -> Option<&TcpStream> {
        match self {
            Self::Stream(stream) => Some(stream),
            Self::Datagrams(_) | Self::Clients(_) => None,
        }
    }

    /// All connections, if they are streams.
    pub(super) fn streams(&self) -> &[TcpStream] {
        match self {
            Self::Stream(stream) => std::slice::from_ref(stream),
            Self::Datagrams(_) => &[],
            Self::Clients(streams) => streams,
        }
    }

    /// Whether what is sent may be lost.
    pub(super) fn may_lose(&self) -> bool {
        matches!(self, Self::Datagrams(_))
    }

    /// Its own address.
    pub(super) fn local_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Stream(stream) => stream.local_addr().ok(),
            Self::Datagrams(socket) => socket.local_addr().ok(),
            Self::Clients(_) => None,
        }
    }

    /// The same socket once more.
    pub(super) fn duplicate(&self) -> Result<Self> {
        let duplicate = match self {
            Self::Stream(stream) => stream.try_clone().map(Self::Stream),
            Self::Datagrams(socket) => socket.try_clone().map(Self::Datagrams),
            Self::Clients(streams) => Ok(Self::Clients(Arc::clone(streams))),
        };
        duplicate.map_err(|error| Error::os("duplicate a socket", error))
    }

    /// Wakes who waits in a call on it, with an error or an end.
    ///
    /// # Errors
    /// The kernel forbids it (a seccomp filter), or it is not connected.
    pub(super) fn shut_down(&self) -> io::Result<()> {
        match self {
            Self::Stream(stream) => stream.shutdown(Shutdown::Both),
            Self::Datagrams(socket) => udp::shut_down(socket),
            Self::Clients(streams) => {
                // All of them, also after one that has been reset.
                let ended = streams.iter().map(|stream| stream.shutdown(Shutdown::Both));
                ended.fold(Ok(()), io::Result::and)
            }
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Stream(stream) => stream.as_fd(),
            Self::Datagrams(socket) => socket.as_fd(),
            Self::Clients(streams) => streams[0].as_fd(),
        }
    }
}
