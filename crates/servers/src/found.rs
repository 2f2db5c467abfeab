//! The processes of a server that ran already: who holds the sockets that listen on its port
//! (/proc/net/tcp and /proc/PID/fd), and what descends from these.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use super::nfs::NFS_PORT;
use zc_kernel::clock;
use zc_rig::meter::{kernel_threads, socket_inodes, with_descendants};
use zc_rig::root::{numbered, read};

/// `TCP_LISTEN` of include/net/tcp_states.h, as /proc/net/tcp has it.
const LISTENS: &str = "0A";

/// Programs that hold a port for a server which is elsewhere: it is not known who answers.
const FORWARDERS: [&str; 5] = ["docker-proxy", "rootlessport", "slirp4netns", "pasta", "conmon"];

/// Threads of the kernel that serve NFS. Their sockets belong to no process.
const NFSD: &str = "nfsd";

/// The first process may listen for others, and everything descends from it.
const FIRST: i32 = 1;

/// A server that ran already, by where it listens.
#[derive(Debug, Default)]
pub struct Found {
    listens_at: Vec<SocketAddr>,
    /// Whether it may be the kernel's server of NFS.
    may_be_nfsd: bool,
    pids: Vec<i32>,
}

impl Found {
    /// The server that listens at these addresses of this machine.
    pub fn at(listens_at: &[SocketAddr]) -> Self {
        Self::looked_for(listens_at, false)
    }

    /// The server of NFS at the usual port of this address.
    pub fn of_nfs_at(ip: IpAddr) -> Self {
        Self::looked_for(&[SocketAddr::new(ip, NFS_PORT)], true)
    }

    fn looked_for(listens_at: &[SocketAddr], may_be_nfsd: bool) -> Self {
        let mut own = Self { listens_at: listens_at.to_vec(), may_be_nfsd, pids: Vec::new() };
        own.look();
        own
    }

    /// Whether its processes are known.
    pub fn is_known(&self) -> bool {
        !self.pids.is_empty()
    }

    /// Looks for its processes, which it may have started or ended meanwhile. Reads all of /proc: a
    /// millisecond for some 100 processes. What was known stays where nothing is found.
    pub(super) fn look(&mut self) {
        if self.listens_at.is_empty() {
            return; // it is elsewhere
        }
        let mut pids = holders(&self.listens_at).unwrap_or_default();
        if pids.is_empty() && self.may_be_nfsd {
            pids = kernel_threads(NFSD);
        }
        if !pids.is_empty() {
            self.pids = pids;
        }
    }

    /// CPU time of its processes so far: a system call for each. A process that has ended counts
    /// nothing, so that the sum runs backwards.
    pub(super) fn cpu_ns(&self) -> u64 {
        self.pids.iter().filter_map(|pid| clock::cpu_ns_of_process(*pid).ok()).sum()
    }
}

/// Processes that hold the sockets listening at each of these addresses, with all their
/// descendants. `None` if no holder is seen: for processes of other users that takes root.
fn holders(listens_at: &[SocketAddr]) -> Option<Vec<i32>> {
    let sockets = listening_at(listens_at, &listening())?;
    let (mut holders, mut unseen) = (HashSet::new(), sockets.clone());
    for pid in numbered(Path::new("/"), "proc") {
        let open = socket_inodes(pid).unwrap_or_default();
        for inode in open.iter().filter(|inode| sockets.contains(inode)) {
            unseen.remove(inode);
            if pid != FIRST {
                holders.insert(pid);
            }
        }
    }
    let forwards = |pid: &i32| {
        let name = read(Path::new("/proc"), &format!("{pid}/comm")).unwrap_or_default();
        FORWARDERS.contains(&name.as_str())
    };
    if !unseen.is_empty() || holders.iter().any(forwards) {
        return None;
    }
    Some(with_descendants(&holders.into_iter().collect::<Vec<_>>()))
}

/// The sockets among `listening` that take connections to these addresses. `None` where a port has
/// none: of several addresses of one name, a server may listen at one.
fn listening_at(at: &[SocketAddr], listening: &[(SocketAddr, u32)]) -> Option<HashSet<u32>> {
    let ports: HashSet<u16> = at.iter().map(SocketAddr::port).collect();
    let mut inodes = HashSet::new();
    for port in ports {
        let before = inodes.len();
        let there = at.iter().filter(|at| at.port() == port);
        let of = |at: &SocketAddr| {
            let at = *at;
            listening.iter().filter(move |(socket, _)| takes(*socket, at)).map(|(_, inode)| *inode)
        };
        inodes.extend(there.flat_map(of));
        if inodes.len() == before {
            return None;
        }
    }
    Some(inodes)
}

