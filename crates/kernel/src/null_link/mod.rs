//! The BPF program of the null link: loaded, attached to a device's egress, and its cells mapped into this process.
//!
//! The program is `egress.bpf.c` beside this file; what it does stands there. It is committed compiled, and loaded and
//! attached by aya, of which nothing is visible outside this module. Map and program are held by file descriptors and by the
//! device: nothing is pinned, nothing is left when the process dies and the device's namespace with it.

use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use aya::maps::Map;
use aya::programs::tc::{NlOptions, TcAttachOptions, qdisc_add_clsact};
use aya::programs::{SchedClassifier, TcAttachType};
use aya::{Ebpf, include_bytes_aligned};
use rustix::mm::{MapFlags, ProtFlags};

/// The TCP port whose packets are swallowed; all others pass.
pub const SWALLOWED_PORT: u16 = 9;

/// Cells in the map; a flow's is that of its source port modulo this.
const CELLS: usize = 1 << 15;

static OBJECT: &[u8] = include_bytes_aligned!("egress.bpf.o");

/// How far it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Making the map.
    Map,
    /// Loading the program, which the kernel verifies.
    Load,
    /// Attaching it to the device.
    Attach,
    /// Mapping the map into this process.
    Mmap,
}

/// The program could not be set to work.
#[derive(Debug)]
pub struct EgressError {
    /// How far it went.
    pub stage: Stage,
    /// What the kernel answered.
    pub error: io::Error,
    /// What aya made of it.
    pub detail: String,
}

impl fmt::Display for EgressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.detail, self.error)
    }
}

impl Error for EgressError {}

/// The program at work on a device.
#[derive(Debug)]
pub struct Egress {
    cells: Cells,
    program_id: u32,
    /// Held: the program is detached when it goes.
    _ebpf: Ebpf,
}

impl Egress {
    /// Loads the program and attaches it to the egress of `device` in the calling thread's network namespace.
    ///
    /// # Errors
    /// At [`Stage::Map`] or [`Stage::Load`] `EPERM` without CAP_BPF and CAP_NET_ADMIN, `ENOSYS` or `EINVAL` when the kernel has
    /// no BPF; at [`Stage::Attach`] `EOPNOTSUPP`, `ENOENT` or `EINVAL` when it has no clsact or no cls_bpf; at [`Stage::Mmap`]
    /// when it cannot map maps (before 5.5).
    pub fn attach(device: &str) -> Result<Self, EgressError> {
        let mut ebpf = Ebpf::load(OBJECT).map_err(|error| at(Stage::Map, &error))?;
        let program: &mut SchedClassifier = ebpf
            .program_mut("egress")
            .ok_or_else(|| missing(Stage::Load, "the object has no program \"egress\""))?
            .try_into()
            .map_err(|error: aya::programs::ProgramError| at(Stage::Load, &error))?;
        program.load().map_err(|error| at(Stage::Load, &error))?;
        let program_id = program.info().map_err(|error| at(Stage::Load, &error))?.id();
        attach(program, device)?;
        let Some(Map::Array(map)) = ebpf.map("cells") else {
            return Err(missing(Stage::Mmap, "the object has no array \"cells\""));
        };
        let cells = Cells::map(map.fd().as_fd()).map_err(|error| EgressError {
            stage: Stage::Mmap,
            detail: "the map cannot be mapped".into(),
            error,
        })?;
        Ok(Self { cells, program_id, _ebpf: ebpf })
    }

    /// The kernel's number of the program, unique while it is loaded.
    pub fn program_id(&self) -> u32 {
        self.program_id
    }

    /// What was noted of the flow whose packets come from `source_port`.
    pub fn cell(&self, source_port: u16) -> &Cell {
        self.cells.cell(usize::from(source_port) % CELLS)
    }
}

/// A clsact qdisc with the program as its filter. Not tcx: there a packet can only be dropped, of which TCP is told and slows
/// down, and TC_ACT_STOLEN means to go on (tcx_action_code, include/net/tcx.h).
fn attach(program: &mut SchedClassifier, device: &str) -> Result<(), EgressError> {
    qdisc_add_clsact(device).map_err(|error| at(Stage::Attach, &error))?;
    let filter = TcAttachOptions::Netlink(NlOptions::default());
    program
        .attach_with_options(device, TcAttachType::Egress, filter)
        .map(drop)
        .map_err(|error| at(Stage::Attach, &error))
}

