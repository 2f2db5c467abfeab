//! The measuring half of zc: moves bytes over TCP by every path there is, reads the meters at both
//! edges of each window, and saves what was counted. It computes no estimate and prints nothing;
//! what it needs of the analysis while a run goes on comes in as [`session::Interim`].
//!
//! The modules are rooms, in the order in which a measurement passes through them. `tests/rooms.rs`
//! holds what each may import; each says in its opening paragraph what it does.

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "a test that gets no thread may panic")
)]
#![forbid(unsafe_code)]

mod internal;
mod root;
mod stderr_tail;

pub mod named_file;
pub mod privileges;

pub use zc_kernel::open_folder::OpenFolder;
pub use zc_kernel::stack;
pub use zc_kernel::stop::Stop;

pub use internal::{HELPER, INTERNAL, KEEPER, NFS_READ, NFS_SERVE, WATCHDOG};

pub mod plan;
pub mod workload;

pub mod http;
pub mod link;
pub mod memory;
pub mod meter;
pub mod path;
pub mod trial;

pub mod agent;

pub mod session;
