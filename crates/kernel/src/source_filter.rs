//! A filter on a listening socket that lets connections of one address in.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd as _};

use libc::{
    BPF_ABS, BPF_H, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter, sock_fprog,
};

use crate::sockopt::set_int;

/// Ethernet types, as `skb->protocol` has them.
const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;

/// linux/filter.h: negative offsets reach beyond the TCP header at which a filter's packet begins:
/// to `skb->protocol`, and to the network header.
const PROTOCOL: u32 = -0x1000_i32 as u32;
const NETWORK: u32 = -0x10_0000_i32 as u32;

/// Offsets of the source address in the headers of IPv4 and IPv6.
const SOURCE_V4: u32 = 12;
const SOURCE_V6: u32 = 8;

/// Drops every packet to a listening socket that is not from `source`, by a classic BPF program
/// (SO_ATTACH_FILTER): nobody else can connect, nor fill its backlog. The kernel drops the SYN, so
/// others see a port that does not answer. Sockets that are accepted inherit the filter, and run it
/// for each packet: see [`lift`].
///
/// # Errors
/// - ENOMEM: no memory for the program (`net.core.optmem_max`).
/// - EPERM: this user may not have it (seen in a virtual machine without privileges).
///
/// # References
/// - [socket(7)], SO_ATTACH_FILTER
/// - Documentation/networking/filter.rst
///
/// [socket(7)]: https://man7.org/linux/man-pages/man7/socket.7.html
#[doc(alias = "SO_ATTACH_FILTER")]
pub fn accept_only_from(listener: impl AsFd, source: IpAddr) -> io::Result<()> {
    let (protocol, offset, words): (u32, u32, Vec<u32>) = match source.to_canonical() {
        IpAddr::V4(address) => (IPV4, SOURCE_V4, vec![address.to_bits()]),
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            (IPV6, SOURCE_V6, (0..4).map(|word| (bits >> (96 - 32 * word)) as u32).collect())
        }
    };
    let mut program = vec![op(BPF_LD | BPF_H | BPF_ABS, PROTOCOL), op(BPF_JMP | BPF_JEQ, protocol)];
    for (place, word) in words.into_iter().enumerate() {
        program.push(op(BPF_LD | BPF_W | BPF_ABS, NETWORK + offset + 4 * place as u32));
        program.push(op(BPF_JMP | BPF_JEQ, word));
    }
    program.push(op(BPF_RET | BPF_K, u32::MAX)); // all of the packet
    program.push(op(BPF_RET | BPF_K, 0));
    // A mismatch jumps to the last instruction.
    let last = program.len() - 1;
    for (place, step) in program.iter_mut().enumerate() {
        if u32::from(step.code) & 7 == BPF_JMP {
            step.jf = (last - place - 1) as u8;
        }
    }
    let program = sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the kernel reads `len` instructions at `filter`, which are alive, and copies them.
    let attached = unsafe {
        libc::setsockopt(
            listener.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of::<sock_fprog>() as libc::socklen_t,
        )
    };
    if attached == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Removes the filter that a connection has inherited from its listening socket, where it has one.
///
/// # Errors
/// - EPERM: the filter is locked (SO_LOCK_FILTER).
///
/// # References
/// - [socket(7)], SO_DETACH_FILTER
///
/// [socket(7)]: https://man7.org/linux/man-pages/man7/socket.7.html
#[doc(alias = "SO_DETACH_FILTER")]
pub fn lift(socket: impl AsFd) -> io::Result<()> {
    // The value is not used.
    match set_int(socket, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, 0) {
        Err(error) if error.raw_os_error() != Some(libc::ENOENT) => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn op(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

    use super::*;

    /// A connection attempt whose first SYN has been dealt with when this returns: over loopback
    /// that is before connect(2) returns.
    fn connect_once(from: IpAddr, to: SocketAddr) -> TcpStream {
        let family = if from.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK, None).unwrap();
        bind(&socket, &SocketAddr::new(from, 0)).unwrap();
        let _ = connect(&socket, &to); // EINPROGRESS
        TcpStream::from(socket)
    }

    /// Whether this user may have the filter, and has it now.
    fn filters(listener: &TcpListener, source: IpAddr) -> bool {
        match accept_only_from(listener, source) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                eprintln!("skipped: this user may not filter a socket: {error}");
                false
            }
            attached => {
                attached.unwrap();
                true
            }
        }
    }

    #[test]
    fn nobody_else_gets_into_the_backlog() {
        let mine: IpAddr = [127, 0, 0, 1].into();
        for listens in ["127.0.0.1:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(listens) else {
                eprintln!("skipped: no IPv6 here");
                continue;
            };
            if !filters(&listener, mine) {
                return;
            }
            listener.set_nonblocking(true).unwrap();
            let to = SocketAddr::new(mine, listener.local_addr().unwrap().port());
            let _stranger = connect_once([127, 0, 0, 2].into(), to);
            let known = TcpStream::connect(to).unwrap();
            let (accepted, peer) = listener.accept().unwrap();
            lift(&accepted).unwrap();
            lift(&accepted).unwrap();
            assert_eq!(peer.ip().to_canonical(), mine);
            assert_eq!(peer.port(), known.local_addr().unwrap().port());
            assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        }
    }

    #[test]
    fn addresses_of_ipv6_are_told_apart_in_all_their_words() {
        let Ok(listener) = TcpListener::bind("[::1]:0") else {
            eprintln!("skipped: no IPv6 here");
            return;
        };
        let to = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        if !filters(&listener, to.ip()) {
            return;
        }
        let _known = TcpStream::connect(to).unwrap();
        listener.accept().unwrap();
        for other in ["::2", "0:0:1::1", "1::1", "127.0.0.1"] {
            accept_only_from(&listener, other.parse().unwrap()).unwrap();
            let _stranger = connect_once(to.ip(), to);
            assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock, "{other}");
        }
    }
}
