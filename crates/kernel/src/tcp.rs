//! TCP sockets: TCP_INFO, congestion control, buffers, SO_ZEROCOPY, and send and receive with
//! flags.

use std::io;
use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt,
};

use crate::clock::{monotonic_ns, sleep_until};
use crate::sockopt::{set_bytes, set_int};

/// State of a connection, from `struct tcp_info`. Fields that the kernel did not return are 0; see
/// [`known_bytes`](Self::known_bytes).
///
/// # References
/// [tcp(7)], TCP_INFO
///
/// [tcp(7)]: https://man7.org/linux/man-pages/man7/tcp.7.html
#[doc(alias = "tcp_info")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Bytes of `struct tcp_info` that the kernel returned: 104 in Linux 2.6, 232 since 4.19, 280
    /// in 6.18.
    pub known_bytes: usize,
    /// tcpi_snd_mss: payload bytes per segment.
    pub snd_mss: u32,
    /// tcpi_snd_cwnd: congestion window in segments.
    pub snd_cwnd: u32,
    /// tcpi_snd_ssthresh: slow start threshold in segments; 0x7fffffff before the first loss
    /// (TCP_INFINITE_SSTHRESH in include/net/tcp.h).
    pub snd_ssthresh: u32,
    /// tcpi_total_retrans: retransmitted segments.
    pub total_retrans: u32,
    /// tcpi_unacked: segments in flight.
    pub unacked: u32,
    /// tcpi_rtt: smoothed round-trip time in us.
    pub rtt_us: u32,
    /// tcpi_min_rtt (4.6): minimum round-trip time in us.
    pub min_rtt_us: u32,
    /// tcpi_rcv_ssthresh: what this end lets its receive window grow to, in bytes.
    pub rcv_ssthresh: u32,
    /// tcpi_pacing_rate (3.15): bytes per second; `u64::MAX` is no limit.
    pub pacing_rate: u64,
    /// tcpi_bytes_acked (4.1): bytes that the peer has acknowledged.
    pub bytes_acked: u64,
    /// tcpi_bytes_received (4.1): bytes for which an acknowledgement was sent.
    pub bytes_received: u64,
    /// tcpi_segs_out (4.2): segments sent. A GSO packet counts as the number of segments into which
    /// it will be split.
    pub segs_out: u32,
    /// tcpi_segs_in (4.2): segments received.
    pub segs_in: u32,
    /// tcpi_notsent_bytes (4.6): bytes in the send buffer that have not been sent.
    pub notsent_bytes: u32,
    /// tcpi_busy_time (4.10): time in us with data in flight.
    pub busy_time_us: u64,
    /// tcpi_rwnd_limited (4.10): part of the busy time in us that was limited by the receiver's
    /// window.
    pub rwnd_limited_us: u64,
    /// tcpi_sndbuf_limited (4.10): part of the busy time in us that was limited by the send buffer.
    pub sndbuf_limited_us: u64,
    /// tcpi_bytes_sent (4.19): payload bytes sent, including retransmissions.
    pub bytes_sent: u64,
    /// tcpi_bytes_retrans (4.19): payload bytes retransmitted.
    pub bytes_retrans: u64,
}

/// `struct tcp_info` of include/uapi/linux/tcp.h up to the last field that is used here. libc's is
/// incomplete on musl.
#[repr(C)]
#[derive(Default)]
struct RawTcpInfo {
    /// tcpi_state to the bit fields.
    bytes: [u8; 8],
    /// tcpi_rto, tcpi_ato.
    times: [u32; 2],
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    /// tcpi_sacked, lost, retrans, fackets; the four tcpi_last_*; tcpi_pmtu.
    unused_a: [u32; 9],
    rcv_ssthresh: u32,
    rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    /// tcpi_advmss, reordering, rcv_rtt, rcv_space.
    unused_b: [u32; 4],
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    busy_time: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
}

const _: () = assert!(mem::offset_of!(RawTcpInfo, rcv_ssthresh) == 64);
const _: () = assert!(mem::offset_of!(RawTcpInfo, snd_cwnd) == 80);
const _: () = assert!(mem::offset_of!(RawTcpInfo, pacing_rate) == 104);
const _: () = assert!(mem::offset_of!(RawTcpInfo, busy_time) == 168);
const _: () = assert!(mem::offset_of!(RawTcpInfo, bytes_sent) == 200);

/// Reads TCP_INFO with getsockopt(2).
///
/// # Errors
/// - EOPNOTSUPP, ENOPROTOOPT: not a TCP socket.
///
/// # References
/// - [tcp(7)], TCP_INFO
/// - [getsockopt(2)]
/// - `tcp_get_info` in net/ipv4/tcp.c
///
/// [tcp(7)]: https://man7.org/linux/man-pages/man7/tcp.7.html
/// [getsockopt(2)]: https://man7.org/linux/man-pages/man2/getsockopt.2.html
#[doc(alias = "getsockopt")]
#[doc(alias = "TCP_INFO")]
pub fn info(socket: impl AsFd) -> io::Result<TcpInfo> {
    let mut raw = RawTcpInfo::default();
    let mut known = mem::size_of::<RawTcpInfo>() as libc::socklen_t;
    // SAFETY: getsockopt writes at most `known` bytes, the size of `raw`, which lives through the
    // call. Any bytes are a valid RawTcpInfo, which consists of integers.
    let status = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut raw).cast(),
            &raw mut known,
        )
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(from_raw(&raw, known as usize))
}

