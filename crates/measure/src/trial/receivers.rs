//! The far half of a trial: receivers without their senders, which are on another machine, and a window over them.

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use zc_kernel::clock::{monotonic_ns, sleep_until};

use super::machine::Machine;
use super::receiving::{self, RecvConfig};
use super::window::{APART_NS, SETTLE_NS, Threads};
use super::worker::{
    PATIENCE, Published, Ready, TrialError, Worker, await_message, settle_on, spawn, stuck,
};
use zc_run::{Reading, RecvCounts, RemoteWindow, Result};

/// Receivers at work.
pub struct Receivers {
    flows: Vec<Receiving>,
    threads: Threads,
}

struct Receiving {
    side: Worker<RecvCounts>,
    crc32: Arc<Published<u32>>,
}

impl Receivers {
    /// Starts a receiver on each of `sockets`.
    ///
    /// # Errors
    /// The path cannot run here.
    pub fn start(
        sockets: Vec<TcpStream>,
        how: &RecvConfig,
    ) -> std::result::Result<Self, TrialError> {
        let mut flows = Vec::new();
        for (index, socket) in sockets.into_iter().enumerate() {
            let crc32 = Arc::new(Published::default());
            let (published, how) = (Arc::clone(&crc32), how.clone());
            let (half, ready) = spawn(format!("zc-recv-{index}"), move |ready, counts| {
                settle_on(&how.cpus)?;
                receiving::receive(&socket, &how, ready, counts, &published)
            })?;
            let ready: Ready = await_message(&ready, &half.done, "a receiver to open its path")?;
            flows.push(Receiving { side: half.whole(ready), crc32 });
        }
        let tids: Vec<i32> = flows.iter().map(|flow| flow.side.tid).collect();
        let mut threads = Threads::open(&[], &tids)?;
        threads.add_workers()?;
        Ok(Self { flows, threads })
    }

    fn counts(&self) -> RecvCounts {
        let mut sum = RecvCounts::default();
        for flow in &self.flows {
            sum.add(&flow.side.counts.get());
        }
        sum
    }

    /// Waits for the end of every stream; returns the bytes of each and its CRC-32, which is 0 where none was asked for.
    ///
    /// # Errors
    /// A receiver broke, or the end of a stream does not come.
    pub fn finish(mut self) -> std::result::Result<Vec<(u64, u32)>, TrialError> {
        let mut ended = Vec::new();
        for flow in std::mem::take(&mut self.flows) {
            let mut receiver = Receivers { flows: vec![flow], threads: Threads::default() };
            let flow = &mut receiver.flows[0]; // in a struct that joins its thread, however this ends
            let counts = flow
                .side
                .done
                .recv_timeout(PATIENCE)
                .map_err(|_| stuck("a receiver did not end"))??;
            ended.push((counts.bytes, flow.crc32.get()));
        }
        Ok(ended)
    }
}

impl Drop for Receivers {
    fn drop(&mut self) {
        for flow in &mut self.flows {
            if !flow.side.has_ended() {
                let _ = flow.side.socket.shutdown(Shutdown::Both); // wakes its thread with an error
            }
        }
        for thread in self.flows.iter_mut().filter_map(|flow| flow.side.thread.take()) {
            let _ = thread.join();
        }
    }
}

impl Machine {
    /// A window over `receivers`, or over nothing, from `opens_ns` to `closes_ns` of CLOCK_MONOTONIC. Slow meters are read outside
    /// of it, as at the sender's end.
    ///
    /// # Errors
    /// A meter that could be read before cannot be read now.
    pub fn watch(
        &mut self,
        receivers: Option<&Receivers>,
        opens_ns: u64,
        closes_ns: u64,
    ) -> Result<RemoteWindow> {
        let (mut opened, mut closed) = (Reading::default(), Reading::default());
        let nobody = Threads::default();
        let threads = receivers.map_or(&nobody, |receivers| &receivers.threads);
        // An idle window opens so soon that its slow meters are read at once.
        let early_ns = if receivers.is_some() { APART_NS } else { SETTLE_NS };
        sleep_until(opens_ns.saturating_sub(early_ns).max(monotonic_ns()));
        self.kernel(threads.cpu_ns(), &mut opened)?;
        threads.read_switches(&mut opened);

        sleep_until(opens_ns);
        threads.read_cpu(&mut opened);
        opened.received = receivers.map(Receivers::counts).unwrap_or_default();
        opened.soak = self.soaked();

        sleep_until(closes_ns);
        closed.soak = self.soaked();
        closed.received = receivers.map(Receivers::counts).unwrap_or_default();
        threads.read_cpu(&mut closed);
        self.kernel(threads.cpu_ns(), &mut closed)?;
        threads.read_switches(&mut closed);
        Ok(RemoteWindow { opened, closed })
    }
}

/// Listens for the flows of trials.
///
/// # Errors
/// The address cannot be had.
pub fn listen(at: SocketAddr, rcvbuf_bytes: Option<usize>) -> Result<TcpListener> {
    receiving::listen(at, rcvbuf_bytes)
}

impl std::fmt::Debug for Receivers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receivers").field("flows", &self.flows.len()).finish_non_exhaustive()
    }
}
