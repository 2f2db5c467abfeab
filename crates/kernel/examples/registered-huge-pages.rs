//! What a socket is charged with for zero-copy sends of io_uring, by the pages of their buffer.
//!
//! `cargo run --release -p zc-kernel --example registered-huge-pages` sends by IORING_OP_SEND_ZC
//! over loopback connections, from small and from huge pages, registered and not, and prints
//!
//! 1. by how much one send of 16 KiB charges the sender (SK_MEMINFO_WMEM_QUEUED, the sum of its
//!    packets' truesize). MSG_MORE keeps it in the queue.
//! 2. the charges and the payload of both ends (SIOCOUTQ, SIOCINQ), when nothing more can be sent
//!    because the receiver does not read.
//!
//! It needs no privilege. docs/findings/registered-huge-pages.md explains the result.
//!
//! # References
//! - io_uring/net.c, `io_sg_from_iter`; net/core/datagram.c, `zerocopy_fill_skb_from_iter`
//! - include/uapi/linux/sock_diag.h, SK_MEMINFO_*; tcp(7), SIOCINQ and SIOCOUTQ

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::ioctl_fionread;
use rustix::mm::{Advice, madvise};
use zc_kernel::pages::Pages;
use zc_kernel::uring::{ZeroCopy, ZeroCopySends};

/// Size of a huge page.
const HUGE: usize = 2 << 20;
/// Two huge pages: registered memory counts against RLIMIT_MEMLOCK.
const MEMORY: usize = 2 * HUGE;
/// One send of the first table.
const SEND: usize = 16 << 10;
/// Where in a huge page it begins.
const OFFSETS: [usize; 3] = [0, HUGE / 2, HUGE - SEND];
/// Where the sends of the second table begin.
const MIDDLE: usize = HUGE / 2;
/// How long the kernel may take to release memory.
const PATIENCE: Duration = Duration::from_secs(2);

// Indices of what SO_MEMINFO returns.
const RMEM_ALLOC: usize = libc::SK_MEMINFO_RMEM_ALLOC as usize;
const SNDBUF: usize = libc::SK_MEMINFO_SNDBUF as usize;
const WMEM_QUEUED: usize = libc::SK_MEMINFO_WMEM_QUEUED as usize;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let mut kinds = vec![("small", Arc::new(small_pages()?))];
    match huge_pages()? {
        Some(huge) => kinds.push(("huge", Arc::new(huge))),
        None => eprintln!(
            "the kernel gave no huge pages\n\
             hint: as root, echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
        ),
    }

    println!("charge of the sender for one send of {SEND} bytes, by its offset in the huge page");
    println!("pages  registered {}", OFFSETS.map(|offset| format!("{offset:>10}")).concat());
    for (pages, memory) in &kinds {
        for registered in [false, true] {
            let mut charges = String::new();
            for offset in OFFSETS {
                charges += &format!("{:>10}", charge_of_one(memory, registered, offset)?);
            }
            println!("{pages:<6} {registered:<10} {charges}");
        }
    }

    println!("\nboth ends when the receiver does not read, sent from the middle of a huge page on");
    println!("                  sender                        receiver");
    println!("pages  registered    sndbuf   charged   payload   charged   payload");
    for (pages, memory) in &kinds {
        for registered in [false, true] {
            let Queues { sndbuf, sender, receiver } = until_full(memory, registered)?;
            println!(
                "{pages:<6} {registered:<10}{sndbuf:>10}{:>10}{:>10}{:>10}{:>10}",
                sender.charged, sender.payload, receiver.charged, receiver.payload
            );
        }
    }
    Ok(())
}

/// Touched memory in small pages.
fn small_pages() -> io::Result<Pages> {
    let mut pages = Pages::new(MEMORY)?;
    let base = pages.as_mut_slice().as_mut_ptr();
    // SAFETY: advice about a range of our own mapping changes nothing in it.
    unsafe { madvise(base.cast(), MEMORY, Advice::LinuxNoHugepage) }?;
    pages.as_mut_slice().fill(1);
    Ok(pages)
}

/// Touched memory in huge pages, if the kernel gives them.
fn huge_pages() -> io::Result<Option<Pages>> {
    let before = huge_kib()?;
    let mut pages = Pages::huge(MEMORY, HUGE)?;
    pages.as_mut_slice().fill(1);
    Ok((huge_kib()? >= before + (MEMORY >> 10) as u64).then_some(pages))
}

