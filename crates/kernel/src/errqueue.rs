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
use std::time::Duration;

use rustix::event::PollFlags;

use crate::pages::Pages;
use crate::tcp::{over_signals, wait};

/// `SO_EE_ORIGIN_ZEROCOPY` of include/uapi/linux/errqueue.h, which libc lacks.
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;

/// `SO_EE_CODE_ZEROCOPY_COPIED` of the same file.
const SO_EE_CODE_ZEROCOPY_COPIED: u8 = 1;

/// Room for a `cmsghdr` with a `sock_extended_err` and the address after it.
const CONTROL_BYTES: usize = 128;

/// A range of sends whose pages the kernel has released.
///
/// # References
/// [Documentation/networking/msg_zerocopy.rst]
///
/// [Documentation/networking/msg_zerocopy.rst]:
///   https://docs.kernel.org/networking/msg_zerocopy.html
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
/// [Documentation/networking/msg_zerocopy.rst]:
///   https://docs.kernel.org/networking/msg_zerocopy.html
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
/// Errors of recvmsg(2), except that of an empty queue.
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
        let mut control = [0_u8; CONTROL_BYTES];
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
        // The kernel says how much of the control part it has filled.
        let filled = (message.msg_controllen as usize).min(control.len());
        if let Some(completion) = completion_in(&control[..filled]) {
            return Ok(Some(completion));
        }
    }
}

/// The completion in the control part of a message from an error queue: `struct cmsghdr` after
/// `struct cmsghdr`, each before its data. `None` if there is none, or where the bytes are not such
/// messages.
///
/// # References
/// [cmsg(3)]
///
/// [cmsg(3)]: https://man7.org/linux/man-pages/man3/cmsg.3.html
#[doc(alias = "cmsghdr")]
#[doc(alias = "sock_extended_err")]
pub fn completion_in(mut control: &[u8]) -> Option<Completion> {
    // The kernel's layout: a length that includes the header, in a word, the level, and the type.
    const WORD: usize = size_of::<usize>();
    const HEADER_BYTES: usize = WORD + 8;
    loop {
        let (length, rest) = control.split_first_chunk::<WORD>()?;
        let (level, rest) = rest.split_first_chunk::<4>()?;
        let (kind, _) = rest.split_first_chunk::<4>()?;
        let length = usize::from_ne_bytes(*length);
        let data = control.get(HEADER_BYTES..length)?;
        let is_error = matches!(
            (i32::from_ne_bytes(*level), i32::from_ne_bytes(*kind)),
            (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR)
        );
        if is_error && let Some(completion) = completion_of(data) {
            return Some(completion);
        }
        // Messages are aligned to words. The last one may end before that.
        control = control.get(length.next_multiple_of(WORD)..)?;
    }
}

/// The completion in a `struct sock_extended_err` (include/uapi/linux/errqueue.h): the errno, then
/// bytes for origin, type, code and padding, then two words. The address of its sender may follow.
fn completion_of(error: &[u8]) -> Option<Completion> {
    let (errno, rest) = error.split_first_chunk::<4>()?;
    let (&[origin, _, code, _], rest) = rest.split_first_chunk()?;
    let (first, rest) = rest.split_first_chunk()?;
    let (last, _) = rest.split_first_chunk()?;
    let is_completion = *errno == [0; 4] && origin == SO_EE_ORIGIN_ZEROCOPY;
    is_completion.then_some(Completion {
        first: u32::from_ne_bytes(*first),
        last: u32::from_ne_bytes(*last),
        copied: code & SO_EE_CODE_ZEROCOPY_COPIED != 0,
    })
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

    /// A control message with these data, as the kernel lays it out.
    fn control_message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut bytes = (size_of::<usize>() + 8 + data.len()).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(size_of::<usize>()), 0);
        bytes
    }

    /// A `sock_extended_err` about the sends 3 to 5, and an address after it.
    fn error(errno: u32, origin: u8) -> Vec<u8> {
        let mut data = errno.to_ne_bytes().to_vec();
        data.extend([origin, 0, SO_EE_CODE_ZEROCOPY_COPIED, 0]);
        data.extend(3_u32.to_ne_bytes());
        data.extend(5_u32.to_ne_bytes());
        data.extend([0; 16]);
        data
    }

    const EXPECTED: Option<Completion> = Some(Completion { first: 3, last: 5, copied: true });

    #[test]
    fn only_zero_copy_messages_are_completions() {
        for (level, kind, errno, origin, completion) in [
            (libc::SOL_IP, libc::IP_RECVERR, 0, 5, EXPECTED),
            (libc::SOL_IPV6, libc::IPV6_RECVERR, 0, 5, EXPECTED),
            (libc::SOL_IP, libc::IP_RECVERR, 0, libc::SO_EE_ORIGIN_ICMP, None),
            (libc::SOL_IP, libc::IP_RECVERR, 111, 5, None),
            (libc::SOL_IP, libc::IP_TTL, 0, 5, None),
            (libc::SOL_SOCKET, libc::IP_RECVERR, 0, 5, None),
        ] {
            assert_eq!(
                completion_in(&control_message(level, kind, &error(errno, origin))),
                completion
            );
        }
    }

    #[test]
    fn a_completion_may_follow_other_messages() {
        let other = control_message(libc::SOL_SOCKET, libc::SO_TIMESTAMP, &[7; 13]);
        let ours = control_message(libc::SOL_IP, libc::IP_RECVERR, &error(0, 5));
        assert_eq!(completion_in(&[other.clone(), ours.clone(), other].concat()), EXPECTED);
        // The same, cut off anywhere before its end.
        for end in 0..ours.len() {
            assert_eq!(completion_in(&ours[..end]), None, "{end}");
        }
    }

    #[test]
    fn a_length_that_cannot_be_is_no_completion_and_no_loop_without_end() {
        let ours = control_message(libc::SOL_IP, libc::IP_RECVERR, &error(0, 5));
        for length in [0, 1, size_of::<usize>() + 7, ours.len() + 1, usize::MAX, usize::MAX - 7] {
            let mut bytes = ours.clone();
            bytes[..size_of::<usize>()].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(completion_in(&bytes), None, "{length}");
        }
    }
}
