//! Receive packet steering (RPS): each side's receive work runs on that side's CPU, so that the CPU
//! time taken from a CPU is the cost of its side.
//!
//! Without it a veth packet is received in a softirq on the CPU that sent it, and the receiver's
//! protocol work is charged to the sender. It is set by `rps_default_mask` of each namespace before
//! the devices are made (Linux 6.3), else, as root, by `rps_cpus` in a sysfs of the namespace, and
//! then checked with packets (Documentation/networking/scaling.rst,
//! Documentation/admin-guide/sysctl/net.rst).

use std::io;
use std::net::{IpAddr, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

use zc_kernel::netns::{NetNs, mount_own_sysfs};

use super::sides::Sides;

const DEFAULT_MASK: &str = "/proc/sys/net/core/rps_default_mask";

/// The means of steering receive work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steering {
    /// By `rps_default_mask` where the kernel has it, else by sysfs.
    Best,
    /// By sysfs, as on kernels before 6.3.
    Sysfs,
    /// None: packets are received on the CPU that sent them.
    Off,
}

impl Steering {
    /// The means that this kernel has, and that `sides` need.
    pub(super) fn resolve(self, sides: Sides) -> Self {
        match self {
            _ if sides.sender_cpu == sides.receiver_cpu => Self::Off,
            Self::Best if !Path::new(DEFAULT_MASK).exists() => Self::Sysfs,
            other => other,
        }
    }
}

/// One CPU as a bitmap of the kernel: hexadecimal words of 32 bits, the highest first.
fn mask(cpu: usize) -> String {
    let mut text = format!("{:x}", 1_u32 << (cpu % 32));
    for _ in 0..cpu / 32 {
        text.push_str(",00000000");
    }
    text
}

/// Sets the mask of devices that are made in this namespace from now on.
pub(super) fn set_default_mask(cpu: usize) -> io::Result<()> {
    std::fs::write(DEFAULT_MASK, mask(cpu))
}

/// Resets that mask, so that later devices are not steered.
pub(super) fn unset_default_mask() -> io::Result<()> {
    std::fs::write(DEFAULT_MASK, "0")
}

/// Sets the mask of all receive queues of `device` in `namespace` through a sysfs that is mounted
/// for this purpose in a mount namespace of its own.
pub(super) fn set_by_sysfs(namespace: &NetNs, device: &str, cpu: usize) -> io::Result<()> {
    let set = || {
        namespace.enter()?;
        mount_own_sysfs()?;
        for queue in std::fs::read_dir(format!("/sys/class/net/{device}/queues"))?.flatten() {
            if queue.file_name().to_string_lossy().starts_with("rx-") {
                std::fs::write(queue.path().join("rps_cpus"), mask(cpu))?;
            }
        }
        Ok(())
    };
    // On a thread of its own, whose mount and network namespaces end with it.
    on_thread(set)
}

/// Runs `work` on a thread of its own.
pub(super) fn on_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("a helper thread panicked")))
    })
}

/// Result of the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    /// At least 19 of 20 packets were received on the CPU of the side that they were sent to.
    pub(super) apart: bool,
    /// The figures, in a sentence.
    pub(super) message: String,
}

impl Check {
    fn no(message: String) -> Self {
        Self { apart: false, message }
    }
}

/// Few enough to fit into the receive buffer at the default `net.core.rmem_default`.
const PACKETS: u64 = 200;
/// A run has as many links as its cells need, and one whose sides cannot be separated takes the
/// separation from all.
const TRIES: usize = 8;

