//! The environment of a measurement, which can change while it runs: packet sniffers, another zc,
//! CPUs that share a core, the CPU quota of this cgroup. Read here, judged in `checks`.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};

use super::host::cpu_list;
use super::others::soaked_by_others;
use crate::root::read;

/// Facts about the environment of a run.
#[derive(Debug, Default)]
pub struct Environment {
    /// The CPUs that share a core with the sender's, itself included.
    pub siblings_of_sender: Vec<usize>,
    /// CPUs that this process's cgroup may use; `None` is no limit.
    pub cpu_quota: Option<f64>,
    /// Whether another zc measures on this host.
    pub another_zc: bool,
    /// Packet sockets that get a copy of all packets of the link's device; `None` when they cannot
    /// be counted.
    pub sniffers: Option<usize>,
    /// The congestion control of sockets that ask for none.
    pub congestion: Option<String>,
}

impl Environment {
    /// Reads the environment. Sniffers and the congestion control are those of the network
    /// namespace of the calling thread, so it must be a thread that has entered the sender's side.
    pub fn read(device: &str, sender_cpu: usize, another_zc: bool) -> Self {
        let root = Path::new("/");
        Self {
            siblings_of_sender: siblings(root, sender_cpu),
            cpu_quota: cpu_quota(root),
            another_zc,
            sniffers: sniffers(device),
            congestion: read(root, "proc/sys/net/ipv4/tcp_congestion_control")
                .map(|text| text.trim().to_owned()),
        }
    }
}

/// Whether this is the only zc that measures: a name in the abstract namespace of unix sockets. One
/// process at a time can have it, every user can see it, and it disappears with the process
/// (unix(7), "abstract"). It belongs to the network namespace, so it is claimed before a namespace
/// is entered. A zc in another one is known by its soakers.
#[derive(Debug)]
pub enum InstanceLock {
    /// It is, for as long as this value lives.
    Yes(UnixDatagram),
    /// Another process has the name.
    Unavailable,
    /// It could not be determined.
    Unknown,
}

impl InstanceLock {
    /// Whether another zc measures on this host: in this network namespace, or seen in /proc. If
    /// the far end is on this host, `far_end` are the CPUs that it soaks, and it is not another
    /// one.
    pub fn sees_another(&self, far_end: &[usize]) -> bool {
        matches!(self, Self::Unavailable)
            || soaked_by_others(Path::new("/")).iter().any(|cpus| cpus != far_end)
    }

    /// Claims the name that all zc claim.
    pub fn claim() -> Self {
        Self::claim_name(b"zc-measures")
    }

    fn claim_name(name: &[u8]) -> Self {
        match SocketAddr::from_abstract_name(name)
            .and_then(|address| UnixDatagram::bind_addr(&address))
        {
            Ok(socket) => Self::Yes(socket),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Self::Unavailable,
            Err(_) => Self::Unknown,
        }
    }
}

fn siblings(root: &Path, cpu: usize) -> Vec<usize> {
    let list =
        read(root, &format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"));
    list.map_or_else(|| vec![cpu], |list| cpu_list(&list))
}

/// Packet sockets of this thread's network namespace that get every packet of `device`; `None` when
/// they cannot be counted. For each of them the kernel clones every packet, and copies what was
/// sent without copying.
pub fn sniffers(device: &str) -> Option<usize> {
    let index =
        zc_kernel::netlink::Devices::open().and_then(|devices| devices.find(device)).ok()?.index;
    // Not /proc/net, which belongs to the process's first thread.
    let text = std::fs::read_to_string("/proc/thread-self/net/packet").ok()?;
    Some(sniffers_in(&text, index))
}

/// Lines of /proc/net/packet for protocol 0003 (ETH_P_ALL) on the device `index` or on all of them
/// (0); packet(7), net/packet/af_packet.c.
fn sniffers_in(text: &str, index: u32) -> usize {
    let takes_all = |line: &str| {
        let mut fields = line.split_whitespace().skip(3);
        let (protocol, device) = (fields.next()?, fields.next()?.parse::<u32>().ok()?);
        Some(protocol == "0003" && (device == 0 || device == index))
    };
    text.lines().filter(|line| takes_all(line) == Some(true)).count()
}

/// The CPUs that this process's cgroup may use, if these are fewer than `soaked`.
pub(super) fn quota_below(soaked: usize) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a number of CPUs")]
    cpu_quota(Path::new("/")).filter(|quota| *quota < soaked as f64)
}

