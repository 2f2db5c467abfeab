//! Packets of paced connections as clients of the Internet get them.
//!
//! TCP makes packets of what a connection may send in a millisecond, at least two segments. Since
//! Linux 5.18 it adds the more the shorter the round trip is: 64 KiB below half a millisecond
//! (`tcp_tso_autosize`, net/ipv4/tcp_output.c), which no client behind an access line has. In
//! namespaces of zc's own this is off while there are clients.

use std::fs;

use crate::link::Link;

/// The sysctl of the calling thread's network namespace: log2 of the microseconds by which the
/// addition is halved; 0 adds nothing.
const PATH: &str = "/proc/sys/net/ipv4/tcp_tso_rtt_log";

/// What the sysctl was; it is so again once this is dropped, on the same thread.
#[derive(Debug)]
pub(super) struct SmallPackets {
    before: String,
}

impl SmallPackets {
    /// Switches the addition off, on the side of a link that is zc's own; `None` where the kernel
    /// has no such addition, or the namespace is the host's.
    pub(super) fn on(link: &dyn Link) -> Option<Self> {
        link.namespaces()?;
        let before = fs::read_to_string(PATH).ok()?;
        fs::write(PATH, "0").ok()?;
        Some(Self { before })
    }
}

impl Drop for SmallPackets {
    fn drop(&mut self) {
        let _ = fs::write(PATH, &self.before);
    }
}
