//! `layer`: what is between TCP and the pair of devices of the link `veth`: a virtual device at
//! each end, encryption, or Multipath TCP over one subflow. Each layer of a plan has a link of its
//! own.

use super::definition::{Definition, FactorOption, Parameter};
use super::value::Value;
use crate::names::names;
use crate::{Cell, FixedParams, LinkFacts, Result};

names! {
    /// What bytes pass on their way from TCP to the devices of a link.
    Layer, "layer", {
        /// Nothing: TCP's packets go to the devices.
        Plain = "plain",
        /// A bridge at each end, whose only port is the device.
        Bridge = "bridge",
        /// A macvlan device above the device, at each end.
        Macvlan = "macvlan",
        /// A VXLAN device at each end: Ethernet in UDP (RFC 7348).
        Vxlan = "vxlan",
        /// A WireGuard device at each end: IP, encrypted, in UDP.
        Wireguard = "wireguard",
        /// IPsec's ESP in transport mode, by the CPU (RFC 4303, RFC 4106).
        Esp = "esp",
        /// Multipath TCP over one subflow (RFC 8684).
        Mptcp = "mptcp",
    }
}

impl Layer {
    /// Whether nothing is in between.
    pub fn is_plain(self) -> bool {
        self == Self::Plain
    }

    /// The layer of cells with this configuration.
    pub fn of(at: &FixedParams) -> Self {
        at.more.get(NAME).and_then(Value::name).unwrap_or(Self::Plain)
    }

    /// Whether it has a device of its own at each end.
    pub fn has_device(self) -> bool {
        matches!(self, Self::Bridge | Self::Macvlan | Self::Vxlan | Self::Wireguard)
    }
}

/// The name of the factor, under which [`Levels::more`](crate::Levels::more) has its level.
pub(crate) const NAME: &str = "layer";

pub(super) struct LayerFactor;

impl Definition for LayerFactor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn levels(&self) -> &'static str {
        "`plain` or what is above the devices of the link `veth`: `bridge`, `macvlan`, `vxlan`, \
         `wireguard`, `esp` (IPsec in software), `mptcp`"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["vxlan", "plain"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::known::<Layer>(text)
    }

    fn default(&self) -> Value {
        Value::Name(Layer::Plain.to_string())
    }

    fn value_for(&self, cell: &Cell, _at: &FixedParams, link: &LinkFacts) -> Value {
        Value::Name(link.wanted(&cell.levels).layer.to_string())
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "What is above the devices of the link veth, separated by commas: bridge, \
                    macvlan, vxlan, wireguard, esp, mptcp [default: plain, or the plan's]";
        let option = FactorOption::carried(NAME, "NAME", "gso-max", help);
        Some(option.with_names(Layer::NAMES).several())
    }

    fn typed(&self, text: &str) -> Result<Vec<(&'static str, Value)>> {
        let named = text.split(',').map(|name| self.parse(name.trim()));
        let named = named.map(|value| value.map_err(|error| error.prefixed("--layer: ")));
        named.map(|value| value.map(|value| (NAME, value))).collect()
    }

    fn heading(&self) -> Option<&'static str> {
        Some("layer")
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining(NAME, "layer of the link")
    }
}
