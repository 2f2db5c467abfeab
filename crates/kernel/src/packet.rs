//! Ethernet frames put on a device by hand: an AF_PACKET socket that sends and never receives. One that received would be
//! a sniffer, and every zero-copy send would be copied for it.
//!
//! References: packet(7).

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Puts frames on one device.
#[derive(Debug)]
pub struct FrameSender {
    socket: OwnedFd,
}

impl FrameSender {
    /// For the device number `index` of the calling thread's network namespace. Frames skip its queueing discipline.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_RAW, `ENODEV` when there is no such device, `EAFNOSUPPORT` when the kernel has no
    /// packet sockets.
    pub fn open(index: u32) -> io::Result<Self> {
        // Protocol 0: nothing is ever received (packet(7)).
        // SAFETY: socket(2) has no memory arguments.
        let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `socket` has just been opened and belongs to nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let index = i32::try_from(index).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        // SAFETY: sockaddr_ll is plain data for which all zeros is a value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = index;
        // SAFETY: `address` is a sockaddr_ll, whose size is what is passed with it.
        let bound = unsafe {
            libc::bind(
                socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if bound != 0 {
            return Err(io::Error::last_os_error());
        }
        let on: libc::c_int = 1;
        // A kernel before 3.14 has it not, and sends all the same.
        // SAFETY: `on` is an int, whose size is what is passed with it.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_QDISC_BYPASS,
                (&raw const on).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        Ok(Self { socket })
    }

    /// Sends one frame, Ethernet header included.
    ///
    /// # Errors
    /// `ENETDOWN`, `ENXIO`: the device is down or gone. `ENOBUFS`: it would not take it.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: `frame` is readable for its length.
        let sent =
            unsafe { libc::send(self.socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), libc::MSG_DONTWAIT) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_enodev_or_the_socket_is_not_permitted() {
        let error = FrameSender::open(u32::MAX / 4).unwrap_err();
        assert!(matches!(error.raw_os_error(), Some(libc::ENODEV | libc::EPERM | libc::EACCES)), "{error}");
    }
}
