//! The streams of a test: one thread each, which receives and discards, or sends. They count bytes
//! and know nothing of the protocol. Dropping them ends them.

use std::fs::File;
use std::io::{self, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

use rustix::fs::{MemfdFlags, memfd_create};
use zc_kernel::{clock, sched, splice, tcp};

use super::request::Request;

/// Enough for a loop around recv(2).
const STACK_BYTES: usize = 256 << 10;
/// Limit of all receive buffers together. Blocks larger than their share are read in parts.
const MOST_BUFFER_BYTES: usize = 64 << 20;
/// Longest sleep of a paced sender between checks of the stop flag.
const NAP_NS: u64 = 50_000_000;

/// State shared by the threads of a test.
#[derive(Debug)]
struct Shared {
    stopping: AtomicBool,
    /// Blocks that may still be started, on all streams together.
    blocks_left: Option<AtomicU64>,
}

/// Counters of one thread.
#[derive(Debug, Default)]
struct Count {
    bytes: AtomicU64,
    /// When it last moved a byte.
    last_ns: AtomicU64,
}

impl Count {
    fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
        self.last_ns.store(clock::monotonic_ns(), Relaxed);
    }
}

#[derive(Debug)]
struct Stream {
    socket: Arc<TcpStream>,
    count: Arc<Count>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    shared: Arc<Shared>,
}

/// Source of a sender's block.
#[derive(Debug, Clone)]
enum Source {
    Memory(Arc<[u8]>),
    File(Arc<File>),
}

impl Source {
    fn of(request: &Request) -> io::Result<Self> {
        let block: Arc<[u8]> = if request.repeating {
            b"0123456789".iter().copied().cycle().take(request.block_bytes).collect()
        } else {
            // Random bytes cannot be compressed on the way.
            let mut block = vec![0; request.block_bytes];
            zc_kernel::random::fill(&mut block)?;
            block.into()
        };
        if !request.by_sendfile {
            return Ok(Self::Memory(block));
        }
        let mut file = File::from(memfd_create("iperf3", MemfdFlags::CLOEXEC)?);
        file.write_all(&block)?;
        Ok(Self::File(Arc::new(file)))
    }

    /// Sends from `offset` of the block on.
    fn send(&self, socket: &TcpStream, offset: usize, block_bytes: usize) -> io::Result<usize> {
        match self {
            Self::Memory(block) => tcp::send(socket, &block[offset..]),
            Self::File(file) => {
                splice::sendfile(socket, &**file, &mut (offset as u64), block_bytes - offset)
            }
        }
    }
}

impl Streams {
    /// Starts a thread per connection. The number with each connection is that of payload bytes
    /// read already.
    pub(super) fn start(
        request: &Request,
        connections: Vec<(TcpStream, usize)>,
    ) -> io::Result<Self> {
        let blocks_left = request.most_blocks.map(AtomicU64::new);
        let shared = Arc::new(Shared { stopping: AtomicBool::new(false), blocks_left });
        let source = if request.reverse { Some(Source::of(request)?) } else { None };
        let mut started = Self { streams: Vec::new(), shared };
        for (number, (socket, early)) in connections.into_iter().enumerate() {
            let (socket, count) = (Arc::new(socket), Arc::new(Count::default()));
            count.add(early);
            let (request, source) = (request.clone(), source.clone());
            let thread = {
                let (socket, count, shared) =
                    (Arc::clone(&socket), Arc::clone(&count), Arc::clone(&started.shared));
                let work = move || {
                    if let Some(cpu) = request.cpu {
                        // The CPU was allowed a moment ago. If it no longer is, the kernel chooses
                        // one.
                        drop(sched::pin(&[cpu]));
                    }
                    // A broken stream has ended. The control connection will show why.
                    drop(match source {
                        Some(source) => send(&socket, &source, &request, &count, &shared),
                        None => receive(&socket, &request, &count, &shared),
                    });
                };
                thread::Builder::new()
                    .name(format!("iperf3/{number}"))
                    .stack_size(STACK_BYTES)
                    .spawn(work)?
            };
            started.streams.push(Stream { socket, count, thread: Some(thread) });
        }
        Ok(started)
    }

    /// Bytes moved by each stream.
    pub(super) fn bytes(&self) -> Vec<u64> {
        self.streams.iter().map(|stream| stream.count.bytes.load(Relaxed)).collect()
    }

    /// Time of the last byte moved, on the monotonic clock.
    pub(super) fn last_ns(&self) -> u64 {
        self.streams.iter().map(|stream| stream.count.last_ns.load(Relaxed)).max().unwrap_or(0)
    }

    /// Retransmitted segments of each stream.
    pub(super) fn retransmits(&self) -> Vec<Option<u32>> {
        self.streams
            .iter()
            .map(|stream| tcp::info(&stream.socket).ok().map(|info| info.total_retrans))
            .collect()
    }

    /// Congestion control of the first stream.
    pub(super) fn congestion(&self) -> Option<String> {
        self.streams.first().and_then(|stream| tcp::congestion(&stream.socket).ok())
    }

    /// Ends all threads. The counters stay readable.
    pub(super) fn stop(&mut self) {
        self.shared.stopping.store(true, Relaxed);
        for stream in &self.streams {
            drop(stream.socket.shutdown(Shutdown::Both)); // or it has gone already
        }
        for thread in self.streams.iter_mut().filter_map(|stream| stream.thread.take()) {
            drop(thread.join());
        }
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.stop();
    }
}

fn receive(
    socket: &TcpStream,
    request: &Request,
    count: &Count,
    shared: &Shared,
) -> io::Result<()> {
    let length = request.block_bytes.min(MOST_BUFFER_BYTES / request.streams);
    let mut buffer = vec![0; if request.skip_copy { 0 } else { length }];
    while !shared.stopping.load(Relaxed) {
        let received = if request.skip_copy {
            tcp::recv_discard(socket, length)
        } else {
            tcp::recv(socket, &mut buffer)
        };
        match received? {
            0 => break,
            bytes => count.add(bytes),
        }
    }
    Ok(())
}

fn send(
    socket: &TcpStream,
    source: &Source,
    request: &Request,
    count: &Count,
    shared: &Shared,
) -> io::Result<()> {
    let (began_ns, mut sent) = (clock::monotonic_ns(), 0_u64);
    while !shared.stopping.load(Relaxed) {
        if let Some(left) = &shared.blocks_left
            && left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
        {
            break;
        }
        let mut offset = 0;
        while offset < request.block_bytes {
            let bytes = source.send(socket, offset, request.block_bytes)?;
            count.add(bytes);
            offset += bytes;
        }
        sent += offset as u64;
        if let Some(bits) = request.rate_bits {
            let due_ns = began_ns.saturating_add((sent as f64 * 8e9 / bits) as u64);
            while !shared.stopping.load(Relaxed) && clock::monotonic_ns() < due_ns {
                clock::sleep_until(due_ns.min(clock::monotonic_ns() + NAP_NS));
            }
        }
    }
    Ok(())
}
