//! A session walks the plan: it prepares the rig, measures block after block, saves after each, and ends in good order
//! however it ends. It computes no estimate and prints nothing: whoever watches does (see [`Progress`]).

mod blocks;
mod copied;
mod doctor;
mod interim;
mod memory;
mod options;
mod prepare;
mod progress;
mod rates;
mod remote;
mod run;
mod saving;
pub mod serve;
pub mod soak;
pub mod states;

pub use crate::agent::secret::Secret;
pub use crate::agent::{PORT, SessionEnd};
pub use doctor::{Findings, examine};
pub use interim::{Interim, InterimResult};
pub use memory::{MemoryOptions, MemoryOutcome, memory};
pub use options::{CpuPair, RunOptions};
pub use prepare::timing;
pub use progress::{Next, Progress, Silent};
pub use remote::RemoteEnd;
pub use run::{Outcome, run};
