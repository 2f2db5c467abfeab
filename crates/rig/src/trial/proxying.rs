//! The proxy of a flow: a thread on the receiver's side of the link, on the receiver's CPU, between
//! two connections over the link. The sender connects to it, and it connects to the receiver, which
//! is on the sender's side.

use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Inbox, Sender as Outbox, channel};

use super::cell_config::CellConfig;
use super::connection::Connection;
use super::counting::Counting;
use super::factor::EFFECTS;
use super::priority::Priority;
use super::receiving::{accept, listen};
use super::sending::{self, Target};
use super::worker::{
    Published, Ready, StartingWorker, StillWanted, TrialError, Worker, await_message, pin_to, spawn,
};
use crate::link::Link;
use crate::path::{self, ProxySetup};
use zc_run::factor::proxy_buffer_bytes;
use zc_run::{Error, ProxyPath, RecvCounts, Result};

/// A proxy that runs, or has ended.
pub(super) struct Proxy {
    pub(super) side: Worker<RecvCounts>,
    /// Its connection to the receiver; that to the sender is the socket of `side`.
    pub(super) target: Connection,
    given_up: Arc<AtomicBool>,
}

/// A proxy whose thread waits for the sender.
pub(super) struct StartingProxy {
    worker: StartingWorker<RecvCounts>,
    ready: Inbox<ProxyReady>,
    given_up: Arc<AtomicBool>,
}

/// Sent by the proxy's thread when it is ready.
struct ProxyReady {
    ready: Ready,
    target: Connection,
}

/// What the proxy's thread needs.
pub(super) struct Between {
    pub(super) index: usize,
    pub(super) config: Arc<CellConfig>,
    pub(super) link: Arc<dyn Link>,
    pub(super) priority: Priority,
    /// The receiver's address.
    pub(super) to: SocketAddr,
    /// The sender's address, once it has connected.
    pub(super) sender: Arc<Published<Option<SocketAddr>>>,
    /// The proxy's own address, once it has connected to the receiver.
    pub(super) connected: Arc<Published<Option<SocketAddr>>>,
}

impl StartingProxy {
    /// Starts the thread of a proxy; returns the address that the sender is to connect to, too.
    ///
    /// # Errors
    /// It cannot listen.
    pub(super) fn start(
        between: Between,
        still_wanted: StillWanted<'_>,
    ) -> std::result::Result<(Self, SocketAddr), TrialError> {
        let given_up = Arc::<AtomicBool>::default();
        let is_given_up = Arc::clone(&given_up);
        let (address_out, address) = channel();
        let name = format!("zc-proxy-{}", between.index);
        let (worker, ready) = spawn(name, move |ready, counts| {
            forward(&between, &address_out, ready, counts, &is_given_up)
        })?;
        let address = await_message(&address, &worker.done, "the proxy to listen", still_wanted)?;
        Ok((Self { worker, ready, given_up }, address))
    }

    /// Waits until both connections stand and the path is open.
    ///
    /// # Errors
    /// The path cannot run here, or a connection was not made.
    pub(super) fn opened(
        self,
        still_wanted: StillWanted<'_>,
    ) -> std::result::Result<Proxy, TrialError> {
        let Self { worker, ready, given_up } = self;
        let what = "the proxy to open its path";
        let ProxyReady { ready, target } = await_message(&ready, &worker.done, what, still_wanted)?;
        Ok(Proxy { side: worker.into_worker(ready), target, given_up })
    }
}

impl Proxy {
    /// Ends its waits on either connection, whose other ends see that. It leaves what has arrived.
    pub(super) fn shut_down(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        let _ = self.side.socket.shut_down();
        let _ = self.target.shut_down();
    }

    /// The same, and its thread is left behind where the kernel forbids it: see [`Worker::wake`].
    pub(super) fn wake(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
        if !self.side.has_ended() {
            let _ = self.target.shut_down();
        }
        self.side.wake();
    }

    /// Makes its connection to the receiver end with a reset, as
    /// [`Flow::release_port`](super::flow::Flow::release_port) does with that of the sender.
    pub(super) fn release_port(&self) {
        let _ = zc_kernel::tcp::set_reset_on_close(&self.target);
    }
}

/// Listens, accepts the sender's connection, connects to the receiver, and moves bytes until the
/// end of what is sent, which it passes on.
fn forward(
    between: &Between,
    address: &Outbox<SocketAddr>,
    ready: &Outbox<ProxyReady>,
    counts: &Counting<RecvCounts>,
    given_up: &AtomicBool,
) -> std::result::Result<(), TrialError> {
    let Between { config, link, to, .. } = between;
    let fixed = &config.fixed;
    let cpus = config.receiver_cpus();
    pin_to(&cpus)?;
    link.enter_receiver()?;
    let listener = listen((link.receiver_address(), 0).into(), fixed.rcvbuf_bytes)?;
    let own = listener.local_addr().map_err(|error| Error::os("ask for a port", error))?;
    let _ = address.send(own);
    let source = accept(&listener, &between.sender)?;
    let (target, _) = sending::connect(&Target::plain(*to), fixed, None)?;
    between.connected.set(target.local_address());
    let setup = ProxySetup {
        source: source.as_fd(),
        target: target.as_fd(),
        buffer_bytes: proxy_buffer_bytes(fixed),
        cpu: cpus.first().copied().filter(|_| cpus.len() == 1),
    };
    let mut path =
        path::open_forwarder(ProxyPath::of(fixed), &setup).map_err(TrialError::CannotRun)?;
    let source = Connection::Stream(source);
    let at_work = Ready { tid: zc_kernel::sched::gettid(), socket: source.duplicate()? };
    let _ = ready.send(ProxyReady { ready: at_work, target: target.duplicate()? });
    between.priority.take()?;
    while path.forward()? > 0 && !given_up.load(Ordering::Relaxed) {
        counts.set(path.counts());
    }
    counts.set(path.counts());
    pass_on_the_end(&target, config)?;
    Ok(())
}

fn pass_on_the_end(target: &Connection, config: &CellConfig) -> Result<()> {
    EFFECTS.iter().try_for_each(|effect| effect.before_drain(target.as_fd(), &config.fixed))?;
    let Some(stream) = target.stream() else { return Ok(()) };
    match stream.shutdown(std::net::Shutdown::Write) {
        // The receiver, or who gave the flow up, was faster.
        Err(error) if error.kind() == std::io::ErrorKind::NotConnected => Ok(()),
        ended => ended.map_err(|error| Error::os("close a proxy's connection for sending", error)),
    }
}
