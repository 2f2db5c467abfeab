//! The link that the bytes travelled over.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::factor::{gso_max, layer};
use super::{IpVersion, Layer, Levels, LinkKind, OffloadSwitch};

/// Offloads of a device by ethtool's names (`tx-tcp-segmentation` ...); on is true.
pub type Offloads = BTreeMap<String, bool>;

/// A device of another machine, and its settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFacts {
    /// Its name: `eth0`.
    pub name: String,
    /// Its MTU in bytes.
    pub mtu_bytes: u32,
    /// Its offloads; null if they could not be read.
    pub offloads: Option<Offloads>,
    /// Other settings that change costs, by name, as those of the sending device.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// The ACK generator of the null link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AckOptions {
    /// Bytes between two acknowledgements. A receiver with GRO acknowledges its merged packets of
    /// up to 64 KiB, one without GRO every second segment.
    pub ack_every_bytes: u64,
    /// The least time between two acknowledgements of a flow, in nanoseconds: a card holds its
    /// interrupts back, and what arrived meanwhile is acknowledged together (since format 3.4;
    /// absent: 50 us).
    #[serde(default = "held_back_ns", skip_serializing_if = "is_held_back_ns")]
    pub ack_interval_ns: u64,
    /// The delay of every acknowledgement, in nanoseconds.
    pub rtt_ns: u64,
}

impl Default for AckOptions {
    fn default() -> Self {
        Self { ack_every_bytes: 64 << 10, ack_interval_ns: held_back_ns(), rtt_ns: 0 }
    }
}

/// The default interval for which Intel's drivers hold interrupts back (`ethtool -c`: rx-usecs). An
/// interrupt between CPUs is expensive, above all in a virtual machine: with one for every 64 KiB
/// it was a third of what `sendfile` cost.
fn held_back_ns() -> u64 {
    50_000
}

fn is_held_back_ns(ns: &u64) -> bool {
    *ns == held_back_ns()
}

/// The settings of a link's devices in which cells may differ. Cells with other settings have a
/// link of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSettings {
    /// MTU in bytes.
    pub mtu_bytes: u32,
    /// Offloads that are switched off.
    pub switched_off: BTreeSet<OffloadSwitch>,
    /// The largest packet before segmentation that was asked for, in bytes; null is the device's
    /// own.
    pub gso_max_bytes: Option<u32>,
    /// What is above the devices.
    pub layer: Layer,
}

/// Requested properties of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkOptions {
    /// The ACK generator of the null link.
    pub far_end: AckOptions,
    /// Version of the Internet Protocol.
    pub ip: IpVersion,
    /// MTU of the devices, in bytes; null keeps the default. Not for `loopback`, whose device is
    /// the host's.
    pub mtu_bytes: Option<u32>,
    /// Offloads to switch off at the sender's or the receiver's device. Not for `loopback`.
    pub switched_off: BTreeSet<OffloadSwitch>,
    /// The largest packet before segmentation, and the largest merged one, in bytes; null keeps
    /// what the devices have. Not for `loopback`.
    pub gso_max_bytes: Option<u32>,
    /// What is above the devices. Only for `veth`.
    pub layer: Layer,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self {
            far_end: AckOptions::default(),
            ip: IpVersion::V4,
            mtu_bytes: None,
            switched_off: BTreeSet::new(),
            gso_max_bytes: None,
            layer: Layer::Plain,
        }
    }
}

impl LinkOptions {
    /// The requested properties of a cell's link: these, with the cell's own levels.
    #[must_use]
    pub fn at(&self, levels: &Levels) -> Self {
        Self {
            mtu_bytes: levels.mtu_bytes.or(self.mtu_bytes),
            switched_off: levels.switched_off.clone().unwrap_or_else(|| self.switched_off.clone()),
            gso_max_bytes: gso_max_bytes(levels, self.gso_max_bytes),
            layer: layer_at(levels, self.layer),
            ..self.clone()
        }
    }

    /// Whether they ask for settings of devices that are not zc's own to change.
    pub fn change_devices(&self) -> bool {
        self.mtu_bytes.is_some()
            || !self.switched_off.is_empty()
            || self.gso_max_bytes.is_some()
            || !self.layer.is_plain()
    }

