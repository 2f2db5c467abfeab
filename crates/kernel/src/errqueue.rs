//! MSG_ZEROCOPY: sends whose pages the kernel borrows, and the completions by which it gives them back.
//!
//! The kernel numbers the MSG_ZEROCOPY sends of a socket from 0 (modulo 2^32, sends that failed not counted) and puts
//! a message on the socket's error queue when a range of them is done: acknowledged by the peer, or copied after all.
//! Ranges that follow one another are merged while they wait in the queue, so one message may stand for many sends.
//!
//! # References
//! Documentation/networking/msg_zerocopy.rst; `__msg_zerocopy_callback` and `skb_orphan_frags_rx` of net/core/skbuff.c.

use std::io;
use std::mem;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::time::Duration;

use rustix::event::PollFlags;

use crate::pages::Pages;
use crate::tcp::{over_signals, wait};

/// `SO_EE_ORIGIN_ZEROCOPY` of include/uapi/linux/errqueue.h, which libc does not have.
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;

/// `SO_EE_CODE_ZEROCOPY_COPIED` of the same file.
const SO_EE_CODE_ZEROCOPY_COPIED: u8 = 1;

/// Room for a `cmsghdr` with a `sock_extended_err` and the address that follows it, in units that align it.
type ControlBuffer = [u64; 16];

/// A range of sends that the kernel is done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The number of the first of them.
    pub first: u32,
    /// The number of the last of them.
    pub last: u32,
    /// The kernel copied after all: the bytes were delivered on this machine, or the device cannot gather. When
    /// ranges are merged the flag of the first stands for all (`skb_zerocopy_notify_extend` does not look at it).
    pub copied: bool,
}

impl Completion {
    /// How many sends that is.
    pub fn sends(&self) -> u64 {
        u64::from(self.last.wrapping_sub(self.first)) + 1
    }
}

/// send(2) with MSG_ZEROCOPY and MSG_NOSIGNAL of a range of `pages`, over signals. Returns how many bytes the socket
/// took; if that is not an error, the send has the next number. With `more` the send says MSG_MORE too.
///
/// What the kernel reads late is what is in the pages then: they must not be changed before the completion. The
/// socket needs [`set_zerocopy`](crate::tcp::set_zerocopy).
///
/// # Errors
/// ENOBUFS: too many pages are lent (RLIMIT_MEMLOCK, for all sockets of this user, unless the process has
/// CAP_IPC_LOCK in the initial user namespace) or too many completions are outstanding (net.core.optmem_max). EPIPE or
/// ECONNRESET: the peer is gone. EINVAL: the range is not within the pages.
pub fn send_zerocopy(socket: impl AsFd, pages: &Pages, range: Range<usize>, more: bool) -> io::Result<usize> {
    let bytes = pages.as_slice().get(range).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let flags = libc::MSG_ZEROCOPY | libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 };
    // SAFETY: send(2) reads at most `bytes.len()` bytes from the slice, which is valid during the call. What the
    // kernel keeps are references to the pages themselves, which outlive the mapping; it never writes to them.
    over_signals(|| unsafe { libc::send(socket.as_fd().as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// Takes the next completion from a socket's error queue, without blocking; null when there is none. Messages of other
/// kinds are thrown away.
///
/// # Errors
/// recvmsg(2) failed for another reason than an empty queue.
///
/// # References
/// recvmsg(2), MSG_ERRQUEUE; ip(7), IP_RECVERR.
pub fn next_completion(socket: impl AsFd) -> io::Result<Option<Completion>> {
    loop {
        let mut control: ControlBuffer = [0; 16];
        // SAFETY: a msghdr is integers and pointers, for which all zeros are valid.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = mem::size_of_val(&control) as _;
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: the message has no name and no data, and its control part is `control` with its true size; both live
        // through the call.
        let received = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, flags) };
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

/// Finds the completion in a message that recvmsg(2) filled.
fn completion_of(message: &libc::msghdr) -> Option<Completion> {
    // SAFETY: msg_control points to `msg_controllen` bytes of control messages that the kernel wrote (or that a test
    // made by the same rules), which is what the CMSG macros ask for.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR return null or a header that lies whole within the control part.
        let (level, kind, len) = unsafe { ((*header).cmsg_level, (*header).cmsg_type, (*header).cmsg_len as usize) };
        let is_error = matches!((level, kind), (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR));
        // SAFETY: CMSG_LEN only computes.
        let enough = unsafe { libc::CMSG_LEN(mem::size_of::<libc::sock_extended_err>() as u32) } as usize;
        if is_error && len >= enough {
            // SAFETY: the length says that a sock_extended_err lies whole behind the header; it is integers only, and
            // is read without asking for its alignment.
            let error = unsafe { ptr::read_unaligned(libc::CMSG_DATA(header).cast::<libc::sock_extended_err>()) };
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

/// What ended a wait for completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// Something is on the error queue, or the connection has an error ([`take_error`](crate::tcp::take_error)).
    Error,
    /// Both directions of the connection are closed.
    HungUp,
    /// Nothing happened in time.
    TimedOut,
}

/// Waits until there is something on the error queue, the connection is gone, or `at_most` has passed.
///
/// # Errors
/// poll(2) failed.
///
/// # References
/// poll(2), POLLERR.
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
                None => assert_eq!(wait_for_completion(&one, Duration::from_secs(10))?, Woken::Error),
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
    fn a_reset_wakes_whoever_waits() {
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
    fn made(control: &mut ControlBuffer, level: i32, kind: i32, data: libc::sock_extended_err) -> libc::msghdr {
        // SAFETY: a msghdr is integers and pointers, for which all zeros are valid.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_control = control.as_mut_ptr().cast();
        // SAFETY: the buffer is large enough for the header and the data, and aligned for the header.
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
