//! One flow: a connection, a sender thread and a receiver thread, each on its side of the link and on its CPU. On a link with
//! a far end of its own (`null`) that is the receiver; only proofs, whose bytes somebody must read, have a thread there too.
//!
//! The coordinator learns from each thread that it is ready, publishes when to begin and when to stop, and reads the
//! counts that the threads publish after every piece. The threads know nothing of windows.

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Inbox, RecvTimeoutError, Sender as Outbox, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use zc_sys::tcp::Unconnected;

use crate::link::{FarCounts, FarEnd, FarFlow, Link};
use crate::path::{self, SendSetup};
use crate::record::{Cell, Fault, FixedParams, No, RecvCounts, Result, SendCounts};
use crate::workload::Pacer;

/// How long a thread may take to connect and open its path, or to drain, before the trial is called failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// A value that one thread publishes and another reads; never contended for long.
#[derive(Debug, Default)]
struct Published<T>(Mutex<T>);

impl<T: Copy> Published<T> {
    fn set(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = value;
    }

    fn get(&self) -> T {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a flow's sender is driven.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drive {
    /// Bytes per second of this flow; null is as fast as it goes.
    pub(super) rate_bytes_per_s: Option<f64>,
    /// Stop after this many bytes (proofs); null is until told to.
    pub(super) stop_after_bytes: Option<u64>,
    /// The file that the first flow begins with.
    pub(super) first_file: usize,
    /// The largest piece of a file that is handed to the path at once.
    pub(super) piece_bytes: usize,
    /// The receiver checks what it gets (proofs).
    pub(super) checksum: bool,
    /// A receive path takes the bytes, also on a link with a far end of its own.
    pub(super) to_listener: bool,
}

impl Drive {
    /// The link's far end, where it is the one that takes the bytes.
    fn far_end(self, link: &dyn Link) -> Option<&FarEnd> {
        if self.to_listener { None } else { link.far_end() }
    }
}

/// Why a flow did not come up or did not end well.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The path cannot run here.
    CannotRun(No),
    /// Something broke.
    Broke(Fault),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Broke(fault)
    }
}

struct Side<C> {
    thread: Option<JoinHandle<()>>,
    done: Inbox<std::result::Result<C, Trouble>>,
    counts: Arc<Published<C>>,
    tid: i32,
    socket: TcpStream,
}

/// Who takes the bytes.
enum Taker {
    /// A thread with a receive path.
    Thread(Side<RecvCounts>),
    /// The link itself.
    FarEnd(FarFlow),
}

impl Taker {
    fn counts(&self) -> RecvCounts {
        match self {
            Self::Thread(side) => side.counts.get(),
            Self::FarEnd(flow) => RecvCounts { bytes: flow.counts().bytes, ..RecvCounts::default() },
        }
    }

    fn thread(&self) -> Option<&Side<RecvCounts>> {
        match self {
            Self::Thread(side) => Some(side),
            Self::FarEnd(_) => None,
        }
    }

    fn has_ended(&self) -> bool {
        match self {
            Self::Thread(side) => side.has_ended(),
            Self::FarEnd(flow) => flow.counts().reset,
        }
    }
}

