//! The burner in softirq context: attaching it where acknowledgements arrive, and what it burned.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use aya::programs::TcAttachType;
use aya::programs::tc::{SchedClassifierLink, TcAttachOptions};
use aya::{Ebpf, include_bytes_aligned};
use rustix::mm::ProtFlags;

use super::load::{BpfError, Stage, array, at, load, object, program};
use super::mapped::{Mapped, PORTS};

const PROGRAM: &str = "ack_burn";

static OBJECT: &[u8] = include_bytes_aligned!("ack_burn.bpf.o");

/// Orders to the program, and what it counts. The layout is that of `struct burn` in
/// ack_burn.bpf.c.
#[derive(Debug)]
#[repr(C)]
struct BurnCell {
    fs_per_byte: AtomicU64,
    burned_ns: AtomicU64,
}

/// A flow. The layout is that of `struct flow` in ack_burn.bpf.c.
#[derive(Debug)]
#[repr(C)]
struct FlowCell {
    due_fs: AtomicU64,
    ack: AtomicU32,
    sleeps: AtomicU32,
}

const _: () = assert!(size_of::<FlowCell>() == 16);

/// The program, which keeps a CPU busy in softirq context in proportion to the bytes that are
/// acknowledged, whenever an acknowledgement comes while the sender sleeps. It is on no device at
/// first.
///
/// # References
/// [bpf(2)]
///
/// [bpf(2)]: https://man7.org/linux/man-pages/man2/bpf.2.html
#[derive(Debug)]
pub struct AckBurn {
    burn: Mapped<BurnCell>,
    flows: Arc<Mapped<FlowCell>>,
    /// Dropping it detaches the program, from any namespace.
    attached: Option<SchedClassifierLink>,
    ebpf: Ebpf,
}

/// A flow that tells the program when its sender sleeps.
#[derive(Debug)]
pub struct BurnedFlow {
    flows: Arc<Mapped<FlowCell>>,
    port: u16,
}

impl BurnedFlow {
    /// Says whether the sender sleeps from now on.
    pub fn set_sleeps(&self, sleeps: bool) {
        let flow = self.flows.of_port(self.port);
        flow.sleeps.store(u32::from(sleeps), Ordering::Release);
    }
}

impl Drop for BurnedFlow {
    fn drop(&mut self) {
        self.set_sleeps(false);
    }
}

impl AckBurn {
    /// Loads the program with bpf(2).
    ///
    /// # Errors
    /// - At [`Stage::Map`] or [`Stage::Load`]: EPERM without CAP_BPF and CAP_NET_ADMIN, ENOSYS or
    ///   EINVAL if the kernel has no BPF.
    /// - At [`Stage::Mmap`]: if it cannot map BPF maps (before 5.5).
    ///
    /// # References
    /// - [bpf(2)]
    /// - [mmap(2)]
    ///
    /// [bpf(2)]: https://man7.org/linux/man-pages/man2/bpf.2.html
    /// [mmap(2)]: https://man7.org/linux/man-pages/man2/mmap.2.html
    #[doc(alias = "bpf")]
    #[doc(alias = "BPF_PROG_LOAD")]
    pub fn load() -> Result<Self, BpfError> {
        let mut ebpf = object(OBJECT)?;
        load(&mut ebpf, PROGRAM)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let burn = Mapped::of(array(&ebpf, "burns")?, 1, access)?;
        let flows = Arc::new(Mapped::of(array(&ebpf, "flows")?, PORTS, access)?);
        Ok(Self { burn, flows, attached: None, ebpf })
    }

    /// The flow whose packets come from `source_port`; its sender does not sleep.
    pub fn flow(&self, source_port: u16) -> BurnedFlow {
        let flow = BurnedFlow { flows: Arc::clone(&self.flows), port: source_port };
        flow.set_sleeps(false);
        flow
    }

    /// Attaches the program to the ingress of `device` in the calling thread's network namespace,
    /// to burn `ns_per_mb` for each MB (10^6 bytes) of the connections that begin from now on.
    ///
    /// # Errors
    /// At [`Stage::Attach`]: EINVAL if the kernel has no tcx (before 6.6).
    ///
    /// # References
    /// [bpf(2)]
    ///
    /// [bpf(2)]: https://man7.org/linux/man-pages/man2/bpf.2.html
    #[doc(alias = "BPF_LINK_CREATE")]
    pub fn attach(&mut self, device: &str, ns_per_mb: f64) -> Result<(), BpfError> {
        self.detach();
        // A femtosecond for each byte is a nanosecond for each MB.
        self.burn.at(0).fs_per_byte.store(ns_per_mb as u64, Ordering::Release);
        let program = program(&mut self.ebpf, PROGRAM)?;
        let order = TcAttachOptions::TcxOrder(aya::programs::LinkOrder::default());
        self.attached = program
            .attach_with_options(device, TcAttachType::Ingress, order)
            .and_then(|id| program.take_link(id))
            .map(Some)
            .map_err(|error| at(Stage::Attach, &error))?;
        Ok(())
    }

    /// Detaches the program, by close(2) of its link.
    ///
    /// # References
    /// [bpf(2)]
    ///
    /// [bpf(2)]: https://man7.org/linux/man-pages/man2/bpf.2.html
    pub fn detach(&mut self) {
        self.attached = None;
    }

    /// Nanoseconds for which the program has had a CPU so far, by CLOCK_MONOTONIC.
    pub fn burned_ns(&self) -> u64 {
        self.burn.at(0).burned_ns.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::super::load::is_loaded;
    use super::*;
    use std::os::fd::AsFd as _;

    #[test]
    fn the_program_is_put_on_a_device_and_taken_off_it_from_elsewhere() {
        crate::testing::in_a_namespace(|namespace| {
            let devices = crate::netlink::Devices::open().unwrap();
            devices.make_veth("zc0", "zc1", namespace.as_fd()).unwrap();
            let mut burn = match AckBurn::load() {
                Ok(burn) => burn,
                Err(error) => return eprintln!("skipped: the program cannot be loaded: {error}"),
            };
            if let Err(error) = burn.attach("zc0", 1e3) {
                return eprintln!("skipped: the program cannot be attached: {error}");
            }
            // Again, with other orders: the first is replaced.
            burn.attach("zc0", 2e3).unwrap();
            assert_eq!(burn.burned_ns(), 0);
            crate::netns::NetNs::unshare().unwrap();
            burn.detach();
            let missing = burn.attach("zc0", 1e3).unwrap_err();
            assert_eq!(missing.stage, Stage::Attach);
            // The device is still there: a program that is on it would stay. The kernel frees a
            // program some time after the last reference to it.
            let program_id = program(&mut burn.ebpf, PROGRAM).unwrap().info().unwrap().id();
            drop(burn);
            let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
            while is_loaded(program_id).unwrap() {
                assert!(std::time::Instant::now() < until, "the program is still on its device");
                std::thread::yield_now();
            }
            drop(namespace);
        });
    }
}
