//! The wait of a load's thread: epoll(7) over its sockets, a timer for the next request, and an
//! eventfd for its handle.
//!
//! The timer is a timerfd(2), as the timeout of epoll_wait(2) is in whole milliseconds before Linux
//! 5.11.

use std::io;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// Events that one wait returns at most.
const AT_A_TIME: usize = 256;

/// Tokens that are no connection's.
const TIMER: u64 = u64::MAX;
const WAKEUP: u64 = u64::MAX - 1;

const NS_PER_S: u64 = 1_000_000_000;

/// An event on a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Happened {
    /// Token that the connection was registered with.
    pub(super) token: u64,
    /// Whether it can be written, or is broken.
    pub(super) is_writable: bool,
    /// Whether the other end has closed it, or it is broken.
    pub(super) is_ending: bool,
}

/// The wait.
pub(super) struct Poller {
    epoll: OwnedFd,
    timer: OwnedFd,
    armed_ns: u64,
    events: Vec<Event>,
}

impl Poller {
    /// A wait that `wakeup`, an eventfd(2), ends.
    pub(super) fn new(wakeup: impl AsFd) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // Edge-triggered: neither of them has to be read.
        let edges = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), edges)?;
        epoll::add(&epoll, wakeup, EventData::new_u64(WAKEUP), edges)?;
        Ok(Self { epoll, timer, armed_ns: 0, events: Vec::with_capacity(AT_A_TIME) })
    }

    /// Registers a socket, once and for all events. Closing it removes it.
    pub(super) fn add(&self, socket: impl AsFd, token: u64) -> io::Result<()> {
        let all = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(token), all)?)
    }

    /// Ends a wait at `at_ns` (CLOCK_MONOTONIC), once.
    pub(super) fn wake_at(&mut self, at_ns: u64) -> io::Result<()> {
        if self.armed_ns == at_ns {
            return Ok(());
        }
        let time =
            |ns: u64| Timespec { tv_sec: (ns / NS_PER_S) as i64, tv_nsec: (ns % NS_PER_S) as _ };
        // A time of 0 would disarm it.
        let once = Itimerspec { it_interval: time(0), it_value: time(at_ns.max(1)) };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)?;
        self.armed_ns = at_ns;
        Ok(())
    }

    /// Waits for at most `at_most` (whole milliseconds; `None`: without limit), and returns what
    /// happened to connections.
    pub(super) fn wait(
        &mut self,
        at_most: Option<Duration>,
    ) -> io::Result<impl Iterator<Item = Happened>> {
        self.events.clear();
        let at_most = at_most.map(|time| Timespec {
            tv_sec: time.as_secs().min(3600) as i64,
            tv_nsec: time.subsec_nanos().into(),
        });
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), at_most.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.events.iter().filter_map(|event| {
            let (token, flags) = (event.data.u64(), event.flags);
            let is_broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
            (token < WAKEUP).then_some(Happened {
                token,
                is_writable: is_broken || flags.contains(EventFlags::OUT),
                is_ending: is_broken || flags.contains(EventFlags::RDHUP),
            })
        }))
    }
}
