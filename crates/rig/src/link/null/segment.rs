//! Builds the frames of the ACK generator (SYN-ACK, ACK and FIN, laid out as Linux does) and parses
//! the options of a SYN.
//!
//! References: RFC 9293 (TCP), RFC 7323 (window scale, timestamps), RFC 2018 (SACK), RFC 1071
//! (checksum), RFC 8200 (IPv6).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const ETHERNET: usize = 14;
const TCP: usize = 20;

/// The two ends of a connection as the ACK generator sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// Ethernet address of the generator's device.
    pub own_mac: [u8; 6],
    /// Ethernet address of the sender's device.
    pub their_mac: [u8; 6],
    /// Address of the generator.
    pub own: IpAddr,
    /// Address of the sender, of the same version.
    pub theirs: IpAddr,
    /// Port of the generator.
    pub own_port: u16,
    /// Port of the sender.
    pub their_port: u16,
}

/// The options of a SYN.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SynOptions {
    /// Largest segment in bytes.
    pub mss: Option<u16>,
    /// Shift of window fields, at most 14.
    pub window_scale: Option<u8>,
    /// Selective acknowledgements are permitted.
    pub sack: bool,
    /// TSval.
    pub timestamp: Option<u32>,
}

/// The content of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags and options.
    pub kind: Kind,
    /// TSval and TSecr, where timestamps were agreed upon.
    pub timestamps: Option<(u32, u32)>,
}

/// Purpose of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Answers a SYN, with these options.
    SynAck {
        /// Largest segment in bytes.
        mss: u16,
        /// Shift of window fields.
        window_scale: Option<u8>,
        /// Selective acknowledgements are permitted.
        sack: bool,
    },
    /// Acknowledges.
    Ack,
    /// Acknowledges, and ends the connection.
    FinAck,
}

/// The window in every segment: the maximum of its field, scaled as the SYN-ACK says.
pub(super) const WINDOW: u16 = u16::MAX;

/// Parses the options of a SYN up to the first malformed one, as the kernel does
/// (tcp_parse_options).
pub fn syn_options(mut bytes: &[u8]) -> SynOptions {
    let mut found = SynOptions::default();
    while let [kind, rest @ ..] = bytes {
        match kind {
            0 => break,
            1 => {
                bytes = rest;
                continue;
            }
            _ => {}
        }
        let Some(&len) = rest.first() else { break };
        let Some(value) = bytes.get(2..usize::from(len)) else { break };
        match (kind, value) {
            (2, &[high, low]) => found.mss = Some(u16::from_be_bytes([high, low])),
            (3, &[shift]) => found.window_scale = Some(shift.min(14)),
            (4, []) => found.sack = true,
            (8, &[a, b, c, d, ..]) => found.timestamp = Some(u32::from_be_bytes([a, b, c, d])),
            _ => {}
        }
        bytes = &bytes[usize::from(len)..];
    }
    found
}

/// Writes a whole frame into `frame` and replaces its content.
pub fn write_frame(frame: &mut Vec<u8>, ends: &Ends, segment: &Segment) {
    frame.clear();
    frame.extend(ends.their_mac);
    frame.extend(ends.own_mac);
    let options = options(segment);
    let tcp_len = TCP + options.len();
    let pseudo = match (ends.own, ends.theirs) {
        (IpAddr::V4(own), IpAddr::V4(theirs)) => ipv4(frame, own, theirs, tcp_len),
        (own, theirs) => ipv6(frame, v6(own), v6(theirs), tcp_len),
    };
    let tcp_at = frame.len();
    let flags = match segment.kind {
        Kind::SynAck { .. } => 0x12,
        Kind::Ack => 0x10,
        Kind::FinAck => 0x11,
    };
    frame.extend(ends.own_port.to_be_bytes());
    frame.extend(ends.their_port.to_be_bytes());
    frame.extend(segment.seq.to_be_bytes());
    frame.extend(segment.ack.to_be_bytes());
    frame.extend([((tcp_len / 4) as u8) << 4, flags]);
    frame.extend(WINDOW.to_be_bytes());
    frame.extend([0; 4]); // checksum, urgent pointer
    frame.extend(&options);
    let checksum = fold(pseudo + sum(&frame[tcp_at..]));
    frame[tcp_at + 16..tcp_at + 18].copy_from_slice(&checksum.to_be_bytes());
}

fn v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// Appends an IPv4 header and returns the sum of TCP's pseudo header.
fn ipv4(frame: &mut Vec<u8>, own: Ipv4Addr, theirs: Ipv4Addr, tcp_len: usize) -> u32 {
    frame.extend([0x08, 0x00]);
    frame.extend([0x45, 0]);
    frame.extend((20 + tcp_len as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0]); // id 0, don't fragment, TTL 64, TCP, checksum
    frame.extend(own.octets());
    frame.extend(theirs.octets());
    let checksum = fold(sum(&frame[ETHERNET..]));
    frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&checksum.to_be_bytes());
    sum(&own.octets()) + sum(&theirs.octets()) + 6 + tcp_len as u32
}

