//! One flow: a connection, a sender thread and a receiver thread, each on its side of the link and on its CPU. On a link with
//! a far end of its own (`null`) that is the receiver, over `remote` another machine; only proofs, whose bytes somebody must read,
//! have a thread here even so, where the far end cannot show what it received.
//!
//! The coordinator learns from each thread that it is ready, publishes when to begin and when to stop, and reads the
//! counts that the threads publish after every piece. The threads know nothing of windows.

use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender as Outbox, channel};

use super::cell_config::CellConfig;
use super::receiving;
use super::sending::{self, SendConfig, SenderReady, Sending, Target};
use super::worker::{
    PATIENCE, Published, Ready, TrialError, Worker, await_message, give_way, settle_on, spawn,
    stuck,
};
use crate::link::{AckCounts, AckedFlow, Link};
use zc_run::{Error, RecvCounts, Result, SendCounts, Usage};

/// Who takes the bytes.
enum Sink {
    /// A thread with a receive path.
    Thread(Worker<RecvCounts>),
    /// The link itself.
    AckGenerator(AckedFlow),
    /// Another machine.
    Remote,
}

/// A flow that is up.
pub(super) struct Flow {
    link: Arc<dyn Link>,
    sender: Worker<SendCounts>,
    sink: Sink,
    crc32: Arc<Published<u32>>,
    used: Arc<Published<Option<Usage>>>,
    begin: Outbox<u64>,
    stop: Arc<AtomicBool>,
}

impl Flow {
    /// Connects flow number `index` of a trial and opens both paths, or the sender's alone where `target` on another machine
    /// takes the bytes. Nothing is sent before [`begin`](Self::begin).
    pub(super) fn open(
        index: usize,
        config: &Arc<CellConfig>,
        link: &Arc<dyn Link>,
        send_config: SendConfig,
        target: Option<Target>,
    ) -> std::result::Result<Self, TrialError> {
        let stop = Arc::new(AtomicBool::new(false));
        let crc32 = Arc::new(Published::default());
        let (receiver, target) = match (target, send_config.far_end(&**link)) {
            (Some(target), _) => (None, target),
            (None, Some(far_end)) => (None, Target::plain(far_end.address())),
            (None, None) => {
                let (address_out, address_in) = channel();
                let (link, crc32, rcvbuf_bytes) =
                    (Arc::clone(link), Arc::clone(&crc32), config.fixed.rcvbuf_bytes);
                let how = config.recv_config(send_config.checksum);
                let (receiver, ready) =
                    spawn(format!("zc-recv-{index}"), move |ready: &Outbox<Ready>, counts| {
                        settle_on(&how.cpus)?;
                        if send_config.gives_way {
                            give_way()?;
                        }
                        let listener = receiving::listen_on(&*link, rcvbuf_bytes)?;
                        let local = listener
                            .local_addr()
                            .map_err(|error| Error::os("ask for a port", error))?;
                        let _ = address_out.send(local);
                        let socket = receiving::accept(&listener)?;
                        drop(listener);
                        receiving::receive(&socket, &how, ready, counts, &crc32)
                    })?;
                let address = await_message(&address_in, &receiver.done, "the receiver to listen")?;
                (Some((receiver, ready)), Target::plain(address))
            }
        };
        let used = Arc::new(Published::default());
        let (begin, begin_in) = channel();
        let (sender, sender_ready) = {
            let (config, link) = (Arc::clone(config), Arc::clone(link));
            let (stop, used) = (Arc::clone(&stop), Arc::clone(&used));
            spawn(format!("zc-send-{index}"), move |ready: &Outbox<SenderReady>, counts| {
                let what =
                    Sending { index, config: &config, link: &*link, send_config, to: &target };
                sending::send(&what, &begin_in, &stop, ready, counts, &used)
            })?
        };
        // On an early return `begin` is dropped, which ends the sender's thread, whose closed socket ends the receiver's.
        let sender_ready =
            await_message(&sender_ready, &sender.done, "the sender to open its path")?;
        let sink = match (receiver, sender_ready.far) {
            (Some((receiver, ready)), _) => {
                let ready = await_message(&ready, &receiver.done, "the receiver to open its path")?;
                Sink::Thread(receiver.whole(ready))
            }
            (None, Some(flow)) => Sink::AckGenerator(flow),
            (None, None) => Sink::Remote,
        };
        let link = Arc::clone(link);
        Ok(Self { link, sender: sender.whole(sender_ready.ready), sink, crc32, used, begin, stop })
    }

