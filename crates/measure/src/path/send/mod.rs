//! The send paths, one to a file.

mod mmap_write;
mod msg_zerocopy;
mod msg_zerocopy_mmap;
mod read_send;
mod read_write;
mod sendfile;
mod socket_writer;
mod splice;
mod uring_error;
mod uring_send;
mod uring_send_zc;
mod uring_splice;
mod vmsplice;
mod zerocopy_tracker;

#[cfg(test)]
mod tests;

use std::net::TcpStream;

use super::{SendSetup, Sender};
use zc_run::{SendPath, Unavailable};

pub(super) fn open(
    path: SendPath,
    socket: &TcpStream,
    setup: &SendSetup,
) -> Result<Box<dyn Sender>, Unavailable> {
    if let Some(call) = call_without_flags(path).filter(|_| setup.more) {
        return Err(Unavailable::unsupported(format!(
            "{call} takes no flags, and so cannot say MSG_MORE"
        ))
        .remedy("TCP_CORK does the same for a whole connection, and for every path"));
    }
    Ok(match path {
        SendPath::ReadWrite => Box::new(read_write::ReadWrite::open(socket, setup)?),
        SendPath::ReadSend => Box::new(read_send::ReadSend::open(socket, setup)?),
        SendPath::MmapWrite => Box::new(mmap_write::MmapWrite::open(socket, setup)?),
        SendPath::Sendfile => Box::new(sendfile::Sendfile::open(socket, setup)?),
        SendPath::Splice => Box::new(splice::Splice::open(socket, setup)?),
        SendPath::Vmsplice => Box::new(vmsplice::Vmsplice::open(socket, setup)?),
        SendPath::MsgZerocopy => Box::new(msg_zerocopy::MsgZerocopy::open(socket, setup)?),
        SendPath::MsgZerocopyMmap => {
            Box::new(msg_zerocopy_mmap::MsgZerocopyMmap::open(socket, setup)?)
        }
        SendPath::UringSend => Box::new(uring_send::UringSend::open(socket, setup)?),
        SendPath::UringSendZc => Box::new(uring_send_zc::UringSendZc::open(socket, setup, false)?),
        SendPath::UringSendZcFixed => {
            Box::new(uring_send_zc::UringSendZc::open(socket, setup, true)?)
        }
        SendPath::UringSplice => Box::new(uring_splice::UringSplice::open(socket, setup)?),
    })
}

/// The call by which a path puts bytes on the socket, where that call cannot say that more will follow.
fn call_without_flags(path: SendPath) -> Option<&'static str> {
    match path {
        SendPath::ReadWrite | SendPath::MmapWrite => Some("write(2)"),
        SendPath::Sendfile => Some("sendfile(2)"),
        SendPath::ReadSend
        | SendPath::Splice
        | SendPath::Vmsplice
        | SendPath::MsgZerocopy
        | SendPath::MsgZerocopyMmap
        | SendPath::UringSend
        | SendPath::UringSendZc
        | SendPath::UringSendZcFixed
        | SendPath::UringSplice => None,
    }
}
