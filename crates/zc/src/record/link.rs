//! What link the bytes travelled over.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{IpVersion, LinkKind, OffloadSwitch};

/// Offloads of a device by ethtool's names (`tx-tcp-segmentation` ...); on is true.
pub type Offloads = BTreeMap<String, bool>;

/// How the far end of the null link behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FarEndOptions {
    /// An acknowledgement is due when so many bytes came since the last: a receiver with GRO acknowledges its merged packets of
    /// up to 64 KiB, one without every second segment.
    pub ack_every_bytes: u64,
    /// Every acknowledgement comes so long after what it acknowledges, in nanoseconds.
    pub rtt_ns: u64,
}

impl Default for FarEndOptions {
    fn default() -> Self {
        Self { ack_every_bytes: 64 << 10, rtt_ns: 0 }
    }
}

/// What a link is asked to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkOptions {
    /// How the far end of the null link behaves.
    pub far_end: FarEndOptions,
    /// What TCP travels over.
    pub ip: IpVersion,
    /// MTU of the devices, in bytes; null leaves it as it is. Not for `loopback`, whose device is the host's.
    pub mtu_bytes: Option<u32>,
    /// Offloads that the sender's card is to be without. Not for `loopback`.
    pub switched_off: BTreeSet<OffloadSwitch>,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self { far_end: FarEndOptions::default(), ip: IpVersion::V4, mtu_bytes: None, switched_off: BTreeSet::new() }
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
    pub far_end: Option<FarEndOptions>,
    /// Other links that were tried first and why they were not taken (one sentence each).
    pub passed_over: Vec<String>,
}

fn version_4() -> IpVersion {
    IpVersion::V4
}