impl<C> Side<C> {
    fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

/// A flow that is up.
pub(super) struct Flow {
    sender: Side<SendCounts>,
    taker: Taker,
    crc32: Arc<Published<u32>>,
    begin: Outbox<u64>,
    stop: Arc<AtomicBool>,
}

struct Ready {
    tid: i32,
    socket: TcpStream,
    /// The sender's, on a link with a far end.
    far: Option<FarFlow>,
}

impl Flow {
    /// Connects flow number `index` of a trial and opens both paths. Nothing is sent before [`begin`](Self::begin).
    pub(super) fn open(
        index: usize,
        cell: &Cell,
        fixed: &FixedParams,
        link: &Arc<dyn Link>,
        setup: &SendSetup,
        drive: Drive,
    ) -> std::result::Result<Self, Trouble> {
        let stop = Arc::new(AtomicBool::new(false));
        let crc32 = Arc::new(Published::default());
        let (receiver, address) = match drive.far_end(&**link) {
            Some(far_end) => (None, far_end.address()),
            None => {
                let (address_out, address_in) = channel();
                let (cell, fixed, link, crc32) = (cell.clone(), fixed.clone(), Arc::clone(link), Arc::clone(&crc32));
                let (receiver, ready) = spawn(format!("zc-recv-{index}"), move |ready, counts| {
                    receive(&cell, &fixed, &*link, drive.checksum, &address_out, ready, counts, &crc32)
                })?;
                let address = await_message(&address_in, &receiver.done, "the receiver to listen")?;
                (Some((receiver, ready)), address)
            }
        };
        let (begin, begin_in) = channel();
        let (sender, sender_ready) = {
            let (cell, fixed, link) = (cell.clone(), fixed.clone(), Arc::clone(link));
            let (setup, stop) = (setup.clone(), Arc::clone(&stop));
            spawn(format!("zc-send-{index}"), move |ready, counts| {
                send(index, &cell, &fixed, &*link, &setup, drive, address, &begin_in, &stop, ready, counts)
            })?
        };
        // On an early return `begin` is dropped, which ends the sender's thread, whose closed socket ends the receiver's.
        let mut sender_ready = await_message(&sender_ready, &sender.done, "the sender to open its path")?;
        let taker = match (receiver, sender_ready.far.take()) {
            (None, Some(flow)) => Taker::FarEnd(flow),
            (Some((receiver, ready)), _) => {
                let ready = await_message(&ready, &receiver.done, "the receiver to open its path")?;
                Taker::Thread(receiver.whole(ready))
            }
            (None, None) => return Err(Trouble::Broke(Fault::failed("a sender did not tell the far end of its flow"))),
        };
        Ok(Self { sender: sender.whole(sender_ready), taker, crc32, begin, stop })
    }

    /// Lets the sender begin; its first burst is due at `at_ns` (CLOCK_MONOTONIC).
    pub(super) fn begin(&self, at_ns: u64) {
        let _ = self.begin.send(at_ns); // a sender that has ended is seen by `has_ended`
    }

    /// Lets the sender end after the piece it is at.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// What the two threads did so far.
    pub(super) fn counts(&self) -> (SendCounts, RecvCounts) {
        (self.sender.counts.get(), self.taker.counts())
    }

    /// What the far end noted, on a link that has one.
    pub(super) fn noted(&self) -> Option<FarCounts> {
        match &self.taker {
            Taker::Thread(_) => None,
            Taker::FarEnd(flow) => Some(flow.counts()),
        }
    }

    /// The sender's thread.
    pub(super) fn sender_tid(&self) -> i32 {
        self.sender.tid
    }

    /// The receiver's thread, where there is one.
    pub(super) fn receiver_tid(&self) -> Option<i32> {
        self.taker.thread().map(|side| side.tid)
    }

    /// The sending socket.
    pub(super) fn socket(&self) -> &TcpStream {
        &self.sender.socket
    }

    /// True once a thread has ended, well or not; before the stop signal that is a failure.
    pub(super) fn has_ended(&self) -> bool {
        self.sender.has_ended() || self.taker.has_ended()
    }

