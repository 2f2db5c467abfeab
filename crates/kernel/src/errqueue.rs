//! MSG_ZEROCOPY: sends whose pages the kernel references, and the completions that report their
//! release.
//!
//! The kernel numbers the MSG_ZEROCOPY sends of a socket from 0 (modulo 2^32, without failed
//! sends). It puts a message on the socket's error queue when a range of them is done: acknowledged
//! by the peer, or copied after all. Consecutive ranges are merged while they wait in the queue, so
//! one message may report many sends.
//!
//! # References
//! - Documentation/networking/msg_zerocopy.rst
//! - `__msg_zerocopy_callback` and `skb_orphan_frags_rx` in net/core/skbuff.c

use std::io;
use std::mem;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::time::Duration;

use rustix::event::PollFlags;

use crate::pages::Pages;
use crate::tcp::{over_signals, wait};

/// `SO_EE_ORIGIN_ZEROCOPY` of include/uapi/linux/errqueue.h, which libc lacks.
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;

/// `SO_EE_CODE_ZEROCOPY_COPIED` of the same file.
const SO_EE_CODE_ZEROCOPY_COPIED: u8 = 1;

/// Room for a `cmsghdr` with a `sock_extended_err` and the address after it, in units that align
/// it.
type ControlBuffer = [u64; 16];

/// A range of sends whose pages the kernel has released.
///
/// # References
/// [Documentation/networking/msg_zerocopy.rst]
///
/// [Documentation/networking/msg_zerocopy.rst]: https://docs.kernel.org/networking/msg_zerocopy.html
#[doc(alias = "sock_extended_err")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Number of the first send.
    pub first: u32,
    /// Number of the last send.
    pub last: u32,
    /// The kernel copied after all: the bytes were delivered on this machine, or the device cannot
    /// gather. In a merged range the flag is that of its first part (`skb_zerocopy_notify_extend`
    /// does not compare it).
    pub copied: bool,
}

impl Completion {
    /// Number of sends in the range.
    pub fn sends(&self) -> u64 {
        u64::from(self.last.wrapping_sub(self.first)) + 1
    }
}

/// Sends a range of `pages` with send(2), MSG_ZEROCOPY and MSG_NOSIGNAL, and restarts after
/// signals. Returns the number of bytes that the socket took. A successful send has the next
/// number. `more` adds MSG_MORE.
///
/// The kernel reads the pages late, so they must not change before the completion. The socket needs
/// [`set_zerocopy`](crate::tcp::set_zerocopy).
///
/// # Errors
/// - ENOBUFS: too many pages are pinned (RLIMIT_MEMLOCK, for all sockets of this user, unless the
///   process has CAP_IPC_LOCK in the initial user namespace), or too many completions are
///   outstanding (net.core.optmem_max).
/// - EPIPE, ECONNRESET: the peer is gone.
/// - EINVAL: the range is not within the pages.
///
/// # References
/// - [send(2)]
/// - [Documentation/networking/msg_zerocopy.rst]
///
/// [send(2)]: https://man7.org/linux/man-pages/man2/send.2.html
/// [Documentation/networking/msg_zerocopy.rst]: https://docs.kernel.org/networking/msg_zerocopy.html
#[doc(alias = "send")]
#[doc(alias = "MSG_ZEROCOPY")]
pub fn send_zerocopy(
    socket: impl AsFd,
    pages: &Pages,
    range: Range<usize>,
    more: bool,
) -> io::Result<usize> {
    let bytes =
        pages.as_slice().get(range).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let flags = libc::MSG_ZEROCOPY | libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 };
    // SAFETY: send(2) reads at most `bytes.len()` bytes from the slice, which is valid during the
    // call. What the kernel keeps are references to the pages themselves, which outlive the
    // mapping. It never writes to them.
    over_signals(|| unsafe {
        libc::send(socket.as_fd().as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags)
    })
}

