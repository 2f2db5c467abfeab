//! Imports between the files of a crate, for tests that enforce their directions.
//!
//! `syn` parses the files. Imports are `use`, and paths that begin with `crate`, `self`, `super` or
//! a child module. Macros are not expanded and re-exports not followed: a name that comes through a
//! module's `pub use` is an import of that module.

mod module;
mod scan;
mod sources;

pub use module::Module;
pub use sources::Sources;