    /// Lets the sender begin; its first burst is due at `at_ns` (CLOCK_MONOTONIC).
    pub(super) fn begin(&self, at_ns: u64) {
        let _ = self.begin.send(at_ns); // a sender that has ended is seen by `has_ended`
    }

    /// Lets the sender end after the piece it is at.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// What the sender did so far, and what has arrived.
    pub(super) fn counts(&self) -> (SendCounts, RecvCounts) {
        let received = match &self.sink {
            Sink::Thread(side) => side.counts.get(),
            Sink::AckGenerator(flow) => {
                RecvCounts { bytes: flow.counts().bytes, ..RecvCounts::default() }
            }
            // What the other machine's kernel has acknowledged has arrived there.
            Sink::Remote => {
                RecvCounts { bytes: acknowledged(&self.sender.socket), ..RecvCounts::default() }
            }
        };
        (self.sender.counts.get(), received)
    }

    /// What the far end noted, on a link that has one.
    pub(super) fn noted(&self) -> Option<AckCounts> {
        match &self.sink {
            Sink::Thread(_) | Sink::Remote => None,
            Sink::AckGenerator(flow) => Some(flow.counts()),
        }
    }

    /// The sender's thread.
    pub(super) fn sender_tid(&self) -> i32 {
        self.sender.tid
    }

    /// The receiver's thread, where there is one.
    pub(super) fn receiver_tid(&self) -> Option<i32> {
        self.receiver().map(|side| side.tid)
    }

    fn receiver(&self) -> Option<&Worker<RecvCounts>> {
        match &self.sink {
            Sink::Thread(side) => Some(side),
            Sink::AckGenerator(_) | Sink::Remote => None,
        }
    }

    /// Whether another machine takes the bytes.
    pub(super) fn is_remote(&self) -> bool {
        matches!(self.sink, Sink::Remote)
    }

    /// What its bytes travel over.
    pub(super) fn link(&self) -> &dyn Link {
        &*self.link
    }

    /// The sending socket.
    pub(super) fn socket(&self) -> &TcpStream {
        &self.sender.socket
    }

    /// True once a thread has ended, well or not; before the stop signal that is a failure.
    pub(super) fn has_ended(&self) -> bool {
        let taker_has_ended = match &self.sink {
            Sink::Thread(side) => side.has_ended(),
            Sink::AckGenerator(flow) => flow.counts().reset,
            Sink::Remote => false,
        };
        self.sender.has_ended() || taker_has_ended
    }

    /// What the sender's thread used from its first byte on, once it has ended; null where the kernel does not say.
    pub(super) fn sender_usage(&self) -> Option<Usage> {
        self.used.get()
    }

    /// Waits until both threads have drained and ended; returns their last counts and, in proofs, the checksum. What another
    /// machine has received is for it to say.
    pub(super) fn finish(&self) -> std::result::Result<(SendCounts, RecvCounts, u32), TrialError> {
        let sent =
            self.sender.done.recv_timeout(PATIENCE).map_err(|_| stuck("the sender did not drain"));
        let receiver = match &self.sink {
            Sink::Thread(receiver) => receiver,
            Sink::AckGenerator(flow) => {
                let sent = sent.and_then(|sent| sent)?;
                let received = noted_whole(sent, flow).map_err(TrialError::Broke)?;
                self.let_go_of_port();
                return Ok((sent, received, 0));
            }
            Sink::Remote => {
                let sent = sent.and_then(|sent| sent)?;
                return Ok((sent, RecvCounts { bytes: sent.bytes, ..RecvCounts::default() }, 0));
            }
        };
        if !matches!(sent, Ok(Ok(_))) {
            let _ = receiver.socket.shutdown(Shutdown::Both);
        }
        let received =
            receiver.done.recv_timeout(PATIENCE).map_err(|_| stuck("the receiver did not end"));
        let (sent, received) = match (sent, received) {
            (Ok(Ok(sent)), Ok(Ok(received))) => (sent, received),
            // The side that failed first is the cause, the other one's reset is its consequence. A receiver's own failure
            // makes the sender fail with a reset, never the other way round: an ended sender is an end of stream.
            (_, Ok(Err(error))) | (Ok(Err(error)), _) | (Err(error), _) | (_, Err(error)) => {
                return Err(error);
            }
        };
        if sent.bytes != received.bytes {
            return Err(TrialError::Broke(Error::failed(format!(
                "the sender sent {} bytes and the receiver received {}",
                sent.bytes, received.bytes
            ))));
        }
        self.let_go_of_port();
        Ok((sent, received, self.crc32.get()))
    }

