//! Counts of a load, which other threads read at any moment.

use std::sync::atomic::{AtomicU64, Ordering};

/// A fault of the answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A status that is neither 2xx nor 3xx.
    Status,
    /// A status 3xx.
    Redirect,
    /// A body whose length is not that of the first response.
    Length,
    /// A body with a content encoding: compressed.
    Encoded,
    /// The connection ended before the response was whole.
    Closed,
    /// The received bytes are no HTTP/1.1 response.
    Malformed,
    /// Not whole in time.
    Timeout,
    /// No connection.
    Connect,
    /// No TLS session: a certificate that is not trusted, no protocol in common.
    Tls,
    /// A response that is not the one that the request was to have.
    Unexpected,
}

impl Fault {
    /// All of them, in the order of [`HttpCounts::faults`].
    pub const ALL: [Self; 10] = [
        Self::Status,
        Self::Redirect,
        Self::Length,
        Self::Encoded,
        Self::Closed,
        Self::Malformed,
        Self::Timeout,
        Self::Connect,
        Self::Tls,
        Self::Unexpected,
    ];

    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Redirect => "redirect",
            Self::Length => "length",
            Self::Encoded => "encoded",
            Self::Closed => "closed",
            Self::Malformed => "malformed",
            Self::Timeout => "timeout",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Unexpected => "unexpected",
        }
    }

    /// Whether the response arrived whole all the same.
    pub fn is_answered(self) -> bool {
        matches!(
            self,
            Self::Status | Self::Redirect | Self::Length | Self::Encoded | Self::Unexpected
        )
    }

    /// `count` of them as a sentence: `3 responses were redirects`.
    pub fn describe(self, count: u64) -> String {
        let one = count == 1;
        let responses = if one { "response" } else { "responses" };
        let requests = if one { "request" } else { "requests" };
        match self {
            Self::Status => format!("{count} {responses} had a status other than 2xx"),
            Self::Redirect => {
                format!(
                    "{count} {responses} {}",
                    if one { "was a redirect" } else { "were redirects" }
                )
            }
            Self::Length => {
                format!("{count} {responses} had a body of another length than the first one")
            }
            Self::Encoded => {
                format!("{count} {responses} had a content encoding, though none was asked for")
            }
            Self::Closed => format!(
                "{count} {requests} got no whole response because the server closed the connection"
            ),
            Self::Malformed => {
                format!("{count} {requests} got an answer that is not valid HTTP/1.1")
            }
            Self::Timeout => format!("{count} {requests} got no whole response in time"),
            Self::Connect => format!("{count} {requests} got no connection"),
            Self::Tls => format!("{count} {requests} got no TLS session"),
            Self::Unexpected => {
                format!("{count} {responses} had another status or length than expected")
            }
        }
    }
}

/// Counts of a load since its start, or between two moments ([`since`](Self::since)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HttpCounts {
    /// Requests begun: sent, or waiting for the connection that was opened for them.
    pub requests: u64,
    /// Responses that arrived whole, whatever they say.
    pub responses: u64,
    /// Bytes of bodies, also of those that are not yet whole.
    pub body_bytes: u64,
    /// Bytes received from sockets: heads, bodies and what TLS adds.
    pub received_bytes: u64,
    /// Bytes sent to sockets.
    pub sent_bytes: u64,
    /// Connections opened.
    pub connects: u64,
    /// Connections among them that replaced a keep-alive connection closed by the server.
    pub reconnects: u64,
    /// Connections that the server was to close after a response and left open: this end did it.
    pub unclosed: u64,
    /// Faults, in the order of [`Fault::ALL`].
    pub faults: [u64; Fault::ALL.len()],
}

impl HttpCounts {
    /// The counts since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut faults = self.faults;
        faults
            .iter_mut()
            .zip(before.faults)
            .for_each(|(now, then)| *now = now.saturating_sub(then));
        Self {
            requests: self.requests.saturating_sub(before.requests),
            responses: self.responses.saturating_sub(before.responses),
            body_bytes: self.body_bytes.saturating_sub(before.body_bytes),
            received_bytes: self.received_bytes.saturating_sub(before.received_bytes),
            sent_bytes: self.sent_bytes.saturating_sub(before.sent_bytes),
            connects: self.connects.saturating_sub(before.connects),
            reconnects: self.reconnects.saturating_sub(before.reconnects),
            unclosed: self.unclosed.saturating_sub(before.unclosed),
            faults,
        }
    }

    /// Number of faults of this kind.
    pub fn fault_count(&self, fault: Fault) -> u64 {
        self.faults[fault as usize]
    }

    /// Every fault that occurred, and how often.
    pub fn faults(&self) -> impl Iterator<Item = (Fault, u64)> {
        Fault::ALL.into_iter().zip(self.faults).filter(|(_, count)| *count > 0)
    }

    /// Requests that ended without a whole response.
    pub fn unanswered(&self) -> u64 {
        self.faults().filter(|(fault, _)| !fault.is_answered()).map(|(_, count)| count).sum()
    }
}

/// The counts of a running load: one thread adds, any reads.
#[derive(Debug, Default)]
pub(super) struct Counting {
    pub(super) requests: Count,
    pub(super) responses: Count,
    pub(super) body_bytes: Count,
    pub(super) received_bytes: Count,
    pub(super) sent_bytes: Count,
    pub(super) connects: Count,
    pub(super) reconnects: Count,
    pub(super) unclosed: Count,
    faults: [Count; Fault::ALL.len()],
}

impl Counting {
    pub(super) fn fault(&self, fault: Fault) {
        self.faults[fault as usize].add(1);
    }

    /// The counts of this moment. Each is read by itself, so that two of them may be a request
    /// apart.
    pub(super) fn read(&self) -> HttpCounts {
        HttpCounts {
            requests: self.requests.get(),
            responses: self.responses.get(),
            body_bytes: self.body_bytes.get(),
            received_bytes: self.received_bytes.get(),
            sent_bytes: self.sent_bytes.get(),
            connects: self.connects.get(),
            reconnects: self.reconnects.get(),
            unclosed: self.unclosed.get(),
            faults: std::array::from_fn(|index| self.faults[index].get()),
        }
    }
}

/// A number to which one thread adds.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    /// Adds, on the only thread that does: without a locked instruction.
    pub(super) fn add(&self, number: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(number), Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_counted_by_kind_in_the_order_of_the_list() {
        let counting = Counting::default();
        for (index, fault) in Fault::ALL.into_iter().enumerate() {
            assert_eq!(fault as usize, index);
            (0..=index).for_each(|_| counting.fault(fault));
        }
        let counts = counting.read();
        assert_eq!(counts.fault_count(Fault::Redirect), 2);
        assert_eq!(counts.unanswered(), 5 + 6 + 7 + 8 + 9);
        assert_eq!(counts.since(&counts), HttpCounts::default());
    }

    #[test]
    fn one_fault_and_several_read_as_sentences() {
        assert_eq!(Fault::Redirect.describe(1), "1 response was a redirect");
        assert_eq!(Fault::Timeout.describe(2), "2 requests got no whole response in time");
    }
}
