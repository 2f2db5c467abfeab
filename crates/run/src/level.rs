//! One level of one factor: as it is typed, as it is shown, and what it makes of a cell.
//!
//! Levels are typed alike in a plan's file, in the options of `zc run` and, where they are labels, in the tables: `64k`,
//! `no-tso+no-gso`, `cork`.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

use super::nearest::unknown;
use super::units::{self, rate_text, size_text};
use super::{
    Align, Cell, CopyPages, Error, Factor, FixedParams, HostState, LinkFacts, OffloadSwitch, Placement, Push, RecvPath,
    Result, SendPath, escape,
};

/// Call buffers: a byte is silly but works; above 1g one buffer would be larger than most file sets.
pub const CALL_BYTES: RangeInclusive<u64> = 1..=1 << 30;
/// SO_SNDBUF and SO_RCVBUF are ints that the kernel doubles (socket(7)).
pub const SOCKET_BUFFER_BYTES: RangeInclusive<u64> = 1..=1 << 30;
/// Less is no MTU (RFC 791), more does not fit into a packet's length.
pub const MTU_BYTES: RangeInclusive<u64> = 576..=65_535;
/// More threads than that are no traffic but a test of the scheduler.
pub const FLOWS: RangeInclusive<u64> = 1..=1024;

/// What offloads that are all on are called.
const ALL_ON: &str = "all";

/// One level of one factor.
#[derive(Debug, Clone, PartialEq)]
pub enum Level {
    /// Of [`Factor::Send`].
    Send(SendPath),
    /// Of [`Factor::Recv`].
    Recv(RecvPath),
    /// Of [`Factor::Message`], in bytes.
    Message(usize),
    /// Of [`Factor::RecvBuffer`], in bytes.
    RecvBuffer(usize),
    /// Of [`Factor::Sockbuf`], in bytes.
    Sockbuf(usize),
    /// Of [`Factor::Push`].
    Push(Push),
    /// Of [`Factor::Align`].
    Align(Align),
    /// Of [`Factor::Pages`].
    Pages(CopyPages),
    /// Of [`Factor::Mtu`], in bytes.
    Mtu(u32),
    /// Of [`Factor::Offloads`]: what the card is to be without.
    Offloads(BTreeSet<OffloadSwitch>),
    /// Of [`Factor::Congestion`].
    Congestion(String),
    /// Of [`Factor::Flows`].
    Flows(usize),
    /// Of [`Factor::Placement`].
    Placement(Placement),
    /// Of [`Factor::Rate`], in bytes per second.
    Rate(f64),
    /// Of [`Factor::State`].
    State(HostState),
}

impl Level {
    /// Reads a level as it is typed.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](super::FaultKind): it is no level of that factor.
    pub fn parse(factor: Factor, text: &str) -> Result<Self> {
        let text = text.trim();
        let bytes = |bounds| units::size(text, bounds).map(|bytes| bytes as usize);
        Ok(match factor {
            Factor::Send => Self::Send(text.parse().map_err(unknown)?),
            Factor::Recv => Self::Recv(text.parse().map_err(unknown)?),
            Factor::Message => Self::Message(bytes(CALL_BYTES)?),
            Factor::RecvBuffer => Self::RecvBuffer(bytes(CALL_BYTES)?),
            Factor::Sockbuf => Self::Sockbuf(bytes(SOCKET_BUFFER_BYTES)?),
            Factor::Push => Self::Push(text.parse().map_err(unknown)?),
            Factor::Align => Self::Align(text.parse().map_err(unknown)?),
            Factor::Pages => Self::Pages(text.parse().map_err(unknown)?),
            Factor::Mtu => Self::Mtu(units::size(text, MTU_BYTES)? as u32), // within the bounds
            Factor::Offloads => Self::Offloads(offloads(text)?),
            Factor::Congestion => Self::Congestion(congestion(text)?),
            Factor::Flows => Self::Flows(units::count("number of flows", text, FLOWS)? as usize),
            Factor::Placement => Self::Placement(text.parse().map_err(unknown)?),
            Factor::State => Self::State(text.parse().map_err(unknown)?),
            Factor::Rate => {
                let rate = units::rate(text)?;
                Self::Rate(rate.ok_or_else(|| Error::usage("a level of the factor \"rate\" is a rate, not \"auto\""))?)
            }
        })
    }

    /// The level of a cell: its own, or what its plan holds fixed, `link` being what its link is by default.
    pub fn of(factor: Factor, cell: &Cell, fixed: &FixedParams, link: &LinkFacts) -> Self {
        let at = fixed.at(&cell.levels);
        match factor {
            Factor::Send => Self::Send(cell.send),
            Factor::Recv => Self::Recv(cell.recv),
            Factor::Message => Self::Message(at.buffer_bytes),
            Factor::RecvBuffer => Self::RecvBuffer(at.recv_buffer_bytes),
            Factor::Sockbuf => Self::Sockbuf(at.sndbuf_bytes.unwrap_or_default()),
            Factor::Push => Self::Push(at.push),
            Factor::Align => Self::Align(at.align),
            Factor::Pages => Self::Pages(at.pages),
            Factor::Mtu => Self::Mtu(cell.levels.mtu_bytes.unwrap_or(link.mtu_bytes)),
            Factor::Offloads => {
                Self::Offloads(cell.levels.switched_off.clone().unwrap_or_else(|| link.switched_off.clone()))
            }
            Factor::Congestion => Self::Congestion(at.congestion),
            Factor::Flows => Self::Flows(at.flows),
            Factor::Placement => Self::Placement(at.placement),
            Factor::Rate => Self::Rate(at.rate_bytes_per_s),
            Factor::State => Self::State(cell.levels.state.unwrap_or(HostState::A)),
        }
    }

