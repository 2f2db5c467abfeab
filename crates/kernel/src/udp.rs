//! UDP: several datagrams in one call, cut and joined by the program or by the kernel.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd as _};
use std::ptr;

use crate::sockopt::set_int;
use crate::tcp::over_signals;

/// Hands a connected UDP socket's datagrams of one send to the kernel in one piece: it cuts what
/// it is given into datagrams of `bytes`, the last of which may be shorter (generic segmentation
/// offload, 4.18). 0 switches that off.
///
/// # Errors
/// - ENOPROTOOPT: the kernel does not have it.
/// - EINVAL: more than 65,535.
///
/// # References
/// [udp(7)], UDP_SEGMENT
///
/// [udp(7)]: https://man7.org/linux/man-pages/man7/udp.7.html
#[doc(alias = "setsockopt")]
#[doc(alias = "UDP_SEGMENT")]
pub fn set_segment_bytes(socket: impl AsFd, bytes: usize) -> io::Result<()> {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    set_int(socket, libc::SOL_UDP, libc::UDP_SEGMENT, bytes)
}

/// Lets the kernel hand over datagrams of one flow together, as they came in one packet or were
/// joined (generic receive offload, 5.0): [`recv_joined`] takes them.
///
/// # Errors
/// - ENOPROTOOPT: the kernel does not have it.
///
/// # References
/// [udp(7)], UDP_GRO
///
/// [udp(7)]: https://man7.org/linux/man-pages/man7/udp.7.html
#[doc(alias = "setsockopt")]
#[doc(alias = "UDP_GRO")]
pub fn set_joins(socket: impl AsFd) -> io::Result<()> {
    set_int(socket, libc::SOL_UDP, libc::UDP_GRO, 1)
}

/// Ends a connected socket's sending and receiving with shutdown(2), which wakes who waits in a
/// call on it. What has arrived can still be received.
///
/// # Errors
/// - ENOTCONN: it is not connected.
/// - EPERM: a seccomp filter forbids it.
///
/// # References
/// [shutdown(2)]
///
/// [shutdown(2)]: https://man7.org/linux/man-pages/man2/shutdown.2.html
#[doc(alias = "shutdown")]
pub fn shut_down(socket: impl AsFd) -> io::Result<()> {
    Ok(rustix::net::shutdown(socket, rustix::net::Shutdown::Both)?)
}

/// Datagrams that [`recv_joined`] has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joined {
    /// Bytes of all of them, one after the other.
    pub bytes: usize,
    /// Bytes of each but the last, which may be shorter.
    pub datagram_bytes: usize,
}

/// Room for a `cmsghdr` with an int.
#[repr(C, align(8))]
struct Control([u8; 32]);

/// Receives one datagram, or several that the kernel has joined ([`set_joins`]), with recvmsg(2),
/// and restarts after signals. No bytes: an empty datagram, or the socket has been shut down.
///
/// # Errors
/// - EMSGSIZE: `into` has no room for what had arrived, which is gone.
/// - ECONNREFUSED: nobody listens where this socket has sent to.
///
/// # References
/// - [recvmsg(2)]
/// - [udp(7)], UDP_GRO
///
/// [recvmsg(2)]: https://man7.org/linux/man-pages/man2/recvmsg.2.html
/// [udp(7)]: https://man7.org/linux/man-pages/man7/udp.7.html
#[doc(alias = "recvmsg")]
#[doc(alias = "UDP_GRO")]
pub fn recv_joined(socket: impl AsFd, into: &mut [u8]) -> io::Result<Joined> {
    let mut control = Control([0; 32]);
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let mut message = empty_message();
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    let bytes = over_signals(|| {
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        // SAFETY: the message has no name. Its data part is `into` and its control part is
        // `control`, each with its true size. All live through the call.
        unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, 0) }
    })?;
    if message.msg_flags & libc::MSG_TRUNC != 0 {
        return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
    }
    Ok(Joined { bytes, datagram_bytes: datagram_bytes(&message).unwrap_or(bytes).max(1) })
}