/// Sends packets both ways between the two namespaces, each from the CPU of its side, and counts
/// where they were received. This also proves that the link carries packets.
///
/// # Errors
/// The link carries no packets.
pub(super) fn check(
    sender: &NetNs,
    receiver: &NetNs,
    addresses: (IpAddr, IpAddr),
    sides: Sides,
) -> io::Result<Check> {
    on_thread(|| {
        // A socket stays in the namespace in which it was made, so one thread can hold both ends.
        sender.enter()?;
        let at_sender = UdpSocket::bind((addresses.0, 0))?;
        receiver.enter()?;
        let at_receiver = UdpSocket::bind((addresses.1, 0))?;
        at_sender.connect(at_receiver.local_addr()?)?;
        at_receiver.connect(at_sender.local_addr()?)?;
        // The first packet each way waits for neighbour discovery, or is lost while the kernel's
        // workqueue is still configuring IPv6 addresses.
        carry_one(&at_sender, &at_receiver)?;
        carry_one(&at_receiver, &at_sender)?;

        if sides.sender_cpu == sides.receiver_cpu {
            return Ok(Check::no(format!(
                "sender and receiver share CPU {}, so their costs cannot be told apart",
                sides.sender_cpu
            )));
        }
        for cpu in [sides.sender_cpu, sides.receiver_cpu] {
            if let Err(error) = zc_kernel::sched::pin(&[cpu]) {
                return Ok(Check::no(format!("not checked: CPU {cpu} cannot be used: {error}")));
            }
        }
        // Packets of other programs are counted too, so a bad result is checked again.
        let mut found = look(&at_sender, &at_receiver, sides)?;
        for _ in 1..TRIES {
            if found.apart {
                break;
            }
            found = look(&at_sender, &at_receiver, sides)?;
        }
        Ok(found)
    })
}

/// Sends packets until one has arrived.
fn carry_one(from: &UdpSocket, to: &UdpSocket) -> io::Result<()> {
    to.set_read_timeout(Some(Duration::from_millis(100)))?;
    let until = Instant::now() + Duration::from_secs(3);
    loop {
        from.send(&[0])?;
        match to.recv(&mut [0]) {
            Ok(_) => return Ok(()),
            Err(_) if Instant::now() < until => {}
            Err(error) => return Err(error),
        }
    }
}

fn look(at_sender: &UdpSocket, at_receiver: &UdpSocket, sides: Sides) -> io::Result<Check> {
    let Sides { sender_cpu, receiver_cpu } = sides;
    let before = Counts::read()?;
    burst(at_sender, at_receiver, sender_cpu, receiver_cpu)?;
    let between = Counts::read()?;
    burst(at_receiver, at_sender, receiver_cpu, sender_cpu)?;
    let after = Counts::read()?;

    let there = between.since(&before);
    let back = after.since(&between);
    let mostly = |count: u64| count >= PACKETS - PACKETS / 20;
    let hardly = |count: u64| count <= PACKETS / 20;
    let apart = mostly(there.processed(receiver_cpu))
        && hardly(there.processed(sender_cpu))
        && mostly(back.processed(sender_cpu))
        && hardly(back.processed(receiver_cpu))
        && there.net_rx(receiver_cpu) > 0
        && back.net_rx(sender_cpu) > 0;
    let message = format!(
        "of {PACKETS} packets to the receiver, CPU {receiver_cpu} received {} and CPU {sender_cpu} \
         {}; of {PACKETS} to the \
         sender, CPU {sender_cpu} received {} and CPU {receiver_cpu} {}; NET_RX softirqs: CPU \
         {sender_cpu} +{}, CPU \
         {receiver_cpu} +{}",
        there.processed(receiver_cpu),
        there.processed(sender_cpu),
        back.processed(sender_cpu),
        back.processed(receiver_cpu),
        after.since(&before).net_rx(sender_cpu),
        after.since(&before).net_rx(receiver_cpu),
    );
    Ok(Check { apart, message })
}

