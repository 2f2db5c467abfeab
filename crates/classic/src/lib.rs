//! The tools of January 2001 under their names: `zcs`, `zcc`, `cyclesoak`, `run_rr`, and `ttcp`
//! with sendfile. They take the same options and speak the same protocol as then. Bytes are moved
//! by `path`, and load is measured by `meter`. Nothing here prints: events are values, and the
//! program `zc` has their texts. docs/lineage.md compares every option and every figure with those
//! of 2001.

mod calibration;
mod cpus;
mod cyclesoak;
mod getopt;
mod install;
mod run_rr;
mod socket;
mod tool;
mod ttcp;
mod values;
mod wire;
mod zcc;
mod zcs;

pub use calibration::{Calibration, FILE_NAME};
pub use cpus::{cpus_for, online_cpus};
pub use cyclesoak::{CyclesoakOptions, Soaking, calibrate, cyclesoak};
pub use install::{Installed, install};
pub use run_rr::{Guard, NotRun, RunRrOptions, guard, run_rr, take_policy};
pub use socket::Capped;
pub use tool::{Tool, invoked};
pub use ttcp::{TtcpOptions, TtcpSaid, TtcpTally, ttcp};
pub use wire::Tally;
pub use zcc::{ZccOptions, ZccSaid, zcc};
pub use zcs::{ClientEnd, EndSignals, ZcsOptions, ZcsSaid, zcs};

/// The kbyte of `kbytes/sec` in the output of `zcs` and `zcc`: 1,024 bytes, as in 2001.
pub const KBYTE: u64 = 1024;
