//! A trial measures one cell once: connect, warm up, a window with all meters read at both edges,
//! drain.
//!
//! The rig outlives trials: the link, the soakers, the open meters, the files. Connections and
//! threads are made anew for each trial. What is peculiar to one connection (where its congestion
//! window settled, how its batches fall) therefore varies from block to block and does not bias a
//! whole run.

mod bench;
mod burning;
mod bursts;
mod cell_config;
mod clients;
mod connection;
mod counting;
mod crossing;
mod datagrams;
mod delivered;
mod factor;
mod flow;
mod flows;
mod limit;
mod links;
mod machine;
mod memcpy;
mod placement;
mod priority;
mod proof;
mod proxying;
mod receivers;
mod receiving;
mod remote_side;
mod rig;
mod sending;
mod setup;
mod sockets;
mod usage;
mod window;
mod worker;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use crate::path::SendSetup;
pub use bench::Bench;
pub use limit::Limit;
pub use links::Links;
pub use machine::Machine;
pub use memcpy::memcpy_bytes_per_s;
pub use placement::{calm_cpus, choose_cpus};
pub use receivers::{Receivers, listen};
pub use receiving::RecvConfig;
pub use remote_side::{RemoteEnded, RemoteSide, SentFlow};
pub use rig::{Pacing, Rig, RigSetup, conditions, count_sniffers};
pub use sending::Target;
pub use setup::{
    LINKS, Up, allowed_cpus, bring_up, check_memory, check_room, checksum, choose_congestion,
    default_congestion, open_files, touch_memory, towards, try_out_link, usual_congestion,
};
pub use sockets::check_far_rcvbuf;
pub use window::{LEAST_WARMUP_NS, edge, edge_ns, settle_ns};
pub use worker::{GLANCE, StillWanted, TrialError};
