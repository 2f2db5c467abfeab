//! The list of factors: [`Factor`] has a variant for each, which leads to its definition and is
//! saved under its name.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::definition::Definition;
use crate::UnknownName;

macro_rules! factors {
    ($($factor:ident = $definition:expr,)+) => {
        /// A factor, in which the cells of a plan may differ.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Factor {
            $(#[doc = concat!("See `", stringify!($definition), "`.")] $factor,)+
        }

        impl Factor {
            /// All factors, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$factor,)+];

            /// Its definition, from its file.
            pub fn definition(self) -> &'static dyn Definition {
                match self { $(Self::$factor => &$definition,)+ }
            }
        }
    };
}

factors! {
    Send = super::send::SendFactor,
    Recv = super::recv::RecvFactor,
    Message = super::message::MessageFactor,
    RecvBuffer = super::recv_buffer::RecvBufferFactor,
    Sockbuf = super::sockbuf::SockbufFactor,
    NotsentLowat = super::notsent_lowat::NotsentLowatFactor,
    Push = super::push::PushFactor,
    Align = super::align::AlignFactor,
    Pages = super::pages::PagesFactor,
    Mtu = super::mtu::MtuFactor,
    Offloads = super::offloads::OffloadsFactor,
    GsoMax = super::gso_max::GsoMaxFactor,
    Layer = super::layer::LayerFactor,
    Congestion = super::congestion::CongestionFactor,
    Flows = super::flows::FlowsFactor,
    Placement = super::placement::PlacementFactor,
    Rate = super::rate::RateFactor,
    State = super::state::StateFactor,
    Cipher = super::cipher::CipherFactor,
    Record = super::record::RecordFactor,
    TlsVersion = super::tls_version::TlsVersionFactor,
    Datagram = super::datagram::DatagramFactor,
    Segments = super::segments::SegmentsFactor,
    Head = super::head::HeadFactor,
    Proxy = super::proxy::ProxyFactor,
    ProxyBuffer = super::proxy_buffer::ProxyBufferFactor,
    Clients = super::clients::ClientsFactor,
    ClientRate = super::client_rate::ClientRateFactor,
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

    /// The schema is without the list of names, so that it does not change when a factor is added.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "What the cells of a plan may differ in; \
            docs/plans.md lists them" })
    }
}

/// The table of factors in docs/plans.md.
pub fn table() -> String {
    let rows = Factor::ALL
        .iter()
        .map(|factor| format!("| `{factor}` | {} |\n", factor.definition().levels()));
    format!("| factor | levels |\n|---|---|\n{}", rows.collect::<String>())
}
