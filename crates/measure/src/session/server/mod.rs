//! `zc run server`: what a request costs a server that is not zc's, in two or more states of it.
//!
//! The same blocks, rules and controls as for zc's own paths; the cells are the states. A server
//! that zc starts runs in the sender's namespace of a link, with a CPU of its own; the load runs in
//! the receiver's. A server that is there is asked over the loopback, wherever it runs.

mod asked;
mod cells;
mod first_responses;
mod lengths;
mod mix;
mod nfs;
mod options;
mod place;
mod prepare;
mod rate;
mod replay;
mod responses;
mod starting;
mod timing;

pub use nfs::NfsOptions;
pub(super) use nfs::prepare as prepare_nfs;
pub use options::{ServerOptions, StateOption};
pub(super) use prepare::prepare;
pub(super) use responses::prepare as prepare_responses;
