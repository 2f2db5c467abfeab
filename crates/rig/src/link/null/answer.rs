//! Decides when the ACK generator answers a connection, and with what: as a receiver that is
//! infinitely fast and has unlimited buffers would. Pure: what was noted and the time are
//! arguments.

use std::collections::VecDeque;

use zc_run::AckOptions;

/// Time for which less than `ack_every_bytes` waits for more, in nanoseconds: about as long as a
/// card holds an interrupt back (`ethtool -c`, rx-usecs).
const COMPANY_NS: u64 = 20_000;

/// State of a connection as noted by the BPF program so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Noted {
    /// Payload bytes, in order.
    pub bytes: u64,
    /// Packets that repeat earlier bytes. Each needs an answer.
    pub repeats: u64,
    /// The connection's end has been noted.
    pub finished: bool,
}

/// An answer that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// All payload up to here has arrived.
    Ack(u64),
    /// The same, and the connection's end. It ends on this side as well.
    Fin(u64),
}

/// One connection's answers.
#[derive(Debug)]
pub struct Answers {
    options: AckOptions,
    acked: u64,
    repeats: u64,
    fin_sent: bool,
    /// When the last acknowledgement was due.
    answered_ns: Option<u64>,
    /// Arrivals with their times, oldest first, that are not yet `rtt_ns` old.
    under_way: VecDeque<(u64, Noted)>,
    newest: Noted,
    grew_ns: u64,
}

impl Answers {
    /// Nothing has been noted or answered.
    pub fn new(options: AckOptions) -> Self {
        Self {
            options,
            acked: 0,
            repeats: 0,
            fin_sent: false,
            answered_ns: None,
            under_way: VecDeque::new(),
            newest: Noted::default(),
            grew_ns: 0,
        }
    }

    /// The answer that is due now. `now_ns` is called only when the time matters.
    pub fn due(&mut self, noted: Noted, now_ns: impl Fn() -> u64) -> Option<Answer> {
        if noted == self.newest
            && self.under_way.is_empty()
            && self.acked == noted.bytes
            && !self.unanswered(noted)
        {
            return None;
        }
        let now = now_ns();
        if noted != self.newest {
            self.newest = noted;
            self.grew_ns = now;
            if self.options.rtt_ns > 0 {
                self.under_way.push_back((now, noted));
            }
        }
        let arrived = if self.options.rtt_ns > 0 { self.arrived(now)? } else { noted };
        if arrived.finished && (!self.fin_sent || arrived.repeats > self.repeats) {
            (self.fin_sent, self.acked, self.repeats) = (true, arrived.bytes, arrived.repeats);
            return Some(Answer::Fin(arrived.bytes));
        }
        let waiting = arrived.bytes - self.acked.min(arrived.bytes);
        let every = self.options.ack_every_bytes;
        let again = arrived.repeats > self.repeats;
        let no_more = waiting > 0 && now.saturating_sub(self.grew_ns) >= COMPANY_NS;
        let interval_ns = self.options.ack_interval_ns;
        let apart =
            self.answered_ns.is_none_or(|answered| now.saturating_sub(answered) >= interval_ns);
        let up_to = if again || (no_more && waiting < every) {
            arrived.bytes
        } else if waiting >= every && interval_ns == 0 {
            // Nothing is held back: each piece has an acknowledgement of its own, also where a
            // packet of many segments brought several of them.
            self.acked + every
        } else if waiting >= every && (apart || no_more) {
            arrived.bytes
        } else {
            return None;
        };
        (self.acked, self.repeats, self.answered_ns) = (up_to, arrived.repeats, Some(now));
        Some(Answer::Ack(up_to))
    }

    /// Payload bytes acknowledged so far.
    pub(super) fn acked(&self) -> u64 {
        self.acked
    }

    fn unanswered(&self, noted: Noted) -> bool {
        noted.repeats > self.repeats || (noted.finished && !self.fin_sent)
    }