/// The same from bytes that begin with a `struct tcp_info`, as sock_diag(7) has it in an attribute.
/// Fields missing at the end are 0.
pub(crate) fn info_in(bytes: &[u8]) -> TcpInfo {
    let mut raw = RawTcpInfo::default();
    let known = bytes.len().min(mem::size_of::<RawTcpInfo>());
    // SAFETY: `known` bytes are readable at the one and writable at the other pointer, which do not
    // overlap. Any bytes are a valid RawTcpInfo, which consists of integers.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut raw).cast::<u8>(), known) };
    from_raw(&raw, bytes.len())
}

fn from_raw(raw: &RawTcpInfo, known_bytes: usize) -> TcpInfo {
    TcpInfo {
        known_bytes,
        snd_mss: raw.snd_mss,
        snd_cwnd: raw.snd_cwnd,
        snd_ssthresh: raw.snd_ssthresh,
        total_retrans: raw.total_retrans,
        unacked: raw.unacked,
        rtt_us: raw.rtt,
        min_rtt_us: raw.min_rtt,
        rcv_ssthresh: raw.rcv_ssthresh,
        pacing_rate: raw.pacing_rate,
        bytes_acked: raw.bytes_acked,
        bytes_received: raw.bytes_received,
        segs_out: raw.segs_out,
        segs_in: raw.segs_in,
        notsent_bytes: raw.notsent_bytes,
        busy_time_us: raw.busy_time,
        rwnd_limited_us: raw.rwnd_limited,
        sndbuf_limited_us: raw.sndbuf_limited,
        bytes_sent: raw.bytes_sent,
        bytes_retrans: raw.bytes_retrans,
    }
}

/// Sets the congestion control by name (`cubic`, `reno`, `bbr`) with setsockopt(2), TCP_CONGESTION.
///
/// # Errors
/// - ENOENT: the kernel does not have it.
/// - EPERM: it is not in net.ipv4.tcp_allowed_congestion_control, and the user lacks CAP_NET_ADMIN
///   over the socket's network namespace.
///
/// # References
/// [tcp(7)], TCP_CONGESTION
///
/// [tcp(7)]: https://man7.org/linux/man-pages/man7/tcp.7.html
#[doc(alias = "setsockopt")]
#[doc(alias = "TCP_CONGESTION")]
pub fn set_congestion(socket: impl AsFd, name: &str) -> io::Result<()> {
    Ok(sockopt::set_tcp_congestion(socket, name)?)
}

/// Name of the congestion control by getsockopt(2), TCP_CONGESTION.
///
/// # Errors
/// - EOPNOTSUPP, ENOPROTOOPT: not a TCP socket.
///
/// # References
/// [tcp(7)], TCP_CONGESTION
///
/// [tcp(7)]: https://man7.org/linux/man-pages/man7/tcp.7.html
#[doc(alias = "getsockopt")]
#[doc(alias = "TCP_CONGESTION")]
pub fn congestion(socket: impl AsFd) -> io::Result<String> {
    Ok(sockopt::tcp_congestion(socket)?)
}

/// Sets the size of the send buffer in bytes with setsockopt(2), SO_SNDBUF. The kernel caps it at
/// net.core.wmem_max, doubles it, and disables autotuning.
///
/// # Errors
/// - ENOTSOCK: not a socket.
///
/// # References
/// [socket(7)], SO_SNDBUF
///
/// [socket(7)]: https://man7.org/linux/man-pages/man7/socket.7.html
#[doc(alias = "setsockopt")]
#[doc(alias = "SO_SNDBUF")]
pub fn set_sndbuf(socket: impl AsFd, bytes: usize) -> io::Result<()> {
    Ok(sockopt::set_socket_send_buffer_size(socket, bytes.min(i32::MAX as usize))?)
}

/// Size of the send buffer in bytes by getsockopt(2), SO_SNDBUF, after doubling.
///
/// # Errors
/// - ENOTSOCK: not a socket.
///
/// # References
/// [socket(7)], SO_SNDBUF
///
/// [socket(7)]: https://man7.org/linux/man-pages/man7/socket.7.html
#[doc(alias = "getsockopt")]
#[doc(alias = "SO_SNDBUF")]
pub fn sndbuf(socket: impl AsFd) -> io::Result<usize> {
    Ok(sockopt::socket_send_buffer_size(socket)?)
}

/// Sets the size of the receive buffer in bytes with setsockopt(2), SO_RCVBUF. Same as
/// [`set_sndbuf`], with net.core.rmem_max. Call it before listen(2) or connect(2), which fix the
/// window scale.
///
/// # Errors
/// - ENOTSOCK: not a socket.
///
/// # References
/// - [socket(7)], SO_RCVBUF
/// - [tcp(7)]
///
/// [socket(7)]: https://man7.org/linux/man-pages/man7/socket.7.html
/// [tcp(7)]: https://man7.org/linux/man-pages/man7/tcp.7.html
#[doc(alias = "setsockopt")]
#[doc(alias = "SO_RCVBUF")]
pub fn set_rcvbuf(socket: impl AsFd, bytes: usize) -> io::Result<()> {
    Ok(sockopt::set_socket_recv_buffer_size(socket, bytes.min(i32::MAX as usize))?)
}

/// Size of the receive buffer in bytes by getsockopt(2), SO_RCVBUF, after doubling.
///
/// # Errors
/// - ENOTSOCK: not a socket.
///
/// # References
/// [socket(7)], SO_RCVBUF
///
/// [socket(7)]: https://man7.org/linux/man-pages/man7/socket.7.html
#[doc(alias = "getsockopt")]
#[doc(alias = "SO_RCVBUF")]
pub fn rcvbuf(socket: impl AsFd) -> io::Result<usize> {
    Ok(sockopt::socket_recv_buffer_size(socket)?)
}

