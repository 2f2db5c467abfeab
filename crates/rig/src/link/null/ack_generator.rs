//! The ACK generator: a thread on a CPU of its own that reads what the BPF program on the sender's
//! device noted, and answers with frames put on the other end of the pair. It polls while a flow is
//! expected, so that no answer is late, and sleeps otherwise.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::answer::{Answer, Answers, Noted};
use super::segment::{Ends, Kind, Segment, SynOptions, syn_options, write_frame};
use zc_kernel::bpf::{Cell, Egress, SWALLOWED_PORT};
use zc_kernel::clock::{monotonic_ns, thread_cpu_ns};
use zc_kernel::packet::FrameSender;
use zc_run::{AckOptions, FragmentCounts};

/// The window scale (RFC 7323) that the ACK generator offers: 64 KiB << 10 is more than any send
/// buffer.
const WINDOW_SCALE: u8 = 10;

/// Pause of the thread between two reads, in pause instructions (some 40 cycles each). A read takes
/// a cache line that the sender writes, so reading without a pause would slow the sender down.
const PAUSES: usize = 16;

/// Addresses in the frames, as the ACK generator sees them.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameAddresses {
    pub(super) own_mac: [u8; 6],
    pub(super) their_mac: [u8; 6],
    pub(super) own: IpAddr,
    pub(super) theirs: IpAddr,
    pub(super) mtu_bytes: u32,
}

/// The ACK generator, which runs until it is dropped.
#[derive(Debug)]
pub struct AckGenerator {
    egress: Arc<Egress>,
    address: IpAddr,
    /// `None` once dropped. The thread ends when the channel is closed.
    orders: Option<Sender<Order>>,
    tid: Arc<AtomicI32>,
    thread: Option<JoinHandle<()>>,
}

/// A flow whose packets the null link notes.
#[derive(Debug)]
pub struct NotedFlow {
    egress: Arc<Egress>,
    port: u16,
    kind: Noting,
}

#[derive(Debug)]
enum Noting {
    /// A connection, which the ACK generator answers.
    Stream {
        /// Connections that had this port before.
        before: u64,
        state: Arc<State>,
    },
    /// Datagrams, which nobody answers.
    Datagrams {
        /// What the port's cell held before.
        before: NotedCounts,
    },
}

/// Shared with the thread, for one connection.
#[derive(Debug, Default)]
struct State {
    acked: AtomicU64,
    ended: AtomicBool,
    /// The [`NotedFlow`] was dropped.
    given_up: AtomicBool,
    /// Number of answers that are still to be dropped (tests).
    to_lose: AtomicU32,
}

struct Order {
    port: u16,
    before: u64,
    state: Arc<State>,
}

/// Counters of one flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NotedCounts {
    /// Payload bytes noted, in order.
    pub bytes: u64,
    /// Packets with payload; a GSO packet is one.
    pub packets: u64,
    /// Payload bytes acknowledged.
    pub acked_bytes: u64,
    /// Payload bytes noted that had been noted before.
    pub again_bytes: u64,
    /// Packets beyond what was expected next.
    pub gaps: u64,
    /// Packets that repeated what had been noted, because an answer was lost.
    pub repeats: u64,
    /// Packets whose fragments were counted, and those fragments
    /// ([`AckGenerator::count_fragments`]).
    pub counted: FragmentCounts,
    /// Whether the connection's end has been noted, answered, and the answer acknowledged.
    pub ended: bool,
    /// Whether it was reset.
    pub reset: bool,
}

