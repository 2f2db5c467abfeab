//! The send paths, one to a file.

mod uring_send;
mod uring_send_zc;
mod uring_splice;

use std::net::TcpStream;

use super::{SendSetup, Sender};
use crate::record::{No, SendPath};

pub(super) fn open(path: SendPath, socket: &TcpStream, setup: &SendSetup) -> Result<Box<dyn Sender>, No> {
    match path {
        SendPath::UringSend => Ok(Box::new(uring_send::UringSend::open(socket, setup)?)),
        SendPath::UringSendZc => Ok(Box::new(uring_send_zc::UringSendZc::open(socket, setup, false)?)),
        SendPath::UringSendZcFixed => Ok(Box::new(uring_send_zc::UringSendZc::open(socket, setup, true)?)),
        SendPath::UringSplice => Ok(Box::new(uring_splice::UringSplice::open(socket, setup)?)),
        _ => Err(No::unsupported("not written yet")),
    }
}
