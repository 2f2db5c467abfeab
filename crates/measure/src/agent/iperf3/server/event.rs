//! Events that the server reports to its caller.

use std::net::SocketAddr;

use zc_run::Error;

/// An event at the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A test has begun.
    Began {
        /// Address of the client.
        peer: SocketAddr,
        /// Number of streams.
        streams: usize,
        /// Whether the server sends.
        reverse: bool,
    },
    /// A test has ended successfully.
    Ended(Ended),
    /// A test was given up.
    GivenUp {
        /// Address of the client.
        peer: SocketAddr,
        /// The reason, which continues a sentence whose subject is the client.
        why: String,
        /// Bytes received, or sent, by then.
        bytes: u64,
    },
    /// A client was refused.
    Refused {
        /// Address of the client.
        peer: SocketAddr,
        /// The reason, which continues a sentence whose subject is the client.
        why: String,
        /// Number of refusals before this one that were not reported.
        untold: u64,
    },
    /// A connection could not be accepted. Accepting pauses for a second.
    NotTaken(Error),
}

/// A test that has ended successfully.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Address of the client.
    pub peer: SocketAddr,
    /// Number of streams.
    pub streams: usize,
    /// Whether the server sent.
    pub reverse: bool,
    /// Payload bytes of all streams, received or sent, without those of the omitted time.
    pub bytes: u64,
    /// From the start, or the end of the omitted time, to the client's end of the test or the last
    /// byte, whichever is later.
    pub seconds: f64,
    /// CPU time of this process (getrusage(2)) in percent of the time of the test. 100 is a whole
    /// CPU.
    pub cpu_percent: f64,
}