/// The smallest CPU limit of this process's cgroup and those above it, in CPUs
/// (Documentation/admin-guide/cgroup-v2.rst, "cpu.max"; Documentation/scheduler/sched-bwc.rst for
/// version 1).
fn cpu_quota(root: &Path) -> Option<f64> {
    let cgroups = read(root, "proc/self/cgroup")?;
    let mut least: Option<f64> = None;
    for line in cgroups.lines() {
        // hierarchy:controllers:path
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let mounts: &[&str] = match controllers {
            // Version 2 is in `unified` when version 1 is mounted too, and at the top when it is
            // alone.
            "" => &["sys/fs/cgroup", "sys/fs/cgroup/unified"],
            _ if controllers.split(',').any(|each| each == "cpu") => {
                &["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"]
            }
            _ => continue,
        };
        for mount in mounts {
            let top = root.join(mount);
            let mut folder: PathBuf = top.join(path.trim_start_matches('/'));
            while folder.starts_with(&top) {
                if let Some(cpus) = quota_of(&folder) {
                    least = Some(least.map_or(cpus, |least| least.min(cpus)));
                }
                if !folder.pop() {
                    break;
                }
            }
        }
    }
    least
}

fn quota_of(folder: &Path) -> Option<f64> {
    if let Some(max) = read(folder, "cpu.max") {
        // "max 100000" or "150000 100000", in microseconds.
        let (quota, period) = max.split_once(' ')?;
        return ratio(quota, period);
    }
    // -1 is no limit.
    ratio(&read(folder, "cpu.cfs_quota_us")?, &read(folder, "cpu.cfs_period_us")?)
}

fn ratio(quota: &str, period: &str) -> Option<f64> {
    let (quota, period) = (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::root;

    #[test]
    fn only_sockets_for_all_protocols_on_this_or_every_device_count() {
        let text = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n\
                    ffff9c2f4a3f1000 3      3    0003   2     1 0      0      36612\n\
                    ffff9c2f4a3f1800 3      3    0003   0     1 0      0      36613\n\
                    ffff9c2f4a3f2000 3      3    0003   7     1 0      0      36614\n\
                    ffff9c2f4a3f2800 3      2    88cc   2     1 0      0      36615\n";
        assert_eq!(sniffers_in(text, 2), 2);
        assert_eq!(sniffers_in(text, 1), 1);
        assert_eq!(sniffers_in("", 1), 0);
    }

    #[test]
    fn sniffers_of_lo_can_be_counted_here() {
        assert!(sniffers("lo").is_some());
        assert_eq!(sniffers("zc-no-such"), None);
    }

    #[test]
    fn the_second_claim_of_a_name_is_refused_until_the_first_is_gone() {
        let name = format!("zc-test-{}", std::process::id());
        let first = InstanceLock::claim_name(name.as_bytes());
        assert!(matches!(first, InstanceLock::Yes(_)));
        assert!(matches!(InstanceLock::claim_name(name.as_bytes()), InstanceLock::Unavailable));
        drop(first);
        assert!(matches!(InstanceLock::claim_name(name.as_bytes()), InstanceLock::Yes(_)));
    }

    #[test]
    fn the_lowest_quota_among_the_cgroups_above_is_the_limit() {
        let root = root(&[
            ("proc/self/cgroup", "0::/system.slice/docker-1.scope/inner\n"),
            ("sys/fs/cgroup/system.slice/cpu.max", "400000 100000\n"),
            ("sys/fs/cgroup/system.slice/docker-1.scope/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/system.slice/docker-1.scope/inner/cpu.max", "max 100000\n"),
        ]);
        assert_eq!(cpu_quota(root.path()), Some(1.5));
    }

    #[test]
    fn version_1_of_cgroups_has_its_own_files() {
        let files = [
            ("proc/self/cgroup", "9:name=systemd:/\n1:cpu,cpuacct:/job\n0::/\n"),
            ("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ];
        assert_eq!(cpu_quota(root(&files).path()), Some(0.5));
        assert_eq!(cpu_quota(root(&files[3..]).path()), None);
    }

    #[test]
    fn a_cpu_without_topology_is_alone_on_its_core() {
        let root = root(&[("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,40\n")]);
        assert_eq!(siblings(root.path(), 0), [0, 40]);
        assert_eq!(siblings(root.path(), 1), [1]);
    }
}
