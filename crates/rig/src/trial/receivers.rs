//! The receiving half of a trial whose senders are on another machine, and the window over it.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::connection::Connection;
use super::delivered;
use super::machine::Machine;
use super::receiving::{self, RecvConfig};
use super::sockets;
use super::window::{APART_NS, SETTLE_NS, Threads};
use super::worker::{
    Published, Ready, StillWanted, TrialError, Worker, await_message, pin_to, receive, sleep,
    spawn, timed_out,
};
use crate::link::TcpPackets;
use zc_kernel::clock::{monotonic_ns, sleep_until};
use zc_run::{DeliveredReading, Reading, ReceiverSocket, RecvCounts, RemoteWindow, Result};

/// Receivers that run.
pub struct Receivers {
    flows: Vec<Receiving>,
    threads: Threads,
    tcp_packets: Option<TcpPackets>,
}

struct Receiving {
    side: Worker<RecvCounts>,
    crc32: Arc<Published<u32>>,
    given_up: Arc<AtomicBool>,
}

impl Receivers {
    /// Starts a receiver on each of `sockets`.
    ///
    /// # Errors
    /// The path cannot run here, or nobody wants them any more.
    pub fn start(
        sockets: Vec<TcpStream>,
        how: &RecvConfig,
        still_wanted: StillWanted<'_>,
    ) -> std::result::Result<Self, TrialError> {
        let mut flows = Vec::new();
        for (index, socket) in sockets.into_iter().enumerate() {
            let crc32 = Arc::new(Published::default());
            let (published, how) = (Arc::clone(&crc32), how.clone());
            let given_up = Arc::new(AtomicBool::new(false));
            let is_given_up = Arc::clone(&given_up);
            let (starting, ready) = spawn(format!("zc-recv-{index}"), move |ready, counts| {
                pin_to(&how.cpus)?;
                let socket = Connection::Stream(socket);
                let given_up = &is_given_up;
                receiving::receive(&socket, index, &how, ready, counts, &published, given_up, None)
            })?;
            let ready: Ready =
                await_message(&ready, &starting.done, "a receiver to open its path", still_wanted)?;
            flows.push(Receiving { side: starting.into_worker(ready), crc32, given_up });
        }
        let tids: Vec<i32> = flows.iter().map(|flow| flow.side.tid).collect();
        let mut threads = Threads::open(&[], &tids)?;
        threads.add_workers()?;
        Ok(Self { flows, threads, tcp_packets: TcpPackets::shared() })
    }

    /// State of the first one's socket; `None` where the kernel does not say.
    fn first_socket(&self) -> Option<ReceiverSocket> {
        sockets::receiver_facts(&self.flows.first()?.side.socket)
    }

    /// What TCP got; `None` where that is unknown.
    fn delivered(&self) -> Option<DeliveredReading> {
        let sockets = self.flows.iter().map(|flow| &flow.side.socket);
        delivered::read(self.tcp_packets.as_ref()?, sockets)
    }

    fn counts(&self) -> RecvCounts {
        let mut sum = RecvCounts::default();
        for flow in &self.flows {
            sum.add(&flow.side.counts.get());
        }
        sum
    }

    /// Waits for the end of every stream; returns for each its bytes and its CRC-32, which is 0 if
    /// no checksum was asked for.
    ///
    /// # Errors
    /// A receiver failed, the end of a stream does not come, or nobody wants it any more.
    pub fn finish(
        mut self,
        still_wanted: StillWanted<'_>,
    ) -> std::result::Result<Vec<(u64, u32)>, TrialError> {
        let mut ended = Vec::new();
        for flow in std::mem::take(&mut self.flows) {
            let (flows, threads) = (vec![flow], Threads::default());
            let mut receiver = Receivers { flows, threads, tcp_packets: None };
            // In a struct that joins its thread on every return.
            let flow = &mut receiver.flows[0];
            let counts = receive(&flow.side.done, still_wanted)?
                .map_err(|_| timed_out("a receiver did not end"))??;
            ended.push((counts.bytes, flow.crc32.get()));
        }
        Ok(ended)
    }
}

impl Drop for Receivers {
    fn drop(&mut self) {
        for flow in &mut self.flows {
            flow.given_up.store(true, Ordering::Relaxed);
            flow.side.wake();
        }
        self.flows.iter_mut().for_each(|flow| flow.side.join());
    }
}

impl Machine {
    /// A window over `receivers`, or over an idle machine, that opens at `opens_ns` of
    /// CLOCK_MONOTONIC, or when this thread has its CPU, and lasts `lasts_ns`. The slow meters are
    /// read outside of it, as on the sender's machine.
    ///
    /// # Errors
    /// A meter that could be read before cannot be read now, or nobody wants the window any more.
    pub fn watch(
        &mut self,
        receivers: Option<&Receivers>,
        opens_ns: u64,
        lasts_ns: u64,
        still_wanted: StillWanted<'_>,
    ) -> Result<RemoteWindow> {
        let (mut opened, mut closed) = (Reading::default(), Reading::default());
        let no_threads = Threads::default();
        let threads = receivers.map_or(&no_threads, |receivers| &receivers.threads);
        // An idle window opens so soon that its slow meters are read at once.
        let early_ns = if receivers.is_some() { APART_NS } else { SETTLE_NS };
        sleep(opens_ns.saturating_sub(early_ns).max(monotonic_ns()), still_wanted)?;
        self.kernel(threads.cpu_ns(), &mut opened)?;
        threads.read_switches(&mut opened);
        opened.delivered = receivers.and_then(Receivers::delivered);

        sleep_until(opens_ns);
        threads.read_cpu(&mut opened);
        opened.received = receivers.map(Receivers::counts).unwrap_or_default();
        opened.soak = self.soaked();

        sleep(opens_ns.max(opened.soak.at_ns) + lasts_ns, still_wanted)?;
        closed.soak = self.soaked();
        closed.received = receivers.map(Receivers::counts).unwrap_or_default();
        threads.read_cpu(&mut closed);
        self.kernel(threads.cpu_ns(), &mut closed)?;
        threads.read_switches(&mut closed);
        closed.delivered = receivers.and_then(Receivers::delivered);
        let receiver = receivers.and_then(Receivers::first_socket);
        Ok(RemoteWindow { opened, closed, receiver })
    }
}

/// Listens for the flows of trials.
///
/// # Errors
/// The address cannot be listened on.
pub fn listen(at: SocketAddr, rcvbuf_bytes: Option<usize>) -> Result<TcpListener> {
    receiving::listen(at, rcvbuf_bytes)
}

impl std::fmt::Debug for Receivers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receivers").field("flows", &self.flows.len()).finish_non_exhaustive()
    }
}
