//! Which bytes are sent, in which pieces, and when: file sets, the walk over them, and the pacer.

mod fileset;
mod pacer;

pub use fileset::{FileSet, Piece, SourceFile, Walk};
pub use pacer::Pacer;
