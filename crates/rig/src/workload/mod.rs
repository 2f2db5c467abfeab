//! The bytes that are sent, their pieces, and their times: file sets, the walk over them, the
//! pacer.

mod fileset;
mod filesystem;
mod generate;
mod given;
mod memory;
mod pacer;

pub use fileset::{FileSet, Piece, SourceFile, Walk, checksum};
pub use generate::{GENERATED_BYTES, GENERATED_FILES};
pub use memory::{
    available_below, available_bytes, cgroup_limit_below, cgroup2_below, check_enough,
    meminfo_bytes,
};
pub use pacer::{Clock, Monotonic, Pacer};
