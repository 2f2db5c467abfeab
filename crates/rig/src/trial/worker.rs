//! The thread of one side of a flow: it reports when it is ready, publishes its counts after every
//! piece, and reports how it ended. The coordinator reads the counts and knows of windows; the
//! thread does not.

use std::io;
use std::sync::mpsc::{Receiver as Inbox, RecvTimeoutError, Sender as Outbox, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::counting::{Counting, Counts};
use crate::meter::cannot_pin;
use zc_kernel::clock::{monotonic_ns, sleep_until};
use zc_run::{Error, ErrorKind, Result, Unavailable};

/// Time allowed to a thread for connecting and opening its path, or for draining, before the trial
/// fails.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Asked every [`GLANCE`] while a thread is waited for: an error once nobody wants the result.
pub type StillWanted<'a> = &'a dyn Fn() -> Result<()>;

/// Interval at which a wait asks whether it is still wanted.
pub const GLANCE: Duration = Duration::from_millis(200);

/// Sleeps until `at_ns`. A sleep that is shorter than a glance, as in most windows, is not
/// interrupted.
///
/// # Errors
/// Nobody wants what it is for any more.
pub(super) fn sleep(at_ns: u64, still_wanted: StillWanted<'_>) -> Result<()> {
    let glance_ns = GLANCE.as_nanos() as u64;
    while at_ns.saturating_sub(monotonic_ns()) > glance_ns {
        sleep_until(monotonic_ns() + glance_ns);
        still_wanted()?;
    }
    sleep_until(at_ns);
    Ok(())
}

/// A value that one thread publishes when it ends and another reads then.
#[derive(Debug, Default)]
pub(super) struct Published<T>(Mutex<T>);

impl<T: Copy> Published<T> {
    pub(super) fn set(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = value;
    }

    pub(super) fn get(&self) -> T {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a flow did not come up or did not end well.
#[derive(Debug)]
pub enum TrialError {
    /// The path cannot run here.
    CannotRun(Unavailable),
    /// Something failed while it ran.
    Broke(Error),
}

impl From<Error> for TrialError {
    fn from(error: Error) -> Self {
        Self::Broke(error)
    }
}

/// A thread that runs, or has ended.
pub(super) struct Worker<C> {
    pub(super) thread: Option<JoinHandle<()>>,
    pub(super) done: Inbox<std::result::Result<C, TrialError>>,
    pub(super) counts: Arc<Counting<C>>,
    pub(super) tid: i32,
    pub(super) socket: Connection,
}

impl<C> Worker<C> {
    pub(super) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the thread's wait on its socket, with an error. Where the kernel forbids that (a
    /// seccomp filter), the thread is left behind: waiting for it would never end.
    pub(super) fn wake(&mut self) {
        if self.has_ended() {
            return;
        }
        match self.socket.shut_down() {
            Err(error) if error.kind() != io::ErrorKind::NotConnected => self.thread = None,
            Ok(()) | Err(_) => {}
        }
    }

    /// Waits for the end of the thread.
    pub(super) fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic of it has been printed
        }
    }
}

/// Sent by a thread when it is ready.
pub(super) struct Ready {
    pub(super) tid: i32,
    pub(super) socket: Connection,
}

/// A thread that has started and is not ready yet.
pub(super) struct StartingWorker<C> {
    thread: JoinHandle<()>,
    pub(super) done: Inbox<std::result::Result<C, TrialError>>,
    pub(super) counts: Arc<Counting<C>>,
}

impl<C> StartingWorker<C> {
    pub(super) fn into_worker(self, ready: Ready) -> Worker<C> {
        Worker {
            thread: Some(self.thread),
            done: self.done,
            counts: self.counts,
            tid: ready.tid,
            socket: ready.socket,
        }
    }
}

/// Starts a thread; the second value receives what it sends when it is ready.
pub(super) fn spawn<C, R, F>(
    name: String,
    body: F,
) -> std::result::Result<(StartingWorker<C>, Inbox<R>), TrialError>
where
    C: Counts,
    R: Send + 'static,
    F: FnOnce(&Outbox<R>, &Counting<C>) -> std::result::Result<(), TrialError> + Send + 'static,
{
    let counts = Arc::new(Counting::default());
    let (ready_out, ready_in) = channel();
    let (done_out, done_in) = channel();
    let published = Arc::clone(&counts);
    let thread = std::thread::Builder::new()
        .name(name)
        .spawn(move || {
            let ended = body(&ready_out, &published);
            // Fails if the trial was abandoned.
            let _ = done_out.send(ended.map(|()| published.get()));
        })
        .map_err(|error| Error::os("start a thread", error))?;
    Ok((StartingWorker { thread, done: done_in, counts }, ready_in))
}

/// Waits for a message of a thread, which may end with an error instead.
pub(super) fn await_message<T, C>(
    inbox: &Inbox<T>,
    done: &Inbox<std::result::Result<C, TrialError>>,
    what: &str,
    still_wanted: StillWanted<'_>,
) -> std::result::Result<T, TrialError> {
    match receive(inbox, still_wanted)? {
        Ok(message) => Ok(message),
        Err(RecvTimeoutError::Timeout) => Err(TrialError::Broke(Error::failed(
            "thread-stalled",
            format!("waited {} s for {what}", PATIENCE.as_secs()),
        ))),
        Err(RecvTimeoutError::Disconnected) => match done.recv_timeout(PATIENCE) {
            Ok(Err(error)) => Err(error),
            _ => Err(TrialError::Broke(Error::failed(
                "thread-ended",
                format!("a thread ended while zc waited for {what}"),
            ))),
        },
    }
}

/// Waits for a message for up to [`PATIENCE`].
///
/// # Errors
/// Nobody wants it any more.
pub(super) fn receive<T>(
    inbox: &Inbox<T>,
    still_wanted: StillWanted<'_>,
) -> Result<std::result::Result<T, RecvTimeoutError>> {
    let until = Instant::now() + PATIENCE;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match inbox.recv_timeout(left.min(GLANCE)) {
            Err(RecvTimeoutError::Timeout) if left > GLANCE => still_wanted()?,
            received => return Ok(received),
        }
    }
}

pub(super) fn timed_out(message: &str) -> TrialError {
    TrialError::Broke(Error::failed(
        "too-slow",
        format!("{message} within {} s", PATIENCE.as_secs()),
    ))
}

/// Pins the calling thread to `cpus`, and sets its timer slack to 1 ns.
pub(super) fn pin_to(cpus: &[usize]) -> Result<()> {
    zc_kernel::sched::pin(cpus).map_err(|error| {
        let names: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        let doing = format!("pin a thread to CPU {}", names.join(", "));
        cannot_pin(doing, cpus, error, ErrorKind::Failed)
    })?;
    // The default slack of 50 us would be a good part of a burst's period.
    zc_kernel::sched::set_timer_slack(1).map_err(|error| Error::os("set the timer slack", error))
}
