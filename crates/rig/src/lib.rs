//! The test rig and the trials on it. Reading meters never writes to the host, nothing here
//! computes an estimate or prints.
//!
//! The modules are in the order in which bytes pass through them: [`workload`], [`link`], [`path`],
//! [`meter`], [`trial`]; [`memory`] is walked without a link.

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "a test that gets no thread may panic")
)]
#![forbid(unsafe_code)]

pub mod internal;
pub mod privileges;
mod proc_file;
pub mod root;
pub mod stderr_tail;

pub mod workload;

pub mod link;
pub mod memory;
pub mod meter;
pub mod path;
mod quic;
pub mod tls;

pub mod trial;