/// Takes the next completion from a socket's error queue with recvmsg(2), MSG_ERRQUEUE. Does not
/// block; `None` when there is none. Discards other messages.
///
/// # Errors
/// Those of recvmsg(2), except that of an empty queue.
///
/// # References
/// - [recvmsg(2)], MSG_ERRQUEUE
/// - [ip(7)], IP_RECVERR
///
/// [recvmsg(2)]: https://man7.org/linux/man-pages/man2/recvmsg.2.html
/// [ip(7)]: https://man7.org/linux/man-pages/man7/ip.7.html
#[doc(alias = "recvmsg")]
#[doc(alias = "MSG_ERRQUEUE")]
pub fn next_completion(socket: impl AsFd) -> io::Result<Option<Completion>> {
    loop {
        let mut control: ControlBuffer = [0; 16];
        // SAFETY: a msghdr consists of integers and pointers, for which all zeros are valid.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = mem::size_of_val(&control) as _;
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: the message has no name and no data. Its control part is `control` with its true
        // size. Both live through the call.
        let received =
            unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, flags) };
        if received < 0 {
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::WouldBlock => return Ok(None),
                io::ErrorKind::Interrupted => continue,
                _ => return Err(error),
            }
        }
        if let Some(completion) = completion_of(&message) {
            return Ok(Some(completion));
        }
    }
}

/// Completion in a message that recvmsg(2) filled.
fn completion_of(message: &libc::msghdr) -> Option<Completion> {
    // SAFETY: msg_control points to `msg_controllen` bytes of control messages that the kernel
    // wrote, or a test by the same rules. The CMSG macros require that.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR return null or a header that lies completely within
        // the control part.
        let (level, kind, len) =
            unsafe { ((*header).cmsg_level, (*header).cmsg_type, (*header).cmsg_len as usize) };
        let is_error = matches!(
            (level, kind),
            (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR)
        );
        // SAFETY: CMSG_LEN only computes.
        let enough =
            unsafe { libc::CMSG_LEN(mem::size_of::<libc::sock_extended_err>() as u32) } as usize;
        if is_error && len >= enough {
            // SAFETY: by its length, a complete sock_extended_err follows the header. It consists
            // of integers and is read without regard to alignment.
            let error = unsafe {
                ptr::read_unaligned(libc::CMSG_DATA(header).cast::<libc::sock_extended_err>())
            };
            if error.ee_origin == SO_EE_ORIGIN_ZEROCOPY && error.ee_errno == 0 {
                return Some(Completion {
                    first: error.ee_info,
                    last: error.ee_data,
                    copied: error.ee_code & SO_EE_CODE_ZEROCOPY_COPIED != 0,
                });
            }
        }
        // SAFETY: `header` came from CMSG_FIRSTHDR or CMSG_NXTHDR of the same message.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    None
}

/// Result of waiting for completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The error queue is not empty, or the connection has an error
    /// ([`take_error`](crate::tcp::take_error)).
    Error,
    /// Both directions of the connection are closed.
    HungUp,
    /// Neither happened in time.
    TimedOut,
}

