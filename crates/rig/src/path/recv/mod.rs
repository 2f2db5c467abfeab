//! The receive paths, one to a file, and the table of them.

mod definition;
mod ktls_recv;
mod quic_recv;
mod receiver;
mod recv_copy;
mod recv_trunc;
mod setup;
mod socket_reader;
mod splice;
mod tls_recv;
mod udp_joined;
mod udp_recvmmsg;
mod uring_bundle;
mod uring_multishot;
mod uring_recv;
mod zerocopy_receive;

#[cfg(test)]
mod tests;

use std::os::fd::AsFd;

use crate::path::socket_kind;
use definition::Definition;
use zc_run::{RecvPath, Unavailable};

pub use receiver::{Inspect, Receiver};
pub use setup::RecvSetup;
pub(crate) use socket_reader::{broken as not_received, buffer as receive_buffer};

/// Every receive path, as its file defines it.
fn definition(path: RecvPath) -> Definition {
    match path {
        RecvPath::Recv => recv_copy::PATH,
        RecvPath::RecvTrunc => recv_trunc::PATH,
        RecvPath::Splice => splice::PATH,
        RecvPath::ZerocopyReceive => zerocopy_receive::PATH,
        RecvPath::UringRecv => uring_recv::PATH,
        RecvPath::UringMultishot => uring_multishot::PATH,
        RecvPath::UringBundle => uring_bundle::PATH,
        RecvPath::UringMinWait => uring_bundle::MIN_WAIT_PATH,
        RecvPath::UringNapi => uring_bundle::NAPI_PATH,
        RecvPath::TlsRecv => tls_recv::PATH,
        RecvPath::KtlsRecv => ktls_recv::PATH,
        RecvPath::UdpRecvmsg => udp_joined::ONE_PATH,
        RecvPath::UdpRecvmmsg => udp_recvmmsg::PATH,
        RecvPath::UdpGro => udp_joined::JOINED_PATH,
        RecvPath::QuicRecv => quic_recv::PATH,
    }
}

/// Opens `path` on a connected socket.
///
/// # Errors
/// Why it cannot run here.
pub fn open_receiver(
    path: RecvPath,
    socket: impl AsFd,
    setup: &RecvSetup,
) -> Result<Box<dyn Receiver>, Unavailable> {
    socket_kind::check(path, path.form(), &socket)?;
    (definition(path).open)(socket.as_fd(), setup)
}

/// Bytes of all buffers of an open `path`, each of `buffer_bytes`.
pub fn receive_memory_bytes(path: RecvPath, buffer_bytes: usize) -> usize {
    definition(path).buffers.saturating_mul(buffer_bytes)
}

/// Whether the received bytes reach the program's memory, so that they can be checked. Of a path
/// where they do not, only their number can be.
pub fn shows_bytes(path: RecvPath) -> bool {
    definition(path).shows_bytes
}