/// Sets SO_RCVLOWAT with setsockopt(2): the bytes that must be queued for the socket to be readable.
/// The kernel limits it to half of the receive buffer and makes the buffer large enough. A socket
/// whose window is closing, or that is at its end, is readable with fewer.
///
/// # Errors
/// - ENOTSOCK: not a socket.
///
/// # References
/// - [socket(7)], SO_RCVLOWAT
/// - `tcp_set_rcvlowat` in net/ipv4/tcp.c
///
/// [socket(7)]: https://man7.org/linux/man-pages/man7/socket.7.html
#[doc(alias = "setsockopt")]
#[doc(alias = "SO_RCVLOWAT")]
pub fn set_rcvlowat(socket: impl AsFd, bytes: usize) -> io::Result<()> {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    crate::sockopt::set_int(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}

/// The bytes that must be queued for the socket to be readable, by getsockopt(2), SO_RCVLOWAT.
///
/// # Errors
/// - ENOTSOCK: not a socket.
///
/// # References
/// [socket(7)], SO_RCVLOWAT
///
/// [socket(7)]: https://man7.org/linux/man-pages/man7/socket.7.html
#[doc(alias = "getsockopt")]
#[doc(alias = "SO_RCVLOWAT")]
pub fn rcvlowat(socket: impl AsFd) -> io::Result<usize> {
    let bytes = int_option(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT)?;
    Ok(usize::try_from(bytes).unwrap_or(0))
}

/// Sets TCP_NODELAY with setsockopt(2): sends partial segments at once. Setting it also flushes
/// what a cork or MSG_MORE has held back.
///
/// # Errors
/// - EOPNOTSUPP, ENOPROTOOPT: not a TCP socket.
///
/// # References
/// [tcp(7)], TCP_NODELAY
///
/// [tcp(7)]: https://man7.org/linux/man-pages/man7/tcp.7.html
#[doc(alias = "setsockopt")]
#[doc(alias = "TCP_NODELAY")]
pub fn set_nodelay(socket: impl AsFd, on: bool) -> io::Result<()> {
    Ok(sockopt::set_tcp_nodelay(socket, on)?)
}

/// Sets TCP_CORK with setsockopt(2): holds back partial segments for at most 200 ms.
///
/// # Errors
/// - EOPNOTSUPP, ENOPROTOOPT: not a TCP socket.
///
/// # References
/// [tcp(7)], TCP_CORK
///
/// [tcp(7)]: https://man7.org/linux/man-pages/man7/tcp.7.html
#[doc(alias = "setsockopt")]
#[doc(alias = "TCP_CORK")]
pub fn set_cork(socket: impl AsFd, on: bool) -> io::Result<()> {
    Ok(sockopt::set_tcp_cork(socket, on)?)
}

/// Sets an option of level IPPROTO_TCP whose value is an int: TCP_NODELAY, TCP_CORK ...
/// (include/uapi/linux/tcp.h).
///
/// # Errors
/// ENOPROTOOPT: the kernel has no such option. EINVAL: it takes no such value. EOPNOTSUPP: not a
/// TCP socket.
///
/// # References
/// tcp(7), setsockopt(2).
#[doc(alias = "setsockopt")]
pub fn set_option(socket: impl AsFd, option: i32, value: i32) -> io::Result<()> {
    set_int(socket, libc::IPPROTO_TCP, option, value)
}

/// The value of an option of level IPPROTO_TCP that is an int.
///
/// # Errors
/// Same as for [`set_option`].
///
/// # References
/// tcp(7), getsockopt(2).
#[doc(alias = "getsockopt")]
pub fn option(socket: impl AsFd, option: i32) -> io::Result<i32> {
    int_option(socket, libc::IPPROTO_TCP, option)
}

fn int_option(socket: impl AsFd, level: i32, option: i32) -> io::Result<i32> {
    let mut value = 0;
    let mut len = mem::size_of_val(&value) as libc::socklen_t;
    // SAFETY: getsockopt writes at most `len` bytes, which is the size of the int, and the length;
    // both outlive the call.
    let status = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw mut value).cast::<libc::c_void>(),
            &raw mut len,
        )
    };
    if status == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

/// Sets SO_ZEROCOPY with setsockopt(2), which permits MSG_ZEROCOPY. Without it the kernel ignores
/// that flag.
///
/// # Errors
/// - ENOPROTOOPT: the kernel is older than 4.14.
/// - ENOTSUPP (524): the socket type does not support it.
///
/// # References
/// [Documentation/networking/msg_zerocopy.rst]
///
/// [Documentation/networking/msg_zerocopy.rst]:
///   https://docs.kernel.org/networking/msg_zerocopy.html
#[doc(alias = "setsockopt")]
#[doc(alias = "SO_ZEROCOPY")]
pub fn set_zerocopy(socket: impl AsFd, on: bool) -> io::Result<()> {
    set_int(socket, libc::SOL_SOCKET, libc::SO_ZEROCOPY, libc::c_int::from(on))
}

/// Sets the largest segment of a connection that has not begun (TCP_MAXSEG), in bytes, its options
/// included.
///
/// # Errors
/// - EINVAL: less than 88 or more than 32767 bytes.
///
/// # References
/// [tcp(7)], TCP_MAXSEG
///
/// [tcp(7)]: https://man7.org/linux/man-pages/man7/tcp.7.html
#[doc(alias = "setsockopt")]
#[doc(alias = "TCP_MAXSEG")]
pub fn set_maximum_segment(socket: impl AsFd, bytes: u16) -> io::Result<()> {
    set_int(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, bytes.into())
}

