//! Send paths to many clients, on sockets that do not block: a call puts as much on one as it takes,
//! and the program goes on with the next, as web servers do.

mod client_sender;
mod mmap_write;
mod msg_zerocopy;
mod read_send;
mod sendfile;

use super::setup::{More, SendSetup};
use zc_run::{SendPath, Unavailable};

pub use client_sender::ClientSender;

/// Opens `path` for so many clients.
///
/// # Errors
/// Why it cannot be used so, or not here.
pub fn open_client_sender(
    path: SendPath,
    setup: &SendSetup,
    clients: usize,
) -> std::result::Result<Box<dyn ClientSender>, Unavailable> {
    if setup.more != More::Never {
        return Err(Unavailable::unsupported("to clients nothing says MSG_MORE")
            .remedy("--push cork does about the same"));
    }
    match path {
        SendPath::ReadSend => Ok(Box::new(read_send::ReadSend::open(setup, clients)?)),
        SendPath::MmapWrite => Ok(Box::new(mmap_write::MmapWrite::open(setup)?)),
        SendPath::Sendfile => Ok(Box::new(sendfile::Sendfile::open(setup)?)),
        SendPath::MsgZerocopy => Ok(Box::new(msg_zerocopy::MsgZerocopy::open(setup, clients)?)),
        _ => Err(Unavailable::unsupported(format!("{path} waits for one client at a time"))
            .remedy("--paths read+send,mmap+write,sendfile,msg-zerocopy go on with the next one")),
    }
}
