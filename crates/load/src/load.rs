//! The handle of a load: starts its thread, tells it what to do, reads its counts, ends it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::checked::check;
use super::counts::HttpCounts;
use super::engine::{Command, Engine, no_such_origin};
use super::options::{LoadOptions, Pace};
use super::phase::{Fetched, Phase};
use super::shared::Shared;
use super::targets::Targets;
use zc_kernel::clock::monotonic_ns;
use zc_kernel::sched;
use zc_run::{Error, Result};

/// Beyond the timeout of requests, how long the thread may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A thread that sends requests and discards what is answered. Dropping it ends the thread and
/// closes its connections, whatever the servers do.
#[derive(Debug)]
pub struct Load {
    shared: Arc<Shared>,
    commands: Sender<Command>,
    thread: Option<JoinHandle<()>>,
    tid: i32,
    timeout: Duration,
    /// What each origin is asked for.
    targets: Vec<Targets>,
}

impl Load {
    /// Starts the thread, and opens its connections, if they are kept. `enter` runs first on it: it
    /// may enter a network namespace, or bind the thread to a CPU.
    ///
    /// # Errors
    /// - That of `enter`.
    /// - [`ErrorKind::Remote`](zc_run::ErrorKind): a connection is refused, or not established
    ///   in time, of an origin that may not be missing.
    /// - [`ErrorKind::Usage`](zc_run::ErrorKind): a header is not valid, there is no origin or no
    ///   connection.
    /// - [`ErrorKind::Failed`](zc_run::ErrorKind): no thread, or no more descriptors.
    pub fn start(
        options: LoadOptions,
        enter: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Result<Self> {
        let shared = Arc::new(Shared::new()?);
        let timeout = options.timeout;
        let targets = options.origins.iter().map(|origin| origin.targets.clone()).collect();
        let (commands, inbox) = channel();
        let (ready, is_ready) = channel();
        let theirs = Arc::clone(&shared);
        let body = move || {
            let engine = enter().and_then(|()| Engine::open(options, theirs, inbox));
            match engine {
                Ok(mut engine) => {
                    if ready.send(Ok(sched::gettid())).is_ok() {
                        engine.run();
                    }
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        };
        let thread = std::thread::Builder::new()
            .name("zc-http".into())
            .spawn(body)
            .map_err(|error| Error::os("start a thread", error))?;
        let mut load = Self { shared, commands, thread: Some(thread), tid: 0, timeout, targets };
        // `enter` may take its time. Connections end by themselves.
        load.tid = is_ready.recv().unwrap_or_else(|_| Err(ended()))?;
        Ok(load)
    }

    /// The thread, as the kernel numbers it: for its CPU clock.
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// Asks once for what `origin` is, and reads it. Waits for a free connection.
    ///
    /// # Errors
    /// [`ErrorKind::Remote`](zc_run::ErrorKind): no connection, no response, none that is valid,
    /// none in time.
    pub fn fetch(&self, origin: usize) -> Result<Fetched> {
        self.fetch_target(origin, 0)
    }

    fn fetch_target(&self, origin: usize, target: usize) -> Result<Fetched> {
        let (wanted_by, fetched) = channel();
        self.command(Command::Fetch { origin, target, wanted_by })?;
        // For a free connection, and for the response.
        self.answer(&fetched, self.timeout * 2)?
    }

    /// Sends each different request to `origin` once, one after the other, and compares what comes
    /// with what is expected: the status, the length of the body and its CRC-32. A request of which
    /// nothing is expected has to have a response that a load can be measured with.
    ///
    /// # Errors
    /// [`ErrorKind::Remote`](zc_run::ErrorKind): a response is another one; which request, what is
    /// expected and what came. Or those of [`fetch`](Self::fetch).
    pub fn check(&self, origin: usize) -> Result<()> {
        let mut differences = self.differences(origin)?.into_iter();
        let Some((_, mut first)) = differences.next() else { return Ok(()) };
        match differences.len() {
            0 => {}
            1 => first.message.push_str("; another request is not either"),
            others => {
                // Writing to a String cannot fail.
                let _ = write!(first.message, "; {others} others are not either");
            }
        }
        Err(first)
    }

    /// Same as [`check`](Self::check), but returns all differences: the request, by its index among
    /// those of the origin, and the error.
    ///
    /// # Errors
    /// Those of [`fetch`](Self::fetch).
    pub fn differences(&self, origin: usize) -> Result<Vec<(usize, Error)>> {
        let targets = self.targets.get(origin).ok_or_else(no_such_origin)?;
        let mut differences = Vec::new();
        for (index, target) in targets.each().iter().enumerate() {
            let fetched = self.fetch_target(origin, index)?;
            differences.extend(check(target, fetched).err().map(|error| (index, error)));
        }
        Ok(differences)
    }

    /// From `begin_ns` (CLOCK_MONOTONIC) on, requests go to `origin`, until [`pause`](Self::pause).
    /// An earlier phase ends.
    pub fn go(&self, origin: usize, pace: Pace, begin_ns: u64) {
        self.go_for(origin, pace, begin_ns, u64::MAX);
    }

    /// Same as [`go`](Self::go), for at most `requests` requests.
    pub fn go_for(&self, origin: usize, pace: Pace, begin_ns: u64, requests: u64) {
        // A thread that has ended says so at the pause.
        let _ = self.command(Command::Go { origin, pace, begin_ns, requests });
    }

    /// The counts since the start. Cheap, at any moment, and from any thread.
    pub fn counts(&self) -> HttpCounts {
        self.shared.counting.read()
    }

    /// Begins no more requests, waits for the responses that are outstanding, at most the timeout,
    /// and says what the phase was.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](zc_run::ErrorKind): no phase has begun, or the thread has ended.
    pub fn pause(&self) -> Result<Phase> {
        self.pause_until(u64::MAX, self.timeout)
    }

    /// Same as [`pause`](Self::pause), but waits at most `at_most` for outstanding responses. Those
    /// that have not come by then are in no count but [`Phase::outstanding`].
    ///
    /// # Errors
    /// Same as [`pause`](Self::pause).
    pub fn pause_within(&self, at_most: Duration) -> Result<Phase> {
        let at_most_ns = u64::try_from(at_most.as_nanos()).unwrap_or(u64::MAX);
        self.pause_until(monotonic_ns().saturating_add(at_most_ns), at_most)
    }

    fn pause_until(&self, until_ns: u64, at_most: Duration) -> Result<Phase> {
        let (wanted_by, phase) = channel();
        self.command(Command::Pause { wanted_by, until_ns })?;
        self.answer(&phase, at_most)?
    }

    fn command(&self, command: Command) -> Result<()> {
        self.commands.send(command).map_err(|_| ended())?;
        self.shared.wake();
        Ok(())
    }

    fn answer<T>(&self, inbox: &Receiver<T>, at_most: Duration) -> Result<T> {
        inbox.recv_timeout(at_most.saturating_add(PATIENCE)).map_err(|error| match error {
            RecvTimeoutError::Disconnected => ended(),
            RecvTimeoutError::Timeout => Error::failed(
                "thread-stalled",
                "the thread that sends the requests does not answer",
            ),
        })
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic of it has been printed
        }
    }
}

fn ended() -> Error {
    Error::failed("thread-ended", "the thread that sends the requests has ended")
}
