//! What link the bytes travelled over.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{IpVersion, Levels, LinkKind, OffloadSwitch};

/// Offloads of a device by ethtool's names (`tx-tcp-segmentation` ...); on is true.
pub type Offloads = BTreeMap<String, bool>;

/// How the far end of the null link behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AckOptions {
    /// An acknowledgement is due when so many bytes came since the last: a receiver with GRO acknowledges its merged packets of
    /// up to 64 KiB, one without every second segment.
    pub ack_every_bytes: u64,
    /// Every acknowledgement comes so long after what it acknowledges, in nanoseconds.
    pub rtt_ns: u64,
}

impl Default for AckOptions {
    fn default() -> Self {
        Self { ack_every_bytes: 64 << 10, rtt_ns: 0 }
    }
}

/// What a link is asked to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkOptions {
    /// How the far end of the null link behaves.
    pub far_end: AckOptions,
    /// What TCP travels over.
    pub ip: IpVersion,
    /// MTU of the devices, in bytes; null leaves it as it is. Not for `loopback`, whose device is the host's.
    pub mtu_bytes: Option<u32>,
    /// Offloads that the sender's card, or the receiver's, is to be without. Not for `loopback`.
    pub switched_off: BTreeSet<OffloadSwitch>,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self {
            far_end: AckOptions::default(),
            ip: IpVersion::V4,
            mtu_bytes: None,
            switched_off: BTreeSet::new(),
        }
    }
}

impl LinkOptions {
    /// What a cell's link is asked to be: its own levels in place of these.
    #[must_use]
    pub fn at(&self, levels: &Levels) -> Self {
        Self {
            mtu_bytes: levels.mtu_bytes.or(self.mtu_bytes),
            switched_off: levels.switched_off.clone().unwrap_or_else(|| self.switched_off.clone()),
            ..self.clone()
        }
    }
}

/// The link as it was brought up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkFacts {
    /// Its kind.
    pub kind: LinkKind,
    /// The sending device: `lo`, `zc0`.
    pub device: String,
    /// MTU of the device in bytes.
    pub mtu_bytes: u32,
    /// Offloads of the sending device; null when they could not be read.
    pub offloads: Option<Offloads>,
    /// Whether the receiver's device merges segments that follow one another (`rx-gro`), where it is zc's own; null where that is
    /// not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_merges: Option<bool>,
    /// Whether the cost of sender and receiver can be told apart by CPU on this link: RPS is set, and softirq
    /// counters show that each side's receive work ran on its own CPU.
    pub sides_apart: bool,
    /// How RPS was set: `rps_default_mask`, `sysfs`, or null when it was not.
    pub rps: Option<String>,
    /// Share of the NET_RX softirqs of the sender's incoming packets (ACKs) that ran on the sender's CPU, as
    /// checked with /proc/softirqs when the link came up; null when it was not checked.
    pub rps_check: Option<String>,
    /// What TCP travels over.
    #[serde(default = "version_4")]
    pub ip: IpVersion,
    /// Offloads that it was asked to be without.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub switched_off: BTreeSet<OffloadSwitch>,
    /// Congestion window with which connections over this link begin, in packets; null is the kernel's own (10).
    #[serde(default)]
    pub initial_window_packets: Option<u32>,
    /// How the far end of the null link behaves; null on other links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_end: Option<AckOptions>,
    /// Other links that were tried first and why they were not taken (one sentence each).
    pub passed_over: Vec<String>,
}

impl LinkFacts {
    /// MTU and offloads of the link that a cell with these levels asks for, where this is the link of those that ask for none.
    pub fn wanted<'a>(&'a self, levels: &'a Levels) -> (u32, &'a BTreeSet<OffloadSwitch>) {
        (
            levels.mtu_bytes.unwrap_or(self.mtu_bytes),
            levels.switched_off.as_ref().unwrap_or(&self.switched_off),
        )
    }
}

fn version_4() -> IpVersion {
    IpVersion::V4
}