impl AckGenerator {
    /// Starts the thread. `enter` moves it to where the frames are put on the wire; `cpu` is its
    /// own.
    pub(super) fn start(
        egress: Egress,
        frames: FrameSender,
        wire: FrameAddresses,
        cpu: usize,
        options: AckOptions,
    ) -> std::io::Result<Self> {
        let egress = Arc::new(egress);
        let (orders, inbox) = channel();
        let tid = Arc::new(AtomicI32::new(0));
        let thread = {
            let (egress, tid) = (Arc::clone(&egress), Arc::clone(&tid));
            std::thread::Builder::new().name("zc-far-end".into()).spawn(move || {
                // If the CPU may not be used, the thread runs elsewhere. The rig has refused such
                // CPUs before.
                let _ = zc_kernel::sched::pin(&[cpu]);
                tid.store(zc_kernel::sched::gettid(), Ordering::Release);
                serve(&inbox, &egress, &frames, &wire, options);
            })?
        };
        Ok(Self { egress, address: wire.own, orders: Some(orders), tid, thread: Some(thread) })
    }

    /// The address that senders connect to.
    pub fn address(&self) -> std::net::SocketAddr {
        (self.address, SWALLOWED_PORT).into()
    }

    /// Makes the ACK generator answer the next connection from `source_port`. Call it before the
    /// SYN is sent.
    pub fn expect(&self, source_port: u16) -> NotedFlow {
        let before = self.egress.cell(source_port).connections();
        let state = Arc::new(State::default());
        let order = Order { port: source_port, before, state: Arc::clone(&state) };
        if let Some(orders) = &self.orders {
            // If the thread has died, the connection gets no answer and fails.
            let _ = orders.send(order);
        }
        let kind = Noting::Stream { before, state };
        NotedFlow { egress: Arc::clone(&self.egress), port: source_port, kind }
    }

    /// The flow of datagrams from `source_port`, none of which has been sent yet. They are noted and
    /// not answered: the thread goes on sleeping.
    pub fn expect_datagrams(&self, source_port: u16) -> NotedFlow {
        let before = noted_in(self.egress.cell(source_port));
        let kind = Noting::Datagrams { before };
        NotedFlow { egress: Arc::clone(&self.egress), port: source_port, kind }
    }

    /// Whether the fragments of packets can be counted here.
    pub fn can_count_fragments(&self) -> bool {
        self.egress.can_count_fragments()
    }

    /// Switches the counting of fragments on or off, for all flows. It costs time for each packet.
    pub fn count_fragments(&self, on: bool) {
        self.egress.count_fragments(on);
    }

    /// The kernel's id of the BPF program.
    pub fn program_id(&self) -> u32 {
        self.egress.program_id()
    }

    /// CPU time of the thread so far, in nanoseconds; 0 while it is starting.
    pub fn cpu_ns(&self) -> u64 {
        match self.tid.load(Ordering::Acquire) {
            0 => 0,
            tid => thread_cpu_ns(tid).unwrap_or(0),
        }
    }
}

impl Drop for AckGenerator {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl NotedFlow {
    /// The flow's counters now.
    pub fn counts(&self) -> NotedCounts {
        let cell = self.egress.cell(self.port);
        let (before, state) = match &self.kind {
            Noting::Stream { before, state } => (*before, state),
            Noting::Datagrams { before } => return noted_in(cell).since(before),
        };
        if cell.connections() == before {
            return NotedCounts::default();
        }
        // The end is read first, so that the counts read after it are final.
        let ended = state.ended.load(Ordering::Acquire) && cell.closed();
        let reset = cell.reset();
        NotedCounts {
            acked_bytes: state.acked.load(Ordering::Acquire),
            again_bytes: cell.again_bytes(),
            gaps: cell.gaps(),
            repeats: cell.repeats() + u64::from(cell.syns().saturating_sub(1)),
            ended,
            reset,
            ..noted_in(cell)
        }
    }

    /// Payload bytes noted so far, in order: the first of [`counts`](Self::counts), where those of
    /// ten thousand flows are to be read in one moment.
    pub fn bytes(&self) -> u64 {
        let cell = self.egress.cell(self.port);
        match &self.kind {
            Noting::Stream { before, .. } if cell.connections() == *before => 0,
            Noting::Stream { .. } => cell.bytes(),
            Noting::Datagrams { before } => cell.bytes().wrapping_sub(before.bytes),
        }
    }

