//! Limits how many wrong tokens one source may try: thousands a second would make a short token
//! worth trying.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Wrong tokens of one source within [`PERIOD`], after which its connections are dropped unheard.
pub(super) const MOST_GUESSES: usize = 8;
/// Time for which a wrong token counts.
const PERIOD: Duration = Duration::from_secs(10);
/// Wrong tokens that are remembered, of all sources.
const MOST_REMEMBERED: usize = 1024;

/// The peer at an address: the IPv4 address, or the IPv6 network of 64 bits, because a host chooses
/// the other half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Source(u128);

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => address.to_bits().into(),
            IpAddr::V6(address) => address.to_bits() & !u128::from(u64::MAX),
        })
    }
}

/// The wrong tokens of the last seconds, oldest first.
#[derive(Debug, Default)]
pub(super) struct Guesses(VecDeque<(Instant, Source)>);

impl Guesses {
    /// A source has tried a wrong one.
    pub(super) fn note(&mut self, now: Instant, source: Source) {
        if self.0.len() >= MOST_REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((now, source));
    }

    /// Whether a source has tried too many.
    pub(super) fn exhausted(&mut self, now: Instant, source: Source) -> bool {
        while self.0.front().is_some_and(|(at, _)| now.duration_since(*at) >= PERIOD) {
            self.0.pop_front();
        }
        self.0.iter().filter(|(_, own)| *own == source).count() >= MOST_GUESSES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        text.parse::<IpAddr>().unwrap().into()
    }

    #[test]
    fn addresses_of_one_network_are_one_source() {
        assert_eq!(source("2001:db8:0:1::1"), source("2001:db8:0:1:ffff::2"));
        assert_ne!(source("2001:db8:0:1::1"), source("2001:db8:0:2::1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
    }

    #[test]
    fn a_source_may_guess_so_often_in_a_while_and_others_are_not_held_for_it() {
        let (mut guesses, now) = (Guesses::default(), Instant::now());
        let (one, other) = (source("192.0.2.1"), source("192.0.2.2"));
        for _ in 0..MOST_GUESSES {
            assert!(!guesses.exhausted(now, one));
            guesses.note(now, one);
        }
        assert!(guesses.exhausted(now, one) && !guesses.exhausted(now, other));
        assert!(!guesses.exhausted(now + PERIOD, one));
        (0..10_000).for_each(|_| guesses.note(now, other));
        assert!(guesses.0.len() <= MOST_REMEMBERED);
    }
}
