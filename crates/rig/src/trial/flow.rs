//! One flow: a connection with a sender thread and a receiver thread, each on its side of the link
//! and on its CPU. With a proxy between them there are two connections, and the receiver is on the
//! sender's side (`proxying`). The link `null` has an ACK generator in place of the receiver thread,
//! and over `remote` another machine receives. Proofs, whose bytes must be read, have a receiver
//! thread here unless the other machine can show a checksum.
//!
//! Each thread reports that it is ready and publishes its counts after every piece. The coordinator
//! tells them when to begin and when to stop, and reads the counts; the threads know nothing of
//! windows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Inbox, RecvTimeoutError, Sender as Outbox, channel};
use std::time::{Duration, Instant};

use super::cell_config::CellConfig;
use super::connection::Connection;
use super::datagrams::{self, DatagramReceiver};
use super::limit::Limit;
use super::proxying::{Between, Proxy, StartingProxy};
use super::receiving::{self, Expecting};
use super::sending::{self, SendConfig, SenderReady, Sending, Target};
use super::worker::{
    GLANCE, PATIENCE, Published, Ready, TrialError, Worker, await_message, pin_to, receive, spawn,
    timed_out,
};
use crate::link::{Link, NotedCounts, NotedFlow};
use zc_kernel::tcp::AckProgress;
use zc_run::{Error, RecvCounts, Result, SendCounts, Usage};

/// Longest wait for a sender whose bytes arrive one by one.
const MOST_PATIENCE: Duration = Duration::from_secs(300);

/// Result of a thread: its counts, or why it failed.
type EndOf<C> = std::result::Result<C, TrialError>;

/// The receiver of the bytes.
pub(super) enum Sink {
    /// A thread with a receive path.
    Thread(Worker<RecvCounts>),
    /// The link `null`, which notes those of each connection.
    Noted(Vec<NotedFlow>),
    /// A receiver on another machine.
    Remote,
}

/// A connected flow, both of whose paths are open.
pub(super) struct Flow {
    pub(super) link: Arc<dyn Link>,
    pub(super) sender: Worker<SendCounts>,
    pub(super) sink: Sink,
    /// What is between the sender and the receiver's thread, if there is a proxy.
    pub(super) proxy: Option<Proxy>,
    pub(super) crc32: Arc<Published<u32>>,
    pub(super) used: Arc<Published<Option<Usage>>>,
    pub(super) begin: Outbox<u64>,
    pub(super) stop: Arc<AtomicBool>,
    /// Its receiver leaves what has arrived.
    pub(super) given_up: Arc<AtomicBool>,
    pub(super) limit: Limit,
    /// See [`SendConfig::is_decrypted`].
    pub(super) is_decrypted: bool,
}

