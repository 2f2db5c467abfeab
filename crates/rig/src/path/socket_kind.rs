//! Whether a path suits a socket: a call that sends a datagram would put bytes on a stream as well,
//! and a figure for datagrams would be one of TCP.

use std::fmt::Display;
use std::os::fd::AsFd;

use rustix::net::SocketType;
use rustix::net::sockopt::socket_type;

use zc_run::{Form, Unavailable};

/// Checks that `socket` carries what `path`, which is of this form, sends or receives.
///
/// # Errors
/// It does not.
pub(super) fn check(path: impl Display, form: Form, socket: impl AsFd) -> Result<(), Unavailable> {
    let carries_datagrams = socket_type(socket).is_ok_and(|kind| kind == SocketType::DGRAM);
    match (form.is_datagrams(), carries_datagrams) {
        (true, false) => Err(Unavailable::unsupported(format!(
            "{path} is about datagrams, and this traffic is a stream"
        ))
        .remedy("zc run udp measures paths of datagrams")),
        (false, true) => Err(Unavailable::unsupported(format!(
            "{path} is about streams, and this traffic is datagrams"
        ))),
        _ => Ok(()),
    }
}
