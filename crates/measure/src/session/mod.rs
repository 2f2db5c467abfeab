//! A session runs a plan: it prepares the rig, measures block after block, saves after each, and
//! ends cleanly in every case. It computes no estimate and prints nothing; the caller does (see
//! [`Progress`]).

mod anonymous;
mod blocks;
mod budget;
mod clients;
mod copied;
mod doctor;
mod earlier;
mod harness;
mod interim;
mod memory;
mod options;
mod other_programs;
mod positive;
mod prepare;
mod prepared;
mod progress;
mod proving;
mod quiet;
mod rates;
mod remote;
mod remote_end;
mod run;
mod saving;
mod seed;
pub mod serve;
pub mod server;
mod sessions;
pub mod states;
mod steps;

pub use anonymous::LEFT_OUT;
pub use doctor::{Findings, examine};
pub use earlier::EarlierRates;
pub use interim::{Hopeless, Interim, InterimResult};
pub use memory::{MemoryOptions, MemoryOutcome, memory};
pub use options::{
    BlockOptions, CpuPair, LONGEST_REPLAYED, LogToReplay, RunOptions, SOAKER, TARGET,
};
pub use prepare::timing;
pub use progress::{Next, Progress, Silent};
pub use quiet::{Quiet, wait_until_quiet};
pub use remote::wait_for_far_end;
pub use remote_end::RemoteEnd;
pub use run::{Kind, Outcome, run};
pub use saving::is_stdout;
pub use seed::or_fresh as seed_or_fresh;
pub use server::{NfsOptions, ServerOptions, StateOption};
