//! TCP traffic of a service's sockets, beside all of its network namespace.
//!
//! The counters of a socket are gone when it is closed, and its segments remain in those of the
//! namespace (/proc/PID/net/snmp). So how much of the namespace's segments the open sockets account
//! for says how far their counters go.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;

use crate::root::read;
use zc_kernel::clock;
use zc_kernel::inet_diag::{TcpSocket, tcp_sockets};
use zc_kernel::netns::NetNs;
use zc_run::{Error, Result, Span, TcpSpan, in_words};

/// The network namespace of a service.
#[derive(Debug)]
pub struct Network {
    /// `None` if it is that of zc.
    apart: Option<NetNs>,
}

/// Its counters at one moment.
#[derive(Debug, Clone)]
pub struct NetReading {
    at_ns: u64,
    /// The open sockets, by cookie, and whether each is the service's; why they are not known.
    sockets: std::result::Result<HashMap<u64, (TcpSocket, bool)>, String>,
    /// Segments and datagrams of the namespace.
    all: Option<(u64, u64)>,
    /// Bytes that its interfaces sent.
    sent_bytes: Option<u64>,
}

impl Network {
    /// The network namespace of a process.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn for_process(pid: i32) -> Result<Self> {
        let place = |who: &str| std::fs::read_link(format!("/proc/{who}/ns/net"));
        let own = place("self").map_err(|error| Error::os("read /proc/self/ns/net", error))?;
        let its = place(&pid.to_string());
        let unseen = |error: &std::io::Error| {
            let why = in_words(error);
            Error::unsupported(
                "namespace-unreadable",
                format!("the network namespace of process {pid} is not seen: {why}"),
            )
        };
        if its.map_err(|error| unseen(&error))? == own {
            return Ok(Self { apart: None });
        }
        let namespace = NetNs::open(Path::new(&format!("/proc/{pid}/ns/net")));
        Ok(Self { apart: Some(namespace.map_err(|error| unseen(&error))?) })
    }

    /// Reads the counters; `pids` are the processes of the service.
    pub fn read(&self, pids: &[i32]) -> NetReading {
        let sockets = inodes(pids).and_then(|own| {
            let sockets = self.sockets().map_err(|error| in_words(&error))?;
            let mark = |socket: TcpSocket| (socket.cookie, (socket, own.contains(&socket.inode)));
            Ok(sockets.into_iter().map(mark).collect())
        });
        let (snmp, devices) = (net_file(pids, "snmp"), net_file(pids, "dev"));
        NetReading {
            at_ns: clock::monotonic_ns(),
            sockets,
            all: snmp.and_then(|text| segments_and_datagrams(&text)),
            sent_bytes: devices.and_then(|text| sent_bytes(&text)),
        }
    }

    /// Bytes that the namespace's interfaces sent so far, and when they were read; `pids` are the
    /// processes of the service. `None` if no process of it can be looked at.
    pub fn sent_bytes(&self, pids: &[i32]) -> Option<(u64, u64)> {
        let devices = net_file(pids, "dev")?;
        Some((clock::monotonic_ns(), sent_bytes(&devices)?))
    }

    fn sockets(&self) -> std::io::Result<Vec<TcpSocket>> {
        match &self.apart {
            Some(namespace) => namespace.inside(tcp_sockets),
            None => tcp_sockets(),
        }
    }
}

impl NetReading {
    /// TCP, and the bytes that the interfaces sent, since `before`.
    pub fn since(&self, before: &Self) -> (Option<TcpSpan>, Option<Span>) {
        let elapsed_ns = self.at_ns.saturating_sub(before.at_ns);
        let interfaces = self
            .sent_bytes
            .zip(before.sent_bytes)
            .map(|(after, before)| Span { elapsed_ns, count: after.saturating_sub(before) });
        (self.tcp_since(before, elapsed_ns), interfaces)
    }

    fn tcp_since(&self, before: &Self, elapsed_ns: u64) -> Option<TcpSpan> {
        let (now, then) = (self.sockets.as_ref().ok()?, before.sockets.as_ref().ok()?);
        let ((segments, datagrams), (segments_then, datagrams_then)) = (self.all?, before.all?);
        let mut span = TcpSpan {
            elapsed_ns,
            all_segments: segments.saturating_sub(segments_then),
            datagrams: datagrams.saturating_sub(datagrams_then),
            ..TcpSpan::default()
        };
        for (cookie, (socket, is_own)) in now {
            // One that was opened meanwhile counts from its beginning.
            let old = then.get(cookie).map(|(socket, _)| socket.info).unwrap_or_default();
            let segments = u64::from(socket.info.segs_in.wrapping_sub(old.segs_in))
                + u64::from(socket.info.segs_out.wrapping_sub(old.segs_out));
            span.open_segments += segments;
            if *is_own {
                span.own_segments += segments;
                span.own_bytes += socket.info.bytes_sent.saturating_sub(old.bytes_sent);
            }
        }
        Some(span)
    }

