//! What the cells of a plan may differ in: the factors, one to a file.
//!
//! A factor's file says everything about it ([`Definition`]): its name, its levels and how they are read, the option of `zc run`
//! and its help, what it puts into a cell, the TCP option that it sets, the differences between runs that it explains. What else a
//! factor changes in a trial is code of `zc-measure`, crates/measure/src/trial/factor/. Everything that lists factors goes by
//! [`Factor::ALL`]: the command line, plan files, labels, comparisons, the table in docs/plans.md.
//!
//! To add one, write its file and name it here, twice.

mod align;
mod congestion;
mod definition;
mod flows;
mod level;
mod message;
mod mtu;
mod offloads;
mod pages;
mod placement;
mod push;
mod rate;
mod recv;
mod recv_buffer;
mod send;
mod sockbuf;
mod state;

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::UnknownName;

pub use align::Align;
pub use definition::{Definition, Difference, FactorOption, Parameter, Side, TcpOption};
pub use level::{FactorLevels, Level, Value};
pub use mtu::{MTU, MTU_BYTES};
pub use offloads::{OFFLOAD, OffloadSwitch, offload_differences, offloads_text};
pub use pages::CopyPages;
pub use placement::Placement;
pub use push::Push;
pub use recv::RecvPath;
pub use send::SendPath;
pub use sockbuf::SOCKET_BUFFER_BYTES;
pub use state::HostState;

macro_rules! factors {
    ($($factor:ident = $definition:expr,)+) => {
        /// What the cells of a plan may differ in.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Factor {
            $(#[doc = concat!("See `", stringify!($definition), "`.")] $factor,)+
        }

        impl Factor {
            /// Every one, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$factor,)+];

            /// Everything about it.
            pub fn definition(self) -> &'static dyn Definition {
                match self { $(Self::$factor => &$definition,)+ }
            }
        }
    };
}

factors! {
    Send = send::SendFactor,
    Recv = recv::RecvFactor,
    Message = message::MessageFactor,
    RecvBuffer = recv_buffer::RecvBufferFactor,
    Sockbuf = sockbuf::SockbufFactor,
    Push = push::PushFactor,
    Align = align::AlignFactor,
    Pages = pages::PagesFactor,
    Mtu = mtu::MtuFactor,
    Offloads = offloads::OffloadsFactor,
    Congestion = congestion::CongestionFactor,
    Flows = flows::FlowsFactor,
    Placement = placement::PlacementFactor,
    Rate = rate::RateFactor,
    State = state::StateFactor,
}

impl Factor {
    /// Its name in plans and saved runs.
    pub fn name(self) -> &'static str {
        self.definition().name()
    }

    /// The factor that an option of `zc run` sets.
    pub fn of_option(long: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|factor| factor.definition().option().is_some_and(|option| option.long == long))
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Factor {
    type Err = UnknownName;

    fn from_str(given: &str) -> Result<Self, UnknownName> {
        Self::ALL.iter().copied().find(|factor| factor.name() == given).ok_or_else(|| UnknownName {
            what: "factor",
            given: given.to_owned(),
            known: Self::ALL.iter().map(|factor| factor.name()).collect(),
        })
    }
}

impl Serialize for Factor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Factor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for Factor {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Factor".into()
    }

    /// Without the list of names: a schema need not change with every factor that is added.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "What the cells of a plan may differ in; docs/plans.md lists them" })
    }
}

/// The table of factors in docs/plans.md.
pub fn table() -> String {
    let rows = Factor::ALL
        .iter()
        .map(|factor| format!("| `{factor}` | {} |\n", factor.definition().levels()));
    format!("| factor | levels |\n|---|---|\n{}", rows.collect::<String>())
}
