//! zc: what sending bytes over TCP costs on this machine, by every way there is to send them.
//!
//! The modules are rooms, in the order in which a measurement passes through them. What each may import is
//! held by `tests/rooms.rs`; what each does is said in its own opening paragraph. The measuring half (`link`,
//! `path`, `meter`, `memory`, `trial`, `session`) and the reading half (`estimate`, `report`) meet only at the saved run,
//! which `record` defines.

#![forbid(unsafe_code)]

pub mod record;

pub mod plan;
pub mod workload;

pub mod link;
pub mod memory;
pub mod meter;
pub mod path;
pub mod trial;

pub mod agent;

pub mod session;

pub mod classic;

pub mod estimate;
pub mod report;

pub mod cli;
