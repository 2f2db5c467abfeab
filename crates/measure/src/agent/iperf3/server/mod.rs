//! An iperf3 server: one test at a time, over TCP, in either direction, for unmodified clients.
//!
//! One thread serves the listener, the pending connections, and the control connection of the test.
//! Every stream has a thread of its own. The cost of an unknown peer is bounded: one of 64 places
//! for [`Limits::patience`] with 64 KiB, and then, if it speaks iperf3, a test within [`Limits`].

mod clients;
mod event;
mod limits;
mod listening;
mod refusal;
mod request;
mod running;
mod streams;

#[cfg(test)]
mod pending;

#[cfg(test)]
pub(super) const TELL_EVERY: std::time::Duration = listening::TELL_EVERY;

use std::net::TcpListener;

use self::clients::{Arrival, Busy};
use self::listening::Server;
use self::running::Running;
use zc_kernel::stop::Stop;
use zc_run::{Error, Result};

pub use event::{Ended, Event};
pub use limits::Limits;
pub use refusal::Refusal;
pub use request::Request;

/// Serves until `stop` is set, which is noticed within a tenth of a second.
///
/// # Errors
/// The kernel cannot wait for connections.
pub fn serve(
    listener: TcpListener,
    stop: &Stop,
    limits: Limits,
    tell: &mut dyn FnMut(Event),
) -> Result<()> {
    listener
        .set_nonblocking(true)
        .map_err(|error| Error::os("make the listener non-blocking", error))?;
    let mut server = Server::new(listener, stop, limits, tell);
    while !server.is_stopping() {
        server.wait(None)?;
        let Some(Arrival::Client { control, peer, cookie, parameters }) =
            server.next_arrival(Busy::Idle)
        else {
            continue;
        };
        match Request::of(&parameters, &limits) {
            Ok(request) => Running::run(&mut server, control, peer, cookie, request)?,
            Err(refusal) => server.refuse(control, peer, &refusal),
        }
    }
    Ok(())
}