impl Flow {
    /// Connects flow number `index` of a trial and opens both paths, or only the send path where
    /// `target` is on another machine. Nothing is sent before [`begin`](Self::begin).
    pub(super) fn open(
        index: usize,
        config: &Arc<CellConfig>,
        link: &Arc<dyn Link>,
        send_config: SendConfig,
        target: Option<Target>,
    ) -> std::result::Result<Self, TrialError> {
        let (stop, given_up) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let limit = config.limit.clone();
        let still_wanted = || limit.check();
        let crc32 = Arc::new(Published::default());
        let connected = Arc::new(Published::default());
        let (all_sent, has_ended) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (receiver, proxy, target) = match (target, send_config.ack_generator(&**link)) {
            (Some(target), _) => (None, None, target),
            (None, Some(generator)) => (None, None, Target::plain(generator.address())),
            (None, None) => {
                let (address_out, address_in) = channel();
                let (on_link, crc32, rcvbuf_bytes) =
                    (Arc::clone(link), Arc::clone(&crc32), config.fixed.rcvbuf_bytes);
                let has_proxy = config.has_proxy();
                let from_proxy = Arc::new(Published::default());
                let from = Arc::clone(if has_proxy { &from_proxy } else { &connected });
                let given_up = Arc::clone(&given_up);
                let how = config.recv_config(send_config.checksum, send_config.keying);
                let (is_over, ended) = (Arc::clone(&all_sent), Arc::clone(&has_ended));
                let (receiver, ready) =
                    spawn(format!("zc-recv-{index}"), move |ready: &Outbox<Ready>, counts| {
                        pin_to(&how.cpus)?;
                        let expecting = Expecting::on(&*on_link, &how, rcvbuf_bytes, has_proxy)?;
                        let _ = address_out.send(expecting.address()?);
                        let socket = expecting.connected_to(&from)?;
                        send_config.priority.take()?;
                        let is_over = how.datagrams.map(|_| &*is_over);
                        let received = receiving::receive(
                            &socket, index, &how, ready, counts, &crc32, &given_up, is_over,
                        );
                        ended.store(true, Ordering::Release);
                        received
                    })?;
                let address = await_message(
                    &address_in,
                    &receiver.done,
                    "the receiver to listen",
                    &still_wanted,
                )?;
                let proxy = has_proxy.then(|| {
                    let between = Between {
                        index,
                        config: Arc::clone(config),
                        link: Arc::clone(link),
                        priority: send_config.priority,
                        to: address,
                        sender: Arc::clone(&connected),
                        connected: from_proxy,
                    };
                    StartingProxy::start(between, &still_wanted)
                });
                let (proxy, address) = match proxy.transpose()? {
                    Some((proxy, address)) => (Some(proxy), address),
                    None => (None, address),
                };
                (Some((receiver, ready)), proxy, Target::plain(address))
            }
        };
        let used = Arc::new(Published::default());
        let (begin, begin_in) = channel();
        let (sender, sender_ready) = {
            let (config, link) = (Arc::clone(config), Arc::clone(link));
            let (stop, used) = (Arc::clone(&stop), Arc::clone(&used));
            let receiver = receiver.as_ref().filter(|_| config.datagrams.is_some());
            let receiver = receiver.map(|(receiver, _)| DatagramReceiver {
                counts: Arc::clone(&receiver.counts),
                all_sent,
                has_ended,
            });
            spawn(format!("zc-send-{index}"), move |ready: &Outbox<SenderReady>, counts| {
                let what = Sending {
                    index,
                    config: &config,
                    link: &*link,
                    send_config,
                    to: &target,
                    receiver: receiver.as_ref(),
                };
                sending::send(&what, &begin_in, &stop, &connected, ready, counts, &used)
            })?
        };
        // On an early return `begin` is dropped, which ends the sender's thread, whose closed
        // socket ends the receiver's; a receiver of datagrams does not see that.
        let sender_ready = await_message(
            &sender_ready,
            &sender.done,
            "the sender to open its path",
            &still_wanted,
        );
        let sender_ready = sender_ready.inspect_err(|_| {
            if let (Some(_), Some((_, ready))) = (config.datagrams, &receiver) {
                datagrams::abandon(ready, &given_up);
            }
        })?;
        let proxy = proxy.map(|proxy| proxy.opened(&still_wanted)).transpose()?;
        let sink = match (receiver, sender_ready.noted) {
            (Some((receiver, ready)), _) => {
                let ready = await_message(
                    &ready,
                    &receiver.done,
                    "the receiver to open its path",
                    &still_wanted,
                )?;
                Sink::Thread(receiver.into_worker(ready))
            }
            (None, noted) if !noted.is_empty() => Sink::Noted(noted),
            (None, _) => Sink::Remote,
        };
        let link = Arc::clone(link);
        Ok(Self {
            link,
            sender: sender.into_worker(sender_ready.ready),
            sink,
            proxy,
            crc32,
            used,
            begin,
            stop,
            given_up,
            limit,
            is_decrypted: send_config.is_decrypted,
        })
    }

    /// What the receiver counts of what was sent: its payload, or its records where nobody looks
    /// into them.
    pub(super) fn counted_by_receiver(&self, sent: &SendCounts) -> u64 {
        sent.bytes + if self.is_decrypted { 0 } else { sent.framing_bytes }
    }

    /// Starts the sender; its first burst is due at `at_ns` (CLOCK_MONOTONIC).
    pub(super) fn begin(&self, at_ns: u64) {
        let _ = self.begin.send(at_ns); // a sender that has ended is seen by `has_ended`
    }

