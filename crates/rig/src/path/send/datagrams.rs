//! Shared by the paths that send datagrams: their errors, and cutting by the kernel.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use super::socket_writer::broken;
use zc_kernel::udp;
use zc_run::{Datagrams, Error, LONGEST_DATAGRAM, Unavailable};

/// The error of a failed call that sends datagrams.
pub(super) fn broken_datagrams(error: io::Error) -> Error {
    match Errno::from_io_error(&error) {
        Some(Errno::CONNREFUSED) => Error::failed(
            "receiver-closed-early",
            "the receiver closed its socket while datagrams were being sent",
        ),
        Some(Errno::MSGSIZE) => Error::failed(
            "datagram-too-long",
            "the kernel does not send this in one packet: a datagram is longer than the MTU, or the \
             memory lies in more fragments than a packet has (17)",
        )
        .help("shorter datagrams: --datagram 1200; fewer by a call: --segments 4"),
        Some(Errno::INVAL) => Error::failed(
            "too-many-datagrams",
            "the kernel does not cut so many datagrams from one call, or none of this length",
        )
        .help("fewer of them: --segments 16; each within the MTU: --datagram 1200"),
        Some(Errno::IO) => Error::failed(
            "no-checksum-offload",
            "the kernel does not cut datagrams for a device that computes no checksums",
        )
        .help("leave the offload of checksums on"),
        _ => broken("UDP", error),
    }
}

/// Lets the kernel cut what a call is given into datagrams.
///
/// # Errors
/// It cannot, or a call has no room for as many.
pub(super) fn cut_by_kernel(
    socket: BorrowedFd<'_>,
    datagrams: Datagrams,
) -> Result<(), Unavailable> {
    let Datagrams { payload_bytes, of_a_call } = datagrams;
    if datagrams.call_bytes() > LONGEST_DATAGRAM {
        return Err(Unavailable::unsupported(format!(
            "{of_a_call} datagrams of {payload_bytes} bytes are more than the {LONGEST_DATAGRAM} \
             bytes that a call may have"
        ))
        .remedy(format!("--segments {}", (LONGEST_DATAGRAM / payload_bytes).max(1))));
    }
    udp::set_segment_bytes(socket, payload_bytes)
        .map_err(|error| Unavailable::unsupported(format!("UDP_SEGMENT: {error}")))
}
