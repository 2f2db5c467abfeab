//! The scheduling priority of the threads of flows, beside the thread that reads the meters and
//! beside other programs.

use std::io;
use std::time::Duration;

use crate::privileges::no_round_robin;
use zc_kernel::realtime::RealtimeGuard;
use zc_kernel::sched;
use zc_run::{Error, Result};

/// The lowest real-time priority: above all tasks that are not real-time, below all others that
/// are.
const REALTIME_PRIORITY: i32 = 1;

/// Time that a real-time thread may work between two sleeps. A thread that keeps its rate sleeps
/// before every burst, each millisecond or so.
const AWAKE_AT_MOST: Duration = Duration::from_millis(200);

/// Priority of the threads of a flow, from when their path is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Priority {
    /// The priority of the process.
    Usual,
    /// Below the thread that reads the meters.
    ///
    /// Among a thousand threads without pacing the reader would be one more, and would get its turn
    /// after seconds. Five hundred threads at nice 19 weigh 7,500 together, the reader 1,024. This
    /// is only for trials without soakers: those weigh 3, and a thread at nice 19 no more than 15.
    Low,
    /// Above all programs that are not real-time (SCHED_RR), for threads that keep a rate.
    Realtime,
}

impl Priority {
    /// Gives it to the calling thread.
    pub(super) fn take(self) -> Result<()> {
        match self {
            Self::Usual => Ok(()),
            Self::Low => sched::set_nice(0, 19)
                .map_err(|error| Error::os("lower the priority of a thread", error)),
            Self::Realtime => sched::set_round_robin(REALTIME_PRIORITY).map_err(not_permitted),
        }
    }
}

/// Bounds the real-time threads of this process.
#[derive(Debug)]
pub(super) struct Realtime(RealtimeGuard);

impl Realtime {
    /// Sets the bound.
    ///
    /// # Errors
    /// This process may not have real-time threads.
    pub(super) fn begin() -> Result<Self> {
        let may_have = || sched::set_round_robin(REALTIME_PRIORITY);
        std::thread::scope(|scope| {
            let tried = std::thread::Builder::new()
                .spawn_scoped(scope, may_have)
                .map_err(|error| Error::os("start a thread", error))?;
            tried
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
                .map_err(not_permitted)
        })?;
        let guard = RealtimeGuard::limit(AWAKE_AT_MOST);
        Ok(Self(guard.map_err(|error| Error::os("bound real-time threads", error))?))
    }

    /// Checks the trial that has ended.
    ///
    /// # Errors
    /// A thread of it worked for too long without a sleep, and has become an ordinary one.
    pub(super) fn check(&self) -> Result<()> {
        let was_exceeded = self.0.was_exceeded();
        if !was_exceeded.map_err(|error| Error::os("bound real-time threads", error))? {
            return Ok(());
        }
        Err(Error::failed(
            "realtime-hog",
            format!(
                "a thread worked for {} ms under SCHED_RR without a sleep, and zc took the policy \
             from it",
                AWAKE_AT_MOST.as_millis()
            ),
        )
        .help("take a lower --rate, which the path can hold, or leave --realtime out"))
    }
}

fn not_permitted(error: io::Error) -> Error {
    no_round_robin(&error).prefixed("--realtime: ")
}