    /// Makes the sender end after the current piece.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Counts of the sender and of what has arrived, so far.
    pub(super) fn counts(&self) -> (SendCounts, RecvCounts) {
        let arrived = |bytes| RecvCounts { bytes, ..RecvCounts::default() };
        let (received, is_payload) = match &self.sink {
            Sink::Thread(side) => (side.counts.get(), self.is_decrypted),
            Sink::Noted(flows) => (arrived(flows.iter().map(NotedFlow::bytes).sum()), false),
            // What the other machine's kernel has acknowledged has arrived there.
            Sink::Remote => (arrived(acknowledged(&self.sender.socket)), false),
        };
        let sent = self.sender.counts.get();
        let bytes = if is_payload { received.bytes } else { sent.payload(received.bytes) };
        (sent, RecvCounts { bytes, ..received })
    }

    /// Counts of the ACK generator, on the link `null`.
    pub(super) fn noted(&self) -> Option<NotedCounts> {
        match &self.sink {
            Sink::Thread(_) | Sink::Remote => None,
            Sink::Noted(flows) => Some(flows.iter().map(NotedFlow::counts).sum()),
        }
    }

    /// Ids of the threads on the sender's side (gettid(2)): the sender, and behind a proxy the
    /// receiver.
    pub(super) fn tids_of_senders_side(&self) -> impl Iterator<Item = i32> {
        let receiver = self.receiver().filter(|_| self.proxy.is_some());
        [self.sender.tid].into_iter().chain(receiver.map(|side| side.tid))
    }

    /// Id of the thread on the receiver's side, where that is in this process: the proxy, if there
    /// is one, or the receiver.
    pub(super) fn tid_of_receivers_side(&self) -> Option<i32> {
        let proxy = self.proxy.as_ref().map(|proxy| proxy.side.tid);
        proxy.or_else(|| self.receiver().map(|side| side.tid))
    }

    fn receiver(&self) -> Option<&Worker<RecvCounts>> {
        match &self.sink {
            Sink::Thread(side) => Some(side),
            Sink::Noted(_) | Sink::Remote => None,
        }
    }

    /// Whether another machine receives the bytes.
    pub(super) fn is_remote(&self) -> bool {
        matches!(self.sink, Sink::Remote)
    }

    /// The link that its bytes travel over.
    pub(super) fn link(&self) -> &dyn Link {
        &*self.link
    }

    /// The sender's socket.
    pub(super) fn socket(&self) -> &Connection {
        &self.sender.socket
    }

    /// The other end of the sender's connection, where it is one of this process.
    pub(super) fn receiving_socket(&self) -> Option<&Connection> {
        let proxy = self.proxy.as_ref().map(|proxy| &proxy.side.socket);
        proxy.or_else(|| self.receiver().map(|side| &side.socket))
    }

    /// Whether a thread has ended, with or without an error; before the stop signal that is a
    /// failure.
    pub(super) fn has_ended(&self) -> bool {
        let receiver_has_ended = match &self.sink {
            Sink::Thread(side) => side.has_ended(),
            Sink::Noted(flows) => flows.iter().any(|flow| flow.counts().reset),
            Sink::Remote => false,
        };
        let proxy_has_ended = self.proxy.as_ref().is_some_and(|proxy| proxy.side.has_ended());
        self.sender.has_ended() || proxy_has_ended || receiver_has_ended
    }

    /// CPU time of the sender's thread from its first byte on, once it has ended; `None` where the
    /// kernel does not report it.
    pub(super) fn sender_usage(&self) -> Option<Usage> {
        self.used.get()
    }

    /// Waits until both threads have drained and ended; returns their final counts and, in proofs,
    /// the checksum. What another machine has received is for that machine to report.
    ///
    /// # Errors
    /// A thread failed, other counts than bytes were received, or it takes too long.
    pub(super) fn finish(&self) -> std::result::Result<(SendCounts, RecvCounts, u32), TrialError> {
        self.finish_by(None).map(|ended| ended.unwrap_or_default())
    }