/// Sets the most payload bytes per second that TCP hands down (SO_MAX_PACING_RATE); `None` lifts
/// that limit. Where the device's queueing discipline is not fq, a timer of the socket paces it.
///
/// # Errors
/// Errors of setsockopt(2).
///
/// # References
/// - [socket(7)]
/// - [tc-fq(8)], which describes the option
/// - `tcp_pacing_check` and `tcp_update_skb_after_send` in net/ipv4/tcp_output.c
///
/// [socket(7)]: https://man7.org/linux/man-pages/man7/socket.7.html
/// [tc-fq(8)]: https://man7.org/linux/man-pages/man8/tc-fq.8.html
#[doc(alias = "setsockopt")]
#[doc(alias = "SO_MAX_PACING_RATE")]
pub fn set_max_pacing_rate(socket: impl AsFd, bytes_per_s: Option<u64>) -> io::Result<()> {
    let rate = libc::c_ulong::try_from(bytes_per_s.unwrap_or(u64::MAX)).unwrap_or(!0);
    let value = rate.to_ne_bytes();
    set_bytes(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &value)
}

/// Reads and clears the pending error of a socket with getsockopt(2), SO_ERROR.
///
/// # Errors
/// - ENOTSOCK: not a socket.
///
/// # References
/// [socket(7)], SO_ERROR
///
/// [socket(7)]: https://man7.org/linux/man-pages/man7/socket.7.html
#[doc(alias = "getsockopt")]
#[doc(alias = "SO_ERROR")]
pub fn take_error(socket: impl AsFd) -> io::Result<Option<io::Error>> {
    Ok(sockopt::socket_error(socket)?.err().map(io::Error::from))
}

/// Sends `bytes` with send(2), MSG_NOSIGNAL, and restarts after signals. Returns the number of
/// bytes that the socket took.
///
/// # Errors
/// - EPIPE, ECONNRESET: the peer is gone.
///
/// # References
/// [send(2)]
///
/// [send(2)]: https://man7.org/linux/man-pages/man2/send.2.html
#[doc(alias = "MSG_NOSIGNAL")]
pub fn send(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let socket = socket.as_fd();
    Ok(retry_on_intr(|| rustix::net::send(socket, bytes, SendFlags::NOSIGNAL))?)
}

/// Like [`send`], with MSG_MORE: TCP holds back a partial segment, as with [`set_cork`], until a
/// call without the flag.
///
/// # Errors
/// Same as for [`send`].
///
/// # References
/// [send(2)], MSG_MORE
///
/// [send(2)]: https://man7.org/linux/man-pages/man2/send.2.html
#[doc(alias = "send")]
#[doc(alias = "MSG_MORE")]
pub fn send_more(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let socket = socket.as_fd();
    Ok(retry_on_intr(|| rustix::net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::MORE))?)
}

/// Whether a peer still takes bytes, for those who wait for zero-copy completions.
///
/// Sends that queue up are merged into one completion, which is due with its last byte. So there
/// may be no completion for seconds although bytes flow: a receiver whose window is smaller than a
/// segment gets one segment for each window probe, every 200 ms.
///
/// # References
/// [tcp(7)], TCP_INFO: `tcpi_bytes_acked`
///
/// [tcp(7)]: https://man7.org/linux/man-pages/man7/tcp.7.html
#[doc(alias = "TCP_INFO")]
#[derive(Debug, Default)]
pub struct AckProgress {
    acked_bytes: u64,
}

impl AckProgress {
    /// Whether the peer has acknowledged bytes since the last call; the first call counts from the
    /// beginning of the connection.
    ///
    /// # Errors
    /// Errors of getsockopt(2).
    pub fn advanced(&mut self, socket: impl AsFd) -> io::Result<bool> {
        let acked_bytes = info(socket)?.bytes_acked;
        let before = std::mem::replace(&mut self.acked_bytes, acked_bytes);
        Ok(acked_bytes > before)
    }
}

/// Waits until the peer's kernel has acknowledged all sent bytes, by polling TCP_INFO, or until
/// `at_most` has passed. Returns whether it has.
///
/// An acknowledgement does not imply that the peer's program has read the bytes.
///
/// # Errors
/// The connection's error, if it is broken: the peer has not received everything.
///
/// # References
/// [tcp(7)], TCP_INFO: `tcpi_unacked`, `tcpi_notsent_bytes`
///
/// [tcp(7)]: https://man7.org/linux/man-pages/man7/tcp.7.html
#[doc(alias = "TCP_INFO")]
pub fn wait_acknowledged(socket: impl AsFd, at_most: Duration) -> io::Result<bool> {
    let until_ns =
        monotonic_ns().saturating_add(u64::try_from(at_most.as_nanos()).unwrap_or(u64::MAX));
    // Bounds how late the last acknowledgement is noticed.
    let mut pause_ns = 100_000;
    loop {
        if let Some(error) = take_error(&socket)? {
            return Err(error);
        }
        let info = info(&socket)?;
        if info.unacked == 0 && info.notsent_bytes == 0 {
            return Ok(true);
        }
        let now_ns = monotonic_ns();
        if now_ns >= until_ns {
            return Ok(false);
        }
        sleep_until(until_ns.min(now_ns + pause_ns));
        pause_ns = (2 * pause_ns).min(5_000_000);
    }
}

/// Receives bytes with recv(2), and restarts after signals. Returns their number, 0 at the end of
/// the stream.
///
/// # Errors
/// - ECONNRESET: the peer is gone.
///
/// # References
/// [recv(2)]
///
/// [recv(2)]: https://man7.org/linux/man-pages/man2/recv.2.html
pub fn recv(socket: impl AsFd, into: &mut [u8]) -> io::Result<usize> {
    let socket = socket.as_fd();
    Ok(retry_on_intr(|| {
        rustix::net::recv(socket, &mut *into, RecvFlags::empty()).map(|(len, _)| len)
    })?)
}