    /// Lets the connection end by a reset, now that nothing is under way. Ended in peace it would keep its port for a minute more
    /// (TIME_WAIT), and trials of a thousand flows would soon find none.
    fn let_go_of_port(&self) {
        let _ = zc_kernel::tcp::set_reset_on_close(&self.sender.socket);
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.stop();
        self.begin(0);
        let receiver = match &mut self.sink {
            Sink::Thread(receiver) => Some(receiver),
            Sink::AckGenerator(_) | Sink::Remote => None,
        };
        if !(self.sender.has_ended()
            && receiver.as_ref().is_none_or(|receiver| receiver.has_ended()))
        {
            // Threads that are blocked on the socket wake with an error.
            let _ = self.sender.socket.shutdown(Shutdown::Both);
            if let Some(receiver) = &receiver {
                let _ = receiver.socket.shutdown(Shutdown::Both);
            }
        }
        let threads =
            [self.sender.thread.take(), receiver.and_then(|receiver| receiver.thread.take())];
        for thread in threads.into_iter().flatten() {
            let _ = thread.join();
        }
    }
}

/// Holds what was sent against what the far end noted and acknowledged, once the connection's end has come to it.
fn noted_whole(sent: SendCounts, flow: &AckedFlow) -> Result<RecvCounts> {
    let noted = flow.wait_for_end(PATIENCE);
    if noted.bytes == sent.bytes
        && noted.acked_bytes == sent.bytes
        && noted.gaps == 0
        && noted.ended
    {
        return Ok(RecvCounts { bytes: noted.bytes, ..RecvCounts::default() });
    }
    Err(Error::failed(format!(
        "the sender sent {} bytes, and the far end of the null link noted {} and acknowledged {} ({} sent again, {} gaps{})",
        sent.bytes,
        noted.bytes,
        noted.acked_bytes,
        noted.again_bytes,
        noted.gaps,
        if noted.ended { "" } else { ", and no end" },
    )))
}

/// Payload bytes that the other end's kernel has acknowledged so far, the greeting among them; 0 where that cannot be asked.
fn acknowledged(socket: &TcpStream) -> u64 {
    zc_kernel::tcp::info(socket).map_or(0, |info| info.bytes_acked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial;
    use crate::trial::testing::{fixed, loopback};
    use zc_run::{Cell, RecvPath, SendPath};

    fn flow(send: SendPath) -> Flow {
        let fixed = fixed();
        let links = loopback();
        let (setup, _) =
            trial::open_files(&[], 1, fixed.buffer_bytes, &[], fixed.sender_cpu).unwrap();
        let config =
            Arc::new(CellConfig::of(&Cell::of_paths(send, RecvPath::Recv), &fixed, &setup));
        let send_config = SendConfig {
            bursts: config.paced(),
            stop_after_bytes: None,
            first_file: 0,
            piece_bytes: 1 << 20,
            checksum: false,
            gives_way: false,
            to_listener: false,
        };
        Flow::open(0, &config, links.base(), send_config, None)
            .unwrap_or_else(|error| panic!("{error:?}"))
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
    fn a_receiver_that_dies_in_the_middle_is_a_sentence_and_no_hang() {
        for send in
            [SendPath::ReadSend, SendPath::Sendfile, SendPath::Splice, SendPath::MsgZerocopy]
        {
            let flow = flow(send);
            flow.begin(zc_kernel::clock::monotonic_ns());
            wait_until_bytes_arrive(&flow);
            flow.receiver().unwrap().socket.shutdown(Shutdown::Both).unwrap();
            let Err(TrialError::Broke(error)) = flow.finish() else {
                panic!("{send} did not notice")
            };
            assert!(!error.message.is_empty());
        }
    }

    #[test]
    fn a_flow_that_is_told_to_stop_ends_with_as_many_bytes_received_as_sent() {
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
    fn a_flow_that_is_given_up_before_it_began_ends_its_threads() {
        drop(flow(SendPath::ReadSend)); // joins them
    }
}
