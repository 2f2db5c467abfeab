//! The listener and the pending connections of the server, served together with the control
//! connection of a test.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use zc_kernel::spawn::wait_readable;
use zc_kernel::stop::Stop;

use super::super::control::Control;
use super::clients::{Arrival, Busy, PendingConnections};
use super::event::Event;
use super::limits::{Limits, TICK};
use super::refusal::Refusal;
use zc_run::{Error, Result};

/// Pause of accepting after descriptors or memory ran out.
const REST: Duration = Duration::from_secs(1);
/// At most one refusal per interval is reported, so that a flood does not fill the screen: a
/// second, for which unit tests do not wait.
pub(super) const TELL_EVERY: Duration = Duration::from_millis(if cfg!(test) { 200 } else { 1000 });

pub(super) struct Server<'a> {
    listener: TcpListener,
    stop: &'a Stop,
    pub(super) limits: Limits,
    pub(super) tell: &'a mut dyn FnMut(Event),
    pending: PendingConnections,
    refusals: Refusals,
    rests_until: Option<Instant>,
}

/// When the last refusal was reported, and the number suppressed since.
#[derive(Debug, Default)]
struct Refusals {
    told: Option<Instant>,
    untold: u64,
}

impl<'a> Server<'a> {
    pub(super) fn new(
        listener: TcpListener,
        stop: &'a Stop,
        limits: Limits,
        tell: &'a mut dyn FnMut(Event),
    ) -> Self {
        let (pending, refusals) = (PendingConnections::default(), Refusals::default());
        Self { listener, stop, limits, tell, pending, refusals, rests_until: None }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stop.is_set()
    }

    /// Waits for one tick at most, accepts connections, and reads pending ones. Returns whether
    /// `also` is readable.
    pub(super) fn wait(&mut self, also: Option<BorrowedFd<'_>>) -> Result<bool> {
        self.rests_until = self.rests_until.filter(|until| Instant::now() < *until);
        let mut fds: Vec<BorrowedFd<'_>> = self.pending.fds().collect();
        let pending = fds.len();
        fds.extend(also);
        if self.rests_until.is_none() {
            fds.push(self.listener.as_fd());
        }
        let ready = wait_readable(&fds, Some(TICK))
            .map_err(|error| Error::os("wait for iperf3 clients", error))?;
        let can_accept = self.rests_until.is_none() && ready.last() == Some(&true);
        let also_ready = also.is_some() && ready[pending];
        self.pending.receive(&ready[..pending]);
        if can_accept && let Err(error) = self.pending.accept(&self.listener) {
            self.rests_until = Some(Instant::now() + REST);
            (self.tell)(Event::NotTaken(Error::os("accept a connection", error)));
        }
        Ok(also_ready)
    }

    /// The next accepted connection. Others are refused and reported.
    pub(super) fn next_arrival(&mut self, busy: Busy<'_>) -> Option<Arrival> {
        let mut refused = Vec::new();
        let arrival = self.pending.next(busy, self.limits.patience, &mut refused);
        for (peer, why) in refused {
            self.tell_refusal(peer, why);
        }
        arrival
    }

    /// Sends the client the reason for refusing its test.
    pub(super) fn refuse(&mut self, mut control: Control, peer: SocketAddr, refusal: &Refusal) {
        // It may have closed the connection, and then knows that there is no test.
        drop(control.say_error(refusal.error, refusal.errno, TICK));
        self.tell_refusal(peer, refusal.why.clone());
    }

    fn tell_refusal(&mut self, peer: SocketAddr, why: String) {
        let now = Instant::now();
        if self.refusals.told.is_some_and(|told| now - told < TELL_EVERY) {
            self.refusals.untold += 1;
            return;
        }
        let untold = std::mem::take(&mut self.refusals.untold);
        self.refusals.told = Some(now);
        (self.tell)(Event::Refused { peer, why, untold });
    }
}
