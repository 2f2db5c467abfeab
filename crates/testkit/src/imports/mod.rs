//! Which file of a crate imports which, for tests that hold the directions of imports.
//!
//! `syn` parses the files. Imports are `use`, and paths that begin with `crate`, `self`, `super` or
//! a child module. Macros are not expanded and re-exports not followed: a name that comes through a
//! module's `pub use` is an import of that module.

mod module;
mod scan;
mod sources;

pub use module::Module;
pub use sources::Sources;
