//! Helpers for tests of several crates. A dev-dependency of the other crates, in no product.
//!
//! [`synthetic`] and [`samples`] make saved runs of a machine that does not exist, whose true costs
//! are known: tests of analysis and of reports check their results against them. [`server`] has the
//! run of a server. [`documents`] has a run as JSON that can be changed by place. [`growth`] tells
//! how CPU time grows. [`json_schema`] checks documents against their schemas. [`imports`] scans
//! source files for tests of the directions in which modules import one another (feature `imports`,
//! on by default).

#![forbid(unsafe_code)]

pub mod documents;
pub mod growth;
#[cfg(feature = "imports")]
pub mod imports;
pub mod json_schema;
pub mod samples;
pub mod server;
pub mod synthetic;
pub mod tls;
