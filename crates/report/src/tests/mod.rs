//! Tests of the reports of runs, and the invented runs that all tests of this crate use.

mod emulated;
pub(crate) mod fixture;
pub(crate) mod fixture_plans;
pub(crate) mod forms;
mod full;
mod plans;
mod sentences;
pub(crate) mod server;
mod short;
