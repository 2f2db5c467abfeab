//! The null link's far end: the options of a SYN, the frames that answer it, and when they are due.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use arbitrary::Arbitrary;
use zc_rig::link::null::answer::{Answer, Answers, Noted};
use zc_rig::link::null::segment::{Ends, Kind, Segment, syn_options, write_frame};
use zc_run::AckOptions;

/// A connection, as the BPF program notes it.
#[derive(Debug, Clone, Arbitrary)]
pub struct Connection {
    options: Vec<u8>,
    ipv6: bool,
    first: u32,
    mtu_bytes: u16,
    every: u64,
    interval_ns: u32,
    rtt_ns: u32,
    steps: Vec<Step>,
    /// Values that no program would write: bytes that become fewer.
    wild: bool,
}

#[derive(Debug, Clone, Arbitrary)]
struct Step {
    later_ns: u32,
    bytes: u32,
    repeats: u8,
    finished: bool,
}

impl Connection {
    /// Every frame can be read again, bytes are acknowledged in order and none that has not come,
    /// and all of them in the end.
    pub fn check(&self) {
        let asked = syn_options(&self.options[..self.options.len().min(40)]);
        assert!(asked.window_scale.is_none_or(|shift| shift <= 14));
        let kind = Kind::SynAck {
            mss: self.mtu_bytes.saturating_sub(if self.ipv6 { 60 } else { 40 }),
            window_scale: asked.window_scale,
            sack: asked.sack,
        };
        let stamps = asked.timestamp.map(|theirs| (7, theirs));
        let (frame, tcp) = self.frame(kind, stamps);
        let read = syn_options(&frame[tcp + 20..]);
        let Kind::SynAck { mss, .. } = kind else { return };
        assert_eq!((read.mss, read.sack), (Some(mss), asked.sack));
        assert_eq!((read.window_scale, read.timestamp), (asked.window_scale, stamps.map(|_| 7)));

        let options = AckOptions {
            ack_every_bytes: self.every.max(1),
            ack_interval_ns: self.interval_ns.into(),
            rtt_ns: self.rtt_ns.into(),
        };
        let mut answers = Answers::new(options);
        let (mut noted, mut now_ns, mut last) = (Noted::default(), 0_u64, 0);
        let mut ended = false;
        let take =
            |answers: &mut Answers, noted: Noted, now_ns: u64, last: &mut u64, ended: &mut bool| {
                let due = answers.due(noted, || now_ns);
                let Some(Answer::Ack(up_to) | Answer::Fin(up_to)) = due else { return };
                *ended |= matches!(due, Some(Answer::Fin(_)));
                if !self.wild {
                    assert!(up_to >= *last && up_to <= noted.bytes, "{last}, {up_to}, {noted:?}");
                }
                *last = up_to;
            };
        for step in self.steps.iter().take(64) {
            now_ns += u64::from(step.later_ns);
            noted.bytes = if self.wild {
                noted.bytes.wrapping_mul(step.bytes.into())
            } else {
                noted.bytes + u64::from(step.bytes)
            };
            noted.repeats += u64::from(step.repeats / 64);
            noted.finished |= step.finished && self.wild;
            take(&mut answers, noted, now_ns, &mut last, &mut ended);
        }
        if self.wild {
            return;
        }
        noted.finished = true;
        for _ in 0..4 {
            now_ns += options.rtt_ns + 1;
            take(&mut answers, noted, now_ns, &mut last, &mut ended);
        }
        assert!(ended && last == noted.bytes, "{last} of {noted:?} at the end: {ended}");
        let (kind, ack) = (Kind::FinAck, self.first.wrapping_add(last as u32));
        drop(self.frame_of(Segment { seq: 1, ack, kind, timestamps: stamps }));
    }

    fn frame(&self, kind: Kind, timestamps: Option<(u32, u32)>) -> (Vec<u8>, usize) {
        self.frame_of(Segment { seq: self.first, ack: self.first, kind, timestamps })
    }

    /// The frame, and where TCP begins in it. Its checksums are right.
    fn frame_of(&self, segment: Segment) -> (Vec<u8>, usize) {
        let address = |last: u8| -> IpAddr {
            if self.ipv6 {
                Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last.into()).into()
            } else {
                Ipv4Addr::new(192, 0, 2, last).into()
            }
        };
        let ends = Ends {
            own_mac: [2, 0, 0, 0, 0, 2],
            their_mac: [2, 0, 0, 0, 0, 1],
            own: address(2),
            theirs: address(1),
            own_port: 9,
            their_port: 40_000,
        };
        let mut frame = vec![1, 2, 3];
        write_frame(&mut frame, &ends, &segment);
        let tcp = if self.ipv6 { 54 } else { 34 };
        assert_eq!(usize::from(frame[tcp + 12] >> 4) * 4, frame.len() - tcp);
        let addresses = if self.ipv6 { &frame[22..54] } else { &frame[26..34] };
        let pseudo = sum(addresses) + 6 + (frame.len() - tcp) as u32;
        assert_eq!(fold(pseudo + sum(&frame[tcp..])), 0xffff, "TCP's checksum");
        if !self.ipv6 {
            assert_eq!(fold(sum(&frame[14..34])), 0xffff, "IP's checksum");
        }
        (frame, tcp)
    }
}

/// RFC 1071, by bytes.
fn sum(bytes: &[u8]) -> u32 {
    let weight = |place: usize| if place.is_multiple_of(2) { 256 } else { 1 };
    bytes.iter().enumerate().map(|(place, &byte)| u32::from(byte) * weight(place)).sum()
}

fn fold(mut sum: u32) -> u32 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}