/// Appends an IPv6 header and returns the sum of TCP's pseudo header.
fn ipv6(frame: &mut Vec<u8>, own: Ipv6Addr, theirs: Ipv6Addr, tcp_len: usize) -> u32 {
    frame.extend([0x86, 0xdd]);
    frame.extend([0x60, 0, 0, 0]);
    frame.extend((tcp_len as u16).to_be_bytes());
    frame.extend([6, 64]);
    frame.extend(own.octets());
    frame.extend(theirs.octets());
    sum(&own.octets()) + sum(&theirs.octets()) + 6 + tcp_len as u32
}

fn options(segment: &Segment) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(24);
    let timestamps = |bytes: &mut Vec<u8>, (own, theirs): (u32, u32)| {
        bytes.extend([8, 10]);
        bytes.extend(own.to_be_bytes());
        bytes.extend(theirs.to_be_bytes());
    };
    match (segment.kind, segment.timestamps) {
        (Kind::SynAck { mss, window_scale, sack }, stamps) => {
            bytes.extend([2, 4]);
            bytes.extend(mss.to_be_bytes());
            bytes.extend(if sack { [4, 2] } else { [1, 1] });
            match stamps {
                Some(stamps) => timestamps(&mut bytes, stamps),
                None => bytes.extend([1, 1]),
            }
            if let Some(shift) = window_scale {
                bytes.extend([1, 3, 3, shift]);
            }
        }
        (_, Some(stamps)) => {
            bytes.extend([1, 1]);
            timestamps(&mut bytes, stamps);
        }
        (_, None) => {}
    }
    bytes
}

/// The sum of 16-bit words, not yet folded.
fn sum(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<2>();
    let odd = rest.first().map_or(0, |byte| u32::from(*byte) << 8);
    words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum::<u32>() + odd
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ends(ipv6: bool) -> Ends {
        let address = |last: u8| -> IpAddr {
            if ipv6 {
                Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last.into()).into()
            } else {
                [192, 0, 2, last].into()
            }
        };
        Ends {
            own_mac: [2, 0, 0, 0, 0, 2],
            their_mac: [2, 0, 0, 0, 0, 1],
            own: address(2),
            theirs: address(1),
            own_port: 9,
            their_port: 40_000,
        }
    }

    #[test]
    fn the_options_of_a_linux_syn_are_read() {
        // MSS 1460, SACK permitted, timestamps, NOP, window scale 7.
        let bytes = [2, 4, 5, 180, 4, 2, 8, 10, 0, 1, 2, 3, 0, 0, 0, 0, 1, 3, 3, 7];
        let expected = SynOptions {
            mss: Some(1460),
            window_scale: Some(7),
            sack: true,
            timestamp: Some(0x0001_0203),
        };
        assert_eq!(syn_options(&bytes), expected);
        assert_eq!(syn_options(&[]), SynOptions::default());
        assert_eq!(syn_options(&[3, 3, 99]).window_scale, Some(14));
    }

    #[test]
    fn an_ipv4_header_has_the_checksum_of_the_rfc() {
        let mut frame = Vec::new();
        let segment = Segment { seq: 1, ack: 2, kind: Kind::Ack, timestamps: None };
        write_frame(&mut frame, &ends(false), &segment);
        assert_eq!(frame.len(), 54);
        // A correct header sums up to all ones.
        assert_eq!(fold(sum(&frame[14..34])), 0);
    }

    proptest! {
        #[test]
        fn no_option_bytes_cause_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..41),
        ) {
            syn_options(&bytes);
        }

        #[test]
        fn every_frame_is_a_segment_with_a_correct_checksum(
            seq: u32, ack: u32, ipv6: bool,
            stamps in prop::option::of(any::<(u32, u32)>()), which in 0..4_u8,
            sack: bool, shift in prop::option::of(0..15_u8),
        ) {
            let kind = match which {
                0 => Kind::Ack,
                1 => Kind::FinAck,
                _ => Kind::SynAck { mss: 1460, window_scale: shift, sack },
            };
            let ends = ends(ipv6);
            let mut frame = vec![1; 3];
            write_frame(&mut frame, &ends, &Segment { seq, ack, kind, timestamps: stamps });
            let tcp_at = if ipv6 { 54 } else { 34 };
            let tcp = &frame[tcp_at..];
            prop_assert_eq!(usize::from(tcp[12] >> 4) * 4, tcp.len());
            let pseudo = match (ends.own, ends.theirs) {
                (IpAddr::V4(own), IpAddr::V4(theirs)) => sum(&own.octets()) + sum(&theirs.octets()),
                (own, theirs) => sum(&v6(own).octets()) + sum(&v6(theirs).octets()),
            } + 6 + tcp.len() as u32;
            prop_assert_eq!(fold(pseudo + sum(tcp)), 0);
            if let Kind::SynAck { window_scale, sack, .. } = kind {
                let read = syn_options(&tcp[20..]);
                prop_assert_eq!(read.mss, Some(1460));
                prop_assert_eq!((read.window_scale, read.sack), (window_scale, sack));
                prop_assert_eq!(read.timestamp, stamps.map(|stamps| stamps.0));
            }
        }
    }
}