    /// Gives it to a cell.
    pub fn put(&self, cell: &mut Cell) {
        let levels = &mut cell.levels;
        match self.clone() {
            Self::Send(path) => cell.send = path,
            Self::Recv(path) => cell.recv = path,
            Self::Message(bytes) => levels.message_bytes = Some(bytes),
            Self::RecvBuffer(bytes) => levels.recv_buffer_bytes = Some(bytes),
            Self::Sockbuf(bytes) => levels.sockbuf_bytes = Some(bytes),
            Self::Push(push) => levels.push = Some(push),
            Self::Align(align) => levels.align = Some(align),
            Self::Pages(pages) => levels.pages = Some(pages),
            Self::Mtu(bytes) => levels.mtu_bytes = Some(bytes),
            Self::Offloads(switches) => levels.switched_off = Some(switches),
            Self::Congestion(name) => levels.congestion = Some(name),
            Self::Flows(flows) => levels.flows = Some(flows),
            Self::Placement(placement) => levels.placement = Some(placement),
            Self::Rate(rate) => levels.rate_bytes_per_s = Some(rate),
            Self::State(state) => levels.state = Some(state),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(path) => path.fmt(f),
            Self::Recv(path) => path.fmt(f),
            Self::Message(bytes) | Self::RecvBuffer(bytes) | Self::Sockbuf(bytes) => f.pad(&size_text(*bytes as u64)),
            Self::Push(push) => push.fmt(f),
            Self::Align(align) => align.fmt(f),
            Self::Pages(pages) => pages.fmt(f),
            Self::Mtu(bytes) => bytes.fmt(f),
            Self::Offloads(switches) if switches.is_empty() => f.pad(ALL_ON),
            Self::Offloads(switches) => {
                f.pad(&switches.iter().map(|switch| switch.name()).collect::<Vec<_>>().join("+"))
            }
            Self::Congestion(name) => f.pad(name),
            Self::Flows(flows) => flows.fmt(f),
            Self::Placement(placement) => placement.fmt(f),
            Self::Rate(rate) => f.pad(&rate_text(*rate)),
            Self::State(state) => state.fmt(f),
        }
    }
}

/// `all`, or switches with `+` or `,` between them.
///
/// # Errors
/// One is unknown.
pub fn offloads(text: &str) -> Result<BTreeSet<OffloadSwitch>> {
    if text == ALL_ON {
        return Ok(BTreeSet::new());
    }
    text.split(['+', ',']).map(|name| name.trim().parse::<OffloadSwitch>().map_err(unknown)).collect()
}

/// Whether the kernel has it is for whoever measures to find out; what cannot be a name is refused here (TCP_CA_NAME_MAX is
/// 16 with its NUL, include/net/tcp.h).
///
/// # Errors
/// It cannot be a name.
pub fn congestion(text: &str) -> Result<String> {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if plain && (1..=15).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    Err(Error::usage(format!("\"{}\" cannot be a congestion control", escape(text, 40)))
        .help("the kernel's own are in /proc/sys/net/ipv4/tcp_available_congestion_control"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPED: &[(Factor, &[&str])] = &[
        (Factor::Send, &["read+send", "sendfile"]),
        (Factor::Recv, &["recv", "zerocopy-receive"]),
        (Factor::Message, &["64", "4k", "5m"]),
        (Factor::RecvBuffer, &["16k"]),
        (Factor::Sockbuf, &["32k"]),
        (Factor::Push, &["plain", "cork", "more", "nodelay"]),
        (Factor::Align, &["page", "byte"]),
        (Factor::Pages, &["scattered", "huge"]),
        (Factor::Mtu, &["1500", "16436"]),
        (Factor::Offloads, &["all", "no-tso", "no-tso+no-gso"]),
        (Factor::Congestion, &["reno", "bbr"]),
        (Factor::Flows, &["1", "1000"]),
        (Factor::Placement, &["separate", "same", "free"]),
        (Factor::Rate, &["400MB/s", "1.5GB/s"]),
        (Factor::State, &["A", "B"]),
    ];

    #[test]
    fn every_factor_has_levels_that_are_shown_as_they_are_typed() {
        assert_eq!(TYPED.iter().map(|(factor, _)| *factor).collect::<Vec<_>>(), Factor::ALL);
        for (factor, levels) in TYPED {
            for text in *levels {
                assert_eq!(Level::parse(*factor, text).unwrap().to_string(), *text, "{factor}");
            }
        }
    }

    #[test]
    fn what_is_no_level_is_a_sentence() {
        for (factor, text, message) in [
            (Factor::Send, "senfile", "unknown send path \"senfile\""),
            (Factor::Message, "64kB", "size \"64kB\" could be binary or decimal: \"kB\" means both"),
            (Factor::Mtu, "100", "size \"100\" is too small: at least 576"),
            (Factor::Offloads, "tso", "unknown offload \"tso\""),
            (Factor::Congestion, "a b", "\"a b\" cannot be a congestion control"),
            (Factor::Flows, "0", "number of flows \"0\" is zero"),
            (Factor::Rate, "auto", "a level of the factor \"rate\" is a rate, not \"auto\""),
        ] {
            assert_eq!(Level::parse(factor, text).unwrap_err().message, message);
        }
    }
}