/// Removes up to `len` bytes from a TCP socket without copying them, with recv(2), MSG_TRUNC, and
/// restarts after signals. Returns their number.
///
/// # Errors
/// - ECONNRESET: the peer is gone.
///
/// # References
/// - [recv(2)]
/// - [tcp(7)], MSG_TRUNC
///
/// [recv(2)]: https://man7.org/linux/man-pages/man2/recv.2.html
/// [tcp(7)]: https://man7.org/linux/man-pages/man7/tcp.7.html
#[doc(alias = "recv")]
#[doc(alias = "MSG_TRUNC")]
pub fn recv_discard(socket: impl AsFd, len: usize) -> io::Result<usize> {
    let socket = socket.as_fd();
    // SAFETY: with MSG_TRUNC, TCP writes nothing through the pointer. If the socket is not TCP, the
    // kernel's write to the null address fails with EFAULT.
    over_signals(|| unsafe {
        libc::recv(socket.as_raw_fd(), ptr::null_mut(), len, libc::MSG_TRUNC)
    })
}

/// Makes close(2) reset the connection, with setsockopt(2), SO_LINGER with a time of 0.
///
/// # Errors
/// - ENOTSOCK: not a socket.
///
/// # References
/// - [socket(7)], SO_LINGER
/// - [tcp(7)]
///
/// [socket(7)]: https://man7.org/linux/man-pages/man7/socket.7.html
/// [tcp(7)]: https://man7.org/linux/man-pages/man7/tcp.7.html
#[doc(alias = "setsockopt")]
#[doc(alias = "SO_LINGER")]
pub fn set_reset_on_close(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_socket_linger(socket, Some(Duration::ZERO))?)
}

/// A TCP socket bound to a port of the kernel's choice and not yet connected. It gives the port
/// before the first packet leaves.
///
/// # References
/// - [socket(2)]
/// - [bind(2)]
///
/// [socket(2)]: https://man7.org/linux/man-pages/man2/socket.2.html
/// [bind(2)]: https://man7.org/linux/man-pages/man2/bind.2.html
#[doc(alias = "bind")]
#[derive(Debug)]
pub struct Unconnected {
    socket: OwnedFd,
    port: u16,
}

impl AsFd for Unconnected {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Unconnected {
    /// Creates a socket of the address family of `to` with socket(2), and binds it to any address
    /// and a free port with bind(2).
    ///
    /// # Errors
    /// - EMFILE, ENFILE: no file descriptors left.
    /// - EADDRINUSE: no free port.
    /// - EAFNOSUPPORT: the kernel lacks the address family.
    ///
    /// # References
    /// - [socket(2)]
    /// - [bind(2)]
    /// - [getsockname(2)]
    ///
    /// [socket(2)]: https://man7.org/linux/man-pages/man2/socket.2.html
    /// [bind(2)]: https://man7.org/linux/man-pages/man2/bind.2.html
    /// [getsockname(2)]: https://man7.org/linux/man-pages/man2/getsockname.2.html
    #[doc(alias = "socket")]
    #[doc(alias = "bind")]
    #[doc(alias = "getsockname")]
    pub fn bind_towards(to: SocketAddr) -> io::Result<Self> {
        Self::bind_by(None, to)
    }

