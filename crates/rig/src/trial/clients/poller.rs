//! The wait of either thread: epoll(7) over the sockets of all clients.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData};
use rustix::io::Errno;
use rustix::time::Timespec;

use zc_run::{Error, Result};

pub(super) use rustix::event::epoll::EventFlags;

/// Events that one wait returns at most; nginx's `epoll_events` is 512.
const AT_A_TIME: usize = 512;

/// The sockets, by the numbers of their clients.
pub(super) struct Poller {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Poller {
    pub(super) fn new() -> Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)
            .map_err(|error| Error::os("create an epoll instance", error))?;
        Ok(Self { epoll, events: Vec::with_capacity(AT_A_TIME) })
    }

    /// Waits for these events on a client's socket from here on.
    pub(super) fn add(&self, client: usize, socket: impl AsFd, events: EventFlags) -> Result<()> {
        epoll::add(&self.epoll, socket, EventData::new_u64(client as u64), events)
            .map_err(|error| Error::os("wait for a client with epoll", error))
    }

    /// Waits no longer for this socket.
    pub(super) fn remove(&self, socket: impl AsFd) -> Result<()> {
        epoll::delete(&self.epoll, socket)
            .map_err(|error| Error::os("wait no longer for a client", error))
    }

    /// Waits for at most `at_most`, in whole milliseconds before Linux 5.11; returns the clients on
    /// whose sockets something has happened.
    pub(super) fn wait(
        &mut self,
        at_most: Duration,
    ) -> Result<impl Iterator<Item = (usize, EventFlags)> + use<'_>> {
        self.events.clear();
        let at_most =
            Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: at_most.subsec_nanos().into() };
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&at_most)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::os("wait for clients with epoll", error)),
        }
        Ok(self.events.iter().map(|event| (event.data.u64() as usize, event.flags)))
    }
}
