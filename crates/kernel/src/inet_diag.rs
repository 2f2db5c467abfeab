//! The TCP sockets of a network namespace with their counters, over sock_diag(7): what `ss -ti`
//! shows. Sockets in the state TIME_WAIT have no counters any more, and are left out.
//!
//! # References
//! - sock_diag(7)
//! - include/uapi/linux/inet_diag.h

use std::io;

use netlink_packet_core::NLM_F_DUMP;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use crate::attributes::child;
use crate::netlink_channel::{Channel, Message, undecodable};
use crate::tcp::{TcpInfo, info_in};

// include/uapi/linux/sock_diag.h and inet_diag.h
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
/// Size of `struct inet_diag_req_v2`.
const REQUEST_BYTES: usize = 56;
/// Size of `struct inet_diag_msg`.
const MESSAGE_BYTES: usize = 72;
/// Offsets in it: idiag_inode, and idiag_cookie of its sockid.
const INODE_AT: usize = 68;
const COOKIE_AT: usize = 44;
/// A bit for each state of include/net/tcp_states.h, without TCP_TIME_WAIT (6), TCP_LISTEN (10) and
/// TCP_NEW_SYN_RECV (12).
const STATES: u32 = 0xfff & !(1 << 6) & !(1 << 10);

/// A TCP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSocket {
    /// A number that no other socket has while the machine runs.
    pub cookie: u64,
    /// The inode: `socket:[INODE]` in /proc/PID/fd. 0 if no file refers to it any more.
    pub inode: u32,
    /// Its counters.
    pub info: TcpInfo,
}

/// All TCP sockets of the calling thread's network namespace that have counters, over IPv4 and
/// IPv6, with SOCK_DIAG_BY_FAMILY. Takes some 2 us for each.
///
/// # Errors
/// - ENOENT: the kernel has no inet_diag (CONFIG_INET_DIAG).
///
/// # References
/// [sock_diag(7)]
///
/// [sock_diag(7)]: https://man7.org/linux/man-pages/man7/sock_diag.7.html
#[doc(alias = "SOCK_DIAG_BY_FAMILY")]
#[doc(alias = "NETLINK_SOCK_DIAG")]
pub fn tcp_sockets() -> io::Result<Vec<TcpSocket>> {
    let channel = Channel::open(NETLINK_SOCK_DIAG)?;
    let mut sockets = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut request = [0; REQUEST_BYTES];
        request[0] = family as u8;
        request[1] = libc::IPPROTO_TCP as u8;
        request[2] = 1 << (INET_DIAG_INFO - 1);
        request[4..8].copy_from_slice(&STATES.to_ne_bytes());
        let request = Message::new(SOCK_DIAG_BY_FAMILY, &request, &[]);
        for answer in channel.request(request, NLM_F_DUMP)? {
            sockets.extend(socket(&answer.payload)?);
        }
    }
    Ok(sockets)
}

/// `None` for a socket without counters.
fn socket(message: &[u8]) -> io::Result<Option<TcpSocket>> {
    let (Some(inode), Some(cookie), Some(attributes)) = (
        message.get(INODE_AT..INODE_AT + 4).and_then(|bytes| bytes.try_into().ok()),
        message.get(COOKIE_AT..COOKIE_AT + 8).and_then(|bytes| bytes.try_into().ok()),
        message.get(MESSAGE_BYTES..),
    ) else {
        return Err(undecodable("a socket in too few bytes"));
    };
    let info = child(attributes, INET_DIAG_INFO).map_err(undecodable)?;
    Ok(info.map(|info| TcpSocket {
        cookie: u64::from_ne_bytes(cookie),
        inode: u32::from_ne_bytes(inode),
        info: info_in(&info),
    }))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd as _;

    use super::*;

    fn inode(stream: &TcpStream) -> u32 {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", stream.as_raw_fd())).unwrap();
        let text = link.to_string_lossy().into_owned();
        text.trim_start_matches("socket:[").trim_end_matches(']').parse().unwrap()
    }

    #[test]
    fn both_ends_of_a_connection_are_found_with_their_counters() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                eprintln!("skipped: no {address} here");
                continue;
            };
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut server, _) = listener.accept().unwrap();
            client.write_all(&[7; 1000]).unwrap();
            server.read_exact(&mut [0; 1000]).unwrap();
            let sockets = match tcp_sockets() {
                Ok(sockets) => sockets,
                Err(error) => return eprintln!("skipped: no inet_diag: {error}"),
            };
            let socket_of = |stream: &TcpStream| {
                let inode = inode(stream);
                *sockets.iter().find(|socket| socket.inode == inode).unwrap()
            };
            let (sender, receiver) = (socket_of(&client), socket_of(&server));
            assert_ne!(sender.cookie, receiver.cookie);
            assert!(sender.info.bytes_sent == 1000 || sender.info.known_bytes < 208);
            assert_eq!(sender.info.snd_mss, crate::tcp::info(&client).unwrap().snd_mss);
            assert!(receiver.info.segs_in >= 1 && sender.info.segs_out >= 1);
        }
    }

    #[test]
    fn too_few_bytes_are_an_error() {
        assert!(socket(&[0; MESSAGE_BYTES - 1]).is_err());
        assert!(socket(&[0; MESSAGE_BYTES]).unwrap().is_none(), "no counters");
    }
}
