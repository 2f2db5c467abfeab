//! The program of the null link: attaching it to a device's egress, and reading its cells.

use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use aya::programs::tc::{NlOptions, TcAttachOptions, qdisc_add_clsact};
use aya::programs::{SchedClassifier, TcAttachType};
use aya::{Ebpf, include_bytes_aligned};
use rustix::mm::ProtFlags;

use super::load::{BpfError, Stage, array, innermost_error, object, program};
use super::mapped::{Mapped, PORTS};

/// TCP and UDP destination port whose packets the program discards. All others pass.
pub const SWALLOWED_PORT: u16 = 9;

/// The program, and the same with counting of fragments.
const PLAIN: &str = "egress";
const COUNTING: &str = "egress_counting";

/// The kernel's own types, by which the offsets of its fields are found.
const KERNEL_BTF: &str = "/sys/kernel/btf/vmlinux";

static OBJECT: &[u8] = include_bytes_aligned!("egress.bpf.o");

/// The program attached to a device, which keeps it until its namespace ends.
///
/// # References
/// [bpf(2)]
///
/// [bpf(2)]: https://man7.org/linux/man-pages/man2/bpf.2.html
#[doc(alias = "bpf")]
#[derive(Debug)]
pub struct Egress {
    cells: Mapped<Cell>,
    /// The switch of the program that counts fragments; `None` where it could not be loaded.
    counting: Option<Mapped<AtomicU32>>,
    program_id: u32,
    /// Has the maps.
    _ebpf: Ebpf,
}

impl Egress {
    /// Loads the program with bpf(2) and attaches it to the egress of `device` in the calling
    /// thread's network namespace.
    ///
    /// # Errors
    /// - At [`Stage::Map`] or [`Stage::Load`]: EPERM without CAP_BPF and CAP_NET_ADMIN, ENOSYS or
    ///   EINVAL if the kernel has no BPF.
    /// - At [`Stage::Attach`]: EOPNOTSUPP, ENOENT or EINVAL if it has no clsact or no cls_bpf.
    /// - At [`Stage::Mmap`]: if it cannot map BPF maps (before 5.5).
    ///
    /// # References
    /// - [bpf(2)]
    /// - [tc-bpf(8)]
    /// - [mmap(2)]
    ///
    /// [bpf(2)]: https://man7.org/linux/man-pages/man2/bpf.2.html
    /// [tc-bpf(8)]: https://man7.org/linux/man-pages/man8/tc-bpf.8.html
    /// [mmap(2)]: https://man7.org/linux/man-pages/man2/mmap.2.html
    #[doc(alias = "bpf")]
    #[doc(alias = "BPF_PROG_LOAD")]
    #[doc(alias = "clsact")]
    pub fn attach(device: &str) -> Result<Self, BpfError> {
        let mut ebpf = object(OBJECT)?;
        // Fragments are counted where the kernel lets a program read its own memory.
        let counts = Path::new(KERNEL_BTF).exists() && load(&mut ebpf, COUNTING).is_ok();
        let name = if counts { COUNTING } else { PLAIN };
        if !counts {
            load(&mut ebpf, PLAIN)?;
        }
        let program: &mut SchedClassifier = program(&mut ebpf, name)?;
        let program_id = program.info().map_err(|error| innermost_error(Stage::Load, &error))?.id();
        attach(program, device)?;
        let cells = Mapped::new(array(&ebpf, "cells")?, PORTS, ProtFlags::READ);
        let switch =
            || Mapped::new(array(&ebpf, "counting")?, 1, ProtFlags::READ | ProtFlags::WRITE);
        Ok(Self {
            cells: cells?,
            counting: if counts { Some(switch()?) } else { None },
            program_id,
            _ebpf: ebpf,
        })
    }

    /// Whether fragments of packets can be counted ([`count_fragments`](Self::count_fragments)):
    /// needs the kernel's BTF, and a kernel that is not locked down.
    pub fn can_count_fragments(&self) -> bool {
        self.counting.is_some()
    }

    /// Switches the counting of fragments on or off, for all flows. It takes time for each packet,
    /// so it is off at first, and has no place in windows whose cost is measured.
    pub fn count_fragments(&self, on: bool) {
        if let Some(counting) = &self.counting {
            counting.at(0).store(u32::from(on), Ordering::Release);
        }
    }

    /// The kernel's id of the program, unique while it is loaded.
    pub fn program_id(&self) -> u32 {
        self.program_id
    }

    /// Cell of the flow whose packets come from `source_port`.
    pub fn cell(&self, source_port: u16) -> &Cell {
        self.cells.for_port(source_port)
    }
}

fn load(ebpf: &mut Ebpf, name: &str) -> Result<(), BpfError> {
    let classifier: &mut SchedClassifier = program(ebpf, name)?;
    classifier.load().map_err(|error| innermost_error(Stage::Load, &error))
}

/// Adds a clsact qdisc with the program as its filter. tcx is not usable: there a packet can only
/// be dropped, which TCP notices and slows down for, and TC_ACT_STOLEN means to continue
/// (tcx_action_code, include/net/tcx.h).
///
/// The filter stays until the device is gone. aya would remove it by the device's number, in the
/// namespace of whichever thread drops it: from the host's card, if that has the same number.
fn attach(program: &mut SchedClassifier, device: &str) -> Result<(), BpfError> {
    qdisc_add_clsact(device).map_err(|error| innermost_error(Stage::Attach, &error))?;
    let filter = TcAttachOptions::Netlink(NlOptions::default());
    program
        .attach_with_options(device, TcAttachType::Egress, filter)
        .and_then(|id| program.take_link(id))
        .map(std::mem::forget)
        .map_err(|error| innermost_error(Stage::Attach, &error))
}

