//! Connections whose last response has arrived. The server is to close them, so that their ports
//! wait there (TIME_WAIT), and not here. No request waits for that: its place has the next
//! connection.

use std::collections::{HashMap, VecDeque};

use super::wire::Wire;

/// Time allowed to a server to close a connection that it, or this end, wants closed.
const TO_PART_NS: u64 = 1_000_000_000;

/// Connections that wait for the server to close them.
#[derive(Debug)]
pub(super) struct Parting {
    /// Connections by their tokens.
    wires: HashMap<u64, Wire>,
    /// Until when the server has time, in order; also of those that it has closed since.
    until_ns: VecDeque<(u64, u64)>,
    most: usize,
}

impl Parting {
    /// Keeps at most `most` connections, and at least one.
    pub(super) fn new(most: usize) -> Self {
        Self { wires: HashMap::new(), until_ns: VecDeque::new(), most: most.max(1) }
    }

    /// Waits for the server to close a connection. Returns how many others are closed by this end,
    /// for want of room.
    pub(super) fn add(&mut self, token: u64, wire: Wire, now_ns: u64) -> u64 {
        let mut closed = 0;
        while self.wires.len() >= self.most
            && let Some((_, oldest)) = self.until_ns.pop_front()
        {
            closed += u64::from(self.wires.remove(&oldest).is_some());
        }
        self.wires.insert(token, wire);
        self.until_ns.push_back((now_ns.saturating_add(TO_PART_NS), token));
        closed
    }

    /// The server has closed a connection. Returns whether it is one of these.
    pub(super) fn ended(&mut self, token: u64) -> bool {
        self.wires.remove(&token).is_some()
    }

    /// Closes those for which the server has had its time. Returns how many.
    pub(super) fn give_up(&mut self, now_ns: u64) -> u64 {
        let mut closed = 0;
        while let Some((until_ns, token)) = self.until_ns.front().copied()
            && until_ns <= now_ns
        {
            self.until_ns.pop_front();
            closed += u64::from(self.wires.remove(&token).is_some());
        }
        closed
    }

    pub(super) fn is_empty(&self) -> bool {
        self.wires.is_empty()
    }
}
