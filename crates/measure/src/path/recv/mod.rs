//! The receive paths, one to a file.

mod recv_copy;
mod recv_trunc;
mod socket_reader;
mod splice;
mod uring_multishot;
mod uring_recv;
mod zerocopy_receive;

#[cfg(test)]
mod tests;

use std::net::TcpStream;

use super::Receiver;
use zc_run::{RecvPath, Unavailable};

pub(super) fn open(
    path: RecvPath,
    socket: &TcpStream,
    buffer_bytes: usize,
) -> Result<Box<dyn Receiver>, Unavailable> {
    let buffer_bytes = buffer_bytes.max(1);
    Ok(match path {
        RecvPath::Recv => Box::new(recv_copy::Recv::open(socket, buffer_bytes)?),
        RecvPath::RecvTrunc => Box::new(recv_trunc::RecvTrunc::open(socket, buffer_bytes)?),
        RecvPath::Splice => Box::new(splice::Splice::open(socket, buffer_bytes)?),
        RecvPath::ZerocopyReceive => {
            Box::new(zerocopy_receive::ZerocopyReceive::open(socket, buffer_bytes)?)
        }
        RecvPath::UringRecv => Box::new(uring_recv::UringRecv::open(socket, buffer_bytes)?),
        RecvPath::UringMultishot => {
            Box::new(uring_multishot::UringMultishot::open(socket, buffer_bytes)?)
        }
    })
}