    /// Waits until both threads have drained and ended; returns their last counts and, in proofs, the checksum.
    pub(super) fn finish(self) -> std::result::Result<(SendCounts, RecvCounts, u32), Trouble> {
        let sent = self.sender.done.recv_timeout(PATIENCE).map_err(|_| stuck("the sender did not drain"));
        let receiver = match &self.taker {
            Taker::Thread(receiver) => receiver,
            Taker::FarEnd(flow) => {
                let sent = sent.and_then(|sent| sent)?;
                return noted_whole(sent, flow).map(|received| (sent, received, 0)).map_err(Trouble::Broke);
            }
        };
        if !matches!(sent, Ok(Ok(_))) {
            let _ = receiver.socket.shutdown(Shutdown::Both);
        }
        let received = receiver.done.recv_timeout(PATIENCE).map_err(|_| stuck("the receiver did not end"));
        let (sent, received) = match (sent, received) {
            (Ok(Ok(sent)), Ok(Ok(received))) => (sent, received),
            // The side that failed first is the cause, the other one's reset is its consequence. A receiver's own failure
            // makes the sender fail with a reset, never the other way round: an ended sender is an end of stream.
            (_, Ok(Err(trouble))) | (Ok(Err(trouble)), _) | (Err(trouble), _) | (_, Err(trouble)) => {
                return Err(trouble);
            }
        };
        if sent.bytes != received.bytes {
            return Err(Trouble::Broke(Fault::failed(format!(
                "the sender sent {} bytes and the receiver received {}",
                sent.bytes, received.bytes
            ))));
        }
        Ok((sent, received, self.crc32.get()))
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.stop();
        self.begin(0);
        let receiver = match &mut self.taker {
            Taker::Thread(receiver) => Some(receiver),
            Taker::FarEnd(_) => None,
        };
        if !(self.sender.has_ended() && receiver.as_ref().is_none_or(|receiver| receiver.has_ended())) {
            // Threads that are blocked on the socket wake with an error.
            let _ = self.sender.socket.shutdown(Shutdown::Both);
            if let Some(receiver) = &receiver {
                let _ = receiver.socket.shutdown(Shutdown::Both);
            }
        }
        let threads = [self.sender.thread.take(), receiver.and_then(|receiver| receiver.thread.take())];
        for thread in threads.into_iter().flatten() {
            let _ = thread.join();
        }
    }
}

/// Holds what was sent against what the far end noted and acknowledged, once the connection's end has come to it.
fn noted_whole(sent: SendCounts, flow: &FarFlow) -> Result<RecvCounts> {
    let noted = flow.wait_for_end(PATIENCE);
    if noted.bytes == sent.bytes && noted.acked_bytes == sent.bytes && noted.gaps == 0 && noted.ended {
        return Ok(RecvCounts { bytes: noted.bytes, ..RecvCounts::default() });
    }
    Err(Fault::failed(format!(
        "the sender sent {} bytes, and the far end of the null link noted {} and acknowledged {} ({} sent again, {} gaps{})",
        sent.bytes,
        noted.bytes,
        noted.acked_bytes,
        noted.again_bytes,
        noted.gaps,
        if noted.ended { "" } else { ", and no end" },
    )))
}

fn stuck(sentence: &str) -> Trouble {
    Trouble::Broke(Fault::failed(format!("{sentence} within {} s", PATIENCE.as_secs())))
}

/// A thread that has been started and has not yet said that it is ready.
struct Half<C> {
    thread: JoinHandle<()>,
    done: Inbox<std::result::Result<C, Trouble>>,
    counts: Arc<Published<C>>,
}

impl<C> Half<C> {
    fn whole(self, ready: Ready) -> Side<C> {
        Side { thread: Some(self.thread), done: self.done, counts: self.counts, tid: ready.tid, socket: ready.socket }
    }
}

fn spawn<C, F>(name: String, body: F) -> std::result::Result<(Half<C>, Inbox<Ready>), Trouble>
where
    C: Copy + Default + Send + 'static,
    F: FnOnce(&Outbox<Ready>, &Published<C>) -> std::result::Result<(), Trouble> + Send + 'static,
{
    let counts = Arc::new(Published::default());
    let (ready_out, ready_in) = channel();
    let (done_out, done_in) = channel();
    let published = Arc::clone(&counts);
    let thread = std::thread::Builder::new()
        .name(name)
        .spawn(move || {
            let ended = body(&ready_out, &published);
            let _ = done_out.send(ended.map(|()| published.get())); // nobody listens any more: the trial was given up
        })
        .map_err(|error| Fault::os("start a thread", error))?;
    Ok((Half { thread, done: done_in, counts }, ready_in))
}

/// Waits for a message of a thread that may end with an error instead.
fn await_message<T, C>(
    inbox: &Inbox<T>,
    done: &Inbox<std::result::Result<C, Trouble>>,
    what: &str,
) -> std::result::Result<T, Trouble> {
    match inbox.recv_timeout(PATIENCE) {
        Ok(message) => Ok(message),
        Err(RecvTimeoutError::Timeout) => {
            Err(Trouble::Broke(Fault::failed(format!("waited {} s for {what}", PATIENCE.as_secs()))))
        }
        Err(RecvTimeoutError::Disconnected) => match done.recv_timeout(PATIENCE) {
            Ok(Err(trouble)) => Err(trouble),
            _ => Err(Trouble::Broke(Fault::failed(format!("a thread ended while zc waited for {what}")))),
        },
    }
}

/// The receiver's thread.
#[allow(clippy::too_many_arguments)] // a thread's body: what it needs, once
fn receive(
    cell: &Cell,
    fixed: &FixedParams,
    link: &dyn Link,
    checksum: bool,
    address: &Outbox<SocketAddr>,
    ready: &Outbox<Ready>,
    counts: &Published<RecvCounts>,
    crc32: &Published<u32>,
) -> std::result::Result<(), Trouble> {
    settle_on(fixed.receiver_cpu)?;
    link.enter_receiver()?;
    let listener =
        TcpListener::bind((link.receiver_address(), 0)).map_err(|error| Fault::os("listen for a flow", error))?;
    if let Some(bytes) = fixed.rcvbuf_bytes {
        // Before listen's children exist: the window scale is agreed upon in the handshake (tcp(7)).
        zc_sys::tcp::set_rcvbuf(&listener, bytes).map_err(|error| Fault::os("set SO_RCVBUF", error))?;
    }
    let local = listener.local_addr().map_err(|error| Fault::os("ask for a port", error))?;
    let _ = address.send(local);
    let (socket, _) = accept(&listener)?;
    let mut receiver = path::open_receiver(cell.recv, &socket, fixed.recv_buffer_bytes).map_err(Trouble::CannotRun)?;
    let _ = ready.send(Ready { tid: zc_sys::sched::gettid(), socket: clone(&socket)?, far: None });
    let mut crc = crc32fast::Hasher::new();
    loop {
        let received = if checksum {
            receiver.receive(Some(&mut |bytes: &[u8]| crc.update(bytes)))?
        } else {
            receiver.receive(None)?
        };
        if received == 0 {
            break;
        }
        counts.set(receiver.counts());
    }
    counts.set(receiver.counts());
    crc32.set(crc.finalize());
    Ok(())
}

/// The sender's thread.
#[allow(clippy::too_many_arguments)] // a thread's body: what it needs, once
fn send(
    index: usize,
    cell: &Cell,
    fixed: &FixedParams,
    link: &dyn Link,
    setup: &SendSetup,
    drive: Drive,
    to: SocketAddr,
    begin: &Inbox<u64>,
    stop: &AtomicBool,
    ready: &Outbox<Ready>,
    counts: &Published<SendCounts>,
) -> std::result::Result<(), Trouble> {
    settle_on(fixed.sender_cpu)?;
    link.enter_sender()?;
    let (socket, far) = connect(to, fixed, drive.far_end(link))?;
    let mut sender = path::open_sender(cell.send, &socket, setup).map_err(Trouble::CannotRun)?;
    let _ = ready.send(Ready { tid: zc_sys::sched::gettid(), socket: clone(&socket)?, far });
    let Ok(begin_ns) = begin.recv() else {
        return Ok(()); // the trial was given up
    };
    let mut pacer = Pacer::new(drive.rate_bytes_per_s, fixed.burst_ns, begin_ns);
    let mut left = drive.stop_after_bytes;
    // Flows start at different files, so that they do not all send the same bytes at the same time.
    for mut piece in setup.files.walk(drive.first_file + index * 17, drive.piece_bytes) {
        if stop.load(Ordering::Relaxed) || left == Some(0) {
            break;
        }
        if let Some(left) = &mut left {
            piece.len = piece.len.min(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= piece.len as u64;
        }
        if !pacer.wait_unless(piece.len, stop) {
            break;
        }
        sender.send(piece)?;
        counts.set(sender.counts());
    }
    sender.drain()?;
    counts.set(sender.counts());
    socket.shutdown(Shutdown::Write).map_err(|error| Fault::os("close a flow for sending", error))?;
    Ok(())
}

fn settle_on(cpu: usize) -> Result<()> {
    zc_sys::sched::pin(&[cpu]).map_err(|error| Fault::os(format!("pin a thread to CPU {cpu}"), error))?;
    // The default slack of 50 us would be a good part of a burst's period.
    zc_sys::sched::set_timer_slack(1).map_err(|error| Fault::os("set the timer slack", error))
}

fn connect(to: SocketAddr, fixed: &FixedParams, far_end: Option<&FarEnd>) -> Result<(TcpStream, Option<FarFlow>)> {
    let failed = |error| Fault::os("connect a flow", error);
    let socket = Unconnected::bind_towards(to).map_err(failed)?;
    let far = far_end.map(|far_end| far_end.expect(socket.port()));
    let socket = socket.connect(to, PATIENCE).map_err(failed)?;
    if let Some(bytes) = fixed.sndbuf_bytes {
        zc_sys::tcp::set_sndbuf(&socket, bytes).map_err(|error| Fault::os("set SO_SNDBUF", error))?;
    }
    zc_sys::tcp::set_congestion(&socket, &fixed.congestion)
        .map_err(|error| Fault::os(format!("use congestion control \"{}\"", fixed.congestion), error))?;
    Ok((socket, far))
}

/// accept(2) that gives up when nobody connects.
fn accept(listener: &TcpListener) -> Result<(TcpStream, SocketAddr)> {
    zc_sys::tcp::wait_readable(listener, PATIENCE)
        .and_then(
            |readable| {
                if readable { listener.accept() } else { Err(std::io::Error::from(std::io::ErrorKind::TimedOut)) }
            },
        )
        .map_err(|error| Fault::os("accept a flow", error))
}

fn clone(socket: &TcpStream) -> Result<TcpStream> {
    socket.try_clone().map_err(|error| Fault::os("duplicate a socket", error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{LinkKind, RecvPath, SendPath, SoakerKind};
    use crate::trial;

    fn fixed() -> FixedParams {
        let cpu = trial::allowed_cpus().unwrap()[0];
        FixedParams {
            link: LinkKind::Loopback,
            rate_bytes_per_s: 50e6,
            rate_chosen: false,
            burst_ns: 1_000_000,
            buffer_bytes: 16 << 10,
            recv_buffer_bytes: 16 << 10,
            piece_bytes: 1 << 20,
            flows: 1,
            congestion: "reno".to_owned(),
            sndbuf_bytes: None,
            rcvbuf_bytes: None,
            sender_cpu: cpu,
            receiver_cpu: cpu,
            soaked_cpus: vec![cpu],
            soaker: SoakerKind::Alu,
        }
    }

    fn flow(send: SendPath) -> Flow {
        let fixed = fixed();
        let up =
            trial::bring_up(&[LinkKind::Loopback], fixed.sender_cpu, fixed.receiver_cpu, Default::default()).unwrap();
        let (setup, _) = trial::open_files(&[], 1, fixed.buffer_bytes, fixed.sender_cpu).unwrap();
        let cell = Cell { label: send.to_string(), send, recv: RecvPath::Recv, control: false };
        let drive = Drive {
            rate_bytes_per_s: Some(50e6),
            stop_after_bytes: None,
            first_file: 0,
            piece_bytes: 1 << 20,
            checksum: false,
            to_listener: false,
        };
        Flow::open(0, &cell, &fixed, &up.link, &setup, drive).unwrap_or_else(|trouble| panic!("{trouble:?}"))
    }

    fn wait_until_bytes_arrive(flow: &Flow) {
        while flow.counts().1.bytes == 0 {
            assert!(!flow.has_ended());
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_receiver_that_dies_in_the_middle_is_a_sentence_and_no_hang() {
        for send in [SendPath::ReadSend, SendPath::Sendfile, SendPath::Splice, SendPath::MsgZerocopy] {
            let flow = flow(send);
            flow.begin(zc_sys::clock::monotonic_ns());
            wait_until_bytes_arrive(&flow);
            flow.taker.thread().unwrap().socket.shutdown(Shutdown::Both).unwrap();
            let Err(Trouble::Broke(fault)) = flow.finish() else { panic!("{send} did not notice") };
            assert!(!fault.sentence.is_empty());
        }
    }

    #[test]
    fn a_flow_that_is_told_to_stop_ends_with_as_many_bytes_received_as_sent() {
        let flow = flow(SendPath::Sendfile);
        flow.begin(zc_sys::clock::monotonic_ns());
        wait_until_bytes_arrive(&flow);
        flow.stop();
        let (sent, received, _) = flow.finish().unwrap_or_else(|trouble| panic!("{trouble:?}"));
        assert_eq!(sent.bytes, received.bytes);
    }

    #[test]
    fn a_flow_that_is_given_up_before_it_began_ends_its_threads() {
        drop(flow(SendPath::ReadSend)); // joins them
    }
}