    /// Lets the next `answers` of the far end get lost, as they do when a queue is full: for tests
    /// of what then happens.
    pub fn lose(&self, answers: u32) {
        if let Noting::Stream { state, .. } = &self.kind {
            state.to_lose.store(answers, Ordering::Release);
        }
    }

    /// Waits until the connection has ended on both sides, or for at most `patience`. Returns the
    /// last counts.
    pub fn wait_for_end(&self, patience: Duration) -> NotedCounts {
        let until_ns =
            monotonic_ns().saturating_add(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX));
        loop {
            let counts = self.counts();
            if counts.ended || counts.reset || monotonic_ns() >= until_ns {
                return counts;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

impl Drop for NotedFlow {
    fn drop(&mut self) {
        if let Noting::Stream { state, .. } = &self.kind {
            state.given_up.store(true, Ordering::Release);
        }
    }
}

/// What a cell holds of packets.
fn noted_in(cell: &Cell) -> NotedCounts {
    NotedCounts {
        bytes: cell.bytes(),
        packets: cell.packets(),
        counted: FragmentCounts { packets: cell.counted(), fragments: cell.fragments() },
        ..NotedCounts::default()
    }
}

impl NotedCounts {
    /// Those of two flows together.
    fn and(mut self, other: &Self) -> Self {
        self.bytes += other.bytes;
        self.packets += other.packets;
        self.acked_bytes += other.acked_bytes;
        self.again_bytes += other.again_bytes;
        self.gaps += other.gaps;
        self.repeats += other.repeats;
        self.counted.add(&other.counted);
        self.ended &= other.ended;
        self.reset |= other.reset;
        self
    }

    /// Those of datagrams, which arrive in the moment in which they are noted.
    fn since(&self, before: &Self) -> Self {
        let bytes = self.bytes.wrapping_sub(before.bytes);
        let counted = FragmentCounts {
            packets: self.counted.packets.wrapping_sub(before.counted.packets),
            fragments: self.counted.fragments.wrapping_sub(before.counted.fragments),
        };
        Self {
            bytes,
            acked_bytes: bytes,
            packets: self.packets.wrapping_sub(before.packets),
            counted,
            ended: true,
            ..Self::default()
        }
    }
}

impl std::iter::Sum for NotedCounts {
    /// Of several flows: they have ended when each has, and one that was reset tells of all.
    fn sum<I: Iterator<Item = Self>>(flows: I) -> Self {
        flows.reduce(|sum, flow| sum.and(&flow)).unwrap_or_default()
    }
}

/// A connection that is being answered.
struct Serving {
    order: Order,
    ends: Ends,
    rtt_ns: u64,
    /// SYNs seen, when the last of them came, and how many of them have been answered.
    syns: u32,
    syn_came_ns: u64,
    syns_answered: u32,
    /// Null until its SYN has been answered.
    agreed: Option<Agreed>,
    answers: Answers,
}

/// Result of the handshake.
#[derive(Clone, Copy)]
struct Agreed {
    /// The sequence number of its SYN.
    theirs: u32,
    /// The sequence number of our SYN-ACK.
    own: u32,
    timestamps: bool,
}

fn serve(
    inbox: &Receiver<Order>,
    egress: &Egress,
    frames: &FrameSender,
    wire: &FrameAddresses,
    options: AckOptions,
) {
    let mut serving: Vec<Serving> = Vec::new();
    let mut frame = Vec::with_capacity(128);
    loop {
        if serving.is_empty() {
            let Ok(order) = inbox.recv() else { return };
            serving.push(Serving::new(order, wire, options));
        }
        // All that there are: a round takes long where thousands are served.
        loop {
            match inbox.try_recv() {
                Ok(order) => serving.push(Serving::new(order, wire, options)),
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => break,
            }
        }
        for each in &mut serving {
            let cell = egress.cell(each.order.port);
            if let Some(segment) = each.turn(cell, wire) {
                write_frame(&mut frame, &each.ends, &segment);
                let lost = each.order.state.to_lose.fetch_update(
                    Ordering::AcqRel,
                    Ordering::Acquire,
                    |left| left.checked_sub(1),
                );
                if lost.is_err() {
                    // A frame that the device or a queue would not take is as good as lost on a
                    // wire: the sender sends again what it is to answer, the program counts that as
                    // a repeat (egress.bpf.c), and each repeat is answered.
                    let _ = frames.send(&frame);
                }
                each.order.state.acked.store(each.answers.acked(), Ordering::Release);
                if segment.kind == Kind::FinAck {
                    each.order.state.ended.store(true, Ordering::Release);
                }
            }
        }
        serving.retain(|each| !each.order.state.given_up.load(Ordering::Acquire));
        for _ in 0..PAUSES {
            std::hint::spin_loop();
        }
    }
}

impl Serving {
    fn new(order: Order, wire: &FrameAddresses, options: AckOptions) -> Self {
        let ends = Ends {
            own_mac: wire.own_mac,
            their_mac: wire.their_mac,
            own: wire.own,
            theirs: wire.theirs,
            own_port: SWALLOWED_PORT,
            their_port: order.port,
        };
        Self {
            order,
            ends,
            rtt_ns: options.rtt_ns,
            syns: 0,
            syn_came_ns: 0,
            syns_answered: 0,
            agreed: None,
            answers: Answers::new(options),
        }
    }

    /// The segment that is due, if any.
    fn turn(&mut self, cell: &Cell, wire: &FrameAddresses) -> Option<Segment> {
        if cell.connections() == self.order.before {
            return None;
        }
        let syns = cell.syns();
        if syns != self.syns {
            (self.syns, self.syn_came_ns) = (syns, monotonic_ns());
        }
        if self.syns_answered != syns && monotonic_ns() - self.syn_came_ns >= self.rtt_ns {
            self.syns_answered = syns;
            return Some(self.accept(cell, wire));
        }
        let agreed = self.agreed?;
        // The end is read first: once it has been noted, the bytes read after it are final. In the
        // other order, bytes that came in between would be ended before they are acknowledged.
        let finished = cell.finished();
        let noted = Noted { bytes: cell.bytes(), repeats: cell.repeats(), finished };
        let (kind, up_to) = match self.answers.due(noted, monotonic_ns)? {
            Answer::Ack(up_to) => (Kind::Ack, up_to),
            Answer::Fin(up_to) => (Kind::FinAck, up_to),
        };
        // Sequence numbers count modulo 2^32: the SYN is one, and so is the FIN.
        let ack = agreed
            .theirs
            .wrapping_add(1)
            .wrapping_add(up_to as u32)
            .wrapping_add(u32::from(kind == Kind::FinAck));
        let timestamps = agreed.timestamps.then(|| (now_ms(), cell.timestamp()));
        Some(Segment { seq: agreed.own.wrapping_add(1), ack, kind, timestamps })
    }

    fn accept(&mut self, cell: &Cell, wire: &FrameAddresses) -> Segment {
        let asked: SynOptions = syn_options(&cell.syn_options());
        let theirs = cell.first();
        let own = theirs.rotate_left(16) ^ u32::from(self.order.port);
        self.agreed = Some(Agreed { theirs, own, timestamps: asked.timestamp.is_some() });
        let headers: u32 = if wire.own.is_ipv6() { 60 } else { 40 };
        Segment {
            seq: own,
            ack: theirs.wrapping_add(1),
            kind: Kind::SynAck {
                mss: u16::try_from(wire.mtu_bytes.saturating_sub(headers)).unwrap_or(u16::MAX),
                window_scale: asked.window_scale.map(|_| WINDOW_SCALE),
                sack: asked.sack,
            },
            timestamps: asked.timestamp.map(|theirs| (now_ms(), theirs)),
        }
    }
}

/// The clock of the far end's timestamps: milliseconds, as Linux has them (RFC 7323).
fn now_ms() -> u32 {
    (monotonic_ns() / 1_000_000) as u32
}
