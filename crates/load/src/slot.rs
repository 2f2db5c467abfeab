//! One of the connections of a load: what it is doing, and with which request.

use super::exchange::{Exchange, Purpose};
use super::reply::Reply;
use super::wire::Wire;

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// There is none.
    Closed,
    /// connect(2) has been called. It is given up at `until_ns`, if no request gives up before.
    Connecting {
        /// By CLOCK_MONOTONIC.
        until_ns: u64,
    },
    /// It is established, and its TLS session is not yet.
    Greeting {
        /// By CLOCK_MONOTONIC.
        until_ns: u64,
    },
    /// It is established, with its TLS session.
    Open,
}

/// A place for a connection.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) origin: usize,
    /// Counts connections of this place, to tell events of earlier ones.
    pub(super) generation: u32,
    pub(super) state: State,
    pub(super) wire: Option<Wire>,
    pub(super) exchange: Option<Exchange>,
    pub(super) reply: Reply,
    /// Responses on this connection.
    pub(super) served: u64,
    /// Requests that it may serve.
    pub(super) serves: u64,
    /// Whether the connection before this one was one of keep-alive that the server closed.
    pub(super) replaces: bool,
    /// Since when it has been free.
    pub(super) free_since_ns: u64,
}

impl Slot {
    pub(super) fn new(origin: usize) -> Self {
        Self {
            origin,
            generation: 0,
            state: State::Closed,
            wire: None,
            exchange: None,
            reply: Reply::default(),
            served: 0,
            serves: u64::MAX,
            replaces: false,
            free_since_ns: 0,
        }
    }

    /// Closes the connection, if there is one.
    pub(super) fn close(&mut self) {
        self.wire = None;
        self.state = State::Closed;
        self.generation = self.generation.wrapping_add(1);
        self.served = 0;
    }

    /// Whether its next response, or the one that is waited for, is the last on its connection.
    pub(super) fn is_last(&self) -> bool {
        self.served + 1 >= self.serves
    }

    /// When what it waits for is given up.
    pub(super) fn deadline_ns(&self) -> Option<u64> {
        match (self.state, &self.exchange) {
            (_, Some(exchange)) => Some(exchange.deadline_ns),
            (State::Connecting { until_ns } | State::Greeting { until_ns }, None) => Some(until_ns),
            _ => None,
        }
    }

    /// Whether its response is read, rather than discarded.
    pub(super) fn is_fetching(&self) -> bool {
        matches!(&self.exchange, Some(Exchange { purpose: Purpose::Fetch(_), .. }))
    }
}