    /// The newest of what is at least `rtt_ns` old, kept until something newer is.
    fn arrived(&mut self, now: u64) -> Option<Noted> {
        let there = |(since, _): &(u64, Noted)| now.saturating_sub(*since) >= self.options.rtt_ns;
        while self.under_way.len() > 1 && there(&self.under_way[1]) {
            self.under_way.pop_front();
        }
        let arrived = self.under_way.front().filter(|front| there(front))?.1;
        if self.under_way.len() == 1 && self.acked == arrived.bytes && !self.unanswered(arrived) {
            self.under_way.clear();
        }
        Some(arrived)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Acknowledges after so many bytes.
    fn every(ack_every_bytes: u64) -> AckOptions {
        AckOptions { ack_every_bytes, ..AckOptions::default() }
    }

    fn bytes(bytes: u64) -> Noted {
        Noted { bytes, ..Noted::default() }
    }

    #[test]
    fn enough_bytes_are_acknowledged() {
        let mut answers = Answers::new(every(100));
        assert_eq!(answers.due(bytes(0), || 0), None);
        assert_eq!(answers.due(bytes(60), || 10), None);
        assert_eq!(answers.due(bytes(120), || 20), Some(Answer::Ack(120)));
        assert_eq!(answers.due(bytes(120), || 30), None);
    }

    #[test]
    fn acknowledgements_keep_the_minimum_distance() {
        let mut answers = Answers::new(every(100));
        assert_eq!(answers.due(bytes(100), || 0), Some(Answer::Ack(100)));
        assert_eq!(answers.due(bytes(200), || 10), None);
        assert_eq!(answers.due(bytes(300), || 49_999), None);
        assert_eq!(answers.due(bytes(400), || 50_000), Some(Answer::Ack(400)));
    }

    #[test]
    fn without_a_minimum_distance_each_piece_has_its_own_acknowledgement() {
        let mut answers = Answers::new(AckOptions { ack_interval_ns: 0, ..every(100) });
        for up_to in [100, 200, 300] {
            assert_eq!(answers.due(bytes(350), || 7), Some(Answer::Ack(up_to)));
        }
        assert_eq!(answers.due(bytes(350), || 8), None);
        assert_eq!(answers.due(bytes(350), || 7 + COMPANY_NS), Some(Answer::Ack(350)));
        assert_eq!(answers.due(bytes(350), || 8 + COMPANY_NS), None);
    }

    #[test]
    fn a_few_bytes_are_acknowledged_after_a_delay() {
        let mut answers = Answers::new(every(100));
        assert_eq!(answers.due(bytes(60), || 10), None);
        assert_eq!(answers.due(bytes(60), || 10 + COMPANY_NS), Some(Answer::Ack(60)));
        assert_eq!(answers.due(bytes(60), || 20 + COMPANY_NS), None);
    }

    #[test]
    fn the_end_is_answered_at_once_and_again_when_it_is_repeated() {
        let mut answers = Answers::new(AckOptions::default());
        let end = Noted { bytes: 5, repeats: 0, finished: true };
        assert_eq!(answers.due(end, || 10), Some(Answer::Fin(5)));
        assert_eq!(answers.due(end, || 20), None);
        let again = Noted { repeats: 1, ..end };
        assert_eq!(answers.due(again, || 30), Some(Answer::Fin(5)));
        assert_eq!(answers.due(again, || 40), None);
    }

    #[test]
    fn repeated_bytes_are_acknowledged_again() {
        let mut answers = Answers::new(every(10));
        assert_eq!(answers.due(bytes(10), || 0), Some(Answer::Ack(10)));
        let again = Noted { bytes: 10, repeats: 1, finished: false };
        assert_eq!(answers.due(again, || 1), Some(Answer::Ack(10)));
        assert_eq!(answers.due(again, || 2), None);
    }

    #[test]
    fn nothing_is_acknowledged_before_the_round_trip_is_over() {
        let mut answers = Answers::new(AckOptions { rtt_ns: 1_000_000, ..every(10) });
        assert_eq!(answers.due(bytes(10), || 0), None);
        assert_eq!(answers.due(bytes(20), || 600_000), None);
        assert_eq!(answers.due(bytes(20), || 1_000_000), Some(Answer::Ack(10)));
        assert_eq!(answers.due(bytes(20), || 1_599_999), None);
        assert_eq!(answers.due(bytes(20), || 1_600_000), Some(Answer::Ack(20)));
        assert_eq!(answers.due(bytes(20), || 9_000_000), None);
    }

    proptest! {
        #[test]
        fn all_bytes_are_acknowledged_in_order(
            steps in prop::collection::vec((0..5_000u64, 0..200_000u64), 1..60),
            every in 1..200_000u64,
            ack_interval_ns in prop_oneof![Just(0), 1..100_000u64],
            rtt_ns in prop_oneof![Just(0), 1..100_000u64],
        ) {
            let options = AckOptions { ack_every_bytes: every, ack_interval_ns, rtt_ns };
            let mut answers = Answers::new(options);
            let (mut noted, mut now, mut last) = (Noted::default(), 0, 0);
            let check = |answer: Option<Answer>, noted: Noted, last: &mut u64| {
                if let Some(Answer::Ack(up_to) | Answer::Fin(up_to)) = answer {
                    assert!(up_to >= *last && up_to <= noted.bytes);
                    *last = up_to;
                }
            };
            for (later, more) in steps {
                now += later;
                noted.bytes += more;
                check(answers.due(noted, || now), noted, &mut last);
            }
            noted.finished = true;
            let mut ends = 0;
            for _ in 0..200 {
                now += 1_000;
                let answer = answers.due(noted, || now);
                ends += usize::from(matches!(answer, Some(Answer::Fin(_))));
                check(answer, noted, &mut last);
            }
            prop_assert_eq!((last, ends, answers.acked()), (noted.bytes, 1, noted.bytes));
        }
    }
}
