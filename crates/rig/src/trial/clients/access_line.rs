//! Sockets and packets of paced connections as clients of the Internet have them, although the link
//! has hardly a round trip. In namespaces of zc's own, while there are clients:
//!
//! - The initial congestion window is the kernel's, of 10 packets. With zc's wide one (see the link
//!   `veth`) a send buffer would grow to 4 MiB at once, and a window would only show how it fills.
//! - Packets are of what a connection may send in a millisecond, at least two segments. Since Linux
//!   5.18 TCP adds the more the shorter the round trip is: 64 KiB below half a millisecond
//!   (`tcp_tso_autosize`, net/ipv4/tcp_output.c).

use std::fs;

use crate::link::Link;

/// The sysctl of the calling thread's network namespace: log2 of the microseconds by which the
/// addition to a packet is halved; 0 adds nothing.
const RTT_LOG: &str = "/proc/sys/net/ipv4/tcp_tso_rtt_log";

/// A link whose sender's side is so; it is as before once this is dropped, on the same thread.
pub(super) struct AccessLine<'a> {
    link: &'a dyn Link,
    rtt_log: Option<String>,
}

impl<'a> AccessLine<'a> {
    /// Makes it so, where the namespace is zc's own.
    pub(super) fn on(link: &'a dyn Link) -> Option<Self> {
        link.namespaces()?;
        link.use_wide_window(false);
        let rtt_log = fs::read_to_string(RTT_LOG).ok();
        let rtt_log = rtt_log.filter(|_| fs::write(RTT_LOG, "0").is_ok());
        Some(Self { link, rtt_log })
    }
}

impl Drop for AccessLine<'_> {
    fn drop(&mut self) {
        self.link.use_wide_window(true);
        if let Some(before) = &self.rtt_log {
            let _ = fs::write(RTT_LOG, before);
        }
    }
}
