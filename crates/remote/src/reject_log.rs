//! Log of rejected connections, limited in rate.

use std::fmt;
use std::net::SocketAddr;
use std::time::Instant;

use super::log_limit::LogLimit;
use zc_run::Error;

/// An event at the listener. Its text is a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerEvent {
    /// A pending connection was rejected.
    Refused {
        /// Address of the peer.
        peer: SocketAddr,
        /// The reason, which is not sent to the peer.
        why: RejectReason,
    },
    /// An authenticated client was refused because a session is in progress.
    Busy {
        /// Address of the client.
        peer: SocketAddr,
    },
    /// A connection could not be accepted.
    NotAccepted(Error),
    /// Number of further events of this period.
    Untold(u64),
}

/// Why a pending connection was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectReason {
    /// It does not know the token.
    WrongToken,
    /// It knows a one-time token that has been used.
    UsedUp,
    /// It speaks this other protocol.
    OtherProtocol(u32),
    /// It does not speak zc's protocol at all.
    Nonsense,
    /// It sent more than a pending connection may.
    TooLong,
    /// It did not authenticate in time.
    Slow,
    /// It closed the connection.
    Left,
    /// Newer connections took its place.
    Crowded,
    /// Its address has tried too many wrong tokens.
    Guesses,
}

impl fmt::Display for ListenerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { peer, why } => write!(f, "{} {why}", shown(*peer)),
            Self::Busy { peer } => {
                write!(f, "{} was refused: a session is in progress", shown(*peer))
            }
            Self::NotAccepted(error) => error.fmt(f),
            Self::Untold(1) => f.write_str("one more like it"),
            Self::Untold(count) => write!(f, "{count} more like it"),
        }
    }
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongToken => f.write_str("was refused: it does not know the token"),
            Self::UsedUp => {
                f.write_str("was refused: its token opened a session before, and opens one only")
            }
            Self::OtherProtocol(protocol) => {
                let ours = super::handshake::PROTOCOL;
                write!(f, "was refused: it speaks protocol {protocol}, this zc speaks {ours}")
            }
            Self::Nonsense => f.write_str("was refused: it is not zc"),
            Self::TooLong => f.write_str("was refused: it is not zc, and sent too much"),
            Self::Slow => f.write_str("was dropped: it did not authenticate within 5 s"),
            Self::Left => f.write_str("closed the connection before it had authenticated"),
            Self::Crowded => f.write_str("was dropped: there were too many pending connections"),
            Self::Guesses => f.write_str("was dropped: wrong tokens came from its address"),
        }
    }
}

/// The address as users know it: an IPv4 address on an IPv6 socket as IPv4.
fn shown(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Limits the rate of reports.
#[derive(Debug, Default)]
pub(super) struct RejectLog(LogLimit);

impl RejectLog {
    /// Reports an event, or counts it.
    pub(super) fn report(&mut self, event: ListenerEvent, report: &mut dyn FnMut(ListenerEvent)) {
        let now = Instant::now();
        self.catch_up(now, report);
        if self.0.admits(now) {
            report(event);
        }
    }

    /// Reports the number of suppressed events once their period is over.
    pub(super) fn catch_up(&mut self, now: Instant, report: &mut dyn FnMut(ListenerEvent)) {
        if let Some(untold) = self.0.catch_up(now) {
            report(ListenerEvent::Untold(untold));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::handshake::PROTOCOL;
    use super::super::log_limit::{MOST_REPORTED, PERIOD};
    use super::*;

    #[test]
    fn of_a_flood_only_the_number_is_reported() {
        let (mut log, mut reported) = (RejectLog::default(), Vec::new());
        let event = ListenerEvent::Busy { peer: "[::ffff:192.0.2.1]:7".parse().unwrap() };
        for _ in 0..1000 {
            log.report(event.clone(), &mut |event| reported.push(event));
        }
        log.catch_up(Instant::now() + PERIOD, &mut |event| reported.push(event));
        assert_eq!(reported.len(), MOST_REPORTED as usize + 1);
        assert_eq!(reported[0].to_string(), "192.0.2.1:7 was refused: a session is in progress");
        assert_eq!(reported.last(), Some(&ListenerEvent::Untold(1000 - u64::from(MOST_REPORTED))));
        log.catch_up(Instant::now() + 2 * PERIOD, &mut |_| {
            panic!("there is nothing left to report")
        });
    }

    #[test]
    fn a_reason_reads_as_a_sentence_about_the_peer() {
        let peer = "[2001:db8::1]:7".parse().unwrap();
        let text = ListenerEvent::Refused { peer, why: RejectReason::OtherProtocol(9) }.to_string();
        let own = format!("this zc speaks {PROTOCOL}");
        assert_eq!(text, format!("[2001:db8::1]:7 was refused: it speaks protocol 9, {own}"));
    }
}
