//! The packets that TCP got in a network namespace, and the segments of all packets of IP there,
//! from /proc/net, which every user may read.
//!
//! A packet that GRO has merged is one packet to TCP: `tcp_v4_rcv` (net/ipv4/tcp_ipv4.c) and
//! `tcp_v6_rcv` (net/ipv6/tcp_ipv6.c) add 1 to `Tcp: InSegs` of /proc/net/snmp. To IP it is as many
//! as it has segments: `ip_rcv_core` (net/ipv4/ip_input.c) and `ip6_rcv_core`
//! (net/ipv6/ip6_input.c) add `gso_segs` to a counter for each value of the ECN bits, in
//! /proc/net/netstat and snmp6.

use std::fs::File;

use crate::proc_file::whole;

/// Open files of a network namespace. They stay those of the namespace in which they were opened,
/// whoever reads them.
#[derive(Debug)]
pub struct TcpPackets {
    snmp: File,
    /// The segments of all packets, where others may receive, too.
    all: Option<AllSegments>,
}

#[derive(Debug)]
struct AllSegments {
    netstat: File,
    /// `None`: a kernel without IPv6.
    snmp6: Option<File>,
}

/// What was counted so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpCounts {
    /// Packets that TCP got, each once.
    pub packets: u64,
    /// Segments of all packets of IP; `None` where nobody else receives.
    pub all_segments: Option<u64>,
}

impl TcpPackets {
    /// Those of the calling thread's network namespace, in which others may receive, too. `None`
    /// where they are not shown.
    pub fn shared() -> Option<Self> {
        let all = AllSegments { netstat: open("netstat")?, snmp6: open("snmp6") };
        Some(Self { snmp: open("snmp")?, all: Some(all) })
    }

    /// The same where nobody else does.
    pub(super) fn own() -> Option<Self> {
        Some(Self { snmp: open("snmp")?, all: None })
    }

    /// Reads them; `None` where that fails.
    pub fn read(&self) -> Option<TcpCounts> {
        let packets = column(&text(&self.snmp)?, "Tcp:", "InSegs")?;
        let all_segments = match &self.all {
            None => None,
            Some(AllSegments { netstat, snmp6 }) => {
                let of_version_4 = by_ecn(&text(netstat)?)?;
                let of_version_6 = match snmp6 {
                    Some(snmp6) => by_ecn_of_version_6(&text(snmp6)?)?,
                    None => 0,
                };
                Some(of_version_4.saturating_add(of_version_6))
            }
        };
        Some(TcpCounts { packets, all_segments })
    }
}

/// Not of /proc/net, which belongs to the process's first thread.
fn open(name: &str) -> Option<File> {
    File::open(format!("/proc/thread-self/net/{name}")).ok()
}

fn text(file: &File) -> Option<String> {
    let mut buffer = vec![0; 16 << 10];
    Some(str::from_utf8(whole(file, &mut buffer).ok()?).ok()?.to_owned())
}

/// The value below `name`. Both stand in lines that begin with `group`: names in the first, values
/// in the second (proc_pid_net(5)).
fn column(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_ascii_whitespace().position(|each| each == name)?;
    values.split_ascii_whitespace().nth(place)?.parse().ok()
}

/// Counters of packets by the ECN bits of their headers.
const BY_ECN: [&str; 4] = ["InNoECTPkts", "InECT1Pkts", "InECT0Pkts", "InCEPkts"];

fn by_ecn(netstat: &str) -> Option<u64> {
    BY_ECN.iter().map(|name| column(netstat, "IpExt:", name)).sum()
}

/// `Ip6InNoECTPkts                  7513`
fn by_ecn_of_version_6(snmp6: &str) -> Option<u64> {
    let value = |name: &&str| {
        let lines = snmp6.lines().filter_map(|line| line.strip_prefix("Ip6")?.strip_prefix(name));
        lines.map(str::trim).find_map(|value| value.parse::<u64>().ok())
    };
    BY_ECN.iter().map(value).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str = "\
Ip: Forwarding DefaultTTL InReceives
Ip: 2 64 105697569
Tcp: RtoAlgorithm MaxConn InSegs OutSegs
Tcp: 1 -1 74642247 95318167
";
    const NETSTAT: &str = "\
TcpExt: SyncookiesSent InSegs
TcpExt: 7 8
IpExt: InNoRoutes InNoECTPkts InECT1Pkts InECT0Pkts InCEPkts ReasmOverlaps
IpExt: 5 1000 200 30 4 5
";
    const SNMP6: &str = "\
Ip6InReceives                   \t7257
Ip6InNoECTPkts                  \t7513
Ip6InECT1Pkts                   \t0
Ip6InECT0Pkts                   \t20
Ip6InCEPkts                     \t1
";

    #[test]
    fn values_stand_below_their_names() {
        assert_eq!(column(SNMP, "Tcp:", "InSegs"), Some(74_642_247));
        assert_eq!(by_ecn(NETSTAT), Some(1234));
        assert_eq!(by_ecn_of_version_6(SNMP6), Some(7534));
    }

    #[test]
    fn what_is_not_there_is_unknown() {
        assert_eq!(column(SNMP, "Tcp:", "InErrs"), None);
        assert_eq!(column("Tcp: InSegs\n", "Tcp:", "InSegs"), None);
        assert_eq!(column("Tcp: A InSegs\nTcp: 1\n", "Tcp:", "InSegs"), None);
        assert_eq!(by_ecn(SNMP), None);
        assert_eq!(by_ecn_of_version_6("Ip6InNoECTPkts 1\nIp6InECT1Pkts -\n"), None);
    }

    #[test]
    fn the_kernel_s_own_files_have_them_and_they_grow() {
        let Some(packets) = TcpPackets::shared() else {
            eprintln!("skipped: /proc/thread-self/net is not shown");
            return;
        };
        let before = packets.read().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let _socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let after = packets.read().unwrap();
        // The three of the handshake.
        assert!(after.packets >= before.packets + 3, "{before:?} {after:?}");
        assert!(after.all_segments >= before.all_segments.map(|count| count + 3), "{after:?}");
    }
}