/// `AnonHugePages` of this process, in KiB (proc_pid_smaps(5)).
fn huge_kib() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup")?;
    let line = text.lines().find_map(|line| line.strip_prefix("AnonHugePages:"));
    Ok(line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0))
}

/// A loopback connection: the end that sends, and the one that does not read.
fn connection() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    Ok((sender, listener.accept()?.0))
}

/// Sends to `socket` from `memory`, 64 KiB at a time. `more` is MSG_MORE.
fn ring(
    socket: &TcpStream,
    memory: &Arc<Pages>,
    registered: bool,
    more: bool,
) -> io::Result<ZeroCopy> {
    let socket = OwnedFd::from(socket.try_clone()?);
    let sends_as = if registered { ZeroCopySends::SingleRegistered } else { ZeroCopySends::Single };
    ZeroCopy::new(socket, Arc::clone(memory), 64 << 10, sends_as, more, PATIENCE).map_err(|error| {
        if registered && ZeroCopy::registering_is_over_the_limit(&error) {
            let kib = MEMORY >> 10;
            return io::Error::other(format!(
                "registering {kib} KiB is over the limit of locked memory\nhint: ulimit -l {}",
                2 * kib
            ));
        }
        error
    })
}

/// What the sender is charged with for one send from `offset` on, in bytes.
fn charge_of_one(memory: &Arc<Pages>, registered: bool, offset: usize) -> io::Result<u32> {
    let (socket, _peer) = connection()?;
    let mut ring = ring(&socket, memory, registered, true)?;
    ring.send(offset, SEND)?;
    let charged = meminfo(&socket)?[WMEM_QUEUED];
    if unacknowledged(&socket)? < SEND as u64 {
        return Err(io::Error::other("the packet left the queue before its charge was read"));
    }
    // Sends the packet that MSG_MORE has held back, so that the kernel releases the memory.
    socket.set_nodelay(true)?;
    ring.drain()?;
    Ok(charged)
}

/// What a queue holds, and its charge, both in bytes.
struct Queue {
    charged: u32,
    payload: u64,
}

struct Queues {
    sndbuf: u32,
    sender: Queue,
    receiver: Queue,
}

/// Sends until the queues have not changed for a while.
fn until_full(memory: &Arc<Pages>, registered: bool) -> io::Result<Queues> {
    let (socket, peer) = connection()?;
    let (from, memory) = (socket.try_clone()?, Arc::clone(memory));
    let thread = std::thread::Builder::new().spawn(move || -> io::Result<()> {
        let mut ring = ring(&from, &memory, registered, false)?;
        loop {
            ring.send(MIDDLE, HUGE - MIDDLE)?;
        }
    })?;
    let mut before = None;
    let queues = loop {
        std::thread::sleep(Duration::from_millis(200));
        let (at_sender, at_receiver) = (meminfo(&socket)?, meminfo(&peer)?);
        if before.replace((at_sender, at_receiver)) == Some((at_sender, at_receiver)) {
            let (sent, received) = (unacknowledged(&socket)?, ioctl_fionread(&peer)?);
            break Queues {
                sndbuf: at_sender[SNDBUF],
                sender: Queue { charged: at_sender[WMEM_QUEUED], payload: sent },
                receiver: Queue { charged: at_receiver[RMEM_ALLOC], payload: received },
            };
        }
    };
    // Refuses the send that waits, which ends the thread.
    socket.shutdown(Shutdown::Both)?;
    drop(peer);
    match thread.join() {
        Ok(Err(error)) if queues.sender.payload == 0 => Err(error),
        _ => Ok(queues),
    }
}

/// Counters of a socket's memory by getsockopt(2), SO_MEMINFO: what `ss -m` shows.
fn meminfo(socket: &TcpStream) -> io::Result<[u32; 9]> {
    let mut values = [0_u32; 9];
    let mut bytes = size_of_val(&values) as libc::socklen_t;
    // SAFETY: getsockopt writes at most `bytes`, the size of `values`, which outlives the call.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            values.as_mut_ptr().cast(),
            &raw mut bytes,
        )
    };
    if status == 0 { Ok(values) } else { Err(io::Error::last_os_error()) }
}

/// Bytes that the peer has not acknowledged, by ioctl(2), SIOCOUTQ.
fn unacknowledged(socket: &TcpStream) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: SIOCOUTQ, which libc knows as TIOCOUTQ, writes an int.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if status == 0 {
        Ok(u64::try_from(bytes).unwrap_or(0))
    } else {
        Err(io::Error::last_os_error())
    }
}