    /// The same until `drains_until`, if that is given; `None`: it has not drained by then.
    ///
    /// # Errors
    /// Same as [`finish`](Self::finish).
    pub(super) fn finish_by(
        &self,
        drains_until: Option<Instant>,
    ) -> std::result::Result<Option<(SendCounts, RecvCounts, u32)>, TrialError> {
        let is_over = || drains_until.is_some_and(|until| Instant::now() >= until);
        let unwanted = || is_over() || self.limit.check().is_err();
        let mut behind = Behind::default();
        let sender = &self.sender;
        let sent = self.sending_ends(&sender.done, &sender.socket, &mut behind, unwanted);
        if sent.is_err() {
            self.limit.check()?;
            if is_over() {
                return Ok(None);
            }
        }
        let sent = sent.map_err(|_| timed_out("the sender did not drain"));
        let Some(forwarded) = self.proxy_ends(matches!(sent, Ok(Ok(_))), &mut behind, unwanted)
        else {
            self.limit.check()?;
            return Ok(None);
        };
        let receiver = match &self.sink {
            Sink::Thread(receiver) => receiver,
            Sink::Noted(flows) => {
                let sent = sent.and_then(|sent| sent)?;
                let received = check_noted(sent, flows, &self.limit).map_err(TrialError::Broke)?;
                self.release_port();
                return Ok(Some((sent, received, 0)));
            }
            Sink::Remote => {
                let sent = sent.and_then(|sent| sent)?;
                let received = RecvCounts { bytes: sent.bytes, ..RecvCounts::default() };
                return Ok(Some((sent, received, 0)));
            }
        };
        if !matches!((&sent, &forwarded), (Ok(Ok(_)), Ok(()))) {
            self.given_up.store(true, Ordering::Relaxed);
            let _ = receiver.socket.shut_down();
        }
        let received = match behind.received {
            Some(received) => Ok(received),
            None => receive(&receiver.done, &|| match is_over() {
                true => Err(Error::failed("not-drained", "it has not drained")),
                false => self.limit.check(),
            })
            .unwrap_or(Err(RecvTimeoutError::Timeout)),
        };
        if received.is_err() {
            self.limit.check()?;
            if is_over() {
                return Ok(None);
            }
        }
        let received = received.map_err(|_| timed_out("the receiver did not end"));
        let (sent, received) = match (sent, forwarded, received) {
            (Ok(Ok(sent)), Ok(()), Ok(Ok(received))) => (sent, received),
            // The side that failed first is the cause; the reset of the other one is the
            // consequence. A failing receiver makes the sender fail with a reset, never the other
            // way round: a sender that ends is an end of stream. The same goes for a proxy.
            (_, _, Ok(Err(error)))
            | (_, Err(error), _)
            | (Ok(Err(error)), ..)
            | (Err(error), ..)
            | (.., Err(error)) => {
                return Err(error);
            }
        };
        let expected = self.counted_by_receiver(&sent);
        let may_lose = self.socket().may_lose();
        if received.bytes > expected || (received.bytes < expected && !may_lose) {
            return Err(TrialError::Broke(Error::failed(
                "bytes-lost",
                format!(
                    "the sender sent {expected} bytes and the receiver received {}",
                    received.bytes
                ),
            )));
        }
        self.release_port();
        let bytes = if may_lose { received.bytes } else { sent.bytes };
        Ok(Some((sent, RecvCounts { bytes, ..received }, self.crc32.get())))
    }

    /// Waits for the end of a thread that sends on `socket`, as long as its bytes arrive: a proof of
    /// many messages takes long on a slow machine. What is behind it and ends before is kept; if
    /// that is an error, nobody will take what the thread waits to send, and it is woken.
    fn sending_ends<C>(
        &self,
        done: &Inbox<EndOf<C>>,
        socket: &Connection,
        behind: &mut Behind,
        unwanted: impl Fn() -> bool,
    ) -> std::result::Result<EndOf<C>, RecvTimeoutError> {
        let mut acknowledged = AckProgress::default();
        let mut advances = || acknowledged.advanced(socket).unwrap_or(false);
        advances(); // counted from here on
        while_it_advances(done, PATIENCE, MOST_PATIENCE, advances, || {
            if behind.look(self) {
                let _ = self.sender.socket.shut_down();
                self.proxy.iter().for_each(Proxy::shut_down);
            }
            unwanted()
        })
    }

    /// Waits for the end of the proxy, if there is one, which ends soon after a sender that
    /// `was_well`. `None`: nobody wants that any more.
    fn proxy_ends(
        &self,
        was_well: bool,
        behind: &mut Behind,
        unwanted: impl Fn() -> bool,
    ) -> Option<EndOf<()>> {
        let Some(proxy) = &self.proxy else { return Some(Ok(())) };
        behind.look(self);
        if !was_well && behind.forwarded.is_none() {
            // It has nothing more to send, and no fault of its own.
            proxy.shut_down();
            return Some(Ok(()));
        }
        let forwarded = match behind.forwarded.take() {
            Some(forwarded) => Ok(forwarded),
            None => self.sending_ends(&proxy.side.done, &proxy.target, behind, &unwanted),
        };
        // A look at what is behind the sender may have taken it.
        match forwarded.or_else(|error| behind.forwarded.take().ok_or(error)) {
            Ok(forwarded) => Some(forwarded.map(drop)),
            Err(_) if unwanted() => None,
            Err(_) => {
                proxy.shut_down();
                Some(Err(timed_out("the proxy did not end")))
            }
        }
    }