/// Sends the packets from `from_cpu` and waits until those that fit into the receive buffer have
/// arrived.
fn burst(from: &UdpSocket, to: &UdpSocket, from_cpu: usize, to_cpu: usize) -> io::Result<()> {
    zc_kernel::sched::pin(&[from_cpu])?;
    for _ in 0..PACKETS {
        from.send(&[0])?;
    }
    // On the receiving CPU, so that its last softirq is over before this thread runs.
    zc_kernel::sched::pin(&[to_cpu])?;
    to.set_read_timeout(Some(Duration::from_millis(20)))?;
    let until = Instant::now() + Duration::from_secs(1);
    let mut come = 0;
    while come < PACKETS && Instant::now() < until {
        match to.recv(&mut [0]) {
            Ok(_) => come += 1,
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Packets received (protocol work done) and NET_RX softirqs, per CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Counts {
    processed: Vec<u64>,
    net_rx: Vec<u64>,
}

impl Counts {
    fn read() -> io::Result<Self> {
        Ok(Self {
            processed: parse_softnet_stat(&std::fs::read_to_string("/proc/net/softnet_stat")?),
            net_rx: parse_net_rx(&std::fs::read_to_string("/proc/softirqs")?),
        })
    }

    fn since(&self, earlier: &Self) -> Self {
        // The counters of softnet_stat are 32 bits wide.
        let difference = |now: &[u64], then: &[u64]| {
            now.iter()
                .zip(then)
                .map(|(now, then)| u64::from((*now as u32).wrapping_sub(*then as u32)))
                .collect()
        };
        Self {
            processed: difference(&self.processed, &earlier.processed),
            net_rx: difference(&self.net_rx, &earlier.net_rx),
        }
    }

    fn processed(&self, cpu: usize) -> u64 {
        self.processed.get(cpu).copied().unwrap_or(0)
    }

    fn net_rx(&self, cpu: usize) -> u64 {
        self.net_rx.get(cpu).copied().unwrap_or(0)
    }
}

/// The first column of /proc/net/softnet_stat by CPU. A line per online CPU, all figures
/// hexadecimal; the thirteenth is the CPU's number since Linux 5.10 (net/core/net-procfs.c), before
/// which lines are taken in order.
fn parse_softnet_stat(text: &str) -> Vec<u64> {
    let mut counts = Vec::new();
    for (line, fields) in
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).enumerate()
    {
        let field =
            |at: usize| fields.get(at).and_then(|field| u64::from_str_radix(field, 16).ok());
        let cpu = field(12).and_then(|cpu| usize::try_from(cpu).ok()).unwrap_or(line);
        // A number that no machine has means a line of another format.
        if let (Some(count), true) = (field(0), cpu < 1 << 16) {
            if counts.len() <= cpu {
                counts.resize(cpu + 1, 0);
            }
            counts[cpu] = count;
        }
    }
    counts
}

/// The NET_RX line of /proc/softirqs by CPU number; its columns are headed `CPU0 CPU1 ...`.
fn parse_net_rx(text: &str) -> Vec<u64> {
    text.lines()
        .find_map(|line| line.trim_start().strip_prefix("NET_RX:"))
        .map(|counts| counts.split_whitespace().map_while(|count| count.parse().ok()).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_words_of_32_bits_the_highest_first() {
        assert_eq!(mask(0), "1");
        assert_eq!(mask(5), "20");
        assert_eq!(mask(31), "80000000");
        assert_eq!(mask(32), "1,00000000");
        assert_eq!(mask(70), "40,00000000,00000000");
    }

    #[test]
    fn softnet_stat_is_read_by_cpu_number_not_by_line() {
        let text = "0004fe0e 00000000 00000001 00000000 00000000 00000000 00000000 00000000 \
                    00000000 00000000 00000000 \
                    00000000 00000000 00000000 00000000\n\
                    0000000a 00000000 00000001 00000000 00000000 00000000 00000000 00000000 \
                    00000000 00000000 00000000 \
                    00000000 00000003 00000000 00000000\n";
        assert_eq!(parse_softnet_stat(text), [0x4fe0e, 0, 0, 10]);
        assert_eq!(parse_softnet_stat("0000000b 0\n0000000c 0\n"), [11, 12]);
        assert_eq!(parse_softnet_stat("not a number\n"), [0; 0]);
    }

    #[test]
    fn counters_of_32_bits_may_wrap() {
        let then = Counts { processed: vec![0xffff_fff0], net_rx: vec![1] };
        let now = Counts { processed: vec![0x10], net_rx: vec![3] };
        assert_eq!(now.since(&then), Counts { processed: vec![0x20], net_rx: vec![2] });
    }

    #[test]
    fn the_line_of_net_rx_is_found() {
        let text = "                    CPU0       CPU1       \n          HI:          0          \
                    1\n      NET_TX:          \
                    2          3\n      NET_RX:      81234        567\n";
        assert_eq!(parse_net_rx(text), [81234, 567]);
        assert_eq!(parse_net_rx(""), [0; 0]);
    }

    #[test]
    fn one_cpu_for_both_sides_is_never_steered() {
        let sides = Sides { sender_cpu: 0, receiver_cpu: 0 };
        assert_eq!(Steering::Best.resolve(sides), Steering::Off);
        assert_eq!(Steering::Sysfs.resolve(sides), Steering::Off);
    }
}