    /// The same with a socket of another protocol than TCP.
    pub(crate) fn bind_by(protocol: Option<Protocol>, to: SocketAddr) -> io::Result<Self> {
        let any = match to {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
        let socket = rustix::net::socket_with(family_of(to), kind, flags, protocol)?;
        rustix::net::bind(&socket, &any)?;
        let port = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?.port();
        Ok(Self { socket, port })
    }

    /// Source port of the later connection.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Connects with connect(2), within `at_most`.
    ///
    /// # Errors
    /// - ETIMEDOUT: no answer in time.
    /// - ECONNREFUSED, ENETUNREACH and others of connect(2).
    ///
    /// # References
    /// [connect(2)], EINPROGRESS
    ///
    /// [connect(2)]: https://man7.org/linux/man-pages/man2/connect.2.html
    pub fn connect(self, to: SocketAddr, at_most: Duration) -> io::Result<TcpStream> {
        let socket = self.begin_connect(to)?;
        wait_connected(&socket, at_most)?;
        rustix::io::ioctl_fionbio(&socket, false)?;
        Ok(socket)
    }

    /// Begins to connect with connect(2), on a socket that does not block (O_NONBLOCK). The
    /// connection stands, or has failed, once it is writable ([`wait_connected`]).
    ///
    /// # Errors
    /// ECONNREFUSED, ENETUNREACH and others of connect(2), where it knows at once.
    ///
    /// # References
    /// [connect(2)], EINPROGRESS
    ///
    /// [connect(2)]: https://man7.org/linux/man-pages/man2/connect.2.html
    pub fn begin_connect(self, to: SocketAddr) -> io::Result<TcpStream> {
        rustix::io::ioctl_fionbio(&self.socket, true)?;
        match rustix::net::connect(&self.socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(TcpStream::from(self.socket)),
            Err(error) => Err(error.into()),
        }
    }
}

pub(crate) fn family_of(address: SocketAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

/// Begins a connection to `to` with connect(2) on a socket that never blocks (SOCK_NONBLOCK), from
/// the address `source` if one is given and a port of the kernel's choice. The connection stands,
/// or has failed ([`take_error`]), once the socket is writable ([`wait_connected`]).
///
/// With IP_BIND_ADDRESS_NO_PORT, which holds for IPv6 too, the port is chosen at connect(2), where
/// it may be one that another destination uses too. A kernel that lacks it (before 4.2) chooses an
/// unused port at bind(2).
///
/// # Errors
/// - EADDRNOTAVAIL: `source` is no address of this network namespace, or no port is left.
/// - EAFNOSUPPORT: the kernel lacks the address family, or `source` is of another one.
/// - ECONNREFUSED, ENETUNREACH and others of connect(2), where it knows at once.
/// - EMFILE, ENFILE: no file descriptors left.
///
/// # References
/// - [connect(2)], EINPROGRESS
/// - [ip(7)], IP_BIND_ADDRESS_NO_PORT
///
/// [connect(2)]: https://man7.org/linux/man-pages/man2/connect.2.html
/// [ip(7)]: https://man7.org/linux/man-pages/man7/ip.7.html
#[doc(alias = "connect")]
#[doc(alias = "IP_BIND_ADDRESS_NO_PORT")]
pub fn begin_connect(to: SocketAddr, source: Option<SocketAddr>) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family_of(to), SocketType::STREAM, flags, None)?;
    if let Some(source) = source {
        // The default of the kernel serves as well, so an error is ignored.
        let _ = set_int(&socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1);
        rustix::net::bind(&socket, &in_zone_of(source, to))?;
    }
    match rustix::net::connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// The address of `source` with any port; in the zone of `to` if it has none, as a link-local one
/// needs one (ipv6(7)).
fn in_zone_of(source: SocketAddr, to: SocketAddr) -> SocketAddr {
    match (source, to) {
        (SocketAddr::V6(source), SocketAddr::V6(to)) => {
            let zone = if source.scope_id() == 0 { to.scope_id() } else { source.scope_id() };
            SocketAddrV6::new(*source.ip(), 0, 0, zone).into()
        }
        _ => SocketAddr::new(source.ip(), 0),
    }
}

/// Waits with poll(2) until a connection that was begun stands, at most `at_most`.
///
/// # Errors
/// - ETIMEDOUT: no answer in time.
/// - ECONNREFUSED, ENETUNREACH and others of connect(2).
///
/// # References
/// [connect(2)], EINPROGRESS
///
/// [connect(2)]: https://man7.org/linux/man-pages/man2/connect.2.html
#[doc(alias = "poll")]
#[doc(alias = "POLLOUT")]
pub fn wait_connected(socket: impl AsFd, at_most: Duration) -> io::Result<()> {
    if wait(&socket, PollFlags::OUT, Some(at_most))?.is_empty() {
        return Err(Errno::TIMEDOUT.into());
    }
    take_error(&socket)?.map_or(Ok(()), Err)
}

/// Repeats a call that returns a length or -1 until no signal interrupts it.
pub(crate) fn over_signals(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        if let Ok(len) = usize::try_from(call()) {
            return Ok(len);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Waits with poll(2) until a socket is readable (or has a connection to accept), at its end, or
/// broken, or `at_most` has passed. Returns whether it is.
///
/// # Errors
/// - ENOMEM: no kernel memory.
///
/// # References
/// [poll(2)]
///
/// [poll(2)]: https://man7.org/linux/man-pages/man2/poll.2.html
#[doc(alias = "poll")]
#[doc(alias = "POLLIN")]
pub fn wait_readable(socket: impl AsFd, at_most: Duration) -> io::Result<bool> {
    Ok(!wait(socket, PollFlags::IN, Some(at_most))?.is_empty())
}

/// Waits with poll(2), without a limit, until a socket is readable, at its end, or broken.
///
/// # Errors
/// - ENOMEM: no kernel memory.
///
/// # References
/// [poll(2)]
///
/// [poll(2)]: https://man7.org/linux/man-pages/man2/poll.2.html
#[doc(alias = "poll")]
#[doc(alias = "POLLIN")]
pub fn wait_readable_forever(socket: impl AsFd) -> io::Result<()> {
    wait(socket, PollFlags::IN, None).map(drop)
}

/// Waits with poll(2) until the peer of one of two connections sends no more, or one of them is shut
/// down or broken, or `at_most` has passed. Returns which are.
///
/// # Errors
/// - ENOMEM: no kernel memory.
///
/// # References
/// [poll(2)], POLLRDHUP
///
/// [poll(2)]: https://man7.org/linux/man-pages/man2/poll.2.html
#[doc(alias = "poll")]
#[doc(alias = "POLLRDHUP")]
pub fn wait_ends(
    one: impl AsFd,
    other: impl AsFd,
    at_most: Option<Duration>,
) -> io::Result<(bool, bool)> {
    let mut fds = [PollFd::new(&one, PollFlags::RDHUP), PollFd::new(&other, PollFlags::RDHUP)];
    poll_until(&mut fds, at_most)?;
    Ok((!fds[0].revents().is_empty(), !fds[1].revents().is_empty()))
}

/// poll(2) of one descriptor, restarted after signals. POLLERR and POLLHUP always end the wait.
pub(crate) fn wait(
    socket: impl AsFd,
    events: PollFlags,
    at_most: Option<Duration>,
) -> io::Result<PollFlags> {
    let mut fds = [PollFd::new(&socket, events)];
    poll_until(&mut fds, at_most)?;
    Ok(fds[0].revents())
}

/// poll(2), restarted after signals, until one has events or `at_most` has passed.
fn poll_until(fds: &mut [PollFd<'_>], at_most: Option<Duration>) -> io::Result<()> {
    let until_ns = at_most.map(|time| {
        monotonic_ns().saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    });
    loop {
        let left = until_ns.map(|until_ns| {
            let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
            // The seconds of a u64 of nanoseconds fit into any time_t.
            Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos().into() }
        });
        match poll(fds, left.as_ref()) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::testing::connection;

    #[test]
    fn a_peer_advances_with_what_it_acknowledges_and_not_without() {
        let (ours, _theirs) = connection();
        let mut progress = AckProgress::default();
        progress.advanced(&ours).unwrap(); // the handshake counts as a byte
        assert!(!progress.advanced(&ours).unwrap());
        assert_eq!(send(&ours, &[7; 1_000]).unwrap(), 1_000);
        assert!(wait_acknowledged(&ours, Duration::from_secs(20)).unwrap());
        assert!(progress.advanced(&ours).unwrap());
        assert!(!progress.advanced(&ours).unwrap());
    }

    #[test]
    fn what_the_peer_has_no_room_for_is_not_acknowledged() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        assert!(wait_acknowledged(&ours, Duration::ZERO).unwrap());
        set_sndbuf(&ours, 8 << 20).unwrap();
        ours.set_nonblocking(true).unwrap();
        let mut sent = 0;
        while let Ok(bytes) = send(&ours, &[7; 65_536]) {
            sent += bytes;
        }
        assert!(!wait_acknowledged(&ours, Duration::from_millis(2)).unwrap());
        let reader =
            std::thread::spawn(move || std::io::Read::read_exact(&mut theirs, &mut vec![0; sent]));
        assert!(wait_acknowledged(&ours, Duration::from_secs(20)).unwrap());
        reader.join().unwrap().unwrap();
    }

    #[test]
    fn tcp_info_counts_what_was_sent_and_acknowledged() {
        let (mut one, mut other) = connection();
        let before = info(&one).unwrap();
        one.write_all(&[7; 100_000]).unwrap();
        other.read_exact(&mut vec![0; 100_000]).unwrap();
        let after = info(&one).unwrap();
        assert!(after.known_bytes >= 104, "{after:?}");
        assert!(after.snd_mss > 0 && after.snd_cwnd > 0);
        assert!(after.snd_ssthresh > 1, "at least two segments after a loss: {after:?}");
        assert!(info(&other).unwrap().rcv_ssthresh >= after.snd_mss);
        assert!(after.pacing_rate > 0);
        if after.known_bytes >= mem::size_of::<RawTcpInfo>() {
            assert_eq!(
                after.bytes_sent - before.bytes_sent - (after.bytes_retrans - before.bytes_retrans),
                100_000
            );
            assert!(after.segs_out > before.segs_out);
            assert_eq!(info(&other).unwrap().bytes_received, 100_000);
        }
    }

    #[test]
    fn tcp_info_of_something_else_is_an_error() {
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        info(&udp).unwrap_err();
    }

    #[test]
    fn congestion_control_is_set_by_name() {
        let (one, _other) = connection();
        set_congestion(&one, "reno").unwrap();
        assert_eq!(congestion(&one).unwrap(), "reno");
        assert_eq!(
            set_congestion(&one, "nonesuch").unwrap_err().raw_os_error(),
            Some(libc::ENOENT)
        );
    }

    #[test]
    fn buffers_are_doubled_and_absurd_ones_are_capped() {
        let (one, _other) = connection();
        set_sndbuf(&one, 32_768).unwrap();
        assert_eq!(sndbuf(&one).unwrap(), 65_536);
        set_rcvbuf(&one, 32_768).unwrap();
        assert_eq!(rcvbuf(&one).unwrap(), 65_536);
        set_sndbuf(&one, usize::MAX).unwrap();
        assert!(sndbuf(&one).unwrap() > 65_536);
    }

    #[test]
    fn switches_can_be_switched() {
        let (mut one, mut other) = connection();
        set_nodelay(&one, true).unwrap();
        set_cork(&one, true).unwrap();
        set_cork(&one, false).unwrap();
        one.write_all(b"x").unwrap();
        other.read_exact(&mut [0]).unwrap();
    }

    #[test]
    fn options_by_number_are_those_by_name() {
        let (one, _other) = connection();
        for number in [libc::TCP_NODELAY, libc::TCP_CORK] {
            assert_eq!(option(&one, number).unwrap(), 0);
            match number {
                libc::TCP_NODELAY => set_nodelay(&one, true).unwrap(),
                _ => set_cork(&one, true).unwrap(),
            }
            assert_eq!(option(&one, number).unwrap(), 1);
            set_option(&one, number, 0).unwrap();
            assert_eq!(option(&one, number).unwrap(), 0);
        }
        assert_eq!(set_option(&one, 9_999, 1).unwrap_err().raw_os_error(), Some(libc::ENOPROTOOPT));
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(
            set_option(&udp, libc::TCP_NODELAY, 1).is_err()
                && option(&udp, libc::TCP_NODELAY).is_err()
        );
    }

    /// Whether two bytes arrive as one segment. The kernel holds the first one back for at most 200
    /// ms, which may pass here too.
    fn arrive_together(mut send_both: impl FnMut(&TcpStream) -> io::Result<()>) -> bool {
        (0..5).any(|_| {
            let (one, other) = connection();
            send_both(&one).unwrap();
            recv(&other, &mut [0; 8]).unwrap() == 2
        })
    }

    #[test]
    fn a_partial_segment_waits_under_msg_more_and_under_a_cork() {
        assert!(arrive_together(|one| {
            send_more(one, b"a")?;
            send(one, b"b").map(drop)
        }));
        assert!(arrive_together(|one| {
            set_cork(one, true)?;
            send(one, b"a")?;
            send(one, b"b")?;
            set_cork(one, false)
        }));
    }

    #[test]
    fn nodelay_lets_go_of_what_a_cork_or_msg_more_has_held_back() {
        assert!(arrive_together(|one| {
            send_more(one, b"ab")?;
            set_nodelay(one, true)
        }));
        assert!(arrive_together(|one| {
            set_cork(one, true)?;
            send(one, b"ab")?;
            set_nodelay(one, true)
        }));
    }

    #[test]
    fn so_zerocopy_can_be_set_on_tcp_and_not_on_a_file() {
        let (one, _other) = connection();
        set_zerocopy(&one, true).unwrap();
        set_zerocopy(std::fs::File::open("/dev/null").unwrap(), true).unwrap_err();
    }

    #[test]
    fn bytes_are_sent_and_received() {
        let (one, other) = connection();
        assert_eq!(send(&one, b"four").unwrap(), 4);
        let mut got = [0; 8];
        assert_eq!(recv(&other, &mut got).unwrap(), 4);
        assert_eq!(&got[..4], b"four");
        drop(one);
        assert_eq!(recv(&other, &mut got).unwrap(), 0);
    }

    #[test]
    fn discarded_bytes_are_counted_and_gone() {
        let (one, other) = connection();
        send(&one, b"12345678").unwrap();
        assert!(wait_readable(&other, Duration::from_secs(10)).unwrap());
        assert_eq!(recv_discard(&other, 5).unwrap(), 5);
        let mut got = [0; 8];
        assert_eq!(recv(&other, &mut got).unwrap(), 3);
        assert_eq!(&got[..3], b"678");
    }

    #[test]
    fn a_gone_peer_is_an_error_and_no_signal() {
        let (one, other) = connection();
        drop(other);
        let until = std::time::Instant::now() + Duration::from_secs(60);
        let error = loop {
            match send(&one, &[0; 1000]) {
                Ok(_) if std::time::Instant::now() > until => {
                    panic!("a minute later it can still send")
                }
                Ok(_) => std::thread::yield_now(),
                Err(error) => break error,
            }
        };
        assert!(matches!(error.raw_os_error(), Some(libc::EPIPE | libc::ECONNRESET)), "{error}");
    }

    #[test]
    fn fewer_bytes_than_the_low_water_mark_wake_nobody_but_their_end_does() {
        let (one, other) = connection();
        set_rcvlowat(&other, 1000).unwrap();
        assert_eq!(rcvlowat(&other).unwrap(), 1000);
        send(&one, &[0; 999]).unwrap();
        assert!(!wait_readable(&other, Duration::from_millis(20)).unwrap());
        send(&one, &[0; 1]).unwrap();
        assert!(wait_readable(&other, Duration::from_secs(10)).unwrap());
        assert_eq!(recv(&other, &mut [0; 2000]).unwrap(), 1000);
        send(&one, &[0; 1]).unwrap();
        one.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(wait_readable(&other, Duration::from_secs(10)).unwrap());
    }

    #[test]
    fn waiting_for_nothing_ends() {
        let (one, _other) = connection();
        assert!(!wait_readable(&one, Duration::from_millis(1)).unwrap());
    }

    #[test]
    fn a_waiting_error_is_taken_once() {
        let (one, other) = connection();
        assert!(take_error(&one).unwrap().is_none());
        send(&one, b"x").unwrap();
        assert!(wait_readable(&other, Duration::from_secs(10)).unwrap());
        drop(other); // unread bytes: a reset
        assert!(wait_readable(&one, Duration::from_secs(10)).unwrap());
        assert_eq!(take_error(&one).unwrap().unwrap().raw_os_error(), Some(libc::ECONNRESET));
        assert!(take_error(&one).unwrap().is_none());
    }

    #[test]
    fn a_wait_without_limit_ends_when_bytes_arrive() {
        let (one, other) = connection();
        send(&one, b"x").unwrap();
        wait_readable_forever(&other).unwrap();
        assert_eq!(recv(&other, &mut [0; 8]).unwrap(), 1);
    }

    #[test]
    fn the_port_of_an_unconnected_socket_is_that_of_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let socket = Unconnected::bind_towards(to).unwrap();
        let port = socket.port();
        let connection = socket.connect(to, Duration::from_secs(10)).unwrap();
        assert_eq!(listener.accept().unwrap().1.port(), port);
        assert_eq!(connection.local_addr().unwrap().port(), port);
        drop(listener);
        let refused = Unconnected::bind_towards(to).unwrap().connect(to, Duration::from_secs(10));
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::ECONNREFUSED));
    }