    /// Makes the connection end with a reset, now that nothing is in flight. A regular close would
    /// keep its port for a minute more (TIME_WAIT), and trials of a thousand flows would soon find
    /// none.
    pub(super) fn release_port(&self) {
        for stream in self.sender.socket.streams() {
            let _ = zc_kernel::tcp::set_reset_on_close(stream);
        }
        self.proxy.iter().for_each(Proxy::release_port);
    }
}

/// How what is behind a sender has ended, so far.
#[derive(Default)]
struct Behind {
    forwarded: Option<EndOf<RecvCounts>>,
    received: Option<EndOf<RecvCounts>>,
}

impl Behind {
    /// Takes what has come since. Returns whether one has failed since, for which the others are to
    /// be woken.
    fn look(&mut self, flow: &Flow) -> bool {
        let mut failed = false;
        let receiver = flow.receiver().map(|side| &side.done);
        let proxy = flow.proxy.as_ref().map(|proxy| &proxy.side.done);
        for (end, done) in [(&mut self.received, receiver), (&mut self.forwarded, proxy)] {
            if let (None, Some(done)) = (&end, done) {
                *end = done.try_recv().ok();
                failed |= matches!(end, Some(Err(_)));
            }
        }
        failed
    }
}

/// Waits for a message, for `each` once more whenever it `advances` meanwhile, but no longer than
/// `most`; looks up every [`GLANCE`], and gives up when that says so.
fn while_it_advances<T>(
    inbox: &Inbox<T>,
    each: Duration,
    most: Duration,
    mut advances: impl FnMut() -> bool,
    mut gives_up: impl FnMut() -> bool,
) -> std::result::Result<T, RecvTimeoutError> {
    let at_last = Instant::now() + most;
    let mut until = Instant::now() + each;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match inbox.recv_timeout(left.min(GLANCE)) {
            Err(RecvTimeoutError::Timeout) if left > GLANCE => {}
            Err(RecvTimeoutError::Timeout) if advances() && Instant::now() < at_last => {
                until = at_last.min(Instant::now() + each);
            }
            ended => return ended,
        }
        if gives_up() {
            return Err(RecvTimeoutError::Timeout);
        }
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.stop();
        self.begin(0);
        self.given_up.store(true, Ordering::Relaxed);
        self.sender.wake();
        if let Some(proxy) = &mut self.proxy {
            proxy.wake();
        }
        if let Sink::Thread(receiver) = &mut self.sink {
            receiver.wake();
            receiver.join();
        }
        if let Some(proxy) = &mut self.proxy {
            proxy.side.join();
        }
        self.sender.join();
    }
}

/// Compares what was sent with what the ACK generator noted and acknowledged, after the end of each
/// connection has reached it.
fn check_noted(sent: SendCounts, flows: &[NotedFlow], limit: &Limit) -> Result<RecvCounts> {
    let until = Instant::now() + limit.within(PATIENCE);
    let end = |flow: &NotedFlow| flow.wait_for_end(until.saturating_duration_since(Instant::now()));
    let noted: NotedCounts = flows.iter().map(end).sum();
    limit.check()?;
    let wire_bytes = sent.bytes + sent.framing_bytes;
    if noted.bytes == wire_bytes
        && noted.acked_bytes == wire_bytes
        && noted.gaps == 0
        && noted.ended
    {
        return Ok(RecvCounts { bytes: sent.bytes, ..RecvCounts::default() });
    }
    Err(Error::failed(
        "bytes-lost",
        format!(
            "the sender sent {wire_bytes} bytes, and the ACK generator noted {} and acknowledged {} \
         ({} sent again, {} gaps{})",
            noted.bytes,
            noted.acked_bytes,
            noted.again_bytes,
            noted.gaps,
            if noted.ended { "" } else { ", and no end" },
        ),
    ))
}

