//! What the fuzz targets share: inputs that are mostly valid, and checks of what must hold for
//! every input. A target itself (`fuzz_targets/`) is a call of one function here.
//!
//! A check panics where something does not hold. libFuzzer then saves the input and ends.

pub mod dialogue;
pub mod documents;
pub mod edits;
pub mod folders;
pub mod html;
pub mod http;
pub mod iperf3;
pub mod kernel;
pub mod logs;
pub mod nginx;
pub mod null_link;
pub mod plans;
pub mod quarantine;
pub mod runs;
pub mod session;
pub mod typed;