    #[test]
    fn a_connection_is_begun_from_an_address_of_ours_and_no_other() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let from: SocketAddr = "127.0.0.9:0".parse().unwrap();
        let socket = begin_connect(to, Some(from)).unwrap();
        let (_theirs, peer) = listener.accept().unwrap();
        assert_eq!(peer.ip(), from.ip());
        wait_connected(&socket, Duration::from_secs(20)).unwrap();
        assert_eq!(recv(&socket, &mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let foreign = begin_connect(to, Some("192.0.2.1:0".parse().unwrap()));
        assert_eq!(foreign.unwrap_err().raw_os_error(), Some(libc::EADDRNOTAVAIL));
        let other_family = begin_connect(to, Some("[::1]:0".parse().unwrap()));
        assert_eq!(other_family.unwrap_err().raw_os_error(), Some(libc::EAFNOSUPPORT));
    }

    #[test]
    fn a_connection_has_segments_and_a_rate_as_small_as_asked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let socket = Unconnected::bind_towards(to).unwrap();
        set_maximum_segment(&socket, 1460).unwrap();
        assert!(set_maximum_segment(&socket, 8).is_err());
        let socket = socket.connect(to, Duration::from_secs(20)).unwrap();
        assert!(info(&socket).unwrap().snd_mss <= 1460);
        assert!(info(&socket).unwrap().pacing_rate > 125_000);
        set_max_pacing_rate(&socket, Some(125_000)).unwrap();
        assert_eq!(info(&socket).unwrap().pacing_rate, 125_000);
        set_max_pacing_rate(&socket, None).unwrap();
    }

    #[test]
    fn a_socket_that_resets_on_close_does_so() {
        let (one, other) = connection();
        set_reset_on_close(&one).unwrap();
        drop(one);
        assert_eq!(recv(&other, &mut [0]).unwrap_err().raw_os_error(), Some(libc::ECONNRESET));
    }
}
