//! `links`: cost of what is between TCP and the devices of a link.

use super::definition::{Definition, Tables};

pub(super) const DEFINITION: Definition = Definition {
    name: "links",
    question: "What do bridge, macvlan, VXLAN, WireGuard, IPsec and MPTCP cost a byte?",
    title: "what bridge, macvlan, VXLAN, WireGuard, IPsec and MPTCP cost a byte",
    budget: "2m",
    plan: Ok(PLAN),
    tables: Some(Tables::Layers),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["layer"]

[fixed]
link = "veth"           # null has no receiver that takes off what was put around a packet

[[factor]]
name = "layer"
levels = ["plain", "bridge", "macvlan", "vxlan", "wireguard", "esp", "mptcp"]

[[factor]]
name = "send"
levels = ["read+send", "sendfile"]
"#;
