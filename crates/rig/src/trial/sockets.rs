//! Reads the parameters of a trial's sockets, by getsockopt(2), and checks them against the
//! requested ones.
//!
//! A socket option that was set may be cut (net.core.wmem_max), and the parameters of a socket may
//! be chosen by others: by a route (`congctl` of ip-route(8), which replaces what was set before
//! connect(2)) or by a BPF program of the cgroup. A cost is reported as that of the requested
//! parameters, so a trial whose sockets use others does not run.

use std::collections::BTreeSet;
use std::os::fd::AsFd;

use super::connection::Connection;
use zc_kernel::tcp;
use zc_run::units::size_text;
use zc_run::{FixedParams, ReceiverSocket, SocketFacts, Unavailable};

/// TCP_INFINITE_SSTHRESH (include/net/tcp.h).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// Current parameters of the flows' sockets: of all `senders`, and of the first one's `receiver`,
/// where it is on this machine. `None` where the kernel does not say.
pub(super) fn facts(senders: &[&Connection], receiver: Option<&Connection>) -> Option<SocketFacts> {
    let first = senders.first()?;
    let names = senders.iter().map(|socket| tcp::congestion(socket).ok());
    let names: BTreeSet<String> = names.collect::<Option<_>>()?;
    let info = tcp::info(first).ok()?;
    let receiver = receiver.and_then(receiver_facts);
    Some(SocketFacts {
        congestion: names.into_iter().collect::<Vec<_>>().join(", "),
        pacing_bytes_per_s: Some(info.pacing_rate).filter(|rate| *rate != u64::MAX),
        snd_ssthresh_packets: Some(info.snd_ssthresh).filter(|packets| *packets < NO_THRESHOLD),
        sndbuf_bytes: tcp::sndbuf(first).ok()?,
        rcvbuf_bytes: receiver.map(|receiver| receiver.rcvbuf_bytes),
        rcv_ssthresh_bytes: receiver.map(|receiver| receiver.rcv_ssthresh_bytes),
    })
}

/// Current parameters of a socket that receives. `None` where the kernel does not say.
pub(super) fn receiver_facts(socket: &Connection) -> Option<ReceiverSocket> {
    Some(ReceiverSocket {
        rcvbuf_bytes: tcp::rcvbuf(socket).ok()?,
        rcv_ssthresh_bytes: tcp::info(socket).ok()?.rcv_ssthresh,
    })
}

/// Checks that sockets use what was asked for: the `congestion` control that the run sets or that a
/// state of the host names, and the buffers.
///
/// # Errors
/// They use something else.
pub(super) fn check(
    found: &SocketFacts,
    congestion: Option<&str>,
    fixed: &FixedParams,
) -> Result<(), Unavailable> {
    let used = found.congestion.as_str();
    if let Some(asked) = congestion.filter(|asked| *asked != used) {
        return Err(Unavailable::refused(format!(
            "its sockets use congestion control \"{used}\", and \"{asked}\" was asked for"
        ))
        .remedy(
            "a route (ip route: congctl) or a BPF program of the cgroup chooses it; --congestion \
             unset takes what they choose",
        ));
    }
    SNDBUF.check(Some(found.sndbuf_bytes), fixed.sndbuf_bytes, "")?;
    RCVBUF.check(found.rcvbuf_bytes, fixed.rcvbuf_bytes, "")
}

/// Checks that a socket which receives what another machine sends has the SO_RCVBUF that it asked
/// for.
///
/// # Errors
/// It has less.
pub fn check_far_rcvbuf(socket: impl AsFd, asked: Option<usize>) -> Result<(), Unavailable> {
    RCVBUF.check(tcp::rcvbuf(socket).ok(), asked, " at the far end")
}

/// A buffer of sockets.
struct Buffer {
    option: &'static str,
    limit: &'static str,
}

const SNDBUF: Buffer = Buffer { option: "SO_SNDBUF", limit: "net.core.wmem_max" };
const RCVBUF: Buffer = Buffer { option: "SO_RCVBUF", limit: "net.core.rmem_max" };

impl Buffer {
    /// Checks that sockets have what was asked for. `place` is where they are, if not here.
    fn check(
        &self,
        used: Option<usize>,
        asked: Option<usize>,
        place: &str,
    ) -> Result<(), Unavailable> {
        let Self { option, limit } = self;
        // The kernel doubles what was asked for (socket(7)).
        let cut = used.map(|used| used / 2).zip(asked).filter(|(used, asked)| used < asked);
        let Some((used, asked)) = cut else { return Ok(()) };
        let [used, asked] = [used, asked].map(|bytes| size_text(bytes as u64));
        Err(Unavailable::refused(format!(
            "{option} of {asked} was asked for, and its sockets{place} have {used}, the most that \
             {limit} allows"
        ))
        .remedy(format!("as root{place}: sysctl -w {limit}=BYTES")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::fixed;
    use super::*;

    fn found() -> SocketFacts {
        SocketFacts {
            congestion: "reno".to_owned(),
            pacing_bytes_per_s: None,
            snd_ssthresh_packets: None,
            sndbuf_bytes: 131_072,
            rcvbuf_bytes: None,
            rcv_ssthresh_bytes: None,
        }
    }

    #[test]
    fn sockets_that_use_what_was_asked_for_are_fit() {
        let asked = FixedParams { sndbuf_bytes: Some(65_536), ..fixed() };
        assert_eq!(check(&found(), Some("reno"), &asked), Ok(()));
        assert_eq!(check(&found(), None, &fixed()), Ok(()));
        // Of another machine's receiver nothing is known, and the kernel raises what is too small.
        let asked = FixedParams { rcvbuf_bytes: Some(1 << 30), sndbuf_bytes: Some(1), ..fixed() };
        assert_eq!(check(&found(), None, &asked), Ok(()));
    }

    #[test]
    fn another_congestion_control_and_a_buffer_that_was_cut_are_told() {
        let no = check(&found(), Some("cubic"), &fixed()).unwrap_err();
        assert!(no.reason.contains("use congestion control \"reno\", and \"cubic\" was asked"));
        let two = SocketFacts { congestion: "bbr, cubic".to_owned(), ..found() };
        check(&two, Some("cubic"), &fixed()).unwrap_err();
        let asked = FixedParams { sndbuf_bytes: Some(1 << 20), ..fixed() };
        let no = check(&found(), None, &asked).unwrap_err();
        assert!(no.reason.starts_with("SO_SNDBUF of 1m was asked for, and its sockets have 64k"));
        assert!(no.remedy.unwrap().contains("net.core.wmem_max"));
        let found = SocketFacts { rcvbuf_bytes: Some(65_536), ..found() };
        let asked = FixedParams { rcvbuf_bytes: Some(65_536), ..fixed() };
        assert!(check(&found, None, &asked).unwrap_err().reason.contains("SO_RCVBUF of 64k"));
    }
}
