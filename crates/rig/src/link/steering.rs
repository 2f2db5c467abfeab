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
use std::time::Duration;

use super::sides::Sides;
use zc_kernel::netns::{NetNs, mount_own_sysfs};

const DEFAULT_MASK: &str = "/proc/sys/net/core/rps_default_mask";

/// The means of steering receive work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steering {
    /// `rps_default_mask` where the kernel has it, else sysfs.
    Best,
    /// sysfs, as on kernels before 6.3.
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

/// Packets to each side. Each is received before the next is sent, in some 40 us.
const PACKETS: usize = 200;

/// Packets that may be lost, late, or received on another CPU: 1 of 20.
const MAY_BE_MISSING: usize = PACKETS / 20;

/// Sends packets both ways between the two namespaces, each from the CPU of its side, and asks the
/// receiving socket for the CPU that did the protocol work (SO_INCOMING_CPU, socket(7)). What other
/// programs receive meanwhile is not in it, as it would be in /proc/net/softnet_stat. This also
/// proves that the link carries packets.
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
        carry_one(&at_sender, &at_receiver, PACKETS_TO_THE_DEAD)?;
        carry_one(&at_receiver, &at_sender, PACKETS_TO_THE_DEAD)?;

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
        let Sides { sender_cpu, receiver_cpu } = sides;
        let there = received_on(receiver_cpu, sender_cpu, &at_sender, &at_receiver)?;
        let back = received_on(sender_cpu, receiver_cpu, &at_receiver, &at_sender)?;
        let mostly = |count: usize| count >= PACKETS - MAY_BE_MISSING;
        let message = format!(
            "of {PACKETS} packets to the receiver, {there} were received on CPU {receiver_cpu}; of \
             {PACKETS} to the sender, {back} on CPU {sender_cpu}"
        );
        Ok(Check { apart: mostly(there) && mostly(back), message })
    })
}

/// Packets until a link is taken for dead, each waited for [`PACKET_PATIENCE`]. A time limit would
/// end after one packet where the machine stands still for that time, as a virtual machine does
/// whose host is short of CPUs.
const PACKETS_TO_THE_DEAD: usize = 100;

const PACKET_PATIENCE: Duration = Duration::from_millis(100);

/// Sends packets until one has arrived, at most `attempts`.
///
/// # Errors
/// - [`io::ErrorKind::TimedOut`]: none of them arrived.
/// - A packet cannot be sent.
fn carry_one(from: &UdpSocket, to: &UdpSocket, attempts: usize) -> io::Result<()> {
    to.set_read_timeout(Some(PACKET_PATIENCE))?;
    for _ in 0..attempts {
        from.send(&[0])?;
        if to.recv(&mut [0]).is_ok() {
            return Ok(());
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("none of {attempts} arrived")))
}

/// Sends the packets from `from_cpu`, and returns how many were received on `cpu`. Ends when more
/// are lost than may be missing.
fn received_on(cpu: usize, from_cpu: usize, from: &UdpSocket, to: &UdpSocket) -> io::Result<usize> {
    zc_kernel::sched::pin(&[from_cpu])?;
    to.set_read_timeout(Some(PACKET_PATIENCE))?;
    let (mut there, mut lost) = (0, 0);
    for _ in 0..PACKETS {
        from.send(&[0])?;
        match to.recv(&mut [0]) {
            Ok(_) => {
                let on = rustix::net::sockopt::socket_incoming_cpu(to)?;
                there += usize::from(usize::try_from(on) == Ok(cpu));
            }
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                lost += 1;
                if lost > MAY_BE_MISSING {
                    break;
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(there)
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
    fn one_cpu_for_both_sides_is_never_steered() {
        let sides = Sides { sender_cpu: 0, receiver_cpu: 0 };
        assert_eq!(Steering::Best.resolve(sides), Steering::Off);
        assert_eq!(Steering::Sysfs.resolve(sides), Steering::Off);
    }

    #[test]
    fn a_link_is_dead_when_as_many_packets_as_said_are_lost_however_long_one_takes() {
        let socket = || UdpSocket::bind("127.0.0.1:0").unwrap();
        let (from, to, elsewhere) = (socket(), socket(), socket());
        from.connect(elsewhere.local_addr().unwrap()).unwrap();

        let error = carry_one(&from, &to, 3).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "none of 3 arrived");
        elsewhere.set_nonblocking(true).unwrap();
        let lost = (0..).take_while(|_| elsewhere.recv(&mut [0]).is_ok()).count();
        assert_eq!(lost, 3);

        from.connect(to.local_addr().unwrap()).unwrap();
        carry_one(&from, &to, 1).unwrap();
    }
}