    /// The settings of the link that has these properties, where `base` is the link that has none
    /// but the default ones.
    #[must_use]
    pub fn settings(&self, base: &LinkFacts) -> LinkSettings {
        LinkSettings {
            mtu_bytes: self.mtu_bytes.unwrap_or(base.mtu_bytes),
            switched_off: self.switched_off.clone(),
            gso_max_bytes: self.gso_max_bytes,
            layer: self.layer,
        }
    }
}

/// A layer above the devices of a link, as it was brought up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayerFacts {
    /// Which one.
    pub name: Layer,
    /// Its device at the sender's end: `zcl0`; null if it has none (`esp`, `mptcp`).
    pub device: Option<String>,
    /// MTU of that device in bytes, which is that of the link less what the layer adds to a
    /// packet; null if it has none.
    pub mtu_bytes: Option<u32>,
}

/// The link as it was brought up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkFacts {
    /// The link's kind.
    pub kind: LinkKind,
    /// The sending device: `lo`, `zc0`.
    pub device: String,
    /// MTU of the device in bytes.
    pub mtu_bytes: u32,
    /// Offloads of the sending device; null if they could not be read.
    pub offloads: Option<Offloads>,
    /// Other settings of the sending device that change costs, by name: its driver, qdisc, queues,
    /// rings, interrupt coalescing ... (since format 3.2).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Whether the receiver's device, if it is zc's own, merges consecutive segments (`rx-gro`);
    /// null if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_merges: Option<bool>,
    /// Whether the costs of sender and receiver can be separated by CPU on this link: RPS is set,
    /// and packets sent to each side were received on its own CPU.
    pub sides_apart: bool,
    /// The way in which RPS was set: `rps_default_mask`, `sysfs`, or null when it was not.
    pub rps: Option<String>,
    /// One sentence: the CPUs that received the packets sent to each side when the link was tried
    /// out, or why that was not checked; null on a link without sides.
    pub rps_check: Option<String>,
    /// Version of the Internet Protocol.
    #[serde(default = "version_4")]
    pub ip: IpVersion,
    /// Offloads that were to be switched off.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub switched_off: BTreeSet<OffloadSwitch>,
    /// The largest packet before segmentation that was asked for, in bytes; `settings` has the one
    /// that the device has. Null: that of the device was left as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gso_max_bytes: Option<u32>,
    /// What is between TCP and the devices; null: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<LayerFacts>,
    /// Initial congestion window of connections over this link, in packets; null is the kernel's
    /// default (10).
    #[serde(default)]
    pub initial_window_packets: Option<u32>,
    /// The ACK generator of the null link; null on other links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_end: Option<AckOptions>,
    /// Other links that were tried first, and why they were not used (one sentence each).
    pub passed_over: Vec<String>,
}

impl LinkFacts {
    /// The settings in which links of a run may differ.
    #[must_use]
    pub fn own_settings(&self) -> LinkSettings {
        LinkSettings {
            mtu_bytes: self.mtu_bytes,
            switched_off: self.switched_off.clone(),
            gso_max_bytes: self.gso_max_bytes,
            layer: self.layer(),
        }
    }

    /// What is between TCP and the devices.
    #[must_use]
    pub fn layer(&self) -> Layer {
        self.layer.as_ref().map_or(Layer::Plain, |layer| layer.name)
    }

    /// The settings of the link of a cell with these levels; `self` is the link of cells that do
    /// not ask for others.
    #[must_use]
    pub fn wanted(&self, levels: &Levels) -> LinkSettings {
        LinkSettings {
            mtu_bytes: levels.mtu_bytes.unwrap_or(self.mtu_bytes),
            switched_off: levels.switched_off.clone().unwrap_or_else(|| self.switched_off.clone()),
            gso_max_bytes: gso_max_bytes(levels, self.gso_max_bytes),
            layer: layer_at(levels, self.layer()),
        }
    }
}

/// The largest packet that a cell with these levels asks for; `usual` is that of cells that do not
/// mention it.
fn gso_max_bytes(levels: &Levels, usual: Option<u32>) -> Option<u32> {
    match levels.more.get(gso_max::NAME) {
        Some(level) => level.bytes().and_then(|bytes| u32::try_from(bytes).ok()),
        None => usual,
    }
}

/// The layer that a cell with these levels asks for; `usual` is that of cells that do not mention
/// one.
fn layer_at(levels: &Levels, usual: Layer) -> Layer {
    levels.more.get(layer::NAME).and_then(|level| level.name()).unwrap_or(usual)
}

fn version_4() -> IpVersion {
    IpVersion::V4
}