    /// Why the sockets are not known.
    pub fn no_sockets(&self) -> Option<&str> {
        self.sockets.as_ref().err().map(String::as_str)
    }
}

/// The inodes of the sockets that these processes have open.
fn inodes(pids: &[i32]) -> std::result::Result<HashSet<u32>, String> {
    let mut found = HashSet::new();
    for pid in pids {
        match socket_inodes(*pid) {
            Ok(inodes) => found.extend(inodes),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Err(format!("the files of process {pid} are not seen without root"));
            }
            Err(_) => {} // it has just ended
        }
    }
    Ok(found)
}

/// The inodes of the sockets that a process has open: proc_pid_fd(5).
///
/// # Errors
/// EACCES: its files are not seen without root. ENOENT: it has ended.
pub fn socket_inodes(pid: i32) -> std::io::Result<Vec<u32>> {
    let inode = |file: std::fs::DirEntry| {
        let to = std::fs::read_link(file.path()).ok()?;
        to.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    Ok(std::fs::read_dir(format!("/proc/{pid}/fd"))?.flatten().filter_map(inode).collect())
}

/// A file of /proc/PID/net: that of the first process which can be looked at.
fn net_file(pids: &[i32], name: &str) -> Option<String> {
    let of = |pid: &i32| read(Path::new("/proc"), &format!("{pid}/net/{name}"));
    pids.iter().find_map(of)
}

/// Segments of TCP and datagrams of UDP, sent and received: pairs of lines, names and values.
fn segments_and_datagrams(snmp: &str) -> Option<(u64, u64)> {
    let sum = |protocol: &str, names: [&str; 2]| {
        let mut lines = snmp.lines().filter(|line| line.starts_with(protocol));
        let (heads, values) = (lines.next()?, lines.next()?);
        let of = |name: &str| {
            let place = heads.split(' ').position(|head| head == name)?;
            values.split(' ').nth(place)?.parse::<u64>().ok()
        };
        Some(of(names[0])? + of(names[1])?)
    };
    Some((
        sum("Tcp:", ["InSegs", "OutSegs"])?,
        sum("Udp:", ["InDatagrams", "OutDatagrams"]).unwrap_or(0),
    ))
}

/// Bytes sent, the ninth number of each line of /proc/net/dev.
fn sent_bytes(devices: &str) -> Option<u64> {
    let numbers = devices.lines().filter_map(|line| line.split_once(':'));
    let mut each = numbers.map(|(_, numbers)| {
        numbers.split_ascii_whitespace().nth(8).and_then(|bytes| bytes.parse::<u64>().ok())
    });
    each.try_fold(0_u64, |sum, bytes| Some(sum + bytes?)).filter(|_| !devices.is_empty())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_a_socket_of_this_process_sends_is_its_own() {
        let pids = [std::process::id() as i32];
        let network = Network::for_process(pids[0]).unwrap();
        assert!(network.apart.is_none());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut old = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        let before = network.read(&pids);
        if let Some(why) = before.no_sockets() {
            return eprintln!("skipped: {why}");
        }
        old.write_all(&[1; 70_000]).unwrap();
        far.read_exact(&mut [0; 70_000]).unwrap();
        let mut new = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        new.write_all(&[1; 5000]).unwrap();
        listener.accept().unwrap().0.read_exact(&mut [0; 5000]).unwrap();
        let (tcp, interfaces) = network.read(&pids).since(&before);
        let tcp = tcp.unwrap();
        assert!(tcp.own_bytes >= 75_000, "{tcp:?}");
        assert!(tcp.own_segments >= 4 && tcp.own_segments <= tcp.open_segments, "{tcp:?}");
        assert!(tcp.all_segments > 0 && interfaces.unwrap().count >= 75_000, "{tcp:?}");
        // Another process has none of them.
        let mut sleeper = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let others = network.read(&[sleeper.id() as i32]).since(&before).0;
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        let others = others.unwrap();
        assert!(others.own_bytes == 0 && others.open_segments > 0, "{others:?}");
    }

    #[test]
    fn counters_are_read_by_their_names() {
        let snmp = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm InSegs OutSegs InErrs\n\
                    Tcp: 1 70 30 0\nUdp: InDatagrams NoPorts InErrors OutDatagrams\nUdp: 5 0 0 6\n";
        assert_eq!(segments_and_datagrams(snmp), Some((100, 11)));
        assert_eq!(segments_and_datagrams("Tcp: InSegs\n"), None);
        let dev = "Inter-|   Receive |  Transmit\n face |bytes packets|bytes\n    lo: 1 2 0 0 0 0 \
                   0 0 300 4 0 0 0 0 0 0\n  eth0:1 2 0 0 0 0 0 0 40 4 0 0 0 0 0 0\n";
        assert_eq!(sent_bytes(dev), Some(340));
        assert_eq!(sent_bytes(""), None);
        assert_eq!(sent_bytes("lo: 1 2"), None);
    }
}