/// Record that the program keeps of one flow. The layout is that of `struct cell` in egress.bpf.c.
///
/// The program writes to it during reads. Each field is consistent in itself, and all belong to the
/// connection counted by [`connections`](Self::connections) once that has grown.
#[derive(Debug)]
#[repr(C)]
pub struct Cell {
    connections: AtomicU64,
    bytes: AtomicU64,
    again_bytes: AtomicU64,
    packets: AtomicU64,
    gaps: AtomicU64,
    ends: AtomicU64,
    repeats: AtomicU64,
    first: AtomicU32,
    timestamp: AtomicU32,
    syns: AtomicU32,
    port: [AtomicU8; 2],
    options_len: AtomicU8,
    ipv6: AtomicU8,
    options: [AtomicU8; 40],
    counted: AtomicU64,
    fragments: AtomicU64,
}

const _: () = assert!(size_of::<Cell>() == 128);

impl Cell {
    /// Connections begun with this source port: SYNs, without repeated ones.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Acquire)
    }

    /// Payload bytes received in order. Those of datagrams are added to what the port's flows before
    /// had, as nothing says that a flow begins.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// Payload bytes received before: retransmissions.
    pub fn again_bytes(&self) -> u64 {
        self.again_bytes.load(Ordering::Acquire)
    }

    /// Packets with payload in order. A GSO packet counts once.
    pub fn packets(&self) -> u64 {
        self.packets.load(Ordering::Acquire)
    }

    /// Packets whose fragments were counted ([`Egress::count_fragments`]).
    pub fn counted(&self) -> u64 {
        self.counted.load(Ordering::Acquire)
    }

    /// Fragments of those packets, behind their headers: a card maps each for DMA.
    pub fn fragments(&self) -> u64 {
        self.fragments.load(Ordering::Acquire)
    }

    /// Packets beyond the next expected sequence number. Always 0, because nothing is lost or
    /// reordered on this link.
    pub fn gaps(&self) -> u64 {
        self.gaps.load(Ordering::Acquire)
    }

    /// Whether a FIN has arrived in order.
    pub fn finished(&self) -> bool {
        self.ends.load(Ordering::Acquire) & 1 != 0
    }

    /// Whether a RST has arrived.
    pub fn reset(&self) -> bool {
        self.ends.load(Ordering::Acquire) & 2 != 0
    }

    /// Whether the ACK generator's FIN was acknowledged: the sender is done with the connection.
    pub fn closed(&self) -> bool {
        self.ends.load(Ordering::Acquire) & 4 != 0
    }

    /// Packets that repeat earlier ones (segments, a FIN, a keep-alive probe): the sender is
    /// missing an answer.
    pub fn repeats(&self) -> u64 {
        self.repeats.load(Ordering::Acquire)
    }

    /// SYNs of this connection, including repeated ones.
    pub fn syns(&self) -> u32 {
        self.syns.load(Ordering::Acquire)
    }

    /// Sequence number of the SYN.
    pub fn first(&self) -> u32 {
        self.first.load(Ordering::Acquire)
    }

    /// Newest timestamp (TSval) of a packet after the SYN.
    pub fn timestamp(&self) -> u32 {
        self.timestamp.load(Ordering::Acquire)
    }

    /// Whether the SYN came over IPv6.
    pub fn ipv6(&self) -> bool {
        self.ipv6.load(Ordering::Acquire) != 0
    }

    /// TCP options of the SYN.
    pub fn syn_options(&self) -> Vec<u8> {
        let len = usize::from(self.options_len.load(Ordering::Acquire)).min(self.options.len());
        self.options[..len].iter().map(|byte| byte.load(Ordering::Acquire)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::load::is_loaded;
    use super::*;
    use std::os::fd::AsFd as _;

    #[test]
    fn the_program_is_loaded_and_stays_with_the_device_when_its_owner_is_gone() {
        crate::testing::in_a_namespace(|namespace| {
            let devices = crate::netlink::Devices::open().unwrap();
            devices.make_veth("zc0", "zc1", namespace.as_fd()).unwrap();
            let egress = match Egress::attach("zc0") {
                Ok(egress) => egress,
                Err(error) => return eprintln!("skipped: the program cannot be attached: {error}"),
            };
            assert!(is_loaded(egress.program_id()).unwrap());
            let cell = egress.cell(12_345);
            assert_eq!(
                (cell.connections(), cell.bytes(), cell.packets(), cell.syns()),
                (0, 0, 0, 0)
            );
            assert!(
                !cell.finished()
                    && !cell.reset()
                    && !cell.closed()
                    && cell.syn_options().is_empty()
            );
            let missing = Egress::attach("zc-no-such").unwrap_err();
            assert_eq!(missing.stage, Stage::Attach);
            // Removing it would be by the device's number, in whichever namespace the thread is.
            let program_id = egress.program_id();
            drop(egress);
            assert!(is_loaded(program_id).unwrap());
        });
    }
}
