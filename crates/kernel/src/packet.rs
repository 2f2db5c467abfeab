//! Sends raw Ethernet frames on a device through an AF_PACKET socket.
//!
//! The socket never receives. One that received would be a sniffer, and the kernel would copy every
//! zero-copy send for it.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::sockopt::set_int;

/// An AF_PACKET socket that sends frames on one device.
///
/// # References
/// [packet(7)]
///
/// [packet(7)]: https://man7.org/linux/man-pages/man7/packet.7.html
#[doc(alias = "AF_PACKET")]
#[derive(Debug)]
pub struct FrameSender {
    socket: OwnedFd,
}

impl FrameSender {
    /// Opens a packet socket for the device number `index` of the calling thread's network
    /// namespace with socket(2) and bind(2).
    ///
    /// PACKET_QDISC_BYPASS is set, so frames skip the device's queueing discipline.
    ///
    /// # Errors
    /// - EPERM: CAP_NET_RAW is needed.
    /// - ENODEV: there is no such device.
    /// - EAFNOSUPPORT: the kernel has no packet sockets.
    ///
    /// # References
    /// - [packet(7)]
    /// - [socket(2)]
    /// - [bind(2)]
    ///
    /// [packet(7)]: https://man7.org/linux/man-pages/man7/packet.7.html
    /// [socket(2)]: https://man7.org/linux/man-pages/man2/socket.2.html
    /// [bind(2)]: https://man7.org/linux/man-pages/man2/bind.2.html
    #[doc(alias = "socket")]
    #[doc(alias = "AF_PACKET")]
    #[doc(alias = "PACKET_QDISC_BYPASS")]
    pub fn open(index: u32) -> io::Result<Self> {
        // Protocol 0: nothing is ever received (packet(7)). SAFETY: socket(2) has no memory
        // arguments.
        let socket =
            unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `socket` has just been opened and has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let index =
            i32::try_from(index).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        // SAFETY: sockaddr_ll is plain data for which all zeros is a value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = index;
        // SAFETY: `address` is a sockaddr_ll, and its size is passed with it.
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
        // A kernel before 3.14 lacks the option and sends through the queueing discipline.
        let _ = set_int(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1);
        Ok(Self { socket })
    }

    /// Sends one frame, including its Ethernet header, with send(2). Does not block.
    ///
    /// # Errors
    /// - ENETDOWN, ENXIO: the device is down or gone.
    /// - ENOBUFS, EAGAIN: the device or the socket's send buffer is full.
    ///
    /// # References
    /// [send(2)]
    ///
    /// [send(2)]: https://man7.org/linux/man-pages/man2/send.2.html
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: `frame` is readable for its length.
        let sent = unsafe {
            libc::send(
                self.socket.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                libc::MSG_DONTWAIT,
            )
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_enodev_or_the_socket_is_not_permitted() {
        let error = FrameSender::open(u32::MAX / 4).unwrap_err();
        assert!(
            matches!(error.raw_os_error(), Some(libc::ENODEV | libc::EPERM | libc::EACCES)),
            "{error}"
        );
    }

    #[test]
    fn a_frame_leaves_by_its_device_and_arrives_at_the_peer() {
        crate::testing::in_a_namespace(|namespace| {
            let devices = crate::netlink::Devices::open().unwrap();
            devices.make_veth("zc0", "zc1", std::os::fd::AsFd::as_fd(&namespace)).unwrap();
            let [from, to] = ["zc0", "zc1"].map(|name| devices.find(name).unwrap());
            for device in [&from, &to] {
                devices.bring_up(device.index).unwrap();
            }
            let sender = match FrameSender::open(from.index) {
                Ok(sender) => sender,
                Err(error) => return eprintln!("skipped: no packet socket: {error}"),
            };
            let before = devices.counters(to.index).unwrap().rx_bytes;
            // To every station, from none, of the local experimental EtherType (IEEE 802).
            let mut frame = [0_u8; 600];
            frame[..6].fill(0xff);
            frame[12..14].copy_from_slice(&[0x88, 0xb5]);
            sender.send(&frame).unwrap();
            assert!(devices.counters(to.index).unwrap().rx_bytes >= before + 600);
        });
    }
}