/// Whether a socket that listens at `socket` takes connections to `at`.
fn takes(socket: SocketAddr, at: SocketAddr) -> bool {
    let ip = socket.ip().to_canonical();
    socket.port() == at.port() && (ip.is_unspecified() || ip == at.ip().to_canonical())
}

/// The sockets of this network namespace that listen, with their inodes.
fn listening() -> Vec<(SocketAddr, u32)> {
    let each = ["thread-self/net/tcp", "thread-self/net/tcp6"].into_iter();
    let text = each.filter_map(|name| read(Path::new("/proc"), name)).collect::<Vec<_>>();
    text.iter().flat_map(|text| text.lines()).filter_map(of_line).collect()
}

/// A line of proc_pid_net(5): its number, the local and the remote address, the state, ..., and as
/// the tenth field the inode.
fn of_line(line: &str) -> Option<(SocketAddr, u32)> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
    let (ip, port) = local.split_once(':')?;
    let ip: IpAddr = match ip.len() {
        8 => Ipv4Addr::from(word(ip)?).into(),
        32 => {
            let mut bytes = [0; 16];
            for (at, to) in bytes.chunks_mut(4).enumerate() {
                to.copy_from_slice(&word(ip.get(8 * at..8 * at + 8)?)?);
            }
            Ipv6Addr::from(bytes).into()
        }
        _ => return None,
    };
    let at = SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?);
    (*state == LISTENS).then_some((at, inode.parse().ok()?))
}

/// Four bytes that were printed as a number of this machine's order.
fn word(hexadecimal: &str) -> Option<[u8; 4]> {
    Some(u32::from_str_radix(hexadecimal, 16).ok()?.to_ne_bytes())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn sockets_that_listen_are_read_with_their_addresses_and_inodes() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 \
                    0        0 4711 1 0000000000000000 100 0 0 10 0";
        if cfg!(target_endian = "little") {
            assert_eq!(of_line(line), Some(("127.0.0.1:8080".parse().unwrap(), 4711)));
            let six = line.replace("0100007F", "00000000000000000000000001000000");
            assert_eq!(of_line(&six), Some(("[::1]:8080".parse().unwrap(), 4711)));
        }
        assert_eq!(of_line(&line.replace(" 0A ", " 01 ")), None, "a connection");
        assert_eq!(of_line("  sl  local_address rem_address   st tx_queue rx_queue"), None);
    }

    #[test]
    fn a_socket_of_all_addresses_takes_connections_to_each() {
        let takes = |socket: &str, at: &str| takes(socket.parse().unwrap(), at.parse().unwrap());
        for socket in ["0.0.0.0:80", "[::]:80", "10.0.0.1:80", "[::ffff:10.0.0.1]:80"] {
            assert!(takes(socket, "10.0.0.1:80"), "{socket}");
        }
        assert!(!takes("10.0.0.2:80", "10.0.0.1:80") && !takes("0.0.0.0:81", "10.0.0.1:80"));
    }

    #[test]
    fn each_port_has_a_socket_at_one_of_its_addresses() {
        let of = |text: &str| text.parse::<SocketAddr>().unwrap();
        let listening = [(of("127.0.0.1:80"), 1), (of("0.0.0.0:81"), 2), (of("0.0.0.0:82"), 3)];
        let found = |at: &[&str]| {
            let at: Vec<SocketAddr> = at.iter().map(|at| of(at)).collect();
            let mut found: Vec<u32> = listening_at(&at, &listening)?.into_iter().collect();
            found.sort_unstable();
            Some(found)
        };
        assert_eq!(found(&["[::1]:80", "127.0.0.1:80", "127.0.0.1:81"]), Some(vec![1, 2]));
        assert_eq!(found(&["[::1]:80", "127.0.0.1:81"]), None);
    }

    #[test]
    fn who_holds_a_socket_is_found_with_its_clock_and_nobody_else_is() {
        // One that has no parent any more: what descends from zc is never a server that ran
        // already. It has the socket as file 3, as the shell takes the standard input away from it.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let script = "exec 3<&0; sh -c 'echo $$; exec >&- 2>&-; while :; do :; done' &";
        let output = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(listener)))
            .output()
            .unwrap();
        let pid: i32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        let (mut found, elsewhere) =
            (Found::at(&[at]), Found::at(&["127.0.0.1:1".parse().unwrap()]));
        let first = found.cpu_ns();
        std::thread::sleep(std::time::Duration::from_millis(50));
        found.look();
        let (pids, later) = (found.pids.clone(), found.cpu_ns());
        zc_kernel::spawn::kill(pid, signal_hook::consts::SIGKILL).unwrap();
        assert_eq!(pids, [pid]);
        assert!(later > first, "{first} {later}");
        assert!(!elsewhere.is_known());
    }
}
