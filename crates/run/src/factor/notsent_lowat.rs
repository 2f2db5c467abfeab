//! `notsent-lowat`: TCP_NOTSENT_LOWAT, the unsent bytes above which the sender's socket is not
//! writable.
//!
//! A send waits while more than that has not been sent, whatever the size of the socket buffer. A
//! server sets it to keep less data in the kernel, and pays in calls and wake-ups
//! (Documentation/networking/ip-sysctl.rst, tcp_notsent_lowat; commit c9bee3b7fdec).

use std::ops::RangeInclusive;

use super::definition::{Definition, FactorOption, Parameter, TcpOption};
use super::value::{UNSET, Value};
use crate::{FixedParams, Result};

/// The kernel takes 0 for the sysctl's value, which is `unset` here.
const BYTES: RangeInclusive<u64> = 1..=1 << 30;

pub(super) struct NotsentLowatFactor;

impl Definition for NotsentLowatFactor {
    fn name(&self) -> &'static str {
        "notsent-lowat"
    }

    fn levels(&self) -> &'static str {
        "`unset` (net.ipv4.tcp_notsent_lowat applies), or a size: TCP_NOTSENT_LOWAT of the sender"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["unset", "16k"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        if text == UNSET { Ok(Value::Unset) } else { Value::size(text, BYTES) }
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "Unsent bytes above which the sender's socket is not writable \
            (TCP_NOTSENT_LOWAT): a size, or unset [default: unset]";
        Some(FactorOption::carried("notsent-lowat", "SIZE", "rcvbuf", help))
    }

    fn tcp_option(&self, at: &FixedParams) -> Option<TcpOption> {
        let bytes = at.more.get(self.name())?.bytes()?;
        Some(TcpOption { name: "TCP_NOTSENT_LOWAT", number: 25, value: bytes as i32 })
    }

    fn heading(&self) -> Option<&'static str> {
        Some("TCP_NOTSENT_LOWAT")
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining("notsent_lowat", "TCP_NOTSENT_LOWAT")
    }
}
