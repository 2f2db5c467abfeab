//! The send paths, one to a file, and the table of them.

mod clients;
mod datagrams;
mod definition;
mod ktls;
mod mmap_write;
mod msg_zerocopy;
mod msg_zerocopy_mmap;
mod quic_like;
mod read_send;
mod read_write;
mod sender;
mod sendfile;
mod setup;
mod socket_writer;
mod splice;
mod tls_write;
mod udp_copied;
mod udp_uring;
mod udp_zerocopy;
mod uring_error;
mod uring_send;
mod uring_send_batch;
mod uring_send_zc;
mod uring_splice;
mod vmsplice;
mod zerocopy_tracker;

#[cfg(test)]
mod tests;

use std::os::fd::AsFd;

use crate::path::socket_kind;
use definition::Definition;
use zc_run::{SendPath, Unavailable};

pub use clients::{ClientSender, open_client_sender};
pub use sender::Sender;
pub use setup::{More, SendSetup};

/// Every send path, as its file defines it.
fn definition(path: SendPath) -> Definition {
    match path {
        SendPath::ReadWrite => read_write::PATH,
        SendPath::ReadSend => read_send::PATH,
        SendPath::MmapWrite => mmap_write::PATH,
        SendPath::Sendfile => sendfile::PATH,
        SendPath::Splice => splice::PATH,
        SendPath::Vmsplice => vmsplice::PATH,
        SendPath::MsgZerocopy => msg_zerocopy::PATH,
        SendPath::MsgZerocopyMmap => msg_zerocopy_mmap::PATH,
        SendPath::UringSend => uring_send::PATH,
        SendPath::UringSendZc => uring_send_zc::PATH,
        SendPath::UringSendZcFixed => uring_send_zc::FIXED_PATH,
        SendPath::UringSplice => uring_splice::PATH,
        SendPath::UringSendBatch => uring_send_batch::PATH,
        SendPath::UringSendBundle => uring_send_batch::BUNDLE_PATH,
        SendPath::UringSendZcBatch => uring_send_zc::BATCH_PATH,
        SendPath::UringSendmsgZc => uring_send_zc::MESSAGE_PATH,
        SendPath::TlsWrite => tls_write::PATH,
        SendPath::KtlsWrite => ktls::WRITE_PATH,
        SendPath::KtlsSendfile => ktls::SENDFILE_PATH,
        SendPath::KtlsSplice => ktls::SPLICE_PATH,
        SendPath::KtlsSendfileZc => ktls::SENDFILE_ZC_PATH,
        SendPath::UdpSend => udp_copied::SEND_PATH,
        SendPath::UdpSendmmsg => udp_copied::SENDMMSG_PATH,
        SendPath::UdpGso => udp_copied::GSO_PATH,
        SendPath::UdpZerocopy => udp_zerocopy::PATH,
        SendPath::UdpGsoZerocopy => udp_zerocopy::GSO_PATH,
        SendPath::UdpUring => udp_uring::PATH,
        SendPath::UdpUringZc => udp_uring::ZC_PATH,
        SendPath::UdpUringVectored => udp_uring::VECTORED_PATH,
        SendPath::QuicLike => quic_like::PATH,
    }
}

/// Whether a path can say MSG_MORE on all calls of a piece but the last. write(2) takes no flags,
/// the kernel decides about the calls of a chain of io_uring, and a record of the kernel's TLS ends
/// with each call.
fn tells_its_last_call(path: SendPath) -> bool {
    use SendPath::{
        MsgZerocopy, MsgZerocopyMmap, ReadSend, Sendfile, Splice, TlsWrite, UringSplice, Vmsplice,
    };
    match path {
        ReadSend | TlsWrite | MsgZerocopy | MsgZerocopyMmap => true,
        // They say it inside a call by themselves.
        Sendfile | Splice | Vmsplice | UringSplice => true,
        _ => false,
    }
}

/// Opens `path` on a connected socket. Finds out by trying (feature probes, never version numbers)
/// whether it can run here.
///
/// # Errors
/// Why it cannot: a row of the table, not an error of the run.
pub fn open_sender(
    path: SendPath,
    socket: impl AsFd,
    setup: &SendSetup,
) -> Result<Box<dyn Sender>, Unavailable> {
    let Definition { open, call_without_flags } = definition(path);
    socket_kind::check(path, path.form(), &socket)?;
    match call_without_flags {
        _ if setup.more == More::Inside && !tells_its_last_call(path) => {
            Err(Unavailable::unsupported(format!(
                "{path} cannot say MSG_MORE on all calls of a file but the last"
            ))
            .remedy("--push cork does about the same, for every path"))
        }
        Some(call) if setup.more == More::Always => Err(Unavailable::unsupported(format!(
            "{call} takes no flags, and so cannot say MSG_MORE"
        ))
        .remedy("TCP_CORK does the same for a whole connection, and for every path")),
        _ => open(socket.as_fd(), setup),
    }
}
