//! Boots another kernel in QEMU and runs one command in it.
#![doc = include_str!("../README.md")]
//!
//! [`Kernel::find`] finds what is to be booted, [`Machine::find`] what it is booted on, and
//! [`boot`] does it, or [`boot_pair`] for two guests on a wire. In the guest, the same program calls
//! [`first_process`].

mod boot;
mod config;
mod cpio;
mod decompress;
mod image;
mod initrd;
mod inside;
mod job;
mod kernel;
mod log;
mod machine;
mod memory_file;
mod modules;
mod package;
mod pair;
mod passed;
mod pinning;
mod program;
mod wire;

pub use boot::{Boot, Ended, Outcome, boot};
pub use config::{ConfigDifference, differences};
pub use inside::first_process;
pub use job::{Job, OUT, OWN_PROGRAM, SHARE, TOKEN};
pub use kernel::Kernel;
pub use machine::{Accelerator, Machine};
pub use package::{is_package, unpack};
pub use pair::{Pair, boot_pair};
pub use wire::{FAR_ADDRESS, WireEnd};
