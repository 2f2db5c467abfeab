//! What a serving end tells of those it did not let in: a few of them, and of the rest the number, so that a flood at the door
//! is not one on the screen or in the log.

use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use zc_run::Error;

/// So many are told one by one ...
const TOLD: u32 = 5;
/// ... in so long.
const PERIOD: Duration = Duration::from_secs(10);

/// Something that happened at the door. As text it is a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerEvent {
    /// Somebody was sent away.
    Refused {
        /// Who.
        peer: SocketAddr,
        /// Why. They were not told.
        why: RejectReason,
    },
    /// Somebody who knows the token was told that there is a session already.
    Busy {
        /// Who.
        peer: SocketAddr,
    },
    /// A connection could not be accepted.
    NotAccepted(Error),
    /// So many more things of these happened, and were not told.
    Untold(u64),
}

/// Why somebody was sent away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectReason {
    /// It does not know the token.
    WrongToken,
    /// It knows a one-time token that has been used.
    UsedUp,
    /// It speaks this other protocol.
    OtherProtocol(u32),
    /// It speaks something else altogether.
    Nonsense,
    /// It said more than a stranger may.
    TooLong,
    /// It did not say enough in time.
    Slow,
    /// It has gone by itself.
    Left,
    /// Others came after it, and there is no more room.
    Crowded,
}

impl fmt::Display for ListenerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { peer, why } => write!(f, "{} {why}", shown(*peer)),
            Self::Busy { peer } => write!(f, "{} was told that there is a session already", shown(*peer)),
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
            Self::UsedUp => f.write_str("was refused: its token opened a session before, and opens one only"),
            Self::OtherProtocol(protocol) => {
                let ours = super::handshake::PROTOCOL;
                write!(f, "was refused: it speaks protocol {protocol}, this zc speaks {ours}")
            }
            Self::Nonsense => f.write_str("was refused: it is no zc"),
            Self::TooLong => f.write_str("was refused: it is no zc, and talks too much"),
            Self::Slow => f.write_str("was sent away: it did not knock within 5 s"),
            Self::Left => f.write_str("left without a word that makes sense"),
            Self::Crowded => f.write_str("was sent away: there were too many"),
        }
    }
}

/// An address as people know it: an IPv4 address that came over an IPv6 socket is an IPv4 address.
fn shown(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Keeps telling within bounds.
#[derive(Debug, Default)]
pub(super) struct RejectLog {
    period_began: Option<Instant>,
    told: u32,
    untold: u64,
}

impl RejectLog {
    /// Tells an event, or counts it.
    pub(super) fn report(&mut self, event: ListenerEvent, report: &mut dyn FnMut(ListenerEvent)) {
        let now = Instant::now();
        self.catch_up(now, report);
        self.period_began.get_or_insert(now);
        if self.told < TOLD {
            self.told += 1;
            report(event);
        } else {
            self.untold += 1;
        }
    }

    /// Tells how many were not told, once their period is over.
    pub(super) fn catch_up(&mut self, now: Instant, report: &mut dyn FnMut(ListenerEvent)) {
        if self.period_began.is_some_and(|began| now.duration_since(began) >= PERIOD) {
            if self.untold > 0 {
                report(ListenerEvent::Untold(self.untold));
            }
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_told_by_its_number() {
        let (mut telling, mut told) = (RejectLog::default(), Vec::new());
        let event = ListenerEvent::Busy { peer: "[::ffff:192.0.2.1]:7".parse().unwrap() };
        for _ in 0..1000 {
            telling.report(event.clone(), &mut |event| told.push(event));
        }
        telling.catch_up(Instant::now() + PERIOD, &mut |event| told.push(event));
        assert_eq!(told.len(), TOLD as usize + 1);
        assert_eq!(told[0].to_string(), "192.0.2.1:7 was told that there is a session already");
        assert_eq!(told.last(), Some(&ListenerEvent::Untold(1000 - u64::from(TOLD))));
        telling.catch_up(Instant::now() + 2 * PERIOD, &mut |_| panic!("there is nothing left to tell"));
    }

    #[test]
    fn every_reason_is_a_sentence_about_the_one_who_was_refused() {
        let peer = "[2001:db8::1]:7".parse().unwrap();
        let told = ListenerEvent::Refused { peer, why: RejectReason::OtherProtocol(9) }.to_string();
        assert_eq!(told, "[2001:db8::1]:7 was refused: it speaks protocol 9, this zc speaks 2");
    }
}