/// The size in the control part of a received message; `None` if the datagram came alone.
fn datagram_bytes(message: &libc::msghdr) -> Option<usize> {
    // SAFETY: the control part is a buffer that the kernel has filled up to `msg_controllen`, and
    // is aligned for a cmsghdr.
    let header = unsafe { libc::CMSG_FIRSTHDR(message).as_ref() }?;
    if (header.cmsg_level, header.cmsg_type) != (libc::SOL_UDP, libc::UDP_GRO) {
        return None;
    }
    // SAFETY: the data of a message of this kind is an int (udp_cmsg_recv, net/ipv4/udp.c).
    let size = unsafe { libc::CMSG_DATA(header).cast::<libc::c_int>().read_unaligned() };
    usize::try_from(size).ok()
}

/// The headers of several messages for one call.
pub struct Batch {
    headers: Vec<libc::mmsghdr>,
    parts: Vec<libc::iovec>,
}

impl Batch {
    /// Room for so many messages; at least one.
    pub fn new(most: usize) -> Self {
        let part = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
        let header = libc::mmsghdr { msg_hdr: empty_message(), msg_len: 0 };
        Self { headers: vec![header; most.max(1)], parts: vec![part; most.max(1)] }
    }

    /// Sends datagrams of `datagram_bytes`, the last of which may be shorter, with sendmmsg(2) and
    /// MSG_NOSIGNAL, and restarts after signals. Returns how many bytes were taken: fewer than all
    /// if there are more datagrams than the batch has room for, or if the kernel stopped at one.
    ///
    /// # Errors
    /// - EMSGSIZE: a datagram is too large.
    /// - ECONNREFUSED: nobody listens there.
    ///
    /// # References
    /// [sendmmsg(2)]
    ///
    /// [sendmmsg(2)]: https://man7.org/linux/man-pages/man2/sendmmsg.2.html
    #[doc(alias = "sendmmsg")]
    pub fn send(
        &mut self,
        socket: impl AsFd,
        bytes: &[u8],
        datagram_bytes: usize,
    ) -> io::Result<usize> {
        let datagrams = bytes.chunks(datagram_bytes.max(1));
        let mut filled = 0;
        for (datagram, place) in datagrams.zip(0..self.headers.len()) {
            // The kernel only reads it.
            let iov_base = datagram.as_ptr().cast_mut().cast();
            self.set(place, libc::iovec { iov_base, iov_len: datagram.len() });
            filled = place + 1;
        }
        let sent = over_signals(|| {
            // SAFETY: the first `filled` headers have a part each, which lies within `bytes`, and
            // neither name nor control part. sendmmsg writes to the headers only.
            let sent = unsafe {
                libc::sendmmsg(
                    socket.as_fd().as_raw_fd(),
                    self.headers.as_mut_ptr(),
                    filled as libc::c_uint,
                    libc::MSG_NOSIGNAL,
                )
            };
            sent as isize
        })?;
        Ok(self.headers[..sent.min(filled)].iter().map(|header| header.msg_len as usize).sum())
    }

    /// Receives datagrams with recvmmsg(2) and MSG_WAITFORONE, each to the beginning of a part of
    /// `part_bytes` of `into`, and restarts after signals. It blocks until there is one, and takes
    /// those that are there, as many as there are parts and room for. Returns their lengths. An
    /// empty one may be one that was sent, or the socket has been shut down.
    ///
    /// # Errors
    /// - EMSGSIZE: one is longer than its part.
    /// - ECONNREFUSED: nobody listens where this socket has sent to.
    ///
    /// # References
    /// [recvmmsg(2)]
    ///
    /// [recvmmsg(2)]: https://man7.org/linux/man-pages/man2/recvmmsg.2.html
    #[doc(alias = "recvmmsg")]
    #[doc(alias = "MSG_WAITFORONE")]
    pub fn receive(
        &mut self,
        socket: impl AsFd,
        into: &mut [u8],
        part_bytes: usize,
    ) -> io::Result<impl Iterator<Item = usize>> {
        let mut filled = 0;
        let parts = into.chunks_exact_mut(part_bytes.max(1));
        for (part, place) in parts.zip(0..self.headers.len()) {
            let iov_base = part.as_mut_ptr().cast();
            self.set(place, libc::iovec { iov_base, iov_len: part.len() });
            filled = place + 1;
        }
        let received = over_signals(|| {
            // SAFETY: the first `filled` headers have a part each, which lies within `into`, which
            // is borrowed for the call, and neither name nor control part.
            let received = unsafe {
                libc::recvmmsg(
                    socket.as_fd().as_raw_fd(),
                    self.headers.as_mut_ptr(),
                    filled as libc::c_uint,
                    libc::MSG_WAITFORONE,
                    ptr::null_mut(),
                )
            };
            received as isize
        })?;
        let headers = &self.headers[..received.min(filled)];
        if headers.iter().any(|header| header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0) {
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
        Ok(headers.iter().map(|header| header.msg_len as usize))
    }

    /// Gives message number `place` its part.
    fn set(&mut self, place: usize, part: libc::iovec) {
        self.parts[place] = part;
        let message = &mut self.headers[place].msg_hdr;
        message.msg_iov = &raw mut self.parts[place];
        message.msg_iovlen = 1;
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("most", &self.headers.len()).finish_non_exhaustive()
    }
}

fn empty_message() -> libc::msghdr {
    // SAFETY: a msghdr consists of integers and pointers, for which all zeros are valid.
    unsafe { mem::zeroed() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::time::Duration;

    /// Two sockets over loopback, connected to each other.
    fn pair() -> (UdpSocket, UdpSocket) {
        let [one, other] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        one.connect(other.local_addr().unwrap()).unwrap();
        other.connect(one.local_addr().unwrap()).unwrap();
        other.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        (one, other)
    }

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|byte| (byte / 7) as u8).collect()
    }

