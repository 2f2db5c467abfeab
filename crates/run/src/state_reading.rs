//! Values read back in each state of the host before anything was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HostState;

/// A setting that commands of states name, or the answer of `--verify-state`, in every state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateReading {
    /// `net.ipv4.tcp_sack`, `rx-gro of zc1`, or the command of `--verify-state`.
    pub name: String,
    /// Place where it was read.
    pub place: StatePlace,
    /// The value in each state.
    pub values: Vec<StateValue>,
}

/// Place where a setting is read.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum StatePlace {
    /// In the sender's own network namespace.
    Sender,
    /// In the receiver's own network namespace.
    Receiver,
    /// In the namespaces that zc was started in.
    Host,
    /// It is the answer of a command.
    Command,
}

/// A value in a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateValue {
    /// The state.
    pub state: HostState,
    /// The value; null if there is none in that state.
    pub value: Option<String>,
}
