//! The burner in softirq context: attaching it where acknowledgements arrive, and what it burned.

use std::sync::atomic::{AtomicU64, Ordering};

use aya::programs::TcAttachType;
use aya::programs::tc::{SchedClassifierLink, TcAttachOptions};
use aya::{Ebpf, include_bytes_aligned};
use rustix::mm::ProtFlags;

use super::load::{BpfError, Stage, array, at, load, object, program};
use super::mapped::Mapped;

const PROGRAM: &str = "ack_burn";

static OBJECT: &[u8] = include_bytes_aligned!("ack_burn.bpf.o");

/// Orders to the program, and what it counts. The layout is that of `struct burn` in
/// ack_burn.bpf.c.
#[derive(Debug)]
#[repr(C)]
struct BurnCell {
    burst_bytes: AtomicU64,
    ns_per_burst: AtomicU64,
    burned_ns: AtomicU64,
}

/// The program, which keeps a CPU busy in softirq context whenever the last byte of a burst is
/// acknowledged. It is on no device at first.
///
/// # References
/// [bpf(2)]
///
/// [bpf(2)]: https://man7.org/linux/man-pages/man2/bpf.2.html
#[derive(Debug)]
pub struct AckBurn {
    burn: Mapped<BurnCell>,
    /// Dropping it detaches the program, from any namespace.
    attached: Option<SchedClassifierLink>,
    ebpf: Ebpf,
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
        let burn = Mapped::of(array(&ebpf, "burns")?, 1, ProtFlags::READ | ProtFlags::WRITE)?;
        Ok(Self { burn, attached: None, ebpf })
    }

    /// Attaches the program to the ingress of `device` in the calling thread's network namespace,
    /// to burn `ns_per_burst` after every `burst_bytes` of a connection that begins from now on.
    ///
    /// # Errors
    /// At [`Stage::Attach`]: EINVAL if the kernel has no tcx (before 6.6).
    ///
    /// # References
    /// [bpf(2)]
    ///
    /// [bpf(2)]: https://man7.org/linux/man-pages/man2/bpf.2.html
    #[doc(alias = "BPF_LINK_CREATE")]
    pub fn attach(
        &mut self,
        device: &str,
        burst_bytes: u64,
        ns_per_burst: u64,
    ) -> Result<(), BpfError> {
        self.detach();
        let burn = self.burn.at(0);
        burn.ns_per_burst.store(ns_per_burst, Ordering::Release);
        burn.burst_bytes.store(burst_bytes, Ordering::Release);
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
    use super::*;
    use std::os::fd::AsFd as _;

    #[test]
    fn the_program_is_put_on_a_device_and_taken_off_it_from_elsewhere() {
        // In a thread of its own, because a namespace belongs to a thread.
        std::thread::spawn(|| {
            let Ok(namespace) = crate::netns::NetNs::unshare() else {
                eprintln!("skipped: needs CAP_SYS_ADMIN");
                return;
            };
            let devices = crate::netlink::Devices::open().unwrap();
            devices.make_veth("zc0", "zc1", namespace.as_fd()).unwrap();
            let mut burn = match AckBurn::load() {
                Ok(burn) => burn,
                Err(error) => return eprintln!("skipped: the program cannot be loaded: {error}"),
            };
            if let Err(error) = burn.attach("zc0", 65_536, 1_000) {
                return eprintln!("skipped: the program cannot be attached: {error}");
            }
            // Again, with other orders: the first is replaced.
            burn.attach("zc0", 65_536, 2_000).unwrap();
            assert_eq!(burn.burned_ns(), 0);
            crate::netns::NetNs::unshare().unwrap();
            burn.detach();
            let missing = burn.attach("zc0", 65_536, 1_000).unwrap_err();
            assert_eq!(missing.stage, Stage::Attach);
        })
        .join()
        .unwrap();
    }
}
