//! The tools of January 2001 under their names: `zcs`, `zcc`, `cyclesoak`, `run_rr`, and `ttcp` with sendfile. They take
//! the letters that they always took and speak the wire that they always spoke; bytes are moved by `path`, and load is
//! measured by `meter`. Nothing here prints: what happens is told as values, and `cli` has the words.
//! docs/lineage.md has every option and every figure of 2001 beside what it is now.

mod calibration;
mod cyclesoak;
mod getopt;
mod install;
mod run_rr;
mod socket;
mod tool;
mod ttcp;
mod wire;
mod zcc;
mod zcs;

pub use calibration::{Calibration, FILE_NAME};
pub use cyclesoak::{CyclesoakOptions, Soaking, calibrate, cpus_for, cyclesoak, online_cpus};
pub use install::{Installed, install};
pub use run_rr::{Guard, NotRun, RunRrOptions, guard, run_rr, take_policy};
pub use socket::Capped;
pub use tool::{Tool, invoked};
pub use ttcp::{TtcpOptions, TtcpSaid, TtcpTally, ttcp};
pub use wire::Tally;
pub use zcc::{ZccOptions, ZccSaid, zcc};
pub use zcs::{ClientEnd, EndSignals, ZcsOptions, ZcsSaid, zcs};

/// A kbyte of 2001, in `kbytes/sec` of `zcs` and `zcc`: 1,024 bytes.
pub const KBYTE: u64 = 1024;
