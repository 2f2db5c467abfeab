//! The burner in softirq context: putting it on a socket whose acknowledgements it burns for, and
//! what it burned.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use aya::include_bytes_aligned;
use aya::programs::{ProgramFd, SocketFilter};
use rustix::mm::ProtFlags;

use super::load::{BpfError, Stage, array, innermost_error, object, program};
use super::mapped::{Mapped, PORTS};
use crate::sockopt::set_int;

const PROGRAM: &str = "ack_burn";

static OBJECT: &[u8] = include_bytes_aligned!("ack_burn.bpf.o");

/// Counter of the program. The layout is that of `struct burn` in ack_burn.bpf.c.
#[derive(Debug)]
#[repr(C)]
struct BurnCell {
    burned_ns: AtomicU64,
}

/// A flow. The layout is that of `struct flow` in ack_burn.bpf.c.
#[derive(Debug)]
#[repr(C)]
struct FlowCell {
    fs_per_byte: AtomicU64,
    due_fs: AtomicI64,
    ack: AtomicU32,
    knows_ack: AtomicU32,
    sleeps: AtomicU32,
    unused: AtomicU32,
}

const _: () = assert!(size_of::<FlowCell>() == 32);

/// The program, which keeps a CPU busy in softirq context in proportion to the bytes that are
/// acknowledged, whenever an acknowledgement comes while the sender sleeps. It is on no socket at
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
    /// The program keeps its maps.
    program: ProgramFd,
}

/// A flow that reports to the program when its sender sleeps.
#[derive(Debug)]
pub struct BurnedFlow {
    flows: Arc<Mapped<FlowCell>>,
    port: u16,
}

impl BurnedFlow {
    /// Says whether the sender sleeps from now on.
    pub fn set_sleeps(&self, sleeps: bool) {
        let flow = self.flows.for_port(self.port);
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
    /// - At [`Stage::Map`] or [`Stage::Load`]: EPERM without CAP_BPF, ENOSYS or EINVAL if the
    ///   kernel has no BPF.
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
        let filter: &mut SocketFilter = program(&mut ebpf, PROGRAM)?;
        filter.load().map_err(|error| innermost_error(Stage::Load, &error))?;
        let program =
            filter.fd().map_err(|error| innermost_error(Stage::Load, &error))?.try_clone();
        let program = program.map_err(|error| innermost_error(Stage::Load, &error))?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let burn = Mapped::new(array(&ebpf, "burns")?, 1, access)?;
        let flows = Arc::new(Mapped::new(array(&ebpf, "flows")?, PORTS, access)?);
        Ok(Self { burn, flows, program })
    }

    /// Puts the program on a connection, until it is closed, to burn `ns_per_mb` for each MB (10^6
    /// bytes) that is acknowledged from now on. Its sender does not sleep at first. If the ports of
    /// two connections of this machine differ by a multiple of 2^15, only one of them may be burned
    /// at a time.
    ///
    /// # Errors
    /// - ENOMEM: no memory for the program (`net.core.optmem_max`).
    /// - EPERM: the filter of this socket is locked (SO_LOCK_FILTER).
    ///
    /// # References
    /// [socket(7)], SO_ATTACH_BPF
    ///
    /// [socket(7)]: https://man7.org/linux/man-pages/man7/socket.7.html
    #[doc(alias = "SO_ATTACH_BPF")]
    pub fn burn(&self, connection: &TcpStream, ns_per_mb: f64) -> io::Result<BurnedFlow> {
        let flow =
            BurnedFlow { flows: Arc::clone(&self.flows), port: connection.local_addr()?.port() };
        let cell = self.flows.for_port(flow.port);
        cell.sleeps.store(0, Ordering::Relaxed);
        cell.knows_ack.store(0, Ordering::Relaxed);
        cell.due_fs.store(0, Ordering::Relaxed);
        // A femtosecond for each byte is a nanosecond for each MB.
        cell.fs_per_byte.store(ns_per_mb as u64, Ordering::Release);
        let program = self.program.as_fd().as_raw_fd();
        set_int(connection, libc::SOL_SOCKET, libc::SO_ATTACH_BPF, program)?;
        Ok(flow)
    }

    /// Nanoseconds for which the program has run so far, by CLOCK_MONOTONIC.
    pub fn burned_ns(&self) -> u64 {
        self.burn.at(0).burned_ns.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    const BYTES: usize = 4_000_000;
    /// All of it is less than the program burns at once, as one acknowledgement may be for all.
    const NS_PER_MB: f64 = 100_000.0;

    fn wait_until_acknowledged(sender: &TcpStream) {
        while crate::tcp::info(sender).unwrap().unacked > 0 {
            std::thread::yield_now();
        }
    }

    /// Sends over loopback; what was burned for it.
    fn burned_ns(program: &AckBurn, ns_per_mb: Option<f64>, sleeps: bool) -> io::Result<u64> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        let before_ns = program.burned_ns();
        let flow = ns_per_mb.map(|ns_per_mb| program.burn(&sender, ns_per_mb)).transpose()?;
        // The first acknowledgement only provides the numbers. Its time counts as burned.
        sender.write_all(&[0]).unwrap();
        wait_until_acknowledged(&sender);
        flow.iter().for_each(|flow| flow.set_sleeps(sleeps));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut bytes = vec![0; 1 + BYTES];
                receiver.read_exact(&mut bytes).unwrap();
            });
            sender.write_all(&vec![0; BYTES]).unwrap();
        });
        wait_until_acknowledged(&sender);
        Ok(program.burned_ns() - before_ns)
    }

    #[test]
    fn time_is_burned_for_what_is_acknowledged_while_the_sender_sleeps() {
        let program = match AckBurn::load() {
            Ok(program) => program,
            Err(error) => return eprintln!("skipped: the program cannot be loaded: {error}"),
        };
        let began = std::time::Instant::now();
        let asleep_ns = match burned_ns(&program, Some(NS_PER_MB), true) {
            Ok(burned_ns) => burned_ns,
            Err(error) => return eprintln!("skipped: the program is not taken: {error}"),
        };
        let elapsed = began.elapsed();
        let asked_ns = (BYTES as f64 / 1e6 * NS_PER_MB) as u64;
        assert!(asleep_ns >= asked_ns, "{asleep_ns} ns of {asked_ns}");
        assert!(u128::from(asleep_ns) <= elapsed.as_nanos(), "{asleep_ns} ns in {elapsed:?}");
        let awake_ns = burned_ns(&program, Some(NS_PER_MB), false).unwrap();
        assert!(awake_ns > 0 && awake_ns < asked_ns, "it counts its own time: {awake_ns} ns");
        assert_eq!(burned_ns(&program, None, true).unwrap(), 0, "it is on no other connection");
    }
}
