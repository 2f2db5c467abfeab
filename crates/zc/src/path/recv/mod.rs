//! The receive paths, one to a file.

mod uring_multishot;
mod uring_recv;

use std::net::TcpStream;

use super::Receiver;
use crate::record::{No, RecvPath};

pub(super) fn open(path: RecvPath, socket: &TcpStream, buffer_bytes: usize) -> Result<Box<dyn Receiver>, No> {
    match path {
        RecvPath::UringRecv => Ok(Box::new(uring_recv::UringRecv::open(socket, buffer_bytes)?)),
        RecvPath::UringMultishot => Ok(Box::new(uring_multishot::UringMultishot::open(socket, buffer_bytes)?)),
        _ => Err(No::unsupported("not written yet")),
    }
}