/// Whether the kernel still has the program of this id ([`Egress::program_id`]).
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN.
pub fn is_loaded(program_id: u32) -> io::Result<bool> {
    for program in aya::programs::loaded_programs() {
        match program.map_err(|error| at(Stage::Load, &error).error) {
            Ok(program) if program.id() == program_id => return Ok(true),
            Ok(_) => {}
            // It was unloaded between its being listed and its being looked at.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

fn missing(stage: Stage, message: &str) -> EgressError {
    EgressError { stage, error: io::Error::from(io::ErrorKind::InvalidData), detail: message.to_owned() }
}

/// The error of the system call at the bottom of aya's.
fn at(stage: Stage, error: &(dyn Error + 'static)) -> EgressError {
    let mut found = None;
    let mut next = Some(error);
    while let Some(error) = next {
        found = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error).or(found);
        next = error.source();
    }
    let bottom = found.map_or_else(|| io::Error::from(io::ErrorKind::Other), io::Error::from_raw_os_error);
    EgressError { stage, error: bottom, detail: error.to_string() }
}

/// What the program noted of one flow; the layout is that of `struct cell` in egress.bpf.c. It goes on being written while it
/// is read: each field is whole, and all are of the connection that [`connections`](Self::connections) counts once that has
/// grown.
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
    unused: [AtomicU8; 16],
}

const _: () = assert!(size_of::<Cell>() == 128);

impl Cell {
    /// Connections begun (SYNs noted, repeated ones left out) with this source port so far.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Acquire)
    }

    /// Payload bytes that came in order.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// Payload bytes that had come before: retransmissions.
    pub fn again_bytes(&self) -> u64 {
        self.again_bytes.load(Ordering::Acquire)
    }

    /// Packets with payload in order; a GSO packet is one.
    pub fn packets(&self) -> u64 {
        self.packets.load(Ordering::Acquire)
    }

    /// Packets beyond what was expected next: never, as nothing is lost or overtaken on the way.
    pub fn gaps(&self) -> u64 {
        self.gaps.load(Ordering::Acquire)
    }

    /// A FIN came, in order.
    pub fn finished(&self) -> bool {
        self.ends.load(Ordering::Acquire) & 1 != 0
    }

    /// A RST came.
    pub fn reset(&self) -> bool {
        self.ends.load(Ordering::Acquire) & 2 != 0
    }

    /// The acknowledgement of the far end's own FIN came: the sender is through with the connection.
    pub fn closed(&self) -> bool {
        self.ends.load(Ordering::Acquire) & 4 != 0
    }

    /// Packets that repeat what had come before (segments, a FIN, a keep-alive probe): the sender misses an answer.
    pub fn repeats(&self) -> u64 {
        self.repeats.load(Ordering::Acquire)
    }

    /// SYNs of this connection, repeated ones too.
    pub fn syns(&self) -> u32 {
        self.syns.load(Ordering::Acquire)
    }

    /// The sequence number of the SYN.
    pub fn first(&self) -> u32 {
        self.first.load(Ordering::Acquire)
    }

    /// The newest timestamp (TSval) on a packet after the SYN.
    pub fn timestamp(&self) -> u32 {
        self.timestamp.load(Ordering::Acquire)
    }

    /// Whether the SYN came over IPv6.
    pub fn ipv6(&self) -> bool {
        self.ipv6.load(Ordering::Acquire) != 0
    }

    /// The TCP options of the SYN.
    pub fn syn_options(&self) -> Vec<u8> {
        let len = usize::from(self.options_len.load(Ordering::Acquire)).min(self.options.len());
        self.options[..len].iter().map(|byte| byte.load(Ordering::Acquire)).collect()
    }
}

/// The map, mapped.
#[derive(Debug)]
struct Cells {
    base: NonNull<Cell>,
}

// SAFETY: the mapping belongs to this value, is not bound to a thread, and is only read through atomics.
unsafe impl Send for Cells {}
// SAFETY: as above.
unsafe impl Sync for Cells {}

impl Cells {
    fn map(map: BorrowedFd<'_>) -> io::Result<Self> {
        let len = CELLS * size_of::<Cell>();
        // SAFETY: a null address without MAP_FIXED lets the kernel choose a range that is not in use.
        let base = unsafe { rustix::mm::mmap(ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, map, 0) }?;
        Ok(Self { base: NonNull::new(base.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))? })
    }

    fn cell(&self, index: usize) -> &Cell {
        debug_assert!(index < CELLS);
        // SAFETY: the array has CELLS cells of this size (the object says so, and mmap(2) refuses more than the map has), is
        // page-aligned, lives as long as `self`, and is read through atomics only, which a concurrent writer may change.
        unsafe { self.base.add(index % CELLS).as_ref() }
    }
}

impl Drop for Cells {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length; every reference into it borrows `self`.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), CELLS * size_of::<Cell>()) };
    }
}
