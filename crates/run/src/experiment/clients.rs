//! `clients`: cost of many slow clients, by their number, their rate and the send path.

use super::definition::{Definition, Tables};

pub(super) const DEFINITION: Definition = Definition {
    name: "clients",
    question: "What does a byte to one of many slow clients cost, and at which rate per client does \
        sendfile stop paying?",
    title: "what a byte to one of many slow clients costs, and at which rate sendfile stops paying",
    budget: "5m",
    plan: Ok(PLAN),
    tables: Some(Tables::Clients),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["send"]
clients-at-most = "5Gbit/s"     # of all clients of a cell together

[fixed]
buffer = "32k"                  # a buffer of nginx's output_buffers

[reference]
client-rate = "5Mbit/s"         # of the controls: short windows, and CPUs that are far from full

[[factor]]
name = "clients"
levels = [100, 1000]

[[factor]]
name = "client-rate"
levels = ["1Mbit/s", "5Mbit/s", "20Mbit/s", "50Mbit/s"]

[[factor]]
name = "send"
levels = ["read+send", "sendfile", "msg-zerocopy"]
"#;