/// Payload bytes that the other end's kernel has acknowledged so far, the greeting included; 0
/// where the kernel does not report it.
fn acknowledged(socket: &Connection) -> u64 {
    zc_kernel::tcp::info(socket).map_or(0, |info| info.bytes_acked)
}

#[cfg(test)]
mod tests {
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule,
    };

    use super::*;
    use crate::trial;
    use crate::trial::priority::{Priority, Realtime};
    use crate::trial::testing::{fixed, loopback};
    use zc_run::{Cell, Factor, Level, ProxyPath, RecvPath, SendPath};

    #[test]
    fn what_advances_is_waited_for_longer_but_not_for_good() {
        let (each, long) = (Duration::from_millis(1), Duration::from_secs(60));
        let (out, inbox) = channel();
        let mut times = 0;
        let third_time = || {
            times += 1;
            if times == 3 {
                out.send("done").unwrap();
            }
            true
        };
        assert_eq!(while_it_advances(&inbox, each, long, third_time, || false), Ok("done"));
        let late = Err(RecvTimeoutError::Timeout);
        assert_eq!(while_it_advances(&inbox, each, long, || false, || false), late);
        assert_eq!(while_it_advances(&inbox, each, 20 * each, || true, || false), late);
        assert_eq!(while_it_advances(&inbox, 2 * GLANCE, long, || true, || true), late);
        drop(out);
    }

    fn flow(send: SendPath) -> Flow {
        flow_of(send, Priority::Usual)
    }

    fn flow_of(send: SendPath, priority: Priority) -> Flow {
        open(send, priority, ProxyPath::None).unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// A flow through a proxy, or the reason to skip on stderr.
    fn through(proxy: ProxyPath) -> Option<Flow> {
        match open(SendPath::Sendfile, Priority::Usual, proxy) {
            Ok(flow) => Some(flow),
            Err(TrialError::CannotRun(no)) => {
                eprintln!("skipped: {proxy}: {}", no.reason);
                None
            }
            Err(error) => panic!("{error:?}"),
        }
    }

    fn proxies() -> impl Iterator<Item = ProxyPath> {
        ProxyPath::ALL.iter().copied().filter(|proxy| *proxy != ProxyPath::None)
    }

    fn open(
        send: SendPath,
        priority: Priority,
        proxy: ProxyPath,
    ) -> std::result::Result<Flow, TrialError> {
        let mut fixed = fixed();
        let level = Level::parse(Factor::Proxy, proxy.name()).unwrap();
        fixed.more.insert(Factor::Proxy.name(), level.value);
        let links = loopback();
        let (setup, _) =
            trial::open_files(&[], 1, fixed.buffer_bytes, &[], fixed.sender_cpu).unwrap();
        let config = Arc::new(
            CellConfig::resolve(&Cell::of_paths(send, RecvPath::Recv), &fixed, &setup).unwrap(),
        );
        let send_config = SendConfig {
            bursts: config.paced(),
            stop_after_bytes: None,
            first_file: 0,
            piece_bytes: 1 << 20,
            checksum: false,
            priority,
            to_listener: false,
            sends_nothing: false,
            keying: None,
            is_decrypted: false,
            clients: None,
        };
        Flow::open(0, &config, links.base(), send_config, None)
    }

    /// Makes a system call of this thread, and of those that it starts, fail with EPERM, as the
    /// seccomp filter of a container does; all of them, or those that rules describe.
    fn forbid(
        call: libc::c_long,
        where_: Vec<SeccompRule>,
    ) -> std::result::Result<(), Box<dyn std::error::Error>> {
        let rules = [(call, where_)].into();
        let forbidden = SeccompAction::Errno(libc::EPERM as u32);
        let arch = std::env::consts::ARCH.try_into()?;
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, forbidden, arch)?;
        Ok(seccompiler::apply_filter(&BpfProgram::try_from(filter)?)?)
    }

    /// The same for the calls of a receiver, which are as long as its buffer.
    fn forbid_receiving() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let length = fixed().recv_buffer_bytes as u64;
        let is_long = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, length)?;
        forbid(libc::SYS_recvfrom, vec![SeccompRule::new(vec![is_long])?])
    }

    fn wait_until_bytes_arrive(flow: &Flow) {
        let until = zc_kernel::clock::monotonic_ns() + 60_000_000_000;
        while flow.counts().1.bytes == 0 {
            assert!(!flow.has_ended());
            assert!(
                zc_kernel::clock::monotonic_ns() < until,
                "no byte has arrived within a minute"
            );
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_receiver_that_ends_early_is_an_error_and_no_hang() {
        for send in
            [SendPath::ReadSend, SendPath::Sendfile, SendPath::Splice, SendPath::MsgZerocopy]
        {
            let flow = flow(send);
            flow.begin(zc_kernel::clock::monotonic_ns());
            wait_until_bytes_arrive(&flow);
            flow.receiver().unwrap().socket.shut_down().unwrap();
            let Err(TrialError::Broke(error)) = flow.finish() else {
                panic!("{send} did not notice")
            };
            // Either side may be the first to notice.
            let ids = ["receiver-closed-early", "sender-reset"];
            assert!(ids.contains(&&*error.id), "{send}: {error:?}");
        }
    }

    #[test]
    fn a_receiver_that_fails_ends_its_flow_although_its_socket_stays_open() {
        let (out, failed) = channel();
        std::thread::spawn(move || {
            if let Err(error) = forbid_receiving() {
                eprintln!("skipped: no seccomp filter: {error}");
                return out.send(());
            }
            for send in [SendPath::ReadSend, SendPath::Sendfile, SendPath::Splice] {
                let flow = flow(send);
                let began = Instant::now();
                flow.begin(zc_kernel::clock::monotonic_ns());
                let Err(TrialError::Broke(error)) = flow.finish() else {
                    panic!("{send} did not notice")
                };
                assert_eq!(error.id, "system-call-failed", "{send}: {error}");
                assert!(began.elapsed() < PATIENCE, "{send}: the sender was waited for");
            }
            out.send(())
        });
        assert!(failed.recv_timeout(6 * PATIENCE).is_ok());
    }

    #[test]
    fn a_stopped_flow_ends_with_as_many_bytes_received_as_sent() {
        let flow = flow(SendPath::Sendfile);
        flow.begin(zc_kernel::clock::monotonic_ns());
        wait_until_bytes_arrive(&flow);
        flow.stop();
        let (sent, received, _) = flow.finish().unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(sent.bytes, received.bytes);
        let used = flow.sender_usage().unwrap();
        assert!(used.elapsed_ns > 0, "{used:?}");
    }

    #[test]
    fn where_shutdown_is_forbidden_a_flow_that_sends_is_dropped_without_a_hang() {
        let (out, dropped) = channel();
        std::thread::spawn(move || {
            if let Err(error) = forbid(libc::SYS_shutdown, Vec::new()) {
                eprintln!("skipped: no seccomp filter: {error}");
                return out.send(());
            }
            let flow = flow(SendPath::ReadSend);
            assert!(flow.sender.socket.shut_down().is_err());
            flow.begin(zc_kernel::clock::monotonic_ns());
            wait_until_bytes_arrive(&flow);
            // Its receiver waits for an end that the sender cannot send.
            drop(flow);
            out.send(())
        });
        assert!(dropped.recv_timeout(4 * PATIENCE).is_ok());
    }

    #[test]
    fn both_threads_of_a_flow_are_real_time_where_that_is_wanted() {
        if let Err(error) = Realtime::begin() {
            return eprintln!("skipped: {error}");
        }
        let flow = flow_of(SendPath::Sendfile, Priority::Realtime);
        let tids = [flow.sender.tid, flow.tid_of_receivers_side().unwrap()];
        // Field 41 of proc_pid_stat(5) is the policy; SCHED_RR is 2.
        let policy = |tid| {
            let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap();
            stat.rsplit(')').next().unwrap().split_whitespace().nth(41 - 3).unwrap().to_owned()
        };
        let until = Instant::now() + PATIENCE;
        while tids.map(policy) != ["2", "2"] {
            assert!(Instant::now() < until, "{:?}", tids.map(policy));
            std::thread::sleep(Duration::from_millis(1));
        }
        flow.begin(zc_kernel::clock::monotonic_ns());
        wait_until_bytes_arrive(&flow);
        flow.stop();
        flow.finish().unwrap_or_else(|error| panic!("{error:?}"));
    }

    #[test]
    fn a_flow_dropped_before_it_began_ends_its_threads() {
        drop(flow(SendPath::ReadSend)); // joins them
    }

    #[test]
    fn a_stopped_flow_through_a_proxy_ends_with_as_many_bytes_received_as_sent() {
        for proxy in proxies() {
            let Some(flow) = through(proxy) else { continue };
            flow.begin(zc_kernel::clock::monotonic_ns());
            wait_until_bytes_arrive(&flow);
            flow.stop();
            let (sent, received, _) = flow.finish().unwrap_or_else(|error| panic!("{error:?}"));
            assert_eq!(sent.bytes, received.bytes, "{proxy}");
            let forwarded = flow.proxy.as_ref().unwrap().side.counts.get();
            assert_eq!(forwarded.bytes, sent.bytes, "{proxy}");
            let sides = [flow.sender.tid, flow.receiver().unwrap().tid];
            assert_eq!(flow.tids_of_senders_side().collect::<Vec<_>>(), sides, "{proxy}");
            assert_eq!(flow.tid_of_receivers_side(), Some(flow.proxy.as_ref().unwrap().side.tid));
        }
    }

    #[test]
    fn a_flow_through_a_proxy_is_dropped_without_a_hang_whenever_that_is() {
        for proxy in proxies() {
            let (out, dropped) = channel();
            std::thread::spawn(move || {
                if let Some(flow) = through(proxy) {
                    drop(flow); // joins its threads
                }
                if let Some(flow) = through(proxy) {
                    flow.begin(zc_kernel::clock::monotonic_ns());
                    wait_until_bytes_arrive(&flow);
                    drop(flow);
                }
                out.send(())
            });
            assert!(dropped.recv_timeout(PATIENCE).is_ok(), "{proxy}");
        }
    }

    #[test]
    fn a_receiver_behind_a_proxy_that_ends_early_is_an_error_and_no_hang() {
        for proxy in proxies() {
            let Some(flow) = through(proxy) else { continue };
            let began = Instant::now();
            flow.begin(zc_kernel::clock::monotonic_ns());
            wait_until_bytes_arrive(&flow);
            flow.receiver().unwrap().socket.shut_down().unwrap();
            let Err(TrialError::Broke(error)) = flow.finish() else {
                panic!("{proxy} did not notice")
            };
            let ids = ["receiver-closed-early", "sender-reset"];
            assert!(ids.contains(&&*error.id), "{proxy}: {error:?}");
            assert!(began.elapsed() < PATIENCE, "{proxy}: something was waited for");
        }
    }

    #[test]
    fn a_sender_to_a_proxy_that_breaks_is_the_cause_and_a_proxy_that_breaks_is() {
        for proxy in proxies() {
            let Some(flow) = through(proxy) else { continue };
            flow.begin(zc_kernel::clock::monotonic_ns());
            wait_until_bytes_arrive(&flow);
            flow.sender.socket.shut_down().unwrap();
            assert!(matches!(flow.finish(), Err(TrialError::Broke(_))), "{proxy}");
            drop(flow);
            let Some(flow) = through(proxy) else { continue };
            let began = Instant::now();
            flow.begin(zc_kernel::clock::monotonic_ns());
            wait_until_bytes_arrive(&flow);
            flow.proxy.as_ref().unwrap().shut_down();
            assert!(matches!(flow.finish(), Err(TrialError::Broke(_))), "{proxy}");
            assert!(began.elapsed() < PATIENCE, "{proxy}: something was waited for");
        }
    }

    #[test]
    fn a_receiver_behind_a_proxy_that_fails_ends_the_flow_although_its_socket_stays_open() {
        let (out, failed) = channel();
        std::thread::spawn(move || {
            if let Err(error) = forbid_receiving() {
                eprintln!("skipped: no seccomp filter: {error}");
                return out.send(());
            }
            for proxy in proxies() {
                let Some(flow) = through(proxy) else { continue };
                let began = Instant::now();
                flow.begin(zc_kernel::clock::monotonic_ns());
                let Err(TrialError::Broke(error)) = flow.finish() else {
                    panic!("{proxy} did not notice")
                };
                assert_eq!(error.id, "system-call-failed", "{proxy}: {error}");
                assert!(began.elapsed() < PATIENCE, "{proxy}: the sender was waited for");
            }
            out.send(())
        });
        assert!(failed.recv_timeout(6 * PATIENCE).is_ok());
    }
}
