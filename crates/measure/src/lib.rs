//! The measuring half of zc: moves bytes over TCP by every path there is, reads the meters at both edges of each window,
//! and saves what was counted. It computes no estimate and prints nothing; what it needs of the analysis while a run goes on
//! comes in as [`session::Interim`].
//!
//! The modules are rooms, in the order in which a measurement passes through them. `tests/rooms.rs` holds what each may
//! import; each says in its opening paragraph what it does.

#![forbid(unsafe_code)]

/// The first argument of a process that zc starts of itself (`/proc/self/exe`); the second says which.
pub const INTERNAL: &str = "--internal";
/// The process that restores the host's state (`session::states::watchdog`).
pub const WATCHDOG: &str = "watchdog";
/// A process with soakers or a load of its own (`meter`); the argument after it is its job in JSON.
pub const HELPER: &str = "helper";

pub mod plan;
pub mod workload;

pub mod link;
pub mod memory;
pub mod meter;
pub mod path;
pub mod trial;

pub mod agent;

pub mod session;