    #[test]
    fn several_datagrams_are_sent_and_received_by_one_call_each() {
        let (one, other) = pair();
        let sent = bytes(2 * 1_000 + 300);
        let mut batch = Batch::new(8);
        assert_eq!(batch.send(&one, &sent, 1_000).unwrap(), sent.len());
        let mut into = vec![0; 4 * 1_000];
        let lengths: Vec<_> = batch.receive(&other, &mut into, 1_000).unwrap().collect();
        assert_eq!(lengths, [1_000, 1_000, 300]);
        assert_eq!(into[..sent.len()], sent);
        // More than there is room for: the others are for the next call.
        assert_eq!(Batch::new(2).send(&one, &sent, 1_000).unwrap(), 2_000);
        let lengths: Vec<_> = Batch::new(1).receive(&other, &mut into, 1_000).unwrap().collect();
        assert_eq!(lengths, [1_000]);
    }

    #[test]
    fn a_datagram_that_is_longer_than_its_part_is_an_error_and_not_cut() {
        let (one, other) = pair();
        let error = |received: io::Result<usize>| received.unwrap_err().raw_os_error();
        let mut into = vec![0; 100];
        one.send(&bytes(101)).unwrap();
        let received = Batch::new(1).receive(&other, &mut into, 100).map(Iterator::sum);
        assert_eq!(error(received), Some(libc::EMSGSIZE));
        one.send(&bytes(101)).unwrap();
        let received = recv_joined(&other, &mut into).map(|joined| joined.bytes);
        assert_eq!(error(received), Some(libc::EMSGSIZE));
    }

    #[test]
    fn the_kernel_cuts_what_it_is_given_and_joins_it_again() {
        let (one, other) = pair();
        if let Err(error) = set_segment_bytes(&one, 1_000).and_then(|()| set_joins(&other)) {
            return eprintln!("skipped: {error}");
        }
        let sent = bytes(3 * 1_000 + 1);
        one.send(&sent).unwrap();
        let mut into = vec![0; 1 << 16];
        let joined = recv_joined(&other, &mut into).unwrap();
        assert_eq!(joined, Joined { bytes: sent.len(), datagram_bytes: 1_000 });
        assert_eq!(into[..joined.bytes], sent);
        one.send(&sent[..500]).unwrap();
        let alone = recv_joined(&other, &mut into).unwrap();
        assert_eq!(alone, Joined { bytes: 500, datagram_bytes: 500 });
    }

    #[test]
    fn an_empty_datagram_and_a_shutdown_are_no_bytes() {
        let (one, other) = pair();
        let mut into = [0; 10];
        one.send(&[]).unwrap();
        assert_eq!(recv_joined(&other, &mut into).unwrap().bytes, 0);
        one.send(&[]).unwrap();
        let lengths = Batch::new(2).receive(&other, &mut into, 5).unwrap().collect::<Vec<_>>();
        assert_eq!(lengths, [0]);
        shut_down(&other).unwrap();
        assert_eq!(recv_joined(&other, &mut into).unwrap().bytes, 0);
    }
}
