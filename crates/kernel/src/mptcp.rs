//! Sockets of Multipath TCP, and how to see that a connection is not plain TCP after all: either
//! end, or what is between them, may fall back to it.
//!
//! # References
//! - Documentation/networking/mptcp.rst
//! - include/uapi/linux/mptcp.h
//! - RFC 8684

use std::io;
use std::mem;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd as _};

use rustix::net::{SocketFlags, SocketType, ipproto, sockopt};

use crate::tcp::{Unconnected, family_of};

// include/linux/socket.h and include/uapi/linux/mptcp.h
const SOL_MPTCP: libc::c_int = 284;
const MPTCP_INFO: libc::c_int = 1;
const INFO_FLAG_FALLBACK: u32 = 1;

/// Connections that wait to be accepted, as of `std::net::TcpListener`.
const BACKLOG: i32 = 128;

/// `struct mptcp_info` up to the last field that is used here.
#[repr(C)]
#[derive(Default)]
struct RawInfo {
    /// mptcpi_subflows to mptcpi_add_addr_accepted_max.
    bytes: [u8; 8],
    flags: u32,
    token: u32,
    write_seq: u64,
}

const _: () = assert!(mem::offset_of!(RawInfo, write_seq) == 16);

/// Listens at `at` with a socket of IPPROTO_MPTCP. It accepts plain TCP, too.
///
/// # Errors
/// - EPROTONOSUPPORT: the kernel has no MPTCP.
/// - ENOPROTOOPT: net.mptcp.enabled is 0 in this network namespace.
/// - EADDRINUSE, EADDRNOTAVAIL: see bind(2).
///
/// # References
/// - [Documentation/networking/mptcp.rst]
/// - [listen(2)]
///
/// [Documentation/networking/mptcp.rst]: https://docs.kernel.org/networking/mptcp.html
/// [listen(2)]: https://man7.org/linux/man-pages/man2/listen.2.html
#[doc(alias = "IPPROTO_MPTCP")]
pub fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(family_of(at), kind, flags, Some(ipproto::MPTCP))?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &at)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(TcpListener::from(socket))
}

/// [`Unconnected::bind_towards`] with a socket of IPPROTO_MPTCP.
///
/// # Errors
/// Same as for [`listen`].
///
/// # References
/// [Documentation/networking/mptcp.rst]
///
/// [Documentation/networking/mptcp.rst]: https://docs.kernel.org/networking/mptcp.html
#[doc(alias = "socket")]
#[doc(alias = "IPPROTO_MPTCP")]
pub fn bind_towards(to: SocketAddr) -> io::Result<Unconnected> {
    Unconnected::bind_by(Some(ipproto::MPTCP), to)
}

/// The sequence number of the next byte that a connection of MPTCP sends, by getsockopt(2),
/// MPTCP_INFO: what is written over it adds to it. `None`: it is plain TCP, or has become that.
///
/// # Errors
/// EOPNOTSUPP: the kernel is older than 5.16.
///
/// # References
/// - include/uapi/linux/mptcp.h, `mptcpi_write_seq`, MPTCP_INFO_FLAG_FALLBACK
/// - `mptcp_getsockopt` in net/mptcp/sockopt.c, which asks TCP once it fell back
#[doc(alias = "getsockopt")]
#[doc(alias = "MPTCP_INFO")]
pub fn next_sequence(socket: impl AsFd) -> io::Result<Option<u64>> {
    match info(socket) {
        Ok(raw) => Ok((raw.flags & INFO_FLAG_FALLBACK == 0).then_some(raw.write_seq)),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOPROTOOPT) => Ok(None),
            // Of TCP over IPv4, and of all in a kernel that has no MPTCP_INFO.
            Some(libc::EOPNOTSUPP) => {
                info(listen(([127, 0, 0, 1], 0).into())?)?;
                Ok(None)
            }
            _ => Err(error),
        },
    }
}

fn info(socket: impl AsFd) -> io::Result<RawInfo> {
    let mut raw = RawInfo::default();
    let mut known = mem::size_of::<RawInfo>() as libc::socklen_t;
    // SAFETY: getsockopt writes at most `known` bytes, the size of `raw`, which lives through the
    // call. Any bytes are a valid RawInfo, which consists of integers.
    let status = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            SOL_MPTCP,
            MPTCP_INFO,
            (&raw mut raw).cast(),
            &raw mut known,
        )
    };
    match status {
        0 => Ok(raw),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// A socket that listens, or `None` where there is no MPTCP.
    fn listening() -> Option<TcpListener> {
        match listen(([127, 0, 0, 1], 0).into()) {
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(libc::EPROTONOSUPPORT | libc::ENOPROTOOPT)
                ) =>
            {
                eprintln!("skipped: no MPTCP here: {error}");
                None
            }
            listening => Some(listening.unwrap()),
        }
    }

    #[test]
    fn what_is_written_over_mptcp_adds_to_its_sequence_number() {
        let Some(listener) = listening() else { return };
        let to = listener.local_addr().unwrap();
        let mut socket = bind_towards(to).unwrap().connect(to, PATIENCE).unwrap();
        let _accepted = listener.accept().unwrap();
        let before = next_sequence(&socket).unwrap().expect("both ends have MPTCP");
        socket.write_all(&[7; 1000]).unwrap();
        let after = next_sequence(&socket).unwrap().unwrap();
        assert_eq!(after.wrapping_sub(before), 1000);
    }

    #[test]
    fn a_connection_that_fell_back_to_tcp_and_one_of_tcp_have_none() {
        let Some(mptcp) = listening() else { return };
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = tcp.local_addr().unwrap();
        let fallen_back = bind_towards(to).unwrap().connect(to, PATIENCE).unwrap();
        let _accepted = tcp.accept().unwrap();
        assert_eq!(next_sequence(&fallen_back).unwrap(), None);
        let plain = std::net::TcpStream::connect(mptcp.local_addr().unwrap()).unwrap();
        assert_eq!(next_sequence(&plain).unwrap(), None);
        assert_eq!(next_sequence(mptcp.accept().unwrap().0).unwrap(), None);
    }
}