/// Waits with poll(2), POLLERR, until the error queue is not empty, the connection is gone, or
/// `at_most` has passed.
///
/// # Errors
/// - ENOMEM: no kernel memory.
///
/// # References
/// [poll(2)]
///
/// [poll(2)]: https://man7.org/linux/man-pages/man2/poll.2.html
#[doc(alias = "poll")]
#[doc(alias = "POLLERR")]
pub fn wait_for_completion(socket: impl AsFd, at_most: Duration) -> io::Result<Woken> {
    let events = wait(socket, PollFlags::empty(), Some(at_most))?;
    Ok(if events.contains(PollFlags::ERR) {
        Woken::Error
    } else if events.is_empty() {
        Woken::TimedOut
    } else {
        Woken::HungUp
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::tcp::set_zerocopy;

    fn pair(address: &str) -> io::Result<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind(address)?;
        let one = TcpStream::connect(listener.local_addr()?)?;
        set_zerocopy(&one, true)?;
        Ok((one, listener.accept()?.0))
    }

    fn all_completions_arrive(address: &str) -> io::Result<()> {
        let (one, mut other) = pair(address)?;
        let mut pages = Pages::new(8_192)?;
        pages.as_mut_slice().fill(7);
        for _ in 0..10 {
            assert_eq!(send_zerocopy(&one, &pages, 1..8_000, false)?, 7_999);
        }
        let mut got = vec![0; 79_990];
        other.read_exact(&mut got)?;
        assert!(got.iter().all(|&byte| byte == 7));
        let mut next = 0;
        while next < 10 {
            match next_completion(&one)? {
                Some(completion) => {
                    assert_eq!(completion.first, next);
                    assert!(completion.copied, "loopback copies");
                    next += u32::try_from(completion.sends()).unwrap();
                }
                None => {
                    assert_eq!(wait_for_completion(&one, Duration::from_secs(10))?, Woken::Error)
                }
            }
        }
        assert_eq!(next_completion(&one)?, None);
        assert_eq!(wait_for_completion(&one, Duration::from_millis(1))?, Woken::TimedOut);
        Ok(())
    }

    #[test]
    fn every_send_completes_once_and_is_copied_on_loopback() {
        all_completions_arrive("127.0.0.1:0").unwrap();
    }

    #[test]
    fn every_send_completes_once_over_ipv6() {
        if TcpListener::bind("[::1]:0").is_err() {
            eprintln!("skipped: no IPv6 on loopback");
            return;
        }
        all_completions_arrive("[::1]:0").unwrap();
    }

    #[test]
    fn an_empty_queue_has_no_completion() {
        assert_eq!(next_completion(&pair("127.0.0.1:0").unwrap().0).unwrap(), None);
    }

    #[test]
    fn a_reset_ends_a_wait_for_completions() {
        let (one, other) = pair("127.0.0.1:0").unwrap();
        let pages = Pages::new(4_096).unwrap();
        send_zerocopy(&one, &pages, 0..1, false).unwrap();
        crate::tcp::wait_readable(&other, Duration::from_secs(10)).unwrap();
        drop(other); // unread bytes: a reset
        assert_eq!(wait_for_completion(&one, Duration::from_secs(10)).unwrap(), Woken::Error);
    }

    #[test]
    fn numbers_wrap_around() {
        assert_eq!(Completion { first: u32::MAX, last: 1, copied: false }.sends(), 3);
        assert_eq!(Completion { first: 0, last: u32::MAX, copied: false }.sends(), 1 << 32);
    }

    #[test]
    fn a_range_outside_the_pages_is_refused() {
        let (one, _other) = pair("127.0.0.1:0").unwrap();
        let pages = Pages::new(4_096).unwrap();
        let error = send_zerocopy(&one, &pages, 4_096..4_098, false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    /// A message with one control message of 16 bytes of data.
    fn made(
        control: &mut ControlBuffer,
        level: i32,
        kind: i32,
        data: libc::sock_extended_err,
    ) -> libc::msghdr {
        // SAFETY: a msghdr consists of integers and pointers, for which all zeros are valid.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_control = control.as_mut_ptr().cast();
        // SAFETY: the buffer is large enough for the header and the data, and aligned for the
        // header.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(16) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = level;
            (*header).cmsg_type = kind;
            (*header).cmsg_len = libc::CMSG_LEN(16) as _;
            ptr::write_unaligned(libc::CMSG_DATA(header).cast(), data);
        }
        message
    }

    #[test]
    fn only_zero_copy_messages_are_completions() {
        let error = |origin| libc::sock_extended_err {
            ee_errno: 0,
            ee_origin: origin,
            ee_type: 0,
            ee_code: 0,
            ee_pad: 0,
            ee_info: 3,
            ee_data: 5,
        };
        let mut control = [0; 16];
        let expected = Some(Completion { first: 3, last: 5, copied: false });
        for (level, kind, origin, completion) in [
            (libc::SOL_IP, libc::IP_RECVERR, 5, expected),
            (libc::SOL_IPV6, libc::IPV6_RECVERR, 5, expected),
            (libc::SOL_IP, libc::IP_RECVERR, libc::SO_EE_ORIGIN_ICMP, None),
            (libc::SOL_IP, libc::IP_TTL, 5, None),
            (libc::SOL_SOCKET, libc::IP_RECVERR, 5, None),
        ] {
            assert_eq!(completion_of(&made(&mut control, level, kind, error(origin))), completion);
        }
    }
}
