//! Factors, in which the cells of a plan may differ, one per file.
//!
//! A factor's file implements [`Definition`]: its name, its levels and how they are parsed, the
//! option of `zc run` and its help, what it changes in a cell, the TCP option that it sets, and the
//! differences between runs that it explains. Everything else that a factor changes in a trial is
//! code of `zc-measure`, crates/rig/src/trial/factor/. Everything that lists factors iterates
//! over [`Factor::ALL`]: the command line, plan files, labels, comparisons, the table in
//! docs/plans.md.
//!
//! To add a factor, write its file, declare it here (`mod NAME;`), and give it a line in `factors!`
//! of registry.rs.

mod align;
mod cipher;
mod client_rate;
mod clients;
mod congestion;
mod datagram;
mod definition;
mod flows;
pub(crate) mod gso_max;
mod head;
pub(crate) mod layer;
mod level;
mod message;
mod mtu;
mod notsent_lowat;
mod offloads;
mod pages;
mod placement;
mod proxy;
mod proxy_buffer;
mod push;
mod rate;
mod record;
mod recv;
mod recv_buffer;
mod registry;
mod segments;
mod send;
mod sockbuf;
mod state;
mod tls_version;
mod value;

pub use align::Align;
pub use cipher::Cipher;
pub use definition::{Definition, Difference, FactorOption, Parameter, Side, TcpOption};
pub use head::Head;
pub use layer::Layer;
pub use level::{FactorLevels, Level};
pub use mtu::{MTU, MTU_BYTES};
pub use offloads::{OFFLOAD, OffloadSwitch, offload_differences, offloads_text};
pub use pages::CopyPages;
pub use placement::Placement;
pub use proxy::ProxyPath;
pub use proxy_buffer::{PROXY_BUFFER_BYTES, proxy_buffer_bytes};
pub use push::Push;
pub use recv::RecvPath;
pub use registry::{Factor, table};
pub use send::SendPath;
pub use sockbuf::SOCKET_BUFFER_BYTES;
pub use state::HostState;
pub use tls_version::TlsVersion;
pub use value::{UNSET, Value};
